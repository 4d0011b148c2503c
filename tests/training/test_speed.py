"""What makes training fast must change nothing: narrow tables, half precision, recorded steps, shared GPUs."""

import os
import sys
from dataclasses import replace

import pytest
import torch

import retainer
from retainer.data.generated import generate
from retainer.data.tasks import hide
from retainer.methods import METHODS
from retainer.model.predict import run_tagger, tag
from retainer.model.quirks import NONE
from retainer.runtime import MPS_CONTROL, shared_gpu
from retainer.training.learn import learn
from retainer.training.loop import TrainingLoop
from retainer.training.prepare import DevSet, prepare
from retainer.training.progress import Progress
from retainer.training.recipe import Recipe
from retainer.training.speed.attention_maps import attention_maps
from retainer.training.speed.cuda_graph import CudaGraphStep
from retainer.training.speed.embedding_subset import EmbeddingSubset
from retainer.training.speed.mixed_precision import FullPrecision, MixedPrecision, has_bfloat16
from retainer.training.step import TrainingStep
from retainer.training.task_data import TaskData
from retainer.versions.version import load


@pytest.fixture
def prepared(first, city, quick):
    return prepare(first.tagger, TaskData(city, ("city",)), METHODS["rdp"], quick)


class TestVocabulary:
    def test_a_narrow_network_says_the_same(self, prepared):
        before = run_tagger(prepared.student, prepared.slice, hidden=True)
        vocabulary = EmbeddingSubset(prepared.student.network, [prepared.slice])
        whole = prepared.student.network.get_input_embeddings().weight.clone()
        vocabulary.narrow()
        narrow = prepared.student.network.get_input_embeddings().weight
        after = run_tagger(prepared.student, vocabulary.renumber(prepared.slice), hidden=True)
        assert len(narrow) < len(whole)
        assert torch.equal(before.logits, after.logits) and torch.equal(before.hidden, after.hidden)
        vocabulary.widen()
        assert torch.equal(prepared.student.network.get_input_embeddings().weight, whole)

    def test_another_family(self, roberta, city, quick):
        """RoBERTa's kind counts positions from the padding's number, so that number must stay."""
        prepared = prepare(load(roberta, device="cpu").tagger, TaskData(city, ("city",)), METHODS["rdp"], quick)
        before = run_tagger(prepared.student, prepared.slice, hidden=True)
        vocabulary = EmbeddingSubset(prepared.student.network, [prepared.slice])
        vocabulary.narrow()
        after = run_tagger(prepared.student, vocabulary.renumber(prepared.slice), hidden=True)
        assert len(vocabulary.pieces) < len(vocabulary.whole.weight)
        assert torch.equal(before.hidden, after.hidden)

    def test_padding_keeps_its_number(self, prepared):
        pieces = EmbeddingSubset(prepared.student.network, [prepared.slice]).pieces
        assert pieces[: prepared.slice.pad + 1].tolist() == list(range(prepared.slice.pad + 1))

    @pytest.mark.parametrize("weight_decay", [0.0, 0.5])
    def test_rows_of_absent_pieces_stay(self, first, city, quick, weight_decay):
        version = learn(city, first, recipe=replace(quick, weight_decay=weight_decay), device="cpu")
        old, new = (v.tagger.network.get_input_embeddings().weight for v in (first, version))
        used = torch.unique(first.tagger.tokenize(city.sentences).ids)
        absent = torch.ones(len(old), dtype=torch.bool)
        absent[used] = False
        assert absent.any() and torch.equal(old[absent], new[absent])
        assert not torch.equal(old[used], new[used])

    def test_the_rest_learns_as_with_the_whole_table(self, first, city, quick, monkeypatch):
        recipe = replace(quick, weight_decay=0.0, precision="full")
        narrow = learn(city, first, recipe=recipe, device="cpu").tagger.state_dict()
        monkeypatch.setattr(EmbeddingSubset, "narrow", lambda self: None)
        monkeypatch.setattr(EmbeddingSubset, "renumber", lambda self, corpus: corpus)
        monkeypatch.setattr(EmbeddingSubset, "widen", lambda self: None)
        whole = learn(city, first, recipe=recipe, device="cpu").tagger.state_dict()
        assert narrow.keys() == whole.keys()
        for name in whole:
            assert torch.allclose(narrow[name], whole[name], atol=1e-5), name

    def test_an_unusual_table_is_left_alone(self, prepared):
        class Own(torch.nn.Embedding):
            pass

        table = prepared.student.network.get_input_embeddings()
        prepared.student.network.set_input_embeddings(Own(*table.weight.shape))
        vocabulary = EmbeddingSubset(prepared.student.network, [prepared.slice])
        vocabulary.narrow()
        assert type(prepared.student.network.get_input_embeddings()) is Own
        assert vocabulary.renumber(prepared.slice) is prepared.slice


