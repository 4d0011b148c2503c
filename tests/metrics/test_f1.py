import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from property_examples import examples
from seqeval.metrics import classification_report

from retainer.data.labels import Labels
from retainer.data.spans import Sentence
from retainer.data.tags import spans_of
from retainer.metrics.f1 import Score, gold_spans, score, spans_by_sentence
from retainer.model.decode import predicted_spans

TYPES = ("a-b", "c", "d")


def from_tags(gold, predicted, labels, types=TYPES):
    starts = np.cumsum([0, *map(len, gold)])
    sentences = [Sentence(("w",) * len(tags), spans_of(tags)) for tags in gold]
    ids = np.array([labels.names.index(tag) for tags in predicted for tag in tags], dtype=np.int64)
    return gold_spans(sentences, starts, types), predicted_spans(ids, labels, starts, types), starts


def sequences(prefixes):
    tags = ["O", *(f"{letter}-{type_}" for letter in prefixes for type_ in TYPES)]
    pair = st.tuples(st.sampled_from(tags), st.sampled_from(tags))
    return st.lists(st.lists(pair, min_size=1, max_size=12), min_size=1, max_size=8)


@pytest.mark.parametrize("prefixes", ["BI", "BIES"])
def test_same_as_seqeval_per_sentence(prefixes):
    labels = Labels(("O", *(f"{letter}-{type_}" for letter in prefixes for type_ in TYPES)))

    @settings(max_examples=examples(200, thorough=5), deadline=None)
    @given(sequences(prefixes))
    def check(sentences):
        gold = [[pair[0] for pair in sentence] for sentence in sentences]
        predicted = [[pair[1] for pair in sentence] for sentence in sentences]
        ours = score(*from_tags(gold, predicted, labels)[:2], TYPES)
        theirs = classification_report(gold, predicted, output_dict=True, zero_division=0)
        for type_ in TYPES:
            one, other = ours.per_type[type_], theirs.get(type_)
            if other is None:
                assert one == Score(0, 0, 0)
                continue
            assert one.support == other["support"]
            assert [one.precision, one.recall, one.f1] == pytest.approx(
                [100 * other[key] for key in ("precision", "recall", "f1-score")]
            )
        if "micro avg" in theirs:
            assert ours.micro == pytest.approx(100 * theirs["micro avg"]["f1-score"])
        present = [100 * theirs[t]["f1-score"] for t in TYPES if t in theirs and theirs[t]["support"]]
        assert ours.macro == pytest.approx(sum(present) / max(len(present), 1))

    check()


def test_decoding_equals_the_plain_decoder():
    labels = Labels(("O", *(f"{letter}-{type_}" for letter in "BIES" for type_ in TYPES)))

    @settings(max_examples=examples(100, thorough=5), deadline=None)
    @given(sequences("BIES"))
    def check(sentences):
        tags = [[pair[1] for pair in sentence] for sentence in sentences]
        _, predicted, starts = from_tags(tags, tags, labels)
        assert spans_by_sentence(predicted, starts, TYPES) == [spans_of(one) for one in tags]

    check()


def test_a_hand_worked_example():
    labels = Labels(("O", "B-a-b", "I-a-b", "B-c", "I-c"))
    gold = [["B-a-b", "I-a-b", "O", "B-c"], ["B-c", "O", "B-a-b"]]
    guess = [["B-a-b", "I-a-b", "O", "B-a-b"], ["I-c", "O", "O"]]
    scores = score(*from_tags(gold, guess, labels)[:2], TYPES)
    # a-b: 2 gold, 2 predicted, 1 right; c: 2 gold, 1 predicted (an I- without B- counts), 1 right; d: nothing
    assert scores.per_type["a-b"] == Score(1, 2, 2) and scores.per_type["a-b"].f1 == 50
    assert scores.per_type["c"] == Score(1, 1, 2) and scores.per_type["c"].f1 == pytest.approx(200 / 3)
    assert scores.micro == pytest.approx(200 * 2 / (3 + 4))
    assert scores.macro == pytest.approx((50 + 200 / 3) / 2), "a type without gold entities is no part of the mean"
    assert scores.macro_of(["c"]) == pytest.approx(200 / 3) and scores.macro_of(["d"]) is None
    assert scores.micro_of([]) == 0


def test_entities_never_join_across_sentences():
    labels = Labels(("O", "B-c", "I-c"))
    gold = [["O", "B-c"], ["B-c", "I-c"]]
    guess = [["O", "B-c"], ["I-c", "I-c"]]
    scores = score(*from_tags(gold, guess, labels, ("c",))[:2], ("c",))
    assert scores.per_type["c"] == Score(2, 2, 2)


def test_types_not_asked_for_do_not_count():
    labels = Labels(("O", "B-c", "I-c", "B-d", "I-d"))
    gold, guess = [["B-c", "O"]], [["B-c", "B-d"]]
    assert score(*from_tags(gold, guess, labels, ("c",))[:2], ("c",)).micro == 100
    assert score(*from_tags(gold, guess, labels, ("c", "d"))[:2], ("c", "d")).micro == pytest.approx(200 / 3)


def test_nothing_found_and_nothing_there():
    labels = Labels(("O", "B-c", "I-c"))
    scores = score(*from_tags([["O"]], [["O"]], labels, ("c",))[:2], ("c",))
    assert scores.micro == scores.macro == 0 and scores.as_dict()["per_type"]["c"]["support"] == 0
