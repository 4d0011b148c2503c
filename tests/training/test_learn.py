import contextlib
import itertools
import os
import subprocess
import sys
from dataclasses import dataclass, replace

import pytest
import torch
from recorded_progress import Record
from torch.nn import functional as F

from retainer.cli.main import main
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.data.spans import Sentence, Span
from retainer.data.tasks import hide
from retainer.errors import InputError
from retainer.methods import METHODS, Finetune
from retainer.model.predict import run_tagger, tag
from retainer.model.quirks import NONE
from retainer.model.tokenization import Tokenization
from retainer.runtime import repeatable
from retainer.training.learn import learn
from retainer.training.loop import Diverged, TrainingLoop
from retainer.training.prepare import prepare
from retainer.training.recipe import ENOUGH_TO_SELECT, RECIPES, Recipe
from retainer.training.step import TrainingStep
from retainer.training.task_data import TaskData, hold_out
from retainer.versions.version import load


def weights(version):
    return {name: tensor.clone() for name, tensor in version.tagger.state_dict().items()}


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def one_step(prepared, recipe):
    step = TrainingStep(prepared, prepared.slice, recipe)
    step.begin(0)
    step(*prepared.slice.shuffled(recipe.batch, 0)[0])


class TestLearning:
    def test_the_loss_falls_and_types_are_found(self, encoder, artist):
        record = Record()
        version = learn(artist, encoder, recipe=Recipe(epochs=15, base_lr=3e-3), device="cpu", progress=record)
        losses = [epoch.losses["ce"] for epoch in record.epochs]
        assert losses[-1] < losses[0] / 3
        assert version.evaluate(artist).micro > 60

    def test_every_step_is_heard(self, first, city):
        record = Record()
        learn(city, first, recipe=Recipe(epochs=3, batch=16, holdout=0), device="cpu", progress=record)
        assert record.steps == 3 * 8 and [e.number for e in record.epochs] == [1, 2, 3]

    def test_same_seed_same_result(self, first, city, quick):
        one, again, other = (learn(city, first, recipe=quick, seed=seed, device="cpu") for seed in (1, 1, 2))
        assert same(weights(one), weights(again)) and not same(weights(one), weights(other))

    def test_same_seed_same_first_version(self, encoder, artist, quick):
        one, again = (learn(artist, encoder, recipe=quick, seed=1, device="cpu") for _ in range(2))
        assert same(weights(one), weights(again)) and one.lineage.parent == again.lineage.parent

    @pytest.mark.long
    def test_same_seed_same_result_in_another_process(self, encoder, artist, city, quick, tmp_path):
        """A fresh process that hashes otherwise against this one, in which much has happened; with a review, which
        takes the longest way."""
        reviews = {"method": "learn_and_review", "device": "cpu"}
        learn(artist, encoder, recipe=quick, out=tmp_path / "v1", **reviews)
        write(city, tmp_path / "city.conll", "conll")
        call = ["learn", tmp_path / "city.conll", "--from", tmp_path / "v1", "--epochs", 2]
        call = [str(part) for part in (*call, *(f"--{name}={value}" for name, value in reviews.items()), "--out")]
        assert main([*call, str(tmp_path / "here")]) == 0
        other = {"PYTHONHASHSEED": "7", "OMP_NUM_THREADS": str(torch.get_num_threads())}
        command = [sys.executable, "-m", "retainer", *call, str(tmp_path / "there")]
        subprocess.run(command, capture_output=True, check=True, env={**os.environ, **other})
        here, there = (load(tmp_path / name, device="cpu") for name in ("here", "there"))
        assert same(weights(here), weights(there)) and here.lineage.weights == there.lineage.weights
        assert here.lineage.method == "learn_and_review" and here.types == ("artist", "city")

    @pytest.mark.parametrize("method", [name for name, one in METHODS.items() if not one.joint and one.quirks == NONE])
    def test_every_method_learns_and_leaves_its_teacher_alone(self, method, first, few, quick):
        before = weights(first)
        version = learn(few, first, method=method, recipe=quick, device="cpu")
        assert version.types == ("artist", "city") and same(before, weights(first))
        assert version.lineage.method == method and version.lineage.scores["changed_by_growing"] == 0
        assert all(torch.isfinite(t).all() for t in version.tagger.state_dict().values())

    def test_joint_from_the_encoder(self, encoder, first, quick):
        both = generate(60, seed=5, types=["artist", "city"])
        assert learn(both, encoder, method="joint", recipe=quick, device="cpu").types == ("artist", "city")
        with pytest.raises(InputError, match="no 'artist'"):
            learn(hide(both, ["city"]), first, method="joint", recipe=quick, device="cpu")

    def test_mixed_data_old_types_are_gold_where_annotated(self, first, quick):
        both = generate(60, seed=5, types=["artist", "city"])
        version = learn(both, first, recipe=quick, device="cpu")
        assert version.lineage.tasks == (("artist",), ("city",))
        prepared = prepare(first.tagger, TaskData(both, ("city",)), METHODS["rdp"], quick)
        targets = prepared.memory[prepared.tokens.labels != prepared.tokens.outside]
        assert torch.equal(targets, prepared.tokens.labels[prepared.tokens.labels != prepared.tokens.outside])

    @pytest.mark.parametrize("labels", [("O", "B-z", "I-z", "E-z", "S-z"), ("z", "O"), ("I-z", "B-z", "O")])
    def test_foreign_checkpoints_of_any_scheme_learn(self, checkpoint, labels, city, quick):
        start = load(checkpoint(*labels), device="cpu")
        version = learn(city, start, recipe=quick, device="cpu")
        assert version.types == ("z", "city") and version.tagger.labels.names[: len(labels)] == labels
        assert version.lineage.tasks == (("z",), ("city",)) and version.lineage.scores["changed_by_growing"] == 0

    def test_byte_level_tokenizers_learn(self, roberta, city, quick):
        assert learn(city, roberta, recipe=quick, device="cpu").types == ("x", "city")

    def test_cosine_heads_learn(self, encoder, artist, city, quick):
        recipe = replace(quick, head="cosine", base_lr=3e-3)
        one = learn(artist, encoder, recipe=recipe, device="cpu")
        two = learn(city, one, recipe=recipe, device="cpu")
        assert two.tagger.head.kind == "cosine" and two.lineage.scores["changed_by_growing"] == 0
        assert float(two.tagger.head.norm) > 1

    def test_published_recipe_runs(self, first, city):
        recipe = replace(RECIPES["paper"], epochs=1)
        old = first.tagger.head.weight()
        version = learn(city, first, recipe=recipe, device="cpu")
        assert torch.equal(version.tagger.head.weight()[: len(old)], old), "old rows are frozen"

    def test_long_texts_are_learned_whole(self, first, quick):
        words = tuple("play songs by prince in boston and then".split() * 60)
        spans = tuple(Span(8 * i + 5, 8 * i + 6, "city") for i in range(60))
        corpus = replace(generate(12, seed=1, types=["city"]), sentences=(Sentence(words, spans),) * 12)
        prepared = prepare(first.tagger, TaskData(corpus, ("city",)), METHODS["rdp"], quick)
        assert len(prepared.slice.lengths) > 12 and len(prepared.tokens.labels) == 12 * len(words)
        assert int((prepared.tokens.labels >= prepared.tokens.old).sum()) == 12 * 60
        version = learn(corpus, first, recipe=replace(quick, epochs=1, holdout=0), device="cpu")
        assert version.types == ("artist", "city")