class TestPrecision:
    def test_the_copy_rounds_and_the_student_does_not(self, prepared):
        half = MixedPrecision(prepared.student)
        for full, rounded in half.pairs:
            assert full.dtype == torch.float32 and rounded.dtype == torch.bfloat16
            assert torch.equal(full.bfloat16(), rounded)
        assert half.tagger.head is prepared.student.head

    def test_gradients_arrive_and_weights_return(self, prepared, quick):
        step = TrainingStep(prepared, prepared.slice, replace(quick, clip=0.0))
        half = step.arithmetic = MixedPrecision(prepared.student)
        step.begin(0)
        step(*prepared.slice.shuffled(16, 0)[0])
        for full, rounded in half.pairs:
            assert torch.equal(full.grad, rounded.grad.float())
            assert torch.equal(full.detach().bfloat16(), rounded.detach())

    def test_a_step_of_half_precision_goes_where_a_full_one_goes(self, first, city, quick):
        moved = []
        for kind in (FullPrecision, MixedPrecision):
            prepared = prepare(first.tagger, TaskData(city, ("city",)), METHODS["rdp"], quick)
            step = TrainingStep(prepared, prepared.slice, replace(quick, clip=0.0))
            step.arithmetic = kind(prepared.student)
            step.arithmetic.tagger.eval()
            step(*prepared.slice.shuffled(16, 0)[0])
            moved.append(
                torch.cat([p.grad.flatten() for p in prepared.student.body.parameters() if p.grad is not None])
            )
        full, half = moved
        assert torch.cosine_similarity(full, half, dim=0) > 0.99

    def test_what_is_frozen_stays_frozen(self, prepared, quick):
        recipe = replace(quick, freeze_embeddings=True)
        step = TrainingStep(prepared, prepared.slice, recipe)
        half = step.arithmetic = MixedPrecision(prepared.student)
        before = prepared.student.network.get_input_embeddings().weight.clone()
        step.begin(0)
        step(*prepared.slice.shuffled(16, 0)[0])
        assert all(full is not prepared.student.network.get_input_embeddings().weight for full, _ in half.pairs)
        assert torch.equal(prepared.student.network.get_input_embeddings().weight, before)

    @pytest.mark.parametrize("able", [True, False])
    def test_the_recipe_decides(self, first, city, quick, monkeypatch, able):
        monkeypatch.setattr("retainer.training.step.has_bfloat16", lambda device: able)
        for precision, kind in (("auto", MixedPrecision if able else FullPrecision), ("full", FullPrecision)):
            prepared = prepare(first.tagger, TaskData(city, ("city",)), METHODS["rdp"], quick)
            assert type(TrainingStep(prepared, prepared.slice, replace(quick, precision=precision)).arithmetic) is kind

    @pytest.mark.parametrize("ability", ["avx512_bf16", "amx_bf16", "avx512_f"])
    def test_asking_a_cpu(self, monkeypatch, ability):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {ability: True}, raising=False)
        assert has_bfloat16(torch.device("cpu")) is (ability != "avx512_f")
        assert not has_bfloat16(torch.device("meta"))

    @pytest.mark.parametrize(("able", "kind"), [(True, torch.bfloat16), (False, torch.float32)])
    def test_epochs_are_compared_in_the_arithmetic_of_training(self, encoder, artist, quick, monkeypatch, able, kind):
        looked, scores = [], DevSet.scores
        monkeypatch.setattr("retainer.training.step.has_bfloat16", lambda device: able)
        monkeypatch.setattr(
            DevSet, "scores", lambda dev, tagger: looked.append(tagger.body.dtype) or scores(dev, tagger)
        )
        learn(artist, encoder, dev=artist, recipe=replace(quick, epochs=2), device="cpu", measure=False)
        assert looked == [kind, kind]

    @pytest.mark.parametrize("able", [True, False])
    def test_types_are_learned_either_way(self, encoder, artist, monkeypatch, able):
        monkeypatch.setattr("retainer.training.step.has_bfloat16", lambda device: able)
        version = learn(artist, encoder, recipe=Recipe(epochs=15, base_lr=3e-3), device="cpu")
        assert version.evaluate(artist).micro > 60
        assert all(p.dtype == torch.float32 for p in version.tagger.parameters())


