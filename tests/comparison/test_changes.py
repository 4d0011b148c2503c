"""What became of every entity: each is paired with at most one of the other side, and counted where it belongs."""

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from property_examples import examples

from retainer.comparison.agreement import DRAWS, AgreementCounter, TypeAgreement
from retainer.comparison.changes import CHANGE_KINDS, Case, Cases, Change, changes
from retainer.data.spans import Span

TYPES = ("artist", "city", "movie")


def spans(*parts):
    return tuple(Span(start, end, type_) for start, end, type_ in parts)


def kinds_of(old, new):
    return [(one.kind, one.old, one.new) for one in changes(spans(*old), spans(*new))]


def slowly(old, new):
    """All pairs in four rounds, each round the pairs with most in common first."""

    def common(a, b):
        return len(set(range(a.start, a.end)) & set(range(b.start, b.end)))

    rounds = [
        ("kept", lambda a, b: a == b),
        ("relabelled", lambda a, b: (a.start, a.end) == (b.start, b.end)),
        ("moved", lambda a, b: a.type == b.type and common(a, b)),
        ("relabelled", lambda a, b: common(a, b)),
    ]
    old, new, found = list(old), list(new), []
    for kind, fits in rounds:
        pairs = [(a, b) for a in old for b in new if fits(a, b)]
        for a, b in sorted(pairs, key=lambda pair: (-common(*pair), pair[0].start)):
            if a in old and b in new:
                found.append((kind, a, b))
                old.remove(a)
                new.remove(b)
    found += [("lost", a, None) for a in old] + [("gained", None, b) for b in new]
    return Counter(found)


@st.composite
def entities(draw):
    """Entities of one version: in order, never overlapping."""
    found, at = [], 0
    for gap, length, type_ in draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4), st.sampled_from(TYPES)), max_size=8)
    ):
        found.append(Span(at + gap, at + gap + length, type_))
        at = found[-1].end
    return tuple(found)


class TestPairs:
    def test_one_of_each(self):
        old = [(0, 4, "city"), (5, 9, "city"), (10, 19, "city"), (20, 24, "city"), (30, 35, "city")]
        new = [(0, 4, "city"), (5, 9, "artist"), (10, 14, "city"), (22, 26, "artist"), (40, 44, "city")]
        assert [kind for kind, _, _ in kinds_of(old, new)] == [
            "kept",
            "relabelled",
            "moved",
            "relabelled",
            "lost",
            "gained",
        ]

    def test_an_entity_cut_in_two_is_moved_once(self):
        kinds = kinds_of([(0, 10, "city")], [(0, 3, "city"), (4, 10, "city")])
        assert {kind: new for kind, _, new in kinds} == {"moved": Span(4, 10, "city"), "gained": Span(0, 3, "city")}

    def test_two_entities_made_one(self):
        assert [kind for kind, _, _ in kinds_of([(0, 3, "city"), (4, 10, "city")], [(0, 10, "city")])] == [
            "lost",
            "moved",
        ]

    def test_the_same_type_comes_before_more_words(self):
        kinds = kinds_of([(0, 10, "city")], [(0, 8, "artist"), (8, 12, "city")])
        assert {kind: new and new.type for kind, _, new in kinds} == {"moved": "city", "gained": "artist"}

    def test_nothing(self):
        assert changes((), ()) == ()

    @given(entities(), entities())
    @settings(max_examples=examples(400), deadline=None)
    def test_as_slowly(self, old, new):
        found = changes(old, new)
        assert Counter((one.kind, one.old, one.new) for one in found) == slowly(old, new)
        assert sorted(one.old for one in found if one.old) == sorted(old)
        assert sorted(one.new for one in found if one.new) == sorted(new)

    @given(entities())
    def test_a_version_and_itself(self, found):
        assert {one.kind for one in changes(found, found)} <= {"kept"}

    def test_thousands_in_one_text(self):
        old = [Span(3 * i, 3 * i + 2, "city") for i in range(20_000)]
        new = [Span(3 * i + 1, 3 * i + 3, "city") for i in range(20_000)]
        assert {one.kind for one in changes(old, new)} == {"moved"}


class TestRight:
    @pytest.mark.parametrize(
        ("change", "gold", "right"),
        [
            (Change("lost", Span(0, 4, "city"), None), [(0, 4, "city")], "old"),
            (Change("lost", Span(0, 4, "city"), None), [], "new"),
            (Change("gained", None, Span(0, 4, "city")), [(0, 4, "city")], "new"),
            (Change("gained", None, Span(0, 4, "city")), [(0, 5, "city")], "old"),
            (Change("kept", Span(0, 4, "city"), Span(0, 4, "city")), [(0, 4, "city")], "both"),
            (Change("kept", Span(0, 4, "city"), Span(0, 4, "city")), [], "neither"),
            (Change("relabelled", Span(0, 4, "city"), Span(0, 4, "artist")), [(0, 4, "artist")], "new"),
            (Change("moved", Span(0, 4, "city"), Span(0, 6, "city")), [(0, 5, "city")], "neither"),
            (Change("relabelled", Span(0, 4, "city"), Span(0, 4, "movie")), [(0, 4, "city")], ""),
        ],
    )
    def test_by_the_annotation(self, change, gold, right):
        assert change.right(set(spans(*gold)), ("city", "artist")) == right


