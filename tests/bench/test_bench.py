"""The bench: presets, cells, what is shared, what is measured again and what is not."""

import errno
import gzip
import json
import multiprocessing
import re
import shutil
import time
from dataclasses import fields, replace
from pathlib import Path

import pytest
from recorded_progress import Record

from results import result
from results import task as scores_after
from retainer.bench.cell import Cell, finished_result, save_result, stored_gold
from retainer.bench.preset import Preset, Setting, preset, presets
from retainer.bench.progress import BenchProgress
from retainer.bench.pseudo_label_quality import score_pseudo_labels
from retainer.bench.result import CellResult, TaskScores
from retainer.bench.resume import CellState, FinishedTasks
from retainer.bench.run import Bench, run_bench
from retainer.bench.task_sequence import TaskSequence
from retainer.cli.main import main
from retainer.cli.progress_board import Board, board
from retainer.data.corpus import Splits
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.data.spans import Span
from retainer.data.splits import read_splits
from retainer.data.tasks import hide, plan
from retainer.decimals import with_sign
from retainer.errors import InputError
from retainer.methods import DEFAULT_METHOD, METHODS, RDP
from retainer.methods import method as find_method
from retainer.metrics.f1 import gold_spans, score
from retainer.report.bench.folder import read_bench
from retainer.report.bench.ranking import COLUMNS, legend, rankings
from retainer.report.bench.rows import MethodRow, with_distinct_variants
from retainer.report.bench.tables import bench_markdown, plain_tables, terminal_columns, terminal_tables
from retainer.training.recipe import RECIPES, Recipe

TYPES = ("artist", "city", "movie")

ODD = {("i2b2", "FG-1-PG-1", "podnet")}
"""Published with a macro above the micro F1, in the tables and in the steps they are made of."""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for name, count, seed in (("train", 150, 1), ("dev", 40, 2), ("test", 40, 3)):
        write(generate(count, seed=seed, types=list(TYPES)), folder / f"{name}.conll", "conll")
    return folder


def make(encoder, name="rdp", seed=1, **recipe):
    numbers = {"epochs": 2, "base_lr": 3e-3, "lr": 1e-3} | recipe
    return Cell(
        "p", Setting("FG-1-PG-1", 1, 1, 2), name, METHODS[name], seed, str(encoder), replace(Recipe(), **numbers)
    )


def without_seconds(document):
    """Leave out of a cell what differs between two runs of the same thing."""
    tasks = [{key: value for key, value in task.items() if key != "seconds"} for task in document["tasks"]]
    return {**{key: value for key, value in document.items() if key != "seconds"}, "tasks": tasks}


class Notes(BenchProgress):
    """Keeps what a bench reports."""

    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


def documents(bench, cells, jobs=1, progress=None):
    """Run a bench and return the documents of its cells."""
    return [result.as_dict() for result in run_bench(bench, cells, jobs, progress or BenchProgress())]


@pytest.fixture(scope="module")
def workers():
    """Processes that begin at once: they are forked from one that has loaded everything, and is loaded once."""
    multiprocessing.set_forkserver_preload(["retainer.bench.run", "transformers.models.bert.modeling_bert"])
    return multiprocessing.get_context("forkserver")


@pytest.fixture(scope="module")
def measured(data, encoder, tmp_path_factory):
    """Two methods, one seed, measured once for all tests that only look."""
    out = tmp_path_factory.mktemp("bench")
    progress = Notes()
    cells = [make(encoder, name) for name in ("rdp", "finetune")]
    found = documents(Bench(data, out, TYPES, "cpu"), cells, progress=progress)
    return out, cells, found, progress.notes