class TestGrowing:
    def test_the_student_starts_where_the_teacher_stands(self, first, city, quick):
        prepared = prepare(first.tagger, TaskData(city, ("city",)), METHODS["rdp"], quick)
        student = run_tagger(prepared.student, prepared.slice)
        old = len(first.tagger.labels.names)
        assert torch.equal(student.logits[:, :old], prepared.teacher.output.logits), "old scores are identical"
        assert torch.equal(student.logits.argmax(-1), prepared.teacher.output.logits.argmax(-1)), (
            "and so are predictions"
        )
        assert prepared.changed == 0

    def test_frozen_parts_get_no_gradient(self, first, city, quick):
        recipe = replace(quick, freeze_old_rows=True, freeze_embeddings=True)
        prepared = prepare(first.tagger, TaskData(city, ("city",)), METHODS["rdp"], recipe)
        one_step(prepared, recipe)
        student = prepared.student
        assert student.head.old.weight.grad is None and student.head.old.bias.grad is None
        assert student.network.get_input_embeddings().weight.grad is None
        assert student.head.new.weight.grad.abs().sum() > 0
        assert all(p.grad is None for p in first.tagger.parameters()), "the teacher learns nothing"
        assert torch.equal(student.head.old.weight, first.tagger.head.weight())


class TestExactness:
    def test_the_cached_teacher_is_the_teacher(self, first, city, quick):
        prepared = prepare(first.tagger, TaskData(city, ("city",)), METHODS["rdp"], quick)
        first.tagger.eval()
        for windows, length in prepared.slice.shuffled(5, seed=3):
            batch = prepared.slice.batch(windows, length)
            with torch.no_grad():
                again = first.tagger(batch)
            kept = prepared.teacher.output.at(batch.words.flatten()).logits.view_as(again)
            real = batch.words >= 0
            assert torch.allclose(again[real], kept[real], atol=1e-5)
            assert torch.equal(again[real].argmax(-1), kept[real].argmax(-1))

    def test_padding_changes_nothing(self, first, city):
        encoded = Tokenization(first.tagger.tokenize.tokenizer, 64)(city.sentences[:8])
        with torch.no_grad():
            for window in range(8):
                alone = torch.tensor([window])
                short, long = (first.tagger(encoded.batch(alone, n)) for n in (int(encoded.lengths[window]), 64))
                assert torch.allclose(short[0], long[0, : short.shape[1]], atol=1e-5)

    def test_batch_composition_changes_no_prediction(self, first, city, monkeypatch):
        encoded = first.tagger.tokenize(city.sentences)
        together = tag(first.tagger, encoded)
        monkeypatch.setattr("retainer.model.predict.BUDGET", {"cpu": 1})
        alone = tag(first.tagger, encoded)
        assert (together.ids == alone.ids).all()
        assert together.probabilities == pytest.approx(alone.probabilities, abs=1e-5)

    def test_padded_positions_get_no_gradient(self, first, city, quick):
        prepared = prepare(first.tagger, TaskData(city, ("city",)), METHODS["rdp"], quick)
        pad = prepared.slice.pad
        one_step(prepared, quick)
        assert (prepared.student.network.get_input_embeddings().weight.grad[pad] == 0).all()


