"""Readers take time in proportion to the file, whatever it holds: lines that once took minutes, read within seconds."""

import time

import pytest

from retainer.data.formats.brat import read_brat_pair
from retainer.data.formats.conll import sniff_conll
from retainer.data.formats.enamex import read_enamex
from retainer.data.formats.i2b2 import read_i2b2
from retainer.data.formats.records import sniff_json, sniff_list
from retainer.errors import InputError

MANY = 60_000


def note(text, tags):
    return f"<deIdi2b2><TEXT>{text}</TEXT><TAGS>{''.join(tags)}</TAGS></deIdi2b2>"


CASES = {
    "nested XML": lambda: read_i2b2(f"<deIdi2b2>{'<a>' * 500_000}"),
    "tags without an end": lambda: read_enamex("<ENAMEX " * 400_000),
    "spaces after a tag": lambda: sniff_conll(f'x\tB-x{" " * MANY}"'),
    "spaces after a brace": lambda: sniff_json("{" + " " * MANY + "x"),
    "spaces after a bracket": lambda: sniff_list("[" + " " * MANY + "x"),
    "tags over all of a text": lambda: read_i2b2(
        note("word " * MANY, [f'<T id="P" start="0" end="{5 * MANY - at}" TYPE="x"/>' for at in range(10_000)])
    ),
    "brat's tags over all of a text": lambda: read_brat_pair(
        "word " * MANY, "".join(f"T{at}\tx 0 {5 * MANY - at}\n" for at in range(10_000)), "F.ann", "F.ann"
    ),
    "tags in one long line": lambda: read_i2b2(
        note("word " * MANY, [f'<T id="P" start="{5 * at}" end="{5 * at + 4}" TYPE="x"/>' for at in range(20_000)])
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_time(name):
    began = time.perf_counter()
    try:
        CASES[name]()
    except InputError as error:
        assert len(str(error)) < 300
    assert time.perf_counter() - began < 3


def test_of_tags_that_overlap_the_longest_stay():
    tags = [(0, 4), (5, 9), (0, 9), (10, 14), (12, 19), (15, 19), (10, 12)]
    text = note("aaaa bbbb cccc dddd", [f'<T id="P" start="{s}" end="{e}" TYPE="t{s}-{e}"/>' for s, e in tags])
    (sentence,) = read_i2b2(text).sentences
    assert [span.type for span in sentence.spans] == ["t0-9", "t10-12", "t12-19"]
