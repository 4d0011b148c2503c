"""Mention swaps: which sentences they make, how these are shown, and what the student learns there."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from recorded_progress import Record

from retainer.bench.cell import Cell
from retainer.bench.preset import preset
from retainer.data.generated import generate
from retainer.data.spans import Sentence, Span
from retainer.data.tasks import hide
from retainer.errors import InputError
from retainer.methods import Retain, method
from retainer.methods.passes import forward_passes
from retainer.model.predict import run_tagger
from retainer.training.learn import learn
from retainer.training.loop import TrainingLoop
from retainer.training.mention_swaps import swapped, with_swaps
from retainer.training.prepare import prepare
from retainer.training.preview import preview
from retainer.training.progress import Progress
from retainer.training.recipe import Recipe
from retainer.training.request import LearnRequest
from retainer.training.step import TrainingStep

BRIEF = Recipe(epochs=2, batch=16, lr=1e-3)
SWAPS = Retain(swap_share=0.5)


@pytest.fixture(scope="module")
def start(encoder):
    """A version that finds artists."""
    data = hide(generate(200, seed=6, types=["artist", "city"]), ["artist"])
    return learn(data, encoder, recipe=Recipe(epochs=12, batch=16, base_lr=3e-3, holdout=0), device="cpu")


@pytest.fixture(scope="module")
def few():
    """Sentences with artists and cities, of which only cities are annotated."""
    return hide(generate(24, seed=4, types=["artist", "city"]), ["city"])


def task_of(start, data, method=SWAPS, recipe=BRIEF, **more):
    return LearnRequest(data, start, method=method, recipe=recipe, device="cpu", **more).resolve()


def loop_of(start, data, method=SWAPS, recipe=BRIEF, **more):
    task = task_of(start, data, method, recipe, **more)
    return TrainingLoop(prepare(start.tagger, with_swaps(task), method, recipe), recipe, 0, Progress())


class TestSwapping:
    SENTENCE = Sentence(("from", "New", "York", "to", "Oslo", "by", "Abba"), (Span(1, 3, "city"), Span(4, 5, "city")))
    OTHER = Sentence(("Queen", "sing"))
    FOUND = ((Span(6, 7, "artist"),), (Span(0, 1, "artist"),))

    def swap(self, found=FOUND, new=("city",), taught=("city",), seed=0, sentences=(SENTENCE, OTHER)):
        return list(swapped(sentences, found, new, taught, seed))

    def test_every_new_entity_gives_way_to_an_old_one(self):
        seen = {one.words for seed in range(20) for one in self.swap(seed=seed)}
        stars = ("Abba", "Queen")
        assert seen == {("from", one, "to", other, "by", "Abba") for one in stars for other in stars}

    def test_nothing_is_annotated_and_the_new_types_are_complete(self):
        [made] = self.swap()
        assert made.spans == () and made.complete == ("city",) and self.swap() == [made]

    def test_what_a_sentence_leaves_open_stays_open(self):
        said = self.SENTENCE.completed(("artist",))
        assert [one.complete for one in self.swap(sentences=(said, self.OTHER))] == [()]

    def test_types_taught_again_are_left_open(self):
        """An entity of theirs may have come in that nobody annotates."""
        [made] = self.swap(taught=("city", "artist"))
        assert made.complete == ("city",)

    def test_an_old_entity_that_is_gold_stays(self):
        sentence = Sentence(("Abba", "in", "Oslo"), (Span(0, 1, "artist"), Span(2, 3, "city")))
        [made] = self.swap(((), (Span(0, 1, "artist"),)), sentences=(sentence, self.OTHER))
        assert made.words == ("Abba", "in", "Queen")

    def test_what_is_annotated_as_new_is_no_old_entity(self):
        wrong = (Span(2, 3, "artist"), Span(6, 7, "artist"))
        assert {one.words[1] for seed in range(20) for one in self.swap((wrong, ()), seed=seed)} == {"Abba"}

    def test_without_an_old_entity_there_is_none(self):
        assert self.swap(((), ())) == []

    @given(st.integers(0, 10_000))
    def test_the_words_around_stay(self, seed):
        """With one mention to draw, a sentence is what a search and replace would make of it."""
        data = hide(generate(12, seed=seed, types=["artist", "city"]), ["city"]).sentences
        found = [*[()] * len(data), (Span(0, 2, "artist"),)]
        made = swapped((*data, Sentence(("Mr", "X"))), found, ("city",), ("city",), seed)
        assert [one.words for one in made] == [tuple(replaced(one)) for one in data if one.spans]


def replaced(sentence):
    """Write a sentence with Mr X for every entity, the slow way."""
    for at, word in enumerate(sentence.words):
        if any(span.start == at for span in sentence.spans):
            yield from ("Mr", "X")
        elif not any(span.start < at < span.end for span in sentence.spans):
            yield word


class TestShowing:
    @pytest.mark.parametrize(("share", "beside"), [(1.0, 8), (0.5, 4), (0.01, 1)])
    def test_every_step_shows_as_many(self, start, few, share, beside):
        loop = loop_of(start, few, Retain(swap_share=share))
        first = loop.task.slice_windows
        assert len(loop.task.swaps.windows) == sum(bool(one.spans) for one in few) > 4
        for windows, _ in loop.batches(1):
            assert (windows >= first).sum() == beside and (windows[:-beside] < first).all()

    def test_beside_text(self, start, few):
        """Each has its own share, and text comes in the order it has without swaps."""
        text = hide(generate(30, seed=8, types=["artist", "city"]), ())
        both = loop_of(start, few, text=text)
        alone = loop_of(start, few, Retain(), text=text)
        of_text = both.task.text.windows
        assert both._batch == 8 + 8 + 4 and alone._batch == 8 + 8
        shown = both._beside()
        assert (shown[np.isin(shown, of_text)] == alone._beside()).all()
        counts = Counter(np.isin(shown, both.task.swaps.windows).tolist())
        assert counts == {False: 8 * both.steps, True: 4 * both.steps}

    def test_a_second_look_is_at_the_data_alone(self, start, few):
        loop = loop_of(start, few)
        step = TrainingStep(loop.task, loop.slice, loop.recipe)
        assert [step._own_rows(len(windows)) for windows, _ in loop.batches(0)] == [
            int((windows < loop.task.slice_windows).sum()) for windows, _ in loop.batches(0)
        ]

    def test_where_nothing_can_be_swapped(self, start):
        """The old version finds no artist in these; they are learned all the same."""
        data = replace(generate(1, seed=1), sentences=(Sentence(("oslo", "!"), (Span(0, 1, "city"),)),) * 12)
        assert with_swaps(task_of(start, data)).swaps == ()
        assert learn(data, start, method=SWAPS, recipe=BRIEF, device="cpu").types == ("artist", "city")


class TestTheLesson:
    def test_every_term_as_the_formula_has_it(self, start, few):
        """The teacher says anew what a swapped sentence holds; no word of it can be of a new type."""
        loop = loop_of(start, few)
        prepared = loop.task
        step = TrainingStep(prepared, prepared.slice, replace(loop.recipe, precision="full"))
        prepared.student.eval()
        windows = torch.from_numpy(prepared.swaps.windows[:6])
        length = int(prepared.slice.lengths[windows.numpy()].max())
        terms = step._terms(windows, length)
        rows = prepared.slice.batch(windows, length).words.flatten()
        rows = rows[rows >= 0]
        p = run_tagger(prepared.student.eval(), prepared.slice).logits[rows].softmax(-1).tolist()
        q = run_tagger(start.tagger, prepared.slice).logits[rows].softmax(-1).tolist()
        slow = -sum(heard[c] * np.log(said[c]) for said, heard in zip(p, q, strict=True) for c in range(len(heard)))
        assert terms["kd"].item() == pytest.approx(slow / len(p), rel=1e-4) and len(p[0]) > len(q[0])
        assert terms["ce"].item() == terms["look"].item() == 0

    def test_what_costs_what(self):
        """Two more passes of the old version, and a share of the student's."""
        plain = forward_passes(Retain(), epochs=10)
        assert forward_passes(SWAPS, epochs=10) == pytest.approx(plain + 2 + 10 * 3 * 0.5)


