import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities

from retainer.data.spans import Labels, Sentence, Span, detect_scheme, spans_of, split_tag, tags_of
from retainer.errors import InputError

TYPES = st.sampled_from(["PER", "LOC", "B-X", "O", "work of art", "I"])
TAGS = st.just("O") | st.builds("{}-{}".format, st.sampled_from("BIES"), TYPES)


@st.composite
def sentences(draw):
    size = draw(st.integers(1, 8))
    cuts = sorted(draw(st.sets(st.integers(0, size))))
    spans = [Span(start, end, draw(TYPES)) for start, end in zip(cuts, cuts[1:], strict=False) if draw(st.booleans())]
    return Sentence(tuple(f"w{i}" for i in range(size)), tuple(spans))


# ------------------------------------------------------------------------------------------------------ sentences


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


def test_without_running_text_the_words_are_joined_by_blanks():
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


# ----------------------------------------------------------------------------------------------------------- tags


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


@settings(max_examples=400, deadline=None)
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


# --------------------------------------------------------------------------------------------------------- labels


def decoded(labels, sentence):
    """Read the ids back the way a prediction is read."""
    parts = [labels.parts[i] for i in labels.ids(sentence)]
    return spans_of(["O" if kind == "O" else f"{kind}-{type_}" for kind, type_ in parts])


def test_foreign_orders_are_kept():
    labels = Labels(("I-LOC", "B-PER", "O", "I-PER", "B-LOC"))
    assert labels.outside == 2
    assert labels.types == ("LOC", "PER")
    assert labels.prefixes == "BI"
    assert labels.ids(Sentence(tuple("abcd"), (Span(0, 2, "PER"), Span(3, 4, "LOC")))) == [1, 3, 2, 4]


def test_a_head_without_o_is_refused():
    with pytest.raises(InputError, match=r"LABEL_0, LABEL_1.*have no 'O'.*id2label"):
        Labels(("LABEL_0", "LABEL_1"))


def test_a_fresh_head_grows_in_iob2():
    assert Labels().grow(["PER", "LOC"]).names == ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")


@pytest.mark.parametrize(
    ("names", "grown"),
    [
        ("O B-A I-A", "B-N I-N"),
        ("I-A O", "I-N"),
        ("B-A I-A E-A S-A O", "B-N I-N E-N S-N"),
        ("O B-A I-A L-A U-A", "B-N I-N L-N U-N"),
        ("A O", "N"),
        ("X O B-A I-A [CLS]", "B-N I-N"),
    ],
)
def test_grow_keeps_old_positions_and_style(names, grown):
    old = tuple(names.split())
    labels = Labels(old).grow(["N"])
    assert labels.names == (*old, *grown.split())
    assert labels.types == ("A", "N")


def test_labels_that_name_no_entity_count_as_outside():
    labels = Labels(("X", "[CLS]", "O", "B-A", "I-A"))
    assert labels.parts[:3] == (("O", ""),) * 3
    assert (labels.types, labels.outside) == (("A",), 2)


def test_bare_heads_have_one_label_per_type():
    labels = Labels(("O", "PER", "LOC"))
    assert labels.parts == (("O", ""), ("I", "PER"), ("I", "LOC"))
    assert labels.ids(Sentence(tuple("abc"), (Span(0, 2, "LOC"), Span(2, 3, "PER")))) == [2, 2, 1]


def test_a_missing_row_is_replaced_by_the_nearest():
    only_inside = Labels(("O", "I-A"))
    assert only_inside.ids(Sentence(tuple("abc"), (Span(0, 2, "A"),))) == [1, 1, 0]
    only_single = Labels(("O", "S-A", "B-Z", "I-Z"))
    assert only_single.ids(Sentence(tuple("abc"), (Span(0, 3, "A"),))) == [1, 1, 1]


def test_unknown_types_become_outside():
    assert Labels(("O", "B-A", "I-A")).ids(Sentence(tuple("ab"), (Span(0, 1, "NEW"),))) == [0, 0]


def test_the_first_of_two_equal_labels_is_used():
    assert Labels(("O", "L-A", "E-A", "B-A")).index("E", "A") == 1


@settings(max_examples=100, deadline=None)
@given(sentence=sentences(), letters=st.sampled_from(["BI", "BIES", "BILU"]), data=st.data())
def test_any_order_of_rows_writes_every_entity(sentence, letters, data):
    types = {span.type for span in sentence.spans}
    names = ["O", *(f"{letter}-{type_}" for type_ in sorted(types) for letter in letters)]
    labels = Labels(tuple(data.draw(st.permutations(names))))
    assert decoded(labels, sentence) == sentence.spans


def test_labels_as_a_pipeline_reads_them():
    names = ("X", "S-a", "O", "E-a", "B-a", "I-a")
    assert Labels(names).paired().names == ("O", "B-a", "O", "I-a", "B-a", "I-a")
    assert Labels(("loc-x", "O", "per")).paired().names == ("I-loc-x", "O", "I-per")
    assert Labels(("O", "U-a-b", "L-a-b")).paired().names == ("O", "B-a-b", "I-a-b")


def test_a_head_with_no_b_for_some_types_is_read_and_taught():
    """CoNLL-2003 in IOB1 has no B-PER: no two persons ever touch there."""
    labels = Labels(("I-PER", "O", "I-LOC", "B-LOC"))
    assert labels.types == ("PER", "LOC") and labels.grow(["CITY"]).names[4:] == ("B-CITY", "I-CITY")
    sentence = Sentence(tuple("abcd"), (Span(0, 2, "PER"), Span(2, 3, "LOC"), Span(3, 4, "LOC")))
    assert [labels.names[i] for i in labels.ids(sentence)] == ["I-PER", "I-PER", "B-LOC", "B-LOC"]


def test_a_long_document_with_many_entities_is_read_at_once():
    """Word by word for every entity, this would take minutes."""
    text = "to New York . " * 20_000
    began = time.process_time()
    sentence = Sentence.from_text(text, [Span(at * 14 + 3, at * 14 + 11, "city") for at in range(20_000)])
    assert time.process_time() - began < 10
    assert len(sentence.spans) == 20_000 and sentence.spans[-1] == Span(79_997, 79_999, "city")
