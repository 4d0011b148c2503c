"""Which configs can be used, how labels and types find each other, and that no XML does harm."""

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retainer.errors import InputError
from retainer.serve.label_studio.config_tags import LONGEST_CONFIG
from retainer.serve.label_studio.label_config import parse_label_config

LABEL = '<Label value="a"/>'
TEXT = '<Text name="text" value="$text"/>'


def config(labels, text=TEXT, **attributes):
    more = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f'<View><Labels name="label" toName="text"{more}>{labels}</Labels>{text}</View>'


def test_what_stands_in_it():
    found = parse_label_config(config('<View><Label value="City" background="red"/></View><Label value="a &amp; b"/>'))
    assert (found.from_name, found.to_name, found.key) == ("label", "text", "text")
    assert [label.name for label in found.labels] == ["City", "a & b"]


def test_labels_and_types_find_each_other():
    found = parse_label_config(
        config(
            '<Label value="City"/><Label value="Person" predicted_values="artist, PER"/><Label value="x" alias="y"/>'
        )
    )
    types = ["city", "PER", "artist", "y", "date"]
    assert found.labels_by_type(types) == {"city": "City", "PER": "Person", "artist": "Person", "y": "y"}
    assert found.types_by_label(types) == {"City": "city", "Person": "artist", "y": "y"}
    assert found.types_by_label([]) == {"City": "City", "Person": "Person", "y": "y"}, "new types"
    assert found.types_by_label(["CITY", "City"])["City"] == "City", "what is written alike comes first"


@pytest.mark.parametrize(
    ("xml", "says"),
    [
        ("", "not whole XML"),
        ("<View>", "not whole XML"),
        ("<View/>", "has no <Text>"),
        (f"<View>{TEXT}</View>", "no <Labels> whose toName"),
        (config(""), "no <Label> in it"),
        (config('<Label value="a"/><Label value="a"/>'), "'a' twice"),
        (config('<Label value="$x"/>'), "must be a short name"),
        (config('<Label value="a"/>', '<Text name="text" value="no key"/>'), "must name a key"),
        (config('<Label value="a"/>', '<Text name="text" value="$u" valueType="url"/>'), "nothing is fetched"),
        (config('<Label value="a"/>', '<Image name="text" value="$u"/>'), "has no <Text>"),
        (config('<Label value="a"/>').replace('toName="text"', 'toName="text,b"'), "several texts"),
        (f"<View>{config(LABEL)}{config(LABEL)}</View>", "several texts or one twice"),
        ('<!DOCTYPE v [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><View>&b;</View>', "DOCTYPE"),
        ('<!DOCTYPE v SYSTEM "file:///etc/passwd"><View/>', "DOCTYPE"),
        ("<a>" * 200 + "</a>" * 200, "inside each other"),
        ("<View>" + " " * LONGEST_CONFIG + "</View>", "may have"),
        ("<View>\ud800</View>", "lone surrogate"),
        (config("".join(f'<Label value="t{n}"/>' for n in range(2001))), "may have 2000"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(xml, says):
    began = time.monotonic()
    with pytest.raises(InputError) as raised:
        parse_label_config(xml)
    assert says in str(raised.value) and "\n" not in str(raised.value) and time.monotonic() - began < 1


@given(st.text(st.sampled_from('<>/=" $&;!aT') | st.characters(), max_size=60))
def test_made_up_configs_are_read_or_refused(noise):
    for xml in (noise, config(noise), config('<Label value="a"/>', noise)):
        with contextlib.suppress(InputError):
            parse_label_config(xml)