class TestPresets:
    @pytest.mark.parametrize("name", presets())
    def test_fit_the_code(self, name):
        one = preset(name)
        assert one.name == name and list(one.types) == sorted(one.types)
        assert set(one.methods) <= set(METHODS) and set(one.published) <= set(one.settings)
        for setting in one.settings.values():
            assert setting.name == f"FG-{setting.fg}-PG-{setting.pg}"
            assert (len(setting.types or one.types) - setting.fg) % setting.pg == 0
            assert setting.epochs == (20 if setting.pg == 2 else 10)
        assert set(one.seeds) <= {*one.methods, "others"} and min(one.seeds.values()) >= 1
        assert (one.paper is None) == (not one.published), "what is published was made somehow"
        for setting, doubted in one.misprints.items():
            assert set(doubted) <= set(one.published[setting])
        assert one.types == tuple(sorted(one.types))
        for setting, rows_ in one.published.items():
            for method, (micro, macro) in rows_.items():
                assert 0 < macro < 100 and 0 < micro < 100
                assert macro <= micro or (name, setting, method) in ODD

    @pytest.mark.parametrize("name", [name for name in presets() if preset(name).published])
    def test_recipe_and_methods_are_those_of_the_papers(self, name):
        """What the preset says of the papers is what the recipe `paper` and the methods' defaults do."""
        paper, methods = preset(name).paper, preset(name).methods
        assert replace(Recipe(), **paper.recipe) == RECIPES["paper"]
        assert (paper.recipe["batch"], paper.recipe["base_lr"], paper.recipe["lr"]) == (8, 2e-3, 4e-4)
        assert (paper.encoder, paper.runs) == ("bert-base-cased", 5)
        for one, numbers in paper.numbers.items():
            assert find_method(one, numbers) == METHODS[one]
            kinds = {field.name: field.type for field in fields(METHODS[one])}
            assert one == "tbcl" or "-no-" in one or {f for f in kinds if kinds[f] in ("float", "int")} <= set(numbers)
        ours = {"learn_and_review", "frozen", "rdp_tuned", *(one for one in METHODS if one.startswith("retain"))}
        assert set(paper.numbers) == {one for one in methods if fields(METHODS[one])} - ours
        assert set(preset(name).published) == set(preset(name).settings)
        assert paper == preset("conll2003").paper, "they trained the same way everywhere"

    def test_repeated_scores_are_marked_as_misprints(self):
        """The same two averages on two corpora cannot both be right: one of them says so."""
        seen = {}
        for name in presets():
            for setting, rows in preset(name).published.items():
                for method, scores in rows.items():
                    marked = method in preset(name).misprints.get(setting, {})
                    seen.setdefault((method, scores), []).append(marked)
        repeated = {key: marks for key, marks in seen.items() if len(marks) > 1}
        assert len(repeated) == 2 and all(sorted(marks) == [False, True] for marks in repeated.values())

    def test_fewnerd_takes_the_most_frequent_types(self, fewnerd):
        train, dev, test = read_splits(fewnerd)
        counts = sorted(train.counts.items(), key=lambda pair: -pair[1])
        assert preset("fewnerd").types == tuple(sorted(name for name, _ in counts[:18]))
        made = plan(Splits(train, dev, test), fg=1, pg=1, seed=1, types=preset("fewnerd").types)
        assert len(made) == 18 and all(made.task(number).train.counts for number in (1, 9, 18))
        assert preset("fewnerd").setting("FG-6-PG-6").types == tuple(sorted(train.types)) == train.types
        whole = Cell("fewnerd", preset("fewnerd").setting("FG-6-PG-6"), "rdp", METHODS["rdp"], 1, "builtin", Recipe())
        assert len(Bench(fewnerd, Path("o"), preset("fewnerd").types).plan(whole)) == 6

    def test_conll2003_fits_the_corpus(self, conll2003):
        train, dev, test = read_splits(conll2003)
        assert train.types == preset("conll2003").types == dev.types == test.types
        assert dict(test.counts) == preset("conll2003").test

    def test_open_corpora_fit(self, open_corpus):
        name, folder = open_corpus
        train, dev, test = read_splits(folder)
        assert train.types == preset(name).types == dev.types == test.types

    @pytest.mark.parametrize("name", ["ontonotes5", "i2b2"])
    def test_licensed_corpora_have_the_published_rows(self, name):
        one = preset(name)
        assert list(one.settings) == list(one.published) == ["FG-1-PG-1", "FG-2-PG-2", "FG-8-PG-1", "FG-8-PG-2"]
        told = {"finetune", "self_training", "extend_ner", "lucir", "podnet", "cfner", "tbcl", "rdp"}
        without = {"rdp-no-cd", "rdp-no-se", "rdp-no-ppl", "rdp-no-pl"}
        for setting, rows_ in one.published.items():
            assert set(rows_) == (told | without if setting == "FG-1-PG-1" else told)
        assert len(one.types) == {"ontonotes5": 18, "i2b2": 16}[name]

    def test_other_settings_can_be_named(self):
        assert preset("conll2003").setting("FG-2-PG-2") == Setting("FG-2-PG-2", 2, 2, 20)

    def test_misspelt_names(self):
        with pytest.raises(InputError, match="did you mean 'conll2003'"):
            preset("conll2033")
        with pytest.raises(InputError, match="FG-2-PG-1"):
            preset("conll2003").setting("FG-1")


