"""Tags of all schemes, to spans and back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from property_examples import examples
from sentence_strategies import TYPES, sentences
from seqeval.metrics.sequence_labeling import get_entities

from retainer.data.spans import Sentence, Span
from retainer.data.tags import detect_scheme, spans_of, split_tag, tags_of
from retainer.errors import InputError

TAGS = st.just("O") | st.builds("{}-{}".format, st.sampled_from("BIES"), TYPES)


@pytest.mark.parametrize(
    ("tag", "parts"),
    [
        ("O", ("O", "")),
        ("B-PER", ("B", "PER")),
        ("L-a-b", ("E", "a-b")),
        ("U-\n", ("S", "\n")),
        ("I-O", ("I", "O")),
    ],
)
def test_split_tag(tag, parts):
    assert split_tag(tag) == parts


@pytest.mark.parametrize("tag", ["", "o", "B", "B-", "PER", "X-PER", "b-PER", "B_PER", " B-PER", "O "])
def test_a_tag_of_no_scheme_is_named(tag):
    with pytest.raises(InputError, match="fits no scheme") as caught:
        split_tag(tag)
    assert repr(tag) in str(caught.value)


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(TAGS, max_size=12))
def test_spans_agree_with_seqeval(tags):
    assert spans_of(tags) == tuple(Span(start, end + 1, type_) for type_, start, end in get_entities(tags))


@settings(max_examples=100, deadline=None)
@given(st.lists(TAGS, max_size=12))
def test_bilou_is_bioes_by_other_letters(tags):
    assert spans_of([tag[0].translate({ord("E"): "L", ord("S"): "U"}) + tag[1:] for tag in tags]) == spans_of(tags)


@pytest.mark.parametrize("scheme", ["IOB2", "BIOES", "BILOU"])
@settings(max_examples=100, deadline=None)
@given(sentence=sentences())
def test_tags_lead_back_to_the_same_spans(scheme, sentence):
    assert spans_of(tags_of(sentence, scheme)) == sentence.spans


def test_the_schemes_letter_by_letter():
    sentence = Sentence(tuple("abcdef"), (Span(0, 1, "X"), Span(1, 3, "X"), Span(3, 6, "Y")))
    assert tags_of(sentence) == "B-X B-X I-X B-Y I-Y I-Y".split()
    assert tags_of(sentence, "BIOES") == "S-X B-X E-X B-Y I-Y E-Y".split()
    assert tags_of(sentence, "BILOU") == "U-X B-X L-X B-Y I-Y L-Y".split()


@pytest.mark.parametrize(
    ("sequences", "expected"),
    [
        ([], ("IOB2", 0)),
        (["O O"], ("IOB2", 0)),
        (["B-X I-X O"], ("IOB2", 0)),
        (["O I-X I-X O"], ("IOB1", 0)),
        (["I-X B-X I-X", "I-Y"], ("IOB1", 0)),
        (["I-X B-X", "B-X"], ("IOB2", 1)),
        (["B-X I-Y", "O I-X", "B-X"], ("IOB2", 2)),
        (["B-X E-X", "I-X I-X E-X"], ("BIOES", 1)),
        (["S-X I-X E-X I-X"], ("BIOES", 2)),
        (["S-X"], ("BIOES", 0)),
        (["B-X I-X L-X"], ("BILOU", 0)),
        (["U-X L-X"], ("BILOU", 1)),
    ],
)
def test_detect_scheme(sequences, expected):
    assert detect_scheme([tags.split() for tags in sequences]) == expected


@settings(max_examples=100, deadline=None)
@given(sentence=sentences(), scheme=st.sampled_from(["IOB2", "BIOES", "BILOU"]))
def test_what_we_write_is_clean_in_its_own_scheme(sentence, scheme):
    found, bare = detect_scheme([tags_of(sentence, scheme)])
    assert bare == 0
    assert found == (scheme if sentence.spans else "IOB2")
