import json
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retainer.data.corpus import Corpus, Splits
from retainer.data.generated import generate
from retainer.data.io import read
from retainer.data.spans import Sentence, Span
from retainer.data.tasks import greedy_slices, group_types, hide, plan
from retainer.errors import InputError


def sentence(*types):
    words = tuple(f"w{i}" for i in range(len(types) + 1))
    return Sentence(words, tuple(Span(i, i + 1, type_) for i, type_ in enumerate(types)))


def test_groups_of_types():
    assert group_types("abcd", 1, 1) == (("a",), ("b",), ("c",), ("d",))
    assert group_types("abcd", 2, 1) == (("a", "b"), ("c",), ("d",))
    assert group_types("abcde", 1, 2) == (("a",), ("b", "c"), ("d", "e"))
    assert group_types("ab", 2, 5) == (("a", "b"),)


@pytest.mark.parametrize(("fg", "pg"), [(1, 2), (0, 1), (1, 0), (5, 1)])
def test_groups_that_do_not_fit_are_refused(fg, pg):
    with pytest.raises(InputError, match=f"FG-{fg}-PG-{pg}"):
        group_types("abcd", fg, pg)


def replay(sentences, groups, slices):
    """Walk the slices sentence by sentence with the rule written out the long way, and say what breaks it."""
    types = [type_ for group in groups for type_ in group]
    where = {row: number for number, rows in enumerate(slices) for row in rows}
    assert sum(map(len, slices)) == len(where), "slices overlap"
    room = {number: int(len(sentences) * (len(group) / len(types))) for number, group in enumerate(groups)}
    frequency = Counter()
    for one in sentences:
        for span in one.spans:
            frequency[span.type] += 1
    by_chance = 0
    for row, one in enumerate(sentences):
        wanted = None
        for type_ in sorted({span.type for span in one.spans}, key=lambda t: (frequency[t], t)):
            slice_ = next(number for number, group in enumerate(groups) if type_ in group)
            if room[slice_] > 0:
                wanted = slice_
                break
        if wanted is not None:
            assert where[row] == wanted, f"sentence {row} belongs to slice {wanted}"
        elif any(room.values()):
            assert room[where[row]] > 0
            by_chance += 1
        else:
            assert row not in where
        if row in where:
            room[where[row]] -= 1
    return by_chance


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sets(st.sampled_from("abcd")), min_size=1, max_size=60), st.integers(0, 5))
def test_greedy_slices_obey_the_rule(rows, seed):
    sentences = [sentence(*sorted(types)) for types in rows]
    groups = (("a", "b"), ("c",), ("d",))
    slices = greedy_slices(sentences, groups, seed)
    replay(sentences, groups, slices)
    assert all(list(rows) == sorted(rows) for rows in slices), "file order"
    assert slices == greedy_slices(sentences, groups, seed)


def test_seed_decides_only_where_chance_does():
    sentences = [sentence() for _ in range(40)] + [sentence("a"), sentence("b")] * 20
    random.Random(0).shuffle(sentences)
    one, other = (greedy_slices(sentences, (("a",), ("b",)), seed) for seed in (1, 2))
    assert one != other
    assert [len(rows) for rows in one] == [len(rows) for rows in other] == [40, 40]


def test_hiding():
    corpus = Corpus((sentence("a", "b"), sentence("b")))
    assert hide(corpus, ["a"]).counts == {"a": 1}
    assert [s.words for s in hide(corpus, [])] == [s.words for s in corpus]


@pytest.fixture(scope="module")
def made():
    types = ["artist", "city", "movie"]
    parts = [generate(size, seed=size, types=types) for size in (90, 30, 40)]
    return plan(Splits(*parts), fg=1, pg=1, seed=3)


def test_a_task_shows_what_the_protocol_says(made):
    for number, new in enumerate(["artist", "city", "movie"], 1):
        task = made.task(number)
        assert task.new == (new,)
        assert task.types == ("artist", "city", "movie")[:number]
        assert task.train.types == task.dev.types == (new,)
        assert len(task.dev) == 30 and len(task.test) == 40
        assert set(task.test.types) == set(task.types)
        assert [s.words for s in task.train] == [s.words for s in made.truth(number)]
    hidden = sum(made.truth(2).counts.values()) - sum(made.task(2).train.counts.values())
    assert hidden > 0