class TestCells:
    def test_the_shape_of_the_file(self, measured, encoder):
        out, cells, found, _ = measured
        document = json.loads(cells[0].file(out).read_text())
        assert document == found[0]
        named = ("preset", "setting", "method", "seed", "encoder", "tasks", "average", "seconds", "versions", "key")
        assert document["peak_bytes"] is None, "only a GPU tells"
        assert set(named) <= set(document)
        first, *later = document["tasks"]
        assert first["old_macro"] is None and first["guesses"] is None
        assert all(task["old_macro"] is not None and set(task["guesses"]) >= {"precision", "recall"} for task in later)
        assert document["average"]["macro"] == pytest.approx(sum(task["macro"] for task in document["tasks"]) / 3)

    def test_what_is_no_default_has_its_own_folder(self, encoder):
        usual = RECIPES["retainer"]
        setting = Setting("FG-1-PG-1", 1, 1, 10)
        plain = Cell("p", setting, "rdp", METHODS["rdp"], 1, "builtin", usual)
        others = [
            replace(plain, encoder=str(encoder)),
            replace(plain, method=RDP(temperature=2.0)),
            replace(plain, recipe=replace(usual, lr=1.0)),
        ]
        assert plain.file(Path("o")) == Path("o/p/FG-1-PG-1/rdp/seed-1.json")
        names = {one.file(Path("o")).parent.name for one in others}
        assert len(names) == 3 and all(re.fullmatch(r"rdp\.[0-9a-f]{8}", name) for name in names)

    def test_what_is_no_default_is_named(self, encoder):
        setting = Setting("FG-2-PG-2", 2, 2, 20)
        paper = RECIPES["paper"].changed({"epochs": 20})
        plain = Cell("p", setting, "rdp", METHODS["rdp"], 1, "builtin", RECIPES["retainer"].changed({"epochs": 20}))
        other = replace(plain, encoder="models/large", recipe=replace(paper, lr=1e-5), method=RDP(temperature=2.0))
        assert plain.variant == ""
        assert replace(plain, recipe=paper).variant == "recipe paper"
        assert replace(plain, recipe=RECIPES["retainer"]).variant == "epochs=10"
        assert other.variant == "recipe paper, lr=1e-05, temperature=2.0, large"

    def test_everything_that_matters_is_in_the_key(self, data, encoder):
        bench = Bench(data, Path("o"), TYPES)
        one = make(encoder)
        made = bench.plan(one)
        keys = {
            one.key(made),
            one.key(bench.plan(replace(one, seed=2))),
            replace(one, seed=2).key(made),
            replace(one, method=RDP(temperature=2.0)).key(made),
            replace(one, name="extend_ner", method=METHODS["extend_ner"]).key(made),
            replace(one, recipe=replace(one.recipe, batch=7)).key(made),
            replace(one, encoder="elsewhere").key(made),
        }
        assert len(keys) == 7
        assert one.base_key(made) == replace(one, method=RDP(temperature=2.0)).base_key(made), "methods share it"
        assert one.base_key(made) != replace(one, recipe=replace(one.recipe, batch=7)).base_key(made)
        later = replace(one, recipe=replace(one.recipe, lr=1.0, freeze_old_rows=True))
        assert one.base_key(made) == later.base_key(made), "what only later tasks look at"

    def test_spans_lie_beside(self, measured, data):
        """Scoring the stored spans again gives the stored scores."""
        out, cells, found, _ = measured
        packed = cells[0].file(out).with_suffix(".spans.json.gz")
        tasks = json.loads(gzip.decompress(packed.read_bytes()))["tasks"]
        made = Bench(data, out, TYPES).plan(cells[0])
        for number, (stored, row) in enumerate(zip(tasks, found[0]["tasks"], strict=True), 1):
            test, types = made.task(number).test, made.types(number)
            spans = [[Span(*span) for span in stored.get(str(i), [])] for i in range(len(test))]
            predicted = replace(test, sentences=tuple(s.with_spans(x) for s, x in zip(test, spans, strict=True)))
            import numpy as np

            starts = np.cumsum([0, *(len(s.words) for s in test)])
            again = score(gold_spans(test, starts, types), gold_spans(predicted, starts, types), types)
            assert again.micro == pytest.approx(row["micro"]) and again.macro == pytest.approx(row["macro"])

    def test_the_gold_spans_lie_beside_and_a_report_can_be_made(self, measured, data):
        out, _, _, _ = measured
        test = read_splits(data)[2]
        assert stored_gold(out / "p") == [sentence.spans for sentence in test]
        packed = gzip.decompress((out / "p" / "gold.spans.json.gz").read_bytes()).decode()
        assert not any(f'"{word}"' in packed for sentence in test for word in sentence.words if word not in TYPES)
        assert main(["report", str(out), "--data", str(data)]) == 0
        page = (out / "report.html").read_text()
        assert "Where methods differ" in page and "do not fit" not in page and "no gold spans" not in page

    def test_a_killed_write_leaves_no_cell(self, tmp_path, monkeypatch):
        monkeypatch.setattr("retainer.bench.cell.write_text", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            save_result(tmp_path / "seed-1.json", CellResult("m", 1, "e", (), {}, {}, {}, 0.0, {}), [])
        assert finished_result(tmp_path / "seed-1.json", "k") is None


class TestRunning:
    def test_nothing_is_measured_twice(self, measured, data, monkeypatch):
        out, cells, found, _ = measured
        monkeypatch.setattr(Bench, "measure", lambda *_: pytest.fail("measured again"))
        progress = Notes()
        assert documents(Bench(data, out, TYPES, "cpu"), cells, progress=progress) == found
        assert progress.notes == ["2 cells, 2 measured before"]

    def test_the_first_version_is_learned_once(self, measured):
        out, _, found, _ = measured
        assert len([path for path in (out / "bases").iterdir() if path.is_dir()]) == 1
        assert found[0]["tasks"][0]["per_type"] == found[1]["tasks"][0]["per_type"]

    def test_a_first_version_names_rdp_whatever_the_default_of_learn(self, measured, data):
        """The first versions behind committed cells say so; with the default of `learn` they would be other records."""
        out, cells, _, _ = measured
        base = Bench(data, out, TYPES, "cpu").first(cells[1])
        assert cells[1].name == "finetune" and base.lineage.method == "rdp" != DEFAULT_METHOD

    def test_a_shared_first_version_changes_nothing(self, measured, data, encoder):
        out, cells, found, _ = measured
        made = Bench(data, out, TYPES).plan(cells[0])
        alone = list(
            TaskSequence(made, METHODS["rdp"], encoder=str(encoder), recipe=cells[0].recipe, seed=1, device="cpu").run()
        )
        assert [step.scores.macro for step in alone] == [task["macro"] for task in found[0]["tasks"]]
        for number, (step, task) in enumerate(zip(alone, found[0]["tasks"], strict=True), 1):
            scores = step.version.evaluate(hide(made.dev, made.types(number)))
            split = {"old_macro": scores.macro_of(made.task(number).old), "new_macro": scores.macro_of(task["types"])}
            assert step.dev is None and task["dev"] == {"micro": scores.micro, "macro": scores.macro, **split}

    def test_other_conditions_are_refused_and_rerun_measures_again(self, measured, data, encoder, tmp_path):
        out, cells, found, _ = measured
        copy = tmp_path / "copy"
        shutil.copytree(out, copy)
        file = cells[1].file(copy)
        file.write_text(json.dumps({**json.loads(file.read_text()), "key": "other"}))
        with pytest.raises(InputError, match="other slices, weights or hyper-parameters"):
            documents(Bench(data, copy, TYPES, "cpu"), cells[1:])
        again = documents(Bench(data, copy, TYPES, "cpu", rerun=True), cells[1:])
        assert again[0]["average"] == found[1]["average"]
        file.write_text("{")
        with pytest.raises(InputError, match="damaged"):
            documents(Bench(data, copy, TYPES, "cpu"), cells[1:])

    @pytest.mark.long
    def test_several_processes_give_the_same(self, measured, data, encoder, tmp_path):
        out, cells, found, _ = measured
        progress = Notes()
        again = documents(Bench(data, tmp_path, TYPES, "cpu"), cells, 2, progress)
        assert [one["average"] for one in again] == [one["average"] for one in found]
        assert progress.notes[0] == "2 cells, 0 measured before" and progress.notes[-1].startswith("[2/2]")

    @pytest.mark.long
    def test_a_killed_bench_goes_on(self, measured, data, encoder, tmp_path, workers):
        """Killed while it learns its first version, it leaves locks and half of a run behind, and nobody minds."""
        _, cells, found, _ = measured
        bench = Bench(data, tmp_path / "out", TYPES, "cpu")
        worker = workers.Process(target=bench.measure, args=(cells[1],))
        worker.start()
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("out/bases/*.lock")) and time.monotonic() < deadline:
            time.sleep(0.005)
        worker.kill()
        worker.join()
        assert not cells[1].file(tmp_path / "out").exists()
        again = documents(bench, cells[1:])
        assert again[0]["average"] == found[1]["average"]

    def test_killed_in_the_middle_of_a_cell_the_table_is_the_same(self, measured, data, encoder, tmp_path, workers):
        """kill -9 after a task, and again in the middle of the next; what comes out is what would have come out."""
        _, cells, found, _ = measured
        bench = Bench(data, tmp_path / "out", TYPES, "cpu", interval=0.0)
        seen = []
        for wanted in ("unfinished/*/state.json", "unfinished/*/task-3.partial/state.safetensors"):
            worker = workers.Process(target=bench.measure, args=(cells[0],))
            worker.start()
            deadline = time.monotonic() + 60
            while not list((tmp_path / "out").glob(wanted)) and worker.is_alive() and time.monotonic() < deadline:
                time.sleep(0.005)
            worker.kill()
            worker.join()
            seen.append([path.name for path in (tmp_path / "out").glob("unfinished/*/task-*")])
        assert seen[0], "something was left behind"
        again = documents(bench, cells[:1])[0]
        assert without_seconds(again) == without_seconds(found[0])
        assert not (tmp_path / "out" / "unfinished").exists()
        spans = [
            cells[0].file(out).with_suffix(".spans.json.gz").read_bytes() for out in (measured[0], tmp_path / "out")
        ]
        assert spans[0] == spans[1]

    def test_a_damaged_state_is_not_used(self, measured, data, tmp_path):
        _, cells, found, _ = measured
        bench = Bench(data, tmp_path / "out", TYPES, "cpu", interval=0.0)
        record = Record()
        state = CellState(tmp_path / "s", "k", progress=record)
        assert state.load("cpu").rows == []
        state.folder.mkdir()
        for text in ("{", '{"key": "k"}', "[]", '{"key": "other"}', '{"key": "k", "rows": [{}], "found": [{}]}'):
            state.file.write_text(text)
            assert state.load("cpu") == FinishedTasks()
        assert len(record.notes) == 4 and all("damaged" in note and "begins again" in note for note in record.notes)
        assert bench.finished(cells[0]) is None

    def test_a_flipped_digit_or_bit_in_a_state_is_noticed(self, first, tmp_path):
        record = Record()
        state = CellState(tmp_path / "s", "k", interval=0.0, progress=record)
        row = TaskScores(("artist",), 50.0, 50.0, {})
        state.save(FinishedTasks([row], [{}], first))
        assert state.load("cpu").rows == [row] and record.notes == []
        whole = state.file.read_text()
        state.file.write_text(whole.replace("50.0", "60.0", 1))
        assert state.load("cpu") == FinishedTasks() and "checksum" in record.notes[-1]
        state.file.write_text(whole)
        weights = state.folder / "task-1" / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-1] + b"!")
        assert state.load("cpu") == FinishedTasks() and "model.safetensors" in record.notes[-1]

    def test_a_full_disk_costs_the_state_and_not_the_cell(self, tmp_path, first, monkeypatch):
        def full(*_, **__):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("retainer.versions.version.Version.save", full)
        record = Record()
        state = CellState(tmp_path / "s", "k", interval=0.0, progress=record)
        state.save(FinishedTasks([], [], first))
        assert len(record.notes) == 1 and "No space left" in record.notes[0] and "goes on" in record.notes[0]

    def test_what_fails_stops_the_rest(self, data, encoder, tmp_path, workers, monkeypatch):
        monkeypatch.setattr("retainer.bench.run.get_context", lambda _: workers)
        wrong = replace(make(encoder), encoder=str(tmp_path / "nowhere"))
        with pytest.raises(InputError, match="no folder"):
            documents(Bench(data, tmp_path / "out", TYPES, "cpu"), [wrong, make(encoder, "finetune")], 2)

    def test_a_missing_part_is_named(self, data, encoder, tmp_path):
        shutil.copy(data / "train.conll", tmp_path / "train.conll")
        with pytest.raises(InputError, match="no dev file"):
            documents(Bench(tmp_path, tmp_path / "o", TYPES, "cpu"), [make(encoder)])