class TestEarlyStop:
    def test_it_stops_and_says_so(self, first, city, quick):
        record = Record()
        dev = hide(generate(40, seed=9, types=["artist", "city"]), ["city"])
        recipe = replace(quick, epochs=30, lr=5e-3, patience=2)
        version = learn(city, first, dev=dev, recipe=recipe, device="cpu", progress=record)
        kept, made = version.lineage.scores["epoch"], len(record.epochs)
        assert made == kept + 2 < 30
        assert record.notes[-1].strip() == f"stopped early: epoch {kept} was the best so far"

    def test_it_waits_for_the_first_find(self, first, city, quick):
        """A slow start is no reason to give up."""
        record = Record()
        learn(
            city, first, dev=city, recipe=replace(quick, epochs=6, lr=1e-9, patience=2), device="cpu", progress=record
        )
        assert [epoch.dev for epoch in record.epochs] == [0.0] * 6
        assert not any("stopped" in note for note in record.notes)

    def test_it_keeps_what_all_epochs_would_have_kept(self, first, city, quick):
        """Steps depend on the number of epochs asked for, not on where training stops."""
        dev = hide(generate(40, seed=9, types=["artist", "city"]), ["city"])
        versions = [
            learn(city, first, dev=dev, recipe=replace(quick, epochs=8, lr=5e-3, patience=patience), device="cpu")
            for patience in (7, 0)
        ]
        assert same(*map(weights, versions))

    def test_it_is_on_by_default_and_off_in_the_paper(self):
        assert Recipe().patience == 3 and RECIPES["paper"].patience == 0