class Graph:
    """Stands in for a CUDA graph: what runs while it records is remembered and runs again when replayed."""

    broken = False
    recording = None

    def __init__(self):
        self.work = []

    def pool(self):
        return None

    def replay(self):
        for work in self.work:
            work()


class Recorder:
    def __init__(self, graph, pool=None):
        self.graph = graph

    def __enter__(self):
        if Graph.broken:
            raise RuntimeError("operation not permitted when stream is capturing\nmore")
        Graph.recording = self.graph

    def __exit__(self, *_):
        Graph.recording = None


@pytest.fixture
def graphs(monkeypatch):
    monkeypatch.setattr("torch.cuda.CUDAGraph", Graph)
    monkeypatch.setattr("torch.cuda.graph", Recorder)
    monkeypatch.setattr(Graph, "broken", False)
    return Graph


class TestCapture:
    def steps(self, log):
        def step(windows, length):
            def work(windows=windows, length=length):
                log.append((windows.tolist(), length))

            (Graph.recording.work.append if Graph.recording else lambda work: work())(work)

        return step

    def test_every_step_is_made_once_with_its_own_windows(self, graphs):
        log, batches = [], [(torch.tensor([i, i + 1]), 16 if i % 2 else 24) for i in range(9)]
        captured = CudaGraphStep(self.steps(log), 4, torch.device("cpu"), pytest.fail)
        for windows, length in batches:
            captured(windows, length)
        assert log == [(windows.tolist(), length) for windows, length in batches]
        assert set(captured.graphs) == {(2, 16), (2, 24)}

    def test_only_the_very_first_step_runs_plainly(self, graphs):
        log, recorded = [], []
        captured = CudaGraphStep(self.steps(log), 4, torch.device("cpu"), pytest.fail)
        for i, length in enumerate((16, 24, 16, 24)):
            captured(torch.tensor([i, i, i]), length)
            recorded.append(sorted(length for _, length in captured.graphs))
        assert recorded == [[], [24], [16, 24], [16, 24]] and [length for _, length in log] == [16, 24, 16, 24]

    def test_a_shape_that_needs_a_plain_step_first_gets_it(self, graphs, monkeypatch):
        log = []
        captured = CudaGraphStep(self.steps(log), 2, torch.device("cpu"), pytest.fail)
        captured(torch.tensor([0, 0]), 16)
        monkeypatch.setattr(Graph, "broken", True)
        captured(torch.tensor([1, 1]), 24)
        monkeypatch.setattr(Graph, "broken", False)
        captured(torch.tensor([2, 2]), 24)
        assert [windows for windows, _ in log] == [[i, i] for i in range(3)] and set(captured.graphs) == {(2, 24)}

    def test_what_cannot_be_recorded_runs_plainly_and_says_so_once(self, graphs, monkeypatch):
        monkeypatch.setattr(Graph, "broken", True)
        log, notes = [], []
        captured = CudaGraphStep(self.steps(log), 2, torch.device("cpu"), notes.append)
        for i in range(5):
            captured(torch.tensor([i, i]), 16)
        assert [windows for windows, _ in log] == [[i, i] for i in range(5)]
        assert len(notes) == 1 and "not permitted" in notes[0] and "more" not in notes[0]