def test_partial_joint_is_measured_and_is_a_bound(measured, data, encoder, tmp_path):
    """From the call to the table: it shares the first version, is kept like any cell, and stands above the others."""
    out = Path(shutil.copytree(measured[0], tmp_path / "out"))
    cells = [*measured[1], make(encoder, "partial_joint")]
    bench = Bench(data, out, TYPES, "cpu")
    found = documents(bench, cells)
    assert len([path for path in (out / "bases").iterdir() if path.is_dir()]) == 1
    bound = found[-1]
    assert bound["method"] == "partial_joint" and bound["fields"] == {} and bound["tasks"][0]["guesses"] is None
    assert bound["tasks"][0]["per_type"] == found[0]["tasks"][0]["per_type"], "the same first version"
    notes = Notes()
    assert documents(bench, cells, progress=notes) == found and notes.notes == ["3 cells, 3 measured before"]
    (ranking,) = read_bench(out).rankings
    assert [row.joint for row in ranking.rows] == [True, False, False] and ranking.best.method != "partial_joint"
    assert ranking.rows[0].method == "partial_joint" and ranking.to_bound(ranking.rows[1], "joint") is None
    assert "| to partial |" in bench_markdown([ranking])


class TestPseudoLabels:
    def test_against_a_slow_count(self, data, encoder, measured):
        out, cells, _, _ = measured
        bench = Bench(data, out, TYPES, "cpu")
        made, base = bench.plan(cells[0]), bench.first(cells[0])
        scores = score_pseudo_labels(base, RDP(pseudo="argmax"), made, 2, cells[0].recipe)
        hidden = [{s for s in sentence.spans if s.type == "artist"} for sentence in made.truth(2)]
        gold = [{(s.start, s.end) for s in sentence.spans} for sentence in made.task(2).train]
        guessed = base.tag(made.task(2).train.sentences)
        free = [
            {s for s in spans if not any(a < s.end and s.start < b for a, b in taken)}
            for spans, taken in zip(guessed, gold, strict=True)
        ]
        correct = sum(len(a & b) for a, b in zip(hidden, free, strict=True))
        assert scores.total.support == sum(map(len, hidden))
        assert abs(scores.total.correct - correct) <= 2, "they differ only where a guess runs into a gold entity"

    def test_a_method_without_pseudo_labels_is_not_scored(self, data, encoder, measured):
        out, cells, _, _ = measured
        bench = Bench(data, out, TYPES, "cpu")
        made, base = bench.plan(cells[0]), bench.first(cells[0])
        for name in ("finetune", "extend_ner", "rdp-no-pl"):
            assert score_pseudo_labels(base, METHODS[name], made, 2, cells[0].recipe) is None
        assert score_pseudo_labels(base, METHODS["rdp"], made, 1, cells[0].recipe) is None


