"""Entities as spans of words and of characters."""

import time

import pytest
from hypothesis import given, settings
from sentence_strategies import sentences

from retainer.data.spans import Sentence, Span
from retainer.errors import InputError


def test_spans_are_sorted():
    assert Sentence(("a", "b"), (Span(1, 2, "X"), Span(0, 1, "Y"))).spans == (Span(0, 1, "Y"), Span(1, 2, "X"))


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([Span(0, 3, "X")], r"span 0-3 \(X\) lies outside a sentence of 2 words"),
        ([Span(-1, 1, "X")], "span -1-1"),
        ([Span(1, 1, "X")], "span 1-1"),
        ([Span(0, 2, "X"), Span(1, 2, "Y")], r"span 1-2 \(Y\) overlaps 0-2 \(X\)"),
        ([Span(0, 1, "X"), Span(0, 1, "X")], "overlaps"),
    ],
)
def test_sentence_refuses_spans_that_cannot_be(spans, message):
    with pytest.raises(InputError, match=message):
        Sentence(("a", "b"), tuple(spans))


def test_from_text_trims_white_space_and_cuts_words():
    sentence = Sentence.from_text("In Paris-Nord now", [Span(2, 9, "CITY"), Span(9, 11, "HALF")])
    assert sentence.words == ("In", "Paris", "-", "No", "rd", "now")
    assert sentence.spans == (Span(1, 3, "CITY"), Span(3, 4, "HALF"))
    assert sentence.character_spans() == (Span(3, 9, "CITY"), Span(9, 11, "HALF"))


@pytest.mark.parametrize(
    ("span", "message"),
    [
        (Span(0, 9, "X"), r"span 0-9 \(X\) is empty or lies outside the text of 3 characters"),
        (Span(-1, 1, "X"), "outside"),
        (Span(1, 1, "X"), "empty"),
        (Span(1, 2, "X"), "covers no word, only ' '"),
    ],
)
def test_from_text_refuses_spans_that_cannot_be(span, message):
    with pytest.raises(InputError, match=message):
        Sentence.from_text("a b", [span])


def test_from_offsets_refuses_edges_inside_a_token():
    with pytest.raises(InputError, match=r"span 0-2 \(X\) begins or ends inside a token"):
        Sentence.from_offsets("abc d", [(0, 3), (4, 5)], [Span(0, 2, "X")])


def test_without_running_text_the_words_are_joined_by_spaces():
    sentence = Sentence(("New", "York", "!"), (Span(0, 2, "CITY"),))
    assert sentence.located() == ("New York !", ((0, 3), (4, 8), (9, 10)))
    assert sentence.character_spans() == (Span(0, 8, "CITY"),)


def test_with_spans_keeps_the_text():
    sentence = Sentence.from_text("so it is", [Span(0, 2, "X")])
    other = sentence.with_spans([Span(2, 3, "Y")])
    assert (other.words, other.text, other.offsets) == (sentence.words, sentence.text, sentence.offsets)
    assert other.spans == (Span(2, 3, "Y"),)


@settings(max_examples=100, deadline=None)
@given(sentences())
def test_character_spans_lead_back_to_the_same_words(sentence):
    text, offsets = sentence.located()
    assert Sentence.from_offsets(text, offsets, sentence.character_spans()).spans == sentence.spans


def test_a_long_document_with_many_entities_is_read_at_once():
    """Word by word for every entity, this would take minutes."""
    text = "to New York . " * 20_000
    began = time.process_time()
    sentence = Sentence.from_text(text, [Span(at * 14 + 3, at * 14 + 11, "city") for at in range(20_000)])
    assert time.process_time() - began < 10
    assert len(sentence.spans) == 20_000 and sentence.spans[-1] == Span(79_997, 79_999, "city")