class TestLearning:
    def test_none_changes_nothing(self, start, few):
        states = [
            learn(few, start, method=one, recipe=BRIEF, device="cpu").tagger.state_dict()
            for one in ("retain", Retain(swap_share=0))
        ]
        assert all(torch.equal(states[0][key], value) for key, value in states[1].items())

    def test_it_makes_a_difference_and_is_recorded(self, start, few):
        version, again, plain = (
            learn(few, start, method=one, recipe=BRIEF, device="cpu") for one in (SWAPS, SWAPS, "retain")
        )
        assert version.fingerprint == again.fingerprint != plain.fingerprint
        assert version.lineage.fields["swap_share"] == 0.5 and version.lineage.data == plain.lineage.data

    def test_a_killed_run_goes_on(self, start, few, tmp_path):
        call = {"method": SWAPS, "recipe": replace(BRIEF, epochs=4), "device": "cpu", "checkpoint_seconds": 0}
        whole = learn(few, start, **call)
        with pytest.raises(KeyboardInterrupt):
            learn(few, start, **call, state_folder=tmp_path / "p", progress=Killed())
        record = Record()
        again = learn(few, start, **call, state_folder=tmp_path / "p", progress=record)
        assert [epoch.number for epoch in record.epochs] == [3, 4] and again.fingerprint == whole.fingerprint

    def test_less_is_found_where_it_is_not(self, start):
        """Where every sentence has a city, its place alone comes to mean one; swapped ones say that it does not."""
        data = hide(generate(150, seed=5, types=["artist", "city"]), ["city"])
        picked = replace(data, sentences=tuple(one for one in data if one.spans))
        unseen = generate(150, seed=9, types=["artist", "city"])
        recipe = Recipe(epochs=4, batch=16, lr=3e-3)
        plain, better = (
            learn(picked, start, method=one, recipe=recipe, device="cpu").evaluate(unseen) for one in ("retain", SWAPS)
        )
        assert better.per_type["city"].predicted < 0.8 * plain.per_type["city"].predicted

    def test_a_first_version_and_a_look_ahead(self, encoder, start, few):
        assert learn(few, encoder, method=SWAPS, recipe=BRIEF, device="cpu").types == ("city",)
        seen = preview(task_of(start, few))
        assert seen.steps == 2 * -(-len(few) // 8) and seen.text is None

    def test_a_share_below_0_is_refused(self):
        with pytest.raises(InputError, match="field swap_share must be a number, 0 or more"):
            Retain(swap_share=-0.5)

    def test_cells_without_keep_their_key(self):
        cells = [
            Cell("conll2003", preset("conll2003").setting("FG-1-PG-1"), "retain", one, 1, "builtin", Recipe())
            for one in (method("retain"), Retain(swap_share=0.0), SWAPS)
        ]
        assert cells[0].configuration == cells[1].configuration != cells[2].configuration
        assert "swap_share" not in cells[0].configuration["fields"] and cells[2].variant == "swap_share=0.5"


class Killed(Record):
    """Stops a run in its third epoch."""

    def step(self):
        super().step()
        if len(self.epochs) == 2:
            raise KeyboardInterrupt