def fake(method, seed, macro, setting="FG-1-PG-1", variant=""):
    scores = {"precision": 80.0, "recall": 60.0}
    second = scores_after(("b", "c"), old_macro=macro - 10, new_macro=macro + 5, pseudo_labels=scores)
    return result(
        method,
        seed,
        setting=setting,
        variant=variant,
        average={"micro": macro + 1, "macro": macro},
        tasks=[scores_after(("a",), new_macro=90.0), second],
        forgetting={"a": 4.0},
    )


PRINTED = Preset(
    "p",
    ("a", "b", "c"),
    methods=("rdp",),
    settings={"FG-1-PG-1": Setting("FG-1-PG-1", 1, 2, 10)},
    seeds={"others": 1},
    published={"FG-1-PG-1": {"rdp": (82.55, 80.64)}},
    test={"a": 40},
)
"""A preset with a published score, of the types and tasks of the cells above."""


def table(cells, preset=None):
    """The lines of the bench's own table of one setting."""
    return plain_tables(rankings(cells, preset))[0].lines


class TestTable:
    CELLS = [fake("rdp", 1, 70.0), fake("rdp", 2, 74.0), fake("joint", 1, 82.0), fake("rdp", 1, 60.0, "FG-2-PG-1")]

    def test_means_and_distances(self):
        found = rankings(self.CELLS, PRINTED)
        assert [ranking.setting for ranking in found] == ["FG-1-PG-1", "FG-2-PG-1"]
        joint, rdp = plain_tables(found)[0].lines
        assert joint[:5] == ["joint", "1", "83.00", "82.00", "0.00"]
        assert rdp == [
            "rdp", "2", "73.00 ± 2.83", "72.00 ± 2.83", "−10.00", "62.00", "77.00", "4.00", "80.00 / 60.00", "",
            "82.55 / 80.64",
        ]  # fmt: skip

    def test_without_joint_there_is_no_distance(self):
        assert table([cell for cell in self.CELLS if cell.setting == "FG-2-PG-1"])[0][4] == ""

    def test_markdown_and_terminal_say_the_same(self):
        ranked = rankings(self.CELLS, None)
        text = bench_markdown(ranked)
        assert text.count("## FG-") == 4 and "| rdp | 2 | 73.00 ± 2.83 |" in text
        assert "; ".join(legend(terminal_columns(ranked))) in text
        assert [table.row_count for table in terminal_tables(ranked)] == [2, 2, 1, 1]

    def test_task_by_task(self):
        _, sheet = plain_tables(rankings(self.CELLS[:2], None))
        assert sheet.columns == ("method", "a", "b + c")
        assert sheet.lines == [["rdp", "90.00", "62.00 / 77.00"]]

    def test_other_numbers_are_other_rows(self):
        kinds = [fake("joint", 1, 82.0), fake("rdp", 1, 70.0), fake("rdp", 1, 71.0, variant="recipe paper")]
        lines = table(kinds, PRINTED)
        assert [(line[0], line[4], line[-1]) for line in lines[1:]] == [
            ("rdp (recipe paper)", "−11.00", "82.55 / 80.64"),
            ("rdp", "−12.00", "82.55 / 80.64"),
        ]

    def test_joint_of_the_same_kind_goes_first(self):
        kinds = [fake("joint", 1, 82.0), fake("joint", 1, 80.0, variant="lr=1"), fake("rdp", 1, 70.0, variant="lr=1")]
        assert [line[4] for line in table(kinds)] == ["0.00", "0.00", "−10.00"]

    def test_the_report_has_the_same_columns_and_two_more(self):
        """One computation stands behind both, down to the text; the terminal's minus is another character."""
        (ranking, _) = rankings(self.CELLS, PRINTED)
        columns = terminal_columns([ranking])
        assert set(COLUMNS) - set(columns) == {"last", "backward", "to partial"}, "the last where it was measured"
        for row, line in zip(ranking.rows, plain_tables([ranking])[0].lines, strict=True):
            fields = ranking.fields(row, COLUMNS)
            assert line == [row.name, *(fields[name] for name in columns)]

    def test_the_table_in_the_repository_is_what_its_cells_give(self):
        folder = Path(__file__).parents[2] / "results" / "bench" / "conll2003"
        assert (folder / "table.md").read_text() == bench_markdown(read_bench(folder).rankings)

    def test_the_guide_explains_every_column(self):
        guide = (Path(__file__).parents[2] / "docs" / "bench.md").read_text()
        rows = [line.split(" | ")[0].removeprefix("| ") for line in guide.splitlines() if line.startswith("| ")]
        assert set(COLUMNS) - {"seeds", "last", "backward"} <= {name for row in rows for name in row.split(", ")}

    def test_joint_stands_above_whatever_beats_it(self):
        lines = table([fake("rdp", 1, 90.0), fake("finetune", 1, 50.0), fake("joint", 1, 82.0), fake("cfner", 1, 60.0)])
        assert [line[0] for line in lines] == ["joint", "rdp", "cfner", "finetune"]

    def test_two_upper_bounds_stand_above_a_rule(self):
        """Both distances are there, each to its own bound; neither bound is best, whatever it scores."""
        cells = [fake("rdp", 1, 90.0), fake("partial_joint", 1, 95.0), fake("joint", 1, 80.0), fake("cfner", 1, 60.0)]
        (ranking,) = rankings([*cells, fake("finetune", 1, 50.0, variant="lr=1")], None)
        sheet, by_task = plain_tables([ranking])
        at, to = sheet.columns.index("to joint"), sheet.columns.index("to partial")
        assert [(line[0], line[at], line[to]) for line in sheet.lines] == [
            ("partial_joint", "+15.00", "0.00"),
            ("joint", "0.00", "−15.00"),
            ("rdp", "+10.00", "−5.00"),
            ("cfner", "−20.00", "−35.00"),
            ("finetune (lr=1)", "−30.00", "−45.00"),
        ]
        assert "to partial: macro minus that of partial_joint" in sheet.caption
        assert ranking.best.name == "rdp" and [ranking.place(row, "macro") for row in ranking.rows] == [0, 0, 1, 2, 0]
        assert sheet.bounds == by_task.bounds == 2
        assert [row.end_section for row in terminal_tables([ranking])[0].rows] == [False, True, False, False, False]

    def test_a_bound_has_the_same_encoder_and_the_same_sentences(self):
        """A larger encoder is not above the bound of a small one; without a bound of its own it has no distance."""

        def cells(pool, encoder, scores, *parts):
            plain = [fake(method, 1, score, variant=", ".join(parts)) for method, score in scores.items()]
            return [replace(cell, encoder=encoder, pool=pool) for cell in plain]

        (ranking,) = rankings(
            [
                *cells(0.0, "builtin", {"joint": 80.0, "partial_joint": 75.0, "rdp": 70.0}),
                *cells(0.0, "builtin", {"rdp": 71.0}, "lr=1"),
                *cells(0.0, "hub/large", {"joint": 90.0, "rdp": 84.0}, "large"),
                *cells(0.0, "hub/large", {"rdp": 83.0}, "lr=1", "large"),
                *cells(0.5, "builtin", {"joint": 77.0, "retain": 73.0}, "pool=0.5"),
                *cells(0.5, "builtin", {"joint": 78.0, "retain": 72.0}, "text_share=0.0", "pool=0.5"),
                *cells(0.5, "hub/large", {"retain": 85.0}, "pool=0.5", "large"),
            ],
            None,
        )
        contenders = [row for row in ranking.rows if not row.joint]
        bounds = ("joint", "partial_joint")
        assert {row.name: tuple(ranking.to_bound(row, bound) for bound in bounds) for row in contenders} == {
            "rdp": (-10.0, -5.0),
            "rdp (lr=1)": (-9.0, -4.0),
            "rdp (large)": (-6.0, None),
            "rdp (lr=1, large)": (-7.0, None),
            "retain (pool=0.5)": (-4.0, None),
            "retain (text_share=0.0, pool=0.5)": (-6.0, None),
            "retain (pool=0.5, large)": (None, None),
        }

    def test_partial_joint_alone_gives_no_distance_to_joint(self):
        (line, rdp) = table([fake("partial_joint", 1, 82.0), fake("rdp", 1, 70.0)])
        assert line[4:6] == ["", "0.00"] and rdp[4:6] == ["", "−12.00"]

    def test_a_setting_without_partial_joint_has_the_columns_of_the_others(self):
        cells = [fake("partial_joint", 1, 82.0), fake("rdp", 1, 70.0, "FG-2-PG-1")]
        first, second = plain_tables(rankings(cells, None))[::2]
        assert first.columns == second.columns and "to partial" in first.columns

    def test_a_method_that_is_unknown_today_is_a_contender(self):
        (ranking,) = rankings([fake("joint_2019", 1, 90.0), fake("rdp", 1, 70.0), fake("joint", 1, 80.0)], None)
        assert [(row.name, row.joint) for row in ranking.rows] == [
            ("joint", True), ("joint_2019", False), ("rdp", False)
        ]  # fmt: skip

    def test_published_scores_stand_only_beside_their_own_corpus(self):
        def shown(support, method="rdp", preset=PRINTED):
            cell = fake(method, 1, 70.0)
            first, last = cell.tasks
            cell = replace(cell, tasks=(first, replace(last, per_type={"a": {"support": support}})))
            (ranking,) = rankings([cell, fake("rdp", 2, 70.0)], preset)
            sheet = plain_tables([ranking])[0]
            caveats = "; ".join(ranking.published.caveats)
            assert sheet.caption.endswith(caveats)
            return dict(zip(sheet.columns, sheet.lines[0], strict=True))["published"], caveats

        assert shown(40) == ("82.55 / 80.64", "")
        assert shown(39)[0] == "" and "39 entities of type a, not on 40" in shown(39)[1]
        assert shown(39, method="rdp_released")[1] == "", "code that loses a sentence has fewer of the same"
        assert shown(40, preset=replace(PRINTED, types=("a", "c", "b")))[0] == ""
        assert "not those of p" in shown(40, preset=replace(PRINTED, types=("a", "c", "b")))[1]
        unknown = shown(39, preset=replace(PRINTED, test={}))
        assert unknown[0] == "82.55 / 80.64" and "was not checked" in unknown[1]
        assert shown(39, preset=replace(PRINTED, published={})) == ("", "")
        doubted = replace(PRINTED, misprints={"FG-1-PG-1": {"rdp": "it is not so", "cfner": "nor that"}})
        assert shown(40, preset=doubted) == ("82.55 / 80.64 ?", "? rdp as printed, but it is not so")
        assert shown(39, preset=doubted)[0] == ""

    @pytest.mark.parametrize(
        ("encoders", "labels"),
        [
            (("/home/me/old/tiny", "/home/me/new/tiny"), ("old/tiny", "new/tiny")),
            (("one/bert", "two/bert"), ("one/bert", "two/bert")),
            (("/a/x/tiny", "/b/x/tiny"), ("a/x/tiny", "b/x/tiny")),
            (("tiny", "/a/tiny"), ("tiny", "a/tiny")),
            (("a/tiny", "a/tiny/"), ("a/tiny", "a/tiny/")),
            (("/a/tiny", "/a/small"), ("tiny", "small")),
        ],
    )
    def test_encoders_of_one_name_have_rows_of_their_own(self, encoders, labels):
        """Otherwise they fall into one row, as if they were two seeds; joint is that of the same encoder too."""
        cells = [
            replace(fake(method, 1, macro + more, variant=f"lr=1, {Path(encoder).name}"), encoder=encoder)
            for encoder, more in zip(encoders, (0.0, 5.0), strict=True)
            for method, macro in (("joint", 80.0), ("rdp", 70.0))
        ]
        found = {line[0]: (line[1], line[3], line[4]) for line in table(with_distinct_variants(cells))}
        assert found == {
            f"{method} (lr=1, {label})": ("1", f"{macro:.2f}", with_sign(macro - joint))
            for label, joint in zip(labels, (80.0, 85.0), strict=True)
            for method, macro in (("joint", joint), ("rdp", joint - 10))
        }

    def test_where_there_was_nothing_to_find_pseudo_labels_are_not_scored(self):
        cell = fake("rdp", 1, 50.0)
        empty = replace(cell.tasks[1], pseudo_labels={"precision": 0.0, "recall": 0.0, "support": 0})
        row = MethodRow("rdp", (replace(cell, tasks=(*cell.tasks, empty)),))
        assert row.pseudo_labels("recall") == 60.0 and row.pseudo_labels("precision") == 80.0

    def test_without_pseudo_labels_there_is_no_score(self):
        cell = fake("finetune", 1, 50.0)
        cell = replace(cell, tasks=tuple(replace(one, pseudo_labels=None) for one in cell.tasks))
        assert MethodRow("finetune", (cell,)).pseudo_labels("precision") is None


