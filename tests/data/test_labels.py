"""The labels of a head, in whatever order and style its maker left them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sentence_strategies import sentences

from retainer.data.labels import Labels
from retainer.data.spans import Sentence, Span
from retainer.data.tags import spans_of
from retainer.errors import InputError


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