class TestAStepAsksNothing:
    """On a GPU any question to the device stops the line; here every way to ask raises."""

    @pytest.mark.parametrize(
        "name", [name for name, method in METHODS.items() if not method.joint and method.quirks == NONE]
    )
    def test_no_method_reads_a_number_back(self, first, city, quick, name, monkeypatch):
        prepared = prepare(first.tagger, TaskData(city, ("city",)), METHODS[name], quick)
        with attention_maps(prepared.mapped):
            step = TrainingStep(prepared, prepared.slice, quick)
            step.asks = False
            step.begin(0)
            batch = prepared.slice.shuffled(16, 0)[0]
            step(*batch)
            for name in ("item", "tolist", "cpu", "numpy", "nonzero", "__float__", "__int__", "__index__"):
                monkeypatch.setattr(torch.Tensor, name, _refuse(name))
            monkeypatch.setattr(torch.Tensor, "__bool__", _allow_in_libraries)
            step(*batch)
            monkeypatch.undo()


def _refuse(name):
    def asked(self, *args, **kwargs):
        raise AssertionError(f"the step asked the device for a number ({name})")

    return asked


_truth = torch.Tensor.__bool__
OURS = os.path.dirname(retainer.__file__) + os.sep
"""Where our code is; a checkout may be called retainer too, and have its environment inside."""


def _allow_in_libraries(self):
    """Masks may be looked at by transformers, which does not while a step is recorded; by us never."""
    caller = sys._getframe(1).f_code.co_filename
    assert not caller.startswith(OURS), "the step asked the device for a truth value"
    return _truth(self)


class TestSharing:
    @pytest.fixture
    def control(self, tmp_path, monkeypatch):
        script = tmp_path / MPS_CONTROL
        log = tmp_path / "log"
        started = f'if [ "$1" = -d ]; then echo start $CUDA_MPS_PIPE_DIRECTORY >> {log}; else cat >> {log}; fi'
        script.write_text(f"#!/bin/sh\n{started}\n")
        script.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.delenv("CUDA_MPS_PIPE_DIRECTORY", raising=False)
        return log

    def test_the_service_lives_as_long_as_the_block(self, control):
        with shared_gpu() as shared:
            place = os.environ["CUDA_MPS_PIPE_DIRECTORY"]
            assert shared and os.path.isdir(place)
        assert control.read_text() == f"start {place}\nquit\n"
        assert not os.path.exists(place) and "CUDA_MPS_PIPE_DIRECTORY" not in os.environ

    def test_a_service_that_runs_is_left_alone(self, control, monkeypatch):
        monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", "elsewhere")
        with shared_gpu() as shared:
            assert shared
        assert not control.exists()

    def test_without_the_service_nothing_is_shared(self, monkeypatch, tmp_path):
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("CUDA_MPS_PIPE_DIRECTORY", raising=False)
        with shared_gpu() as shared:
            assert not shared


class TestCost:
    def test_the_teachers_vectors_are_not_kept(self, prepared):
        assert prepared.teacher.output.hidden.untyped_storage().nbytes() == 0

    def test_work_grows_with_sentences_and_not_with_tasks(self, first, city, quick):
        """Counted in pieces and steps, which a busy machine does not change."""
        some = replace(city, sentences=city.sentences[:32])
        thrice = replace(some, sentences=some.sentences * 3)
        prepared_tasks = [
            prepare(first.tagger, TaskData(corpus, ("city",)), METHODS["rdp"], quick) for corpus in (some, thrice)
        ]
        once, more = (TrainingLoop(prepared, quick, 0, Progress()).steps for prepared in prepared_tasks)
        assert more == 3 * once
        second = learn(city, first, recipe=quick, device="cpu")
        third = hide(generate(32, seed=7, types=["movie"]), ["movie"])
        later = prepare(second.tagger, TaskData(third, ("movie",)), METHODS["rdp"], quick)
        counts = [sum(p.numel() for p in tagger.body.parameters()) for tagger in (first.tagger, later.student)]
        assert counts[0] == counts[1], "only the head grows"
        assert later.teacher.output.logits.shape == (later.slice.word_count, len(second.tagger.labels.names))

    def test_batches_for_looking_have_next_to_no_padding(self, first):
        encoded = first.tagger.tokenize(generate(300, seed=2).sentences)
        padded = sum(len(windows) * length for windows, length in encoded.longest_first(256, 48))
        assert padded < 1.1 * encoded.lengths.sum()
        assert len(tag(first.tagger, encoded).ids) == encoded.word_count
