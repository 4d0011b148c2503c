import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers.pre_tokenizers import BertPreTokenizer

from retainer.data.words import word_offsets

TEXT = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("ab1 _-.'\u0301\u0308אم漢字\u2028\x85\x1c👩\u200d")
)
PRINTABLE = st.text(st.characters(min_codepoint=32, max_codepoint=126) | st.sampled_from("\t\n"))


def words(text, cuts=()):
    return [text[start:end] for start, end in word_offsets(text, cuts)]


def bert(text):
    return [offset for _, offset in BertPreTokenizer().pre_tokenize_str(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\n\u2028\x85", []),
        ("I'm in St. John's_2", ["I", "'", "m", "in", "St", ".", "John", "'", "s", "_", "2"]),
        ("Mu\u0308nchen", ["Mu\u0308nchen"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("5€", ["5", "€"]),
        ("東京tower", ["東", "京", "tower"]),
        ("é漢\u0301é", ["é", "漢", "\u0301é"]),
        ("שלום, עולם", ["שלום", ",", "עולם"]),
    ],
)
def test_words(text, expected):
    assert words(text) == expected


def test_cuts_end_words_and_nothing_else():
    assert words("Newyorker here", {3, 9, 99}) == ["New", "yorker", "here"]


@settings(max_examples=200, deadline=None)
@given(TEXT, st.sets(st.integers(-2, 20)))
def test_words_are_exactly_the_visible_characters_in_order(text, cuts):
    assert "".join(words(text, cuts)) == "".join(text.split())
    assert not [at for start, end in word_offsets(text, cuts) for at in cuts if start < at < end]


@settings(max_examples=200, deadline=None)
@given(PRINTABLE)
def test_printable_ascii_is_cut_as_bert_cuts_it(text):
    assert list(word_offsets(text)) == bert(text)


@settings(max_examples=300, deadline=None)
@given(TEXT)
def test_no_word_crosses_a_border_of_bert(text):
    borders = {edge for offset in bert(text) for edge in offset}
    assert not [at for start, end in word_offsets(text) for at in range(start + 1, end) if at in borders]


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(max_codepoint=127)))
def test_a_foreign_letter_elsewhere_changes_no_cut(text):
    assert words(f"{text} é") == [*words(text), "é"]


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("aé9\u0301\u0308"), min_size=1))
def test_marks_never_stand_apart_from_their_letters(text):
    assert words(text) == [text]
