"""Tests of differences, against scipy and against slow counting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from retainer.data.spans import Span
from retainer.metrics.f1 import Spans, score
from retainer.metrics.significance import bootstrap, count_entities, f1_of_counts, paired_t, t_tail

numbers = st.lists(st.tuples(*[st.floats(0, 100, allow_subnormal=False)] * 2), min_size=3, max_size=12)


class TestTTest:
    @pytest.mark.parametrize("freedom", range(1, 15))
    @pytest.mark.parametrize("t", [0.0, 0.1, 1.0, 2.5, 12.0])
    def test_the_tail(self, t, freedom):
        assert t_tail(t, freedom) == pytest.approx(2 * stats.t.sf(t, freedom), abs=1e-12)

    @given(numbers)
    def test_against_scipy(self, pairs):
        ours, theirs = zip(*pairs, strict=True)
        apart = np.subtract(ours, theirs)
        if apart.std() > 1e-6:
            assert paired_t(ours, theirs) == pytest.approx(stats.ttest_rel(ours, theirs).pvalue, abs=1e-9)

    def test_too_few_and_all_alike(self):
        assert paired_t([1.0, 2.0], [0.0, 1.0]) is None
        assert paired_t([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) == 1.0
        assert paired_t([2.0, 3.0, 4.0], [1.0, 2.0, 3.0]) == 0.0
        with pytest.raises(ValueError, match="as many"):
            paired_t([1.0], [])


TYPES = ("a", "b")


def sentences(seed, size=40):
    random = np.random.default_rng(seed)
    gold, found = [], []
    for _ in range(size):
        spans = [Span(i, i + 1, TYPES[random.integers(2)]) for i in range(6) if random.random() < 0.3]
        gold.append(spans)
        found.append(
            [s if random.random() < 0.7 else Span(s.start, s.end, "b") for s in spans if random.random() < 0.8]
        )
    return gold, found


class TestCounts:
    def test_the_same_scores_as_on_the_corpus(self):
        gold, found = sentences(1)
        micro, macro = f1_of_counts(count_entities(gold, found, TYPES).sum(0))
        arrays = []
        for side in (gold, found):
            rows = [(10 * i + s.start, 10 * i + s.end, TYPES.index(s.type)) for i, row in enumerate(side) for s in row]
            arrays.append(Spans(*np.array(rows, dtype=np.int64).T))
        scores = score(*arrays, TYPES)
        assert float(micro) == pytest.approx(scores.micro) and float(macro) == pytest.approx(scores.macro)

    def test_other_types_do_not_count(self):
        table = count_entities([[Span(0, 1, "z")]], [[Span(0, 1, "z"), Span(1, 2, "a")]], TYPES)
        assert table.tolist() == [[[0, 1, 0], [0, 0, 0]]]

    def test_nothing_at_all(self):
        assert [float(x) for x in f1_of_counts(np.zeros((2, 3), dtype=np.int64))] == [0.0, 0.0]


class TestBootstrap:
    def test_alike_is_no_difference(self):
        table = count_entities(*sentences(1), TYPES)
        same = bootstrap([table], [table], draws=50)
        assert same.difference == same.low == same.high == 0.0 and same.p == 1.0

    def test_a_clear_difference(self):
        gold, found = sentences(1, 200)
        perfect, poor = count_entities(gold, gold, TYPES), count_entities(gold, found, TYPES)
        better = bootstrap([perfect], [poor], draws=200)
        worse = bootstrap([poor], [perfect], draws=200)
        assert better.difference > 0 and better.low > 0 and better.p == 0.0
        assert worse.difference == pytest.approx(-better.difference) and worse.p == 0.0

    def test_against_drawing_sentence_by_sentence(self):
        gold, found = sentences(3, 25)
        other = sentences(3, 25)[1][::-1]
        ours, theirs = count_entities(gold, found, TYPES), count_entities(gold, other, TYPES)
        random = np.random.default_rng(7)
        apart = []
        for _ in range(30):
            rows = random.integers(25, size=25)
            apart.append(float(f1_of_counts(ours[rows].sum(0))[1] - f1_of_counts(theirs[rows].sum(0))[1]))
        result = bootstrap([ours], [theirs], draws=30, seed=7)
        assert (result.low, result.high) == pytest.approx(tuple(np.quantile(apart, [0.025, 0.975])))

    def test_tasks_are_averaged(self):
        a, b = (count_entities(*sentences(seed), TYPES) for seed in (1, 2))
        both = bootstrap([a, b], [b, a], draws=20)
        assert both.difference == pytest.approx(0.0)
        micro = bootstrap([a], [b], draws=20, macro=False)
        assert micro.difference == pytest.approx(float(f1_of_counts(a.sum(0))[0] - f1_of_counts(b.sum(0))[0]))