class TestTheBoard:
    def test_it_fills_up(self, measured):
        _, cells, found, _ = measured
        made = Board([*cells, replace(cells[0], seed=2)])
        assert [line[1].split() for line in made.lines()] == [["0/2"], ["0/1"]]
        made.add(cells[0], CellResult.of(found[0]))
        assert made.lines()[0] == ("rdp", f"1/2  {found[0]['average']['macro']:5.2f}")
        made.last = "nearly there"
        from rich.console import Console

        console = Console(width=80)
        with console.capture() as shown:
            console.print(made.table())
        assert "nearly there" in shown.get() and "1/2" in shown.get()

    def test_elsewhere_it_is_lines(self, measured, capsys):
        _, cells, found, _ = measured
        with board(cells) as progress:
            progress.cell(cells[0], CellResult.of(found[0]))
            progress.note("a line")
        assert capsys.readouterr().err == "a line\n"

    def test_on_a_terminal(self, measured, capsys, monkeypatch):
        _, cells, found, _ = measured
        monkeypatch.setattr("sys.stderr.isatty", lambda: True)
        with board(cells) as progress:
            progress.note("soon")
            progress.cell(cells[0], CellResult.of(found[0]))
        assert "1/1" in capsys.readouterr().err


class TestTheVerb:
    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ("--ray local --jobs 2", "either --jobs or --ray"),
            ("--ray local --cpus-per-cell -1", "--cpus-per-cell takes a share from 0.0001 to 1, a whole number, or 0"),
            ("--ray local --gpus-per-cell 1.5", "--gpus-per-cell takes a share from 0.0001 to 1, a whole number, or 0"),
            ("--ray local --gpus-per-cell 0.00001", "not 1e-05"),
            ("--ray local --cpus-per-cell 0", "a cell must take some of a node"),
            ("--gpus-per-cell 0.25", "--cpus-per-cell and --gpus-per-cell are for --ray"),
            ("--ray nowhere", "HOST:PORT"),
            ("--ray 127.0.0.1:1", "there is no Ray cluster at 127.0.0.1:1"),
        ],
    )
    def test_what_ray_cannot_do(self, data, encoder, tmp_path, capsys, monkeypatch, options, says):
        monkeypatch.setattr("retainer.workers.ray_cluster.require_ray", lambda: None)
        call = ["bench", "own", "--data", str(data), "--encoder", str(encoder), "--out", str(tmp_path / "o")]
        assert main([*call, "--methods", "rdp", "--seeds", "1", "--setting", "FG-1-PG-1", *options.split()]) == 2
        said = capsys.readouterr().err.splitlines()
        assert says in said[-1] and not list(tmp_path.glob("o/own/FG*"))

    def test_without_ray_it_says_how_to_install_it(self, data, encoder, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr("retainer.workers.ray_cluster.find_spec", lambda name: None)
        call = ["bench", "own", "--data", str(data), "--encoder", str(encoder), "--out", str(tmp_path / "o")]
        assert main([*call, "--methods", "rdp", "--seeds", "1", "--setting", "FG-1-PG-1", "--ray", "local"]) == 2
        assert "pip install 'retainer[ray]'" in capsys.readouterr().err

    def test_bad_calls(self, data, tmp_path, capsys):
        calls = {
            "did you mean 'conll2003'": ["bench", "conll2004", "--data", str(data), "--out", "o"],
            "did you mean 'rdp'": ["bench", "conll2003", "--data", str(data), "--out", "o", "--methods", "rdb"],
            "'paper'": ["bench", "conll2003", "--data", str(data), "--out", "o", "--recipe", "papers"],
            "mean 'wnut17'": ["bench", "WNUT-17", "--data", str(data), "--out", "o"],
            "mean 'extend_ner'": ["bench", "conll2003", "--data", str(data), "--out", "o", "--methods", "ExtendNER"],
            "mean 'FG-2-PG-1'": ["bench", "conll2003", "--data", str(data), "--out", "o", "--setting", "fg-2-pg1"],
            "mean 'temperature'": ["bench", "conll2003", "--data", str(data), "--out", "o", "--set.Temperature", "1"],
            "whole numbers": ["bench", "conll2003", "--data", str(data), "--out", "o", "--seeds", "1,x"],
            "at least 1": ["bench", "conll2003", "--data", str(data), "--out", "o", "--jobs", "0"],
            "nowhere is not a folder": ["bench", "conll2003", "--data", "nowhere", "--out", "o"],
            "no entity of type 'location'": ["bench", "conll2003", "--data", str(data), "--out", str(tmp_path / "o")],
            "has a field 'temprature'": [
                "bench",
                "conll2003",
                "--data",
                str(data),
                "--out",
                "o",
                "--set.temprature",
                "1",
            ],
            "FG-3-PG-7 leaves 1 of 4 types over; choose numbers that divide evenly, or name the types to use; "
            "conll2003 has FG-1-PG-1, FG-2-PG-1": [
                "bench",
                "conll2003",
                "--data",
                str(data),
                "--out",
                "o",
                "--setting",
                "FG-3-PG-7",
            ],
            "'FG1' is not a setting (did you mean 'FG-1-PG-1'?)": [
                "bench",
                "conll2003",
                "--data",
                str(data),
                "--out",
                "o",
                "--setting",
                "FG1",
            ],
        }
        for says, call in calls.items():
            assert main(call) == 2, call
            assert says in capsys.readouterr().err

    def test_from_call_to_table(self, data, encoder, tmp_path, capsys, monkeypatch):
        small = replace(preset("conll2003"), types=TYPES, settings={"FG-2-PG-1": Setting("FG-2-PG-1", 2, 1, 1)})
        monkeypatch.setattr("retainer.cli.verbs.bench.find_preset", lambda name: small)
        call = [
            "bench",
            "conll2003",
            "--data",
            str(data),
            "--out",
            str(tmp_path),
            "--methods",
            "finetune,rdp",
            "--seeds",
            "1",
        ]
        assert main([*call, "--encoder", str(encoder), "--device", "cpu"]) == 0
        shown = capsys.readouterr().out
        assert "FG-2-PG-1" in shown and "finetune" in shown and "rdp" in shown
        table = tmp_path / "conll2003" / "table.md"
        assert f"| rdp ({encoder.name}) | 1 |" in table.read_text()
        assert "85.82" not in table.read_text() and "published scores are left out" in table.read_text()
        assert main([*call, "--encoder", str(encoder), "--device", "cpu", "--set.lr", "5e-4"]) == 0
        assert f"lr=0.0005, {encoder.name}" in (text := table.read_text()), "another call joins the table"
        assert f"| rdp ({encoder.name}) | 1 |" in text
        other = Path(shutil.copytree(encoder, tmp_path / "other" / encoder.name))
        assert main([*call, "--encoder", str(other), "--device", "cpu"]) == 0
        for folder in (encoder, other):
            assert f"| rdp ({folder.parent.name}/{folder.name}) | 1 |" in table.read_text(), "the same last name"
        capsys.readouterr()
        assert main([*call, "--encoder", str(encoder), "--device", "cpu", "--json"]) == 0
        assert [one["method"] for one in json.loads(capsys.readouterr().out)] == ["finetune", "rdp"]


def test_a_plan_for_every_seed(data):
    splits = read_splits(data)
    assert plan(splits, fg=1, pg=1, seed=1).slices != plan(splits, fg=1, pg=1, seed=2).slices