class TestSelection:
    def test_the_first_best_epoch_is_kept(self, first, city, quick):
        record = Record()
        dev = hide(generate(40, seed=9, types=["artist", "city"]), ["city"])
        recipe = replace(quick, epochs=10, lr=5e-3, precision="full")  # as `evaluate` does, to the last bit
        version = learn(city, first, dev=dev, recipe=recipe, device="cpu", progress=record)
        values = [epoch.dev for epoch in record.epochs]
        assert max(values) > 10
        assert version.lineage.scores["epoch"] == values.index(max(values)) + 1
        assert version.evaluate(dev).per_type["city"].f1 == pytest.approx(max(values))

    def test_old_types_do_not_count_on_dev_unless_asked(self, first, city, quick):
        dev = generate(40, seed=9, types=["artist", "city"])
        seen = {}
        for select in ("new", "all"):
            record = Record()
            recipe = replace(quick, epochs=1, select=select, precision="full")
            version = learn(city, first, method="rdp", dev=dev, recipe=recipe, device="cpu", progress=record)
            seen[select] = record.epochs[0].dev
            scores = version.evaluate(dev)
            assert seen[select] == pytest.approx(scores.micro_of(["city"] if select == "new" else ["artist", "city"]))

    def test_the_last_epoch_when_there_is_nothing_to_select_on(self, first, city, quick):
        for recipe in (replace(quick, holdout=0), replace(quick, select="last")):
            version = learn(city, first, recipe=recipe, device="cpu")
            assert version.lineage.scores["dev"] is None and version.lineage.scores["epoch"] == quick.epochs

    def test_a_small_part_set_aside_measures_and_does_not_choose(self, first, quick, monkeypatch):
        """With a few entities the best epoch is best by chance; a dev set that was given is trusted, however small."""
        data = hide(generate(150, seed=5, types=["artist", "city"]), ["city"])
        few, dev = hold_out(data, quick.holdout, 0)
        kept = learn(data, first, recipe=replace(quick, epochs=4), device="cpu").lineage
        assert dev.counts["city"] < ENOUGH_TO_SELECT and kept.data["dev_sentences"] == len(dev)
        assert kept.scores["epoch"] == 4 and kept.scores["dev"] is None and "city" in kept.scores["per_type"]
        given = learn(few, first, dev=dev, recipe=replace(quick, epochs=4), device="cpu").lineage
        assert given.scores["dev"] is not None
        monkeypatch.setattr("retainer.training.request.ENOUGH_TO_SELECT", dev.counts["city"])
        enough = learn(data, first, recipe=replace(quick, epochs=4), device="cpu").lineage
        assert enough.scores["dev"] == given.scores["dev"] and enough.scores["epoch"] == given.scores["epoch"]

    def test_an_epoch_that_finds_nothing_is_no_best_epoch(self, first, city, quick):
        version = learn(city, first, dev=city, recipe=replace(quick, lr=1e-9), device="cpu")
        assert version.lineage.scores["dev"] == 0 and version.lineage.scores["epoch"] == quick.epochs

    def test_a_dev_set_one_cannot_select_on(self, first, city, artist, quick):
        with pytest.raises(InputError, match="no entity of city, so no epoch can be chosen"):
            learn(city, first, dev=artist, recipe=quick, device="cpu")
        with pytest.raises(InputError, match="no entity of artist, so no epoch"):
            learn(city, first, dev=city, recipe=replace(quick, select="all"), device="cpu")

    def test_hold_out(self):
        corpus = generate(200, seed=1)
        train, dev = hold_out(corpus, 0.1, seed=3)
        assert len(dev) == 20 and len(train) == 180
        assert hold_out(corpus, 0.1, seed=3)[1] == dev != hold_out(corpus, 0.1, seed=4)[1]
        assert sorted(map(repr, [*train, *dev])) == sorted(map(repr, corpus))
        assert hold_out(generate(50, seed=1), 0.1, seed=3)[1] is None, "five sentences tell nothing"

    def test_hold_out_leaves_every_type_something_to_learn_from(self):
        plain = [sentence.with_spans(()) for sentence in generate(300, seed=1)]
        single = replace(generate(1, seed=1), sentences=(Sentence(("a",), (Span(0, 1, "x"),)), *plain))
        for seed in range(30):
            train, dev = hold_out(single, 0.1, seed)
            assert train.counts["x"] == 1 and dev is None