def test_joint_sees_everything_so_far(made):
    task = made.joint(2)
    assert task.old == () and task.new == ("artist", "city")
    assert len(task.train) == len(made.slices[0]) + len(made.slices[1])
    assert set(task.train.types) == set(task.dev.types) == {"artist", "city"}


@pytest.mark.parametrize(("fg", "number"), [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)])
def test_partial_joint_sees_every_slice_with_the_types_of_its_own_task(fg, number):
    parts = [generate(size, seed=size, types=["artist", "city", "movie"]) for size in (90, 30, 40)]
    made = plan(Splits(*parts), fg=fg, pg=1, seed=3)
    task, whole = made.partial_joint(number), made.joint(number)
    assert (task.number, task.new, task.old) == (number, whole.new, ()) and task.types == made.types(number)
    assert (task.dev, task.test) == (whole.dev, whole.test)
    owner = {row: made.groups[at] for at, rows in enumerate(made.slices[:number]) for row in rows}
    assert len(task.train) == len(owner) == sum(map(len, made.slices[:number]))
    for row, shown in zip(sorted(owner), task.train, strict=True):
        truth = made.train[row]
        assert shown.words == truth.words and shown.complete == owner[row]
        assert shown.spans == tuple(span for span in truth.spans if span.type in owner[row])
    hidden = whole.train.counts.total() - task.train.counts.total()
    assert hidden > 0 if number > 1 else hidden == 0
    assert all(sentence.complete is None for sentence in whole.train), "joint leaves that to whoever learns"


def test_types_can_be_picked_and_ordered():
    corpus = generate(60, seed=1, types=["artist", "city", "movie"])
    assert plan(Splits(corpus), fg=1, pg=1, types=["movie", "artist"]).groups == (("movie",), ("artist",))
    with pytest.raises(InputError, match="'song'"):
        plan(Splits(corpus), fg=1, pg=1, types=["song", "city"])
    with pytest.raises(InputError, match="twice"):
        plan(Splits(corpus), fg=1, pg=1, types=["city", "city"])


def test_manifest_counts_and_has_no_text(made):
    manifest = made.manifest()
    text = json.dumps(manifest)
    assert manifest["setting"] == "FG-1-PG-1" and manifest["seed"] == 3
    for number, task in enumerate(manifest["tasks"], 1):
        truth = made.truth(number)
        assert task["sentences"] == len(truth) == len(task["rows"])
        assert task["words_of"]["hidden_old"] == sum(
            x.end - x.start for s in truth for x in s.spans if x.type in made.types(number - 1)
        )
    assert not any(word in text for word in made.train[0].words if len(word) > 6)
    assert manifest["files"]["train"]["sha256"] == made.manifest()["files"]["train"]["sha256"]


class TestConll2003:
    """Counts that hold whatever the random draws, on the copy the literature's tables were made on."""

    def test_files(self, conll2003):
        counted = {
            "train": (14041, 203621, 2909, [7129, 3403, 6297, 6600]),
            "dev": (3250, 51362, 645, [1837, 918, 1341, 1842]),
            "test": (3453, 46435, 697, [1662, 693, 1656, 1617]),
        }
        for name, (sentences, words, empty, entities) in counted.items():
            corpus = read(conll2003 / f"{name}.txt")
            assert corpus.types == ("location", "misc", "organisation", "person")
            assert (len(corpus), sum(len(s.words) for s in corpus)) == (sentences, words)
            assert sum(not s.spans for s in corpus) == empty
            assert [corpus.counts[type_] for type_ in corpus.types] == entities
            assert corpus.scheme == "IOB2" and not corpus.oddities

    @pytest.mark.parametrize(("fg", "sizes"), [(1, [3510] * 4), (2, [7020, 3510, 3510])])
    def test_slices(self, conll2003, fg, sizes):
        train = read(conll2003 / "train.txt")
        made = plan(Splits(train), fg=fg, pg=1, seed=1)
        assert [len(rows) for rows in made.slices] == sizes
        assert len(made.manifest()["dropped_rows"]) == 1
        by_chance = replay(train.sentences, made.groups, made.slices)
        assert by_chance >= 2909, "at least the sentences without entities are drawn"
        counts = [made.truth(number).counts for number in range(1, len(made) + 1)]
        after = counts[2:] if fg == 1 else counts[1:]
        assert all(count["misc"] < 40 for count in after), "the rarest type hardly appears after its own slice"
