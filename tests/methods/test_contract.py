"""What every entry of METHODS promises, with a real (tiny) model: whoever adds a method is told here what is wrong."""

import contextlib
import gc
import os

import pytest
import torch

from retainer.data.corpus import Corpus
from retainer.data.spans import Sentence, Span
from retainer.methods import METHODS
from retainer.methods import method as find_method
from retainer.methods.passes import BACKWARD, forward_passes
from retainer.model.predict import run_tagger
from retainer.model.quirks import NONE
from retainer.runtime import repeatable
from retainer.training.learn import learn
from retainer.training.prepare import prepare
from retainer.training.recipe import Recipe
from retainer.training.speed.attention_maps import attention_maps
from retainer.training.step import TrainingStep
from retainer.training.task_data import TaskData
from retainer.versions.version import load

OTHERS = os.environ.get("RETAINER_CONTRACT", "")
"""Methods of other packages to run the contract over instead of ours, as package.module:Class, separated by commas."""
OURS = [name for name, one in METHODS.items() if not one.joint and one.quirks == NONE]
NAMES = OTHERS.split(",") if OTHERS else OURS
ONCE = Recipe(epochs=1, batch=8, lr=1e-3, holdout=0)


def prepared_for(name, version, corpus):
    return prepare(version.tagger, TaskData(corpus, ("city",)), find_method(name), ONCE)


def train(prepared, steps):
    """Make some steps of training, whatever the method needs for them, and return it after each."""
    with attention_maps(prepared.mapped):
        step = TrainingStep(prepared, prepared.slice, Recipe(epochs=100, batch=8, lr=1e-3, warmup=0.0))
        step.begin(0)
        batches = prepared.slice.shuffled(8, 0)
        for number in range(steps):
            step(*batches[number % len(batches)])
            yield step


def corpus_of(*sentences):
    return Corpus(tuple(Sentence(tuple(text.split()), spans) for text, spans in sentences), "test", "generated", "IOB2")


def tensors():
    """All tensors Python has made since it was frozen that hold numbers."""
    return [
        found for found in gc.get_objects() if type(found) in (torch.Tensor, torch.nn.Parameter) and not found.is_meta
    ]


ODD = {
    "nothing annotated": corpus_of(("play miles davis", ()), ("drive to paris", (Span(2, 3, "city"),))),
    "one sentence": corpus_of(("drive to paris", (Span(2, 3, "city"),))),
    "one word": corpus_of(("paris", (Span(0, 1, "city"),))),
    "only the new type": corpus_of(*[("new york", (Span(0, 2, "city"),))] * 9),
}


@pytest.fixture(scope="module")
def foreign(checkpoint):
    return checkpoint("O", "B-z", "I-z", "E-z", "S-z")


@contextlib.contextmanager
def filling(device, seed, *, strict=True):
    """Stand in for ``repeatable``, filling fresh memory: floats with NaN, whole numbers with the largest."""
    with repeatable(device, seed, strict=strict):
        torch.utils.deterministic.fill_uninitialized_memory = True
        assert torch.empty(3).isnan().all()
        yield