class TestSchedule:
    @pytest.mark.parametrize("recipe", [*RECIPES.values(), Recipe(warmup=0), Recipe(decay="constant", warmup=0.5)])
    @pytest.mark.parametrize("base", [True, False])
    def test_rates_are_sane(self, recipe, base):
        peak = recipe.base_lr if base else recipe.lr
        rates = [recipe.rate(i / 1000, i * recipe.epochs // 1000, base=base) for i in range(1000)]
        assert all(0 <= rate <= peak * 1.0000001 for rate in rates) and max(rates) == pytest.approx(peak, rel=0.01)
        if recipe.decay == "linear":
            assert rates[-1] < peak / 100

    def test_published_drop_in_the_first_task(self):
        paper = RECIPES["paper"]
        assert [paper.rate(0.1, epoch, base=True) for epoch in (0, 4, 5, 9)] == pytest.approx([2e-3, 2e-3, 4e-4, 4e-4])
        assert [paper.rate(0.1, epoch, base=False) for epoch in (0, 9)] == [4e-4, 4e-4]

    def test_the_clock_runs_from_start_to_end(self, first, city, quick):
        ticks = []

        @dataclass(frozen=True)
        class Listener(Finetune):
            def targets(self, tokens, teacher, memory, clock):
                ticks.append((int(clock.epoch), int(clock.step), clock.epochs, clock.steps))
                return tokens

        learn(city, first, method=Listener(), recipe=replace(quick, epochs=3), device="cpu")
        steps = ticks[0][3]
        assert ticks == [(step * 3 // steps, step, 3, steps) for step in range(steps)]

    @pytest.mark.parametrize(
        "change", [{"epochs": 0}, {"batch": 0}, {"lr": 0.0}, {"warmup": 1.0}, {"holdout": -0.1}, {"clip": -1.0}]
    )
    def test_senseless_numbers_are_refused(self, change):
        with pytest.raises(InputError, match=next(iter(change))):
            Recipe(**change)
        with pytest.raises(InputError):
            Recipe().changed({"epochs": "many"})


class Interrupted(Exception):
    pass


class Stopper(Record):
    def epoch(self, epoch):
        super().epoch(epoch)
        if epoch.number == self.stop_after:
            self.armed = True

    def step(self):
        super().step()
        if getattr(self, "armed", False):
            raise Interrupted


class TestResuming:
    @pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
    def test_an_interrupted_run_ends_as_an_uninterrupted_one(self, first, city, quick, tmp_path, optimizer):
        recipe = replace(quick, epochs=4, optimizer=optimizer)
        options = {"recipe": recipe, "device": "cpu", "checkpoint_seconds": 0}
        whole = learn(city, first, out=tmp_path / "whole", **options)
        with pytest.raises(Interrupted):
            learn(city, first, out=tmp_path / "again", progress=Stopper(stop_after=2), **options)
        assert not (tmp_path / "again").exists() and (tmp_path / "again.partial").exists()
        record = Record()
        resumed = learn(city, first, out=tmp_path / "again", progress=record, **options)
        assert [epoch.number for epoch in record.epochs] == [3, 4] and record.notes
        assert same(weights(whole), weights(resumed))
        strip = [[{**e, "seconds": 0} for e in v.lineage.scores["history"]] for v in (whole, resumed)]
        assert strip[0] == strip[1]
        assert not (tmp_path / "again.partial").exists()
        files = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "again")]
        assert files[0] == files[1]

    def test_a_first_task_resumes_too(self, encoder, artist, quick, tmp_path):
        options = {"recipe": quick, "device": "cpu", "checkpoint_seconds": 0, "out": tmp_path / "v"}
        with pytest.raises(Interrupted):
            learn(artist, encoder, progress=Stopper(stop_after=1), **options)
        record = Record()
        learn(artist, encoder, progress=record, **options)
        assert [epoch.number for epoch in record.epochs] == [2]

    def test_another_configuration_starts_over(self, first, city, quick, tmp_path):
        options = {"device": "cpu", "checkpoint_seconds": 0, "out": tmp_path / "v"}
        with pytest.raises(Interrupted):
            learn(city, first, recipe=replace(quick, epochs=4), progress=Stopper(stop_after=2), **options)
        record = Record()
        learn(city, first, recipe=replace(quick, epochs=4, lr=5e-4), progress=record, **options)
        assert [epoch.number for epoch in record.epochs] == [1, 2, 3, 4]

    def test_a_broken_checkpoint_starts_over(self, first, city, quick, tmp_path):
        options = {"device": "cpu", "checkpoint_seconds": 0, "out": tmp_path / "v", "recipe": quick}
        with pytest.raises(Interrupted):
            learn(city, first, progress=Stopper(stop_after=1), **options)
        state = tmp_path / "v.partial" / "state.safetensors"
        state.write_bytes(state.read_bytes()[:1000])
        record = Record()
        learn(city, first, progress=record, **options)
        assert len(record.epochs) == quick.epochs

    def test_states_are_written_at_most_once_a_minute(self, first, city, quick, tmp_path):
        with pytest.raises(Interrupted):
            learn(city, first, out=tmp_path / "v", recipe=quick, device="cpu", progress=Stopper(stop_after=1))
        assert not (tmp_path / "v.partial").exists()


class TestDiverging:
    @pytest.mark.parametrize("broken_epoch", [0, 1])
    def test_a_loss_that_is_no_number_stops_the_run(self, first, city, quick, tmp_path, broken_epoch):
        steps = itertools.count()

        @dataclass(frozen=True)
        class Breaks(Finetune):
            def losses(self, student, teacher, given, targets):
                terms = super().losses(student, teacher, given, targets)
                return {"ce": terms["ce"] * (float("nan") if next(steps) == 8 * broken_epoch + 2 else 1.0)}

        recipe = replace(quick, epochs=3, holdout=0)
        with pytest.raises(Diverged) as error:
            learn(city, first, method=Breaks(), recipe=recipe, device="cpu", out=tmp_path / "v")
        message = str(error.value)
        assert f"epoch {broken_epoch + 1}, batch 3" in message and "training sentences" in message
        assert not (tmp_path / "v").exists()
        kept = tmp_path / "v.partial" / "epoch-1"
        assert kept.exists() == (broken_epoch == 1)
        if kept.exists():
            assert str(kept) in message
            steps = itertools.count()
            good = learn(city, first, method=Finetune(), recipe=recipe, device="cpu")
            saved = load(kept, device="cpu")
            assert saved.types == good.types
            assert all(torch.isfinite(t).all() for t in saved.tagger.state_dict().values())

    def test_a_silly_learning_rate_is_noticed(self, first, city, quick):
        with pytest.raises(Diverged, match="lower the learning rate"):
            learn(city, first, recipe=replace(quick, lr=1e30, clip=0.0, optimizer="sgd"), device="cpu")


class TestBatches:
    @pytest.mark.parametrize(("sentences", "size"), [(1, 8), (256, 8), (512, 16), (1000, 31), (3510, 32)])
    def test_small_slices_get_small_batches(self, sentences, size):
        assert Recipe(batch=32).fitted(sentences).batch == size
        assert Recipe(batch=4).fitted(sentences).batch == 4, "never more than asked for"

    def test_is_noted_and_recorded(self, first, city, quick):
        record = Record()
        version = learn(city, first, recipe=replace(quick, batch=64, epochs=1), device="cpu", progress=record)
        assert version.lineage.recipe["batch"] == 64 and version.lineage.scores["batch"] < 64
        assert any(f"batch size reduced from 64 to {version.lineage.scores['batch']}" in text for text in record.notes)

    def test_the_loop_takes_them(self, first, city, quick):
        record = Record()
        learn(city, first, recipe=replace(quick, batch=32, epochs=1, holdout=0), device="cpu", progress=record)
        assert record.steps == -(-len(city) // 8)


class TestWithoutRepeatableKernels:
    """What torch raises for an operation that has no repeatable kernel."""

    ERROR = "frobnicate_cuda does not have a deterministic implementation, but you set ..."

    def test_learning_goes_on_and_says_so(self, first, city, quick, monkeypatch):
        asked = []

        @contextlib.contextmanager
        def repeatable(device, seed, *, strict):
            asked.append(strict)
            torch.manual_seed(seed)
            yield

        def train(self, checkpoint, run=TrainingLoop.run):
            if asked[-1]:
                raise RuntimeError(self_error)
            return run(self, checkpoint)

        self_error, watch = self.ERROR, Record()
        monkeypatch.setattr("retainer.training.learn.repeatable", repeatable)
        monkeypatch.setattr(TrainingLoop, "run", train)
        learned = learn(city, first, recipe=quick, device="cpu", progress=watch)
        assert asked == [True, False] and "city" in learned.types
        assert any("frobnicate_cuda" in note for note in watch.notes)

    @pytest.mark.parametrize("device", ["cpu", "cuda"])
    def test_only_inside(self, device, monkeypatch):
        """What is asked for is not asked for afterwards: the process may have other things to do."""
        monkeypatch.setattr(torch.cuda, "set_device", lambda _: None)
        filling = torch.utils.deterministic.fill_uninitialized_memory
        for strict in (True, False):
            with pytest.raises(ZeroDivisionError), repeatable(torch.device(device), 1, strict=strict):
                assert torch.are_deterministic_algorithms_enabled()
                assert torch.is_deterministic_algorithms_warn_only_enabled() is not strict
                assert not torch.utils.deterministic.fill_uninitialized_memory
                raise ZeroDivisionError
            assert not torch.are_deterministic_algorithms_enabled()
            assert torch.utils.deterministic.fill_uninitialized_memory is filling

    @pytest.fixture
    def several_threads(self):
        usual = torch.get_num_threads()
        torch.set_num_threads(4)
        yield
        torch.set_num_threads(usual)

    def test_an_encoder_may_index_its_weights(self, several_threads):
        """On a CPU the threads add up the gradient of that in the order in which they come, unless asked not to."""
        rows, towards = torch.randint(50, (4000,)), torch.randn(4000, 64)
        results = []
        for _ in range(40):
            table = torch.zeros(50, 64, requires_grad=True)
            with repeatable(torch.device("cpu"), 1):
                (table[rows] * towards).sum().backward()
            results.append(table.grad)
        assert all(torch.equal(result, results[0]) for result in results)

    def test_other_errors_are_errors(self, first, city, quick, monkeypatch):
        monkeypatch.setattr(TrainingLoop, "run", lambda *_: (_ for _ in ()).throw(RuntimeError("out of memory")))
        with pytest.raises(RuntimeError, match="out of memory"):
            learn(city, first, recipe=quick, device="cpu")


class TestWrongData:
    def test_nothing_new(self, first, artist, quick):
        with pytest.raises(InputError, match=r"is new to the model, which already knows artist"):
            learn(artist, first, recipe=quick, device="cpu")

    def test_a_type_the_data_lack(self, first, city, quick):
        with pytest.raises(InputError, match="no entity of type 'movie'"):
            learn(city, first, types=["movie"], recipe=quick, device="cpu")

    @pytest.mark.parametrize("name", ["O", " city"])
    def test_a_name_no_type_can_have(self, first, city, quick, name):
        renamed = [s.with_spans(Span(x.start, x.end, name) for x in s.spans) for s in city]
        with pytest.raises(InputError, match="no type can be called"):
            learn(replace(city, sentences=tuple(renamed)), first, recipe=quick, device="cpu")

    def test_nothing_annotated(self, first, city, quick):
        with pytest.raises(InputError, match="no annotated entity"):
            learn(hide(city, []), first, recipe=quick, device="cpu")

    def test_types_not_picked_count_as_outside(self, first, quick):
        both = generate(60, seed=5, types=["city", "movie"])
        version = learn(both, first, types=["movie"], recipe=quick, device="cpu")
        assert version.types == ("artist", "movie")

    def test_a_folder_that_exists(self, first, city, quick, tmp_path):
        (tmp_path / "v").mkdir()
        with pytest.raises(InputError, match="exists already"):
            learn(city, first, recipe=quick, device="cpu", out=tmp_path / "v")


def test_cross_entropy_of_the_loop_is_that_of_torch(first, city, quick):
    """The loop gathers, flattens and masks; the plain way is a padded batch and torch's own loss."""
    prepared = prepare(first.tagger, TaskData(city, ("city",)), METHODS["finetune"], quick)
    windows, length = prepared.slice.shuffled(16, 0)[0]
    batch = prepared.slice.batch(windows, length)
    labels = torch.full_like(batch.words, -100)
    for row, column in (batch.words >= 0).nonzero().tolist():
        labels[row, column] = prepared.tokens.labels[batch.words[row, column]]
    with torch.no_grad():
        plain = F.cross_entropy(prepared.student(batch).flatten(0, 1), labels.flatten())
    step = TrainingStep(prepared, prepared.slice, replace(quick, precision="full"))
    step(windows, length)  # in evaluation mode, for nobody began an epoch
    assert float(step.log[0, 0]) == pytest.approx(float(plain), rel=1e-5)