class TestCases:
    def cases(self, count):
        random.seed(1)
        for number in range(1, count + 1):
            span = Span(0, number % 5 + 1, random.choice(TYPES))
            kind = random.choice(CHANGE_KINDS)
            change = Change(kind, None if kind == "gained" else span, None if kind == "lost" else span)
            yield Case(number, f"text {number}\nwith é and \u2028", (change,), (span,) if number % 2 else ())

    @pytest.mark.parametrize("limit", [0, 1000, 2**20])
    def test_come_back_as_they_were(self, monkeypatch, limit):
        monkeypatch.setattr("retainer.comparison.changes.BYTES_IN_MEMORY", limit)
        kept = Cases()
        for case in self.cases(200):
            kept.add(case)
        assert len(kept) == 200 and list(kept) == list(self.cases(200))

    def test_walks_do_not_disturb_each_other(self):
        kept = Cases()
        for case in self.cases(9):
            kept.add(case)
        pairs = [(one.number, other.number) for one in kept for other in kept]
        assert pairs == [(i, j) for i in range(1, 10) for j in range(1, 10)]

    def test_for_a_result_file(self):
        change = Change("relabelled", Span(3, 8, "city"), Span(3, 8, "artist"))
        document = Case(4, "to paris", (change,), spans((3, 8, "city"))).as_dict(("city", "artist"))
        assert document == {
            "number": 4,
            "text": "to paris",
            "changes": [
                {
                    "kind": "relabelled",
                    "old": {"type": "city", "word": "paris", "start": 3, "end": 8},
                    "new": {"type": "artist", "word": "paris", "start": 3, "end": 8},
                    "right": "old",
                }
            ],
        }


class TestDrift:
    @pytest.fixture(scope="class")
    def texts(self):
        """What two versions find in 300 texts; every third has nothing, the new one also knows songs."""
        rng = random.Random(5)

        def version(types):
            return [
                [Span(10 * i, 10 * i + rng.randint(3, 5), rng.choice(types)) for i in range(4) if rng.random() < 0.7]
                if at % 3
                else []
                for at in range(300)
            ]

        return version(TYPES), version((*TYPES, "song"))

    def test_as_slowly(self, texts):
        old, new = texts
        counter = AgreementCounter((*TYPES, "song"))
        counter.add([changes(a, b) for a, b in zip(old, new, strict=True)])
        found = [
            (kind, a, b)
            for row in zip(old, new, strict=True)
            for (kind, a, b), n in slowly(*row).items()
            for _ in range(n)
        ]
        for type_, agreement in counter.by_type().items():
            for kind in ("kept", "moved", "relabelled", "lost"):
                assert getattr(agreement, kind) == sum(k == kind and a.type == type_ for k, a, _ in found if a)
            assert agreement.gained == sum(k == "gained" and b.type == type_ for k, _, b in found)
            assert agreement.taken == sum(k == "relabelled" and b.type == type_ for k, _, b in found)
            assert agreement.relabelled_as == Counter(
                b.type for k, a, b in found if k == "relabelled" and a.type == type_
            )
            wanted = {(i, s) for i, row in enumerate(old) for s in row if s.type == type_}
            given = {(i, s) for i, row in enumerate(new) for s in row if s.type == type_}
            assert (agreement.old, agreement.new) == (len(wanted), len(given))
            assert agreement.agreement == pytest.approx(200 * len(wanted & given) / (len(wanted) + len(given)))
            if wanted:
                assert agreement.silent_drift == pytest.approx(100 * len(wanted - given) / len(wanted))
                parts = sum(agreement.share(kind) for kind in ("lost", "relabelled", "moved"))
                assert parts == pytest.approx(agreement.silent_drift)
        total = counter.total(TYPES)
        assert total.old == sum(map(len, old)) and total.kept == sum(k == "kept" for k, _, _ in found)
        assert total.agreement == pytest.approx(
            200 * total.kept / (total.old + sum(s.type != "song" for row in new for s in row))
        )
        assert counter.kinds == Counter(kind for kind, _, _ in found)

    def test_intervals_as_slowly(self, texts):
        old, new = texts
        counter = AgreementCounter(TYPES)
        counter.add([changes(a, b) for a, b in zip(old, new, strict=True)])
        rows = [(set(a), {s for s in b if s.type in TYPES}) for a, b in zip(old, new, strict=True)]
        rows = [(a, b) for a, b in rows if a or b]
        weights = np.random.default_rng(0).poisson(1.0, size=(len(rows), DRAWS))
        for type_ in TYPES:
            values = []
            for draw in range(DRAWS):
                both = size = 0
                for weight, (a, b) in zip(weights[:, draw], rows, strict=True):
                    both += weight * sum(s.type == type_ for s in a & b)
                    size += weight * (sum(s.type == type_ for s in a) + sum(s.type == type_ for s in b))
                values.append(200 * both / size)
            agreement = counter.by_type()[type_]
            assert (agreement.low, agreement.high) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])))
            assert agreement.low < agreement.agreement < agreement.high

    @pytest.mark.parametrize("size", [1, 7, 300])
    def test_parts_do_not_matter(self, texts, size):
        found = [changes(a, b) for a, b in zip(*texts, strict=True)]
        whole, parts = AgreementCounter(TYPES), AgreementCounter(TYPES)
        whole.add(found)
        for at in range(0, len(found), size):
            parts.add(found[at : at + size])
        assert parts.by_type() == whole.by_type() and parts.kinds == whole.kinds

    def test_nothing_found(self):
        counter = AgreementCounter(["city"])
        counter.add([(), ()])
        assert counter.by_type() == {"city": TypeAgreement()}
        assert (
            TypeAgreement().agreement is None
            and TypeAgreement().silent_drift is None
            and TypeAgreement().share("lost") is None
        )
        assert AgreementCounter([]).total([]) == TypeAgreement()