@pytest.mark.parametrize("name", NAMES)
class TestEveryMethod:
    @pytest.mark.parametrize("odd", ODD)
    def test_odd_slices(self, name, odd, first):
        prepared = prepared_for(name, first, ODD[odd])
        for step in train(prepared, 2):
            assert torch.isfinite(step.log[: int(step.step)]).all()
        assert all(torch.isfinite(tensor).all() for tensor in prepared.student.state_dict().values())

    @pytest.mark.parametrize("odd", ODD)
    def test_odd_slices_with_nothing_new(self, name, odd, first):
        """More data for what the model knows: no new row, and every artist is annotated."""
        data = [s.with_spans(Span(x.start, x.end, "artist") for x in s.spans) for s in ODD[odd]]
        corpus = Corpus(tuple(data), "test", "generated", "IOB2")
        prepared = prepare(first.tagger, TaskData(corpus, (), retaught=("artist",)), find_method(name), ONCE)
        for step in train(prepared, 2):
            assert torch.isfinite(step.log[: int(step.step)]).all()
        student = prepared.student
        assert student.head.new is None and student.labels == first.tagger.labels and prepared.changed == 0
        assert all(torch.isfinite(tensor).all() for tensor in student.state_dict().values())
        assert (student.head.weight() != first.tagger.head.weight()).any(), "its rows learn"

    def test_before_the_first_step_nothing_has_changed(self, name, first, city):
        prepared = prepared_for(name, first, city)
        old, new = run_tagger(first.tagger, prepared.slice).logits, run_tagger(prepared.student, prepared.slice).logits
        assert torch.equal(old, new[:, : old.shape[1]]) and torch.equal(old.argmax(-1), new.argmax(-1))

    def test_gradients_belong_to_the_student(self, name, first, city):
        before = {key: tensor.clone() for key, tensor in first.tagger.state_dict().items()}
        prepared = prepared_for(name, first, city)
        (step,) = train(prepared, 1)
        assert all(parameter.grad is None for parameter in first.tagger.parameters())
        assert all(torch.equal(before[key], tensor) for key, tensor in first.tagger.state_dict().items())
        moved = {key for key, parameter in prepared.student.named_parameters() if parameter.grad is not None}
        assert any(key.startswith("head.new") for key in moved)
        assert any(key.startswith("network") for key in moved) == (find_method(name).trainable == "all")
        assert step.log[0].isfinite().all()

    def test_the_same_seed_the_same_version_saved_and_loaded(self, name, first, few, tmp_path):
        one = learn(few, first, method=name, recipe=ONCE, seed=3, device="cpu")
        learn(few, first, method=name, recipe=ONCE, seed=3, device="cpu", out=tmp_path / "v")
        again = load(tmp_path / "v", device="cpu")
        state = one.tagger.state_dict()
        assert all(torch.equal(state[key], tensor) for key, tensor in again.tagger.state_dict().items())
        assert again.types == ("artist", "city") and again.lineage.method == name
        text = "play songs by boston on the drive to paris"
        assert one.predict(text) == again.predict(text)

    @pytest.mark.parametrize("half", [False, True])
    def test_nothing_is_read_that_was_not_written(self, name, half, first, few, monkeypatch):
        """On a GPU fresh memory holds what others left there; here it is filled with what cannot go unnoticed."""
        monkeypatch.setattr("retainer.training.step.has_bfloat16", lambda device: half)
        plain = learn(few, first, method=name, dev=few, recipe=ONCE, seed=3, device="cpu")
        monkeypatch.setattr("retainer.training.learn.repeatable", filling)
        filled = learn(few, first, method=name, dev=few, recipe=ONCE, seed=3, device="cpu")
        for one, other in zip(*(version.tagger.parameters() for version in (plain, filled)), strict=True):
            assert torch.equal(one, other)

    def test_from_a_foreign_checkpoint(self, name, foreign, few):
        start = load(foreign, device="cpu")
        learned = learn(few, start, method=name, recipe=ONCE, device="cpu")
        assert learned.types == ("z", "city") and learned.lineage.scores["changed_by_growing"] == 0

    def test_it_costs_as_many_passes_as_are_counted_for_it(self, name, first, monkeypatch):
        made, encode = [], type(first.tagger)._encode

        def counting(self, batch, **asked):
            said = encode(self, batch, **asked)
            made.append(len(batch.ids) * (1 + BACKWARD * said.last_hidden_state.requires_grad))
            return said

        monkeypatch.setattr(type(first.tagger), "_encode", counting)
        list(train(prepared_for(name, first, corpus_of(*[("new york", (Span(0, 2, "city"),))] * 16)), 2))
        counted = forward_passes(find_method(name), epochs=1) / (3 if find_method(name).reviews else 1)
        assert sum(made) / 16 == pytest.approx(counted, rel=0.05), "of few sentences no exact share has a second look"

    def test_memory_does_not_grow_with_steps(self, name, first, city):
        sizes = {}
        gc.collect()
        gc.freeze()  # what earlier tests left behind is not looked at from here on
        for step, _ in enumerate(train(prepared_for(name, first, city), 12)):
            if step in (3, 11):  # with batches of the same shape
                gc.collect()
                stores = (found.untyped_storage() for found in tensors())
                sizes[step] = sum({store.data_ptr(): store.nbytes() for store in stores}.values())
        assert sizes[11] == sizes[3] > 0

    def test_nobody_pays_for_what_another_needs(self, name, first, city, monkeypatch):
        asked = []
        encode = type(first.tagger)._encode
        monkeypatch.setattr(
            type(first.tagger), "_encode", lambda self, batch, **kw: asked.append(kw) or encode(self, batch, **kw)
        )
        list(train(prepared_for(name, first, city), 1))
        wanted = {"layers": "output_hidden_states", "maps": "output_attentions"}
        allowed = {wanted[need] for need in find_method(name).needs if need in wanted}
        assert {key for kw in asked for key in kw} == allowed
