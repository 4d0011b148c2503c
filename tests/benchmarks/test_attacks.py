"""The programs that attack: each notices what it is there to notice."""

import contextlib
import importlib
import os
import random
import sqlite3
import sys
from pathlib import Path

import pytest

from retainer.cli.main import VERBS
from retainer.data.formats.binary import BINARY_FORMATS
from retainer.data.formats.table import FORMATS
from retainer.serve.app import api_app
from retainer.serve.metrics import Metrics
from retainer.serve.registry import Registry
from retainer.serve.settings import Settings
from retainer.serve.workbench.served_project import ServedProject
from retainer.workbench.project import Project


@pytest.fixture(scope="module")
def program():
    folder = str(Path(__file__).parents[2] / "benchmarks")
    sys.path.insert(0, folder)
    yield importlib.import_module
    sys.path.remove(folder)


class TestData:
    @pytest.fixture
    def attack(self, program):
        return program("attack_data")

    def test_every_format_in_every_way_is_read_or_refused(self, attack, tmp_path, monkeypatch):
        monkeypatch.setattr(attack, "called", lambda argv: "")  # the verbs take their time
        tally = {way: attack.Tally() for way in attack.WAYS}
        for number in range(70):
            attack.one(f"test-{number}", tmp_path / "file", tmp_path, tally)
        assert sum(one.files for one in tally.values()) > 50
        assert [failure for one in tally.values() for failure in one.failed] == []
        assert sum(one.read for one in tally.values()) > 10 and sum(one.refused for one in tally.values()) > 10

    def test_ways_give_the_same_for_the_same_seed(self, attack):
        data = b"a\tB-x\nb\tO\n\n" * 20
        for way in attack.WAYS.values():
            if way is not attack.empty:  # which has random bytes
                assert way(data, random.Random(1)) == way(data, random.Random(1))

    def test_failures_are_noticed(self, attack, tmp_path, monkeypatch, capsys):
        file = tmp_path / "a.conll"
        file.write_text("a\tB-x\n")
        monkeypatch.setattr(attack, "retainer", lambda argv: 3)
        assert "status 3" in attack.called(["check"])
        monkeypatch.setattr(attack, "retainer", lambda argv: 0 * sys.stdout.write("\x1b[2J"))
        assert "steers the terminal" in attack.called(["check"])
        monkeypatch.setattr(attack, "retainer", lambda argv: 2 + 0 * sys.stderr.write("retainer: " + "x" * 9000))
        assert "9010 characters" in attack.called(["check"])
        monkeypatch.setattr(attack, "read", lambda *_: 1 / 0)
        assert "ZeroDivisionError" in attack.tried(file, None, tmp_path)[1]
        tally = {"healthy": attack.Tally(1, 0, 1, ["file 1: broken"])}
        assert attack.told(tally, 0.0) == 1 and attack.told({"healthy": attack.Tally()}, 501.0) == 1
        assert attack.told({"healthy": attack.Tally(1, 1)}, 100.0) == 0
        assert "file 1: broken" in capsys.readouterr().out


class TestSlopes:
    @pytest.fixture
    def slopes(self, program):
        return program("slopes")

    def test_every_format_and_check_is_there(self, slopes, tmp_path):
        measured = {what for what, _, _ in slopes.works(tmp_path)}
        assert measured == {*FORMATS, *BINARY_FORMATS, "gzip", *slopes.CHECKS}
        assert {of for of, _ in slopes.ODD} == set(FORMATS)

    def test_every_work_can_be_done(self, slopes, tmp_path):
        for _, _, make in slopes.works(tmp_path):
            make(20)()

    def test_every_route_with_a_body_is_there_and_answers(self, slopes, pair):
        for _, _, make in slopes.route_works(pair):
            make(20)()
        registry = Registry({}, Metrics(), str)
        paths = api_app(registry, Settings(label_studio=True), ServedProject(None, registry)).openapi()["paths"]
        assert {route for route, _ in slopes.ROUTES} == {
            path for path, methods in paths.items() if "requestBody" in methods.get("post", {})
        }

    @pytest.mark.parametrize(("power", "steep"), [(1, False), (2, True)])
    def test_quadratic_work_is_steep(self, slopes, monkeypatch, power, steep):
        clock = [0.0]
        monkeypatch.setattr(slopes.time, "process_time", lambda: clock[0])
        monkeypatch.setattr(slopes.gc, "collect", lambda: 0)  # all that other tests left behind takes its time

        def make(size):
            def work():
                clock[0] += 0.1 * (size / slopes.FIRST) ** power

            return work

        size, whole, half = slopes.doubled(make, 1.0)
        assert slopes.is_steep(half, whole) == steep and whole / half == pytest.approx(2**power)


class TestEvents:
    @pytest.fixture
    def attack(self, program):
        return program("attack_events")

    def test_every_verb_that_writes_is_there(self, attack):
        writing = {verb.split()[0] for verb in attack.VERBS}
        assert set(VERBS) - writing == {"predict", "serve", "log", "verify", "check", "completion", "push"}

    def test_what_changes_a_file_is_an_event(self, attack, tmp_path):
        inside, write = str(tmp_path / "a"), os.O_WRONLY | os.O_CREAT
        assert attack.is_change("open", (inside, "w", write), tmp_path)
        assert attack.is_change("os.rename", (inside, "b", -1, -1), tmp_path)
        assert not attack.is_change("open", (inside, "r", os.O_RDONLY), tmp_path)
        assert not attack.is_change("open", ("/dev/null", "w", write), tmp_path)
        assert not attack.is_change("open", (3, "w", write), tmp_path)
        assert not attack.is_change("import", ("json", None), tmp_path)
        assert attack.is_change(attack.SQL, (tmp_path / "a.sqlite",), tmp_path)

    def test_a_database_is_judged_by_its_rows(self, attack, tmp_path, monkeypatch):
        monkeypatch.setattr("retainer.workbench.clock.datetime", attack.StoppedClock)
        place, found = tmp_path / "project", []
        with Project.open(place, create=True) as project:
            for names in ([], ["city"], ["dish"]):
                with pytest.raises(ZeroDivisionError), project.database.writing():
                    project.types.ensure(["never"], "ann")
                    1 / 0  # noqa: B018
                project.types.ensure(names, "ann")
                found.append(attack.content(place)["project.sqlite"])
        assert found[0] == "" and len(set(found)) == 3
        with Project.open(tmp_path / "other", create=True) as project:
            project.types.ensure(["city", "dish"], "ann")
        assert attack.content(tmp_path / "other") == attack.content(place) == {"project.sqlite": found[2]}

    def test_every_statement_is_an_event(self, attack, tmp_path, monkeypatch):
        found = []
        with contextlib.closing(attack.watched(sqlite3.connect)(tmp_path / "a.sqlite")) as connection:
            monkeypatch.setattr(sys, "audit", lambda *event: found.append(event))
            connection.execute("SELECT 1")
        assert found == [(attack.SQL, tmp_path / "a.sqlite")]

    def killed(self, attack, monkeypatch, tmp_path, first, again, status=(-9, 0)):
        """What is wrong with a verb that writes these files when it is killed, and these when it is given again."""
        calls = iter(zip(status, (first, again), strict=True))

        def run(command, folder, kill_at=0):
            ends, files = next(calls)
            for name, text in files.items():
                (folder / name).write_text(text)
            return ends, 1, "it said"

        monkeypatch.setattr(attack, "run", run)
        tally = attack.Tally(1)
        (tmp_path / "wanted").mkdir()
        (tmp_path / "wanted" / "out").write_text("whole")
        attack.killed("verb", tmp_path / "run", attack.content(tmp_path / "wanted"), 1, tally)
        return tally.wrong

    def test_a_verb_that_is_whole_or_absent(self, attack, monkeypatch, tmp_path):
        assert self.killed(attack, monkeypatch, tmp_path, {}, {"out": "whole"}) == []

    @pytest.mark.parametrize(
        ("first", "again", "status", "wrong"),
        [
            ({"out": "ha"}, {"out": "whole"}, (-9, 0), "out was half written"),
            ({}, {"out": "other"}, (-9, 0), "out differs"),
            ({}, {}, (-9, 0), "out differs"),
            ({".out.a": ""}, {"out": "whole"}, (-9, 0), ".out.a was left behind"),
            ({}, {"out": "whole"}, (-9, 3), "ended with status 3"),
            ({}, {"out": "whole"}, (0, 0), "before it could be killed"),
        ],
    )
    def test_what_is_wrong_is_noticed(self, attack, monkeypatch, tmp_path, first, again, status, wrong):
        [found] = self.killed(attack, monkeypatch, tmp_path, first, again, status)
        assert wrong in found


class TestPipelines:
    @pytest.fixture
    def attack(self, program):
        return program("attack_pipelines")

    @pytest.fixture
    def nlp(self, attack, pair):
        return attack.pipeline(pair["v2"])

    def test_damaged_bytes_are_refused(self, attack, nlp, tmp_path):
        tally = attack.attack_bytes(nlp, tmp_path, range(20), seed=1)
        assert tally.failures == [] and tally.outcomes["refused"] > 5

    def test_what_is_wrong_is_noticed(self, attack, nlp, tmp_path, monkeypatch):
        component = type(nlp.get_pipe("retainer"))
        from_bytes = component.from_bytes

        def careless(self, data):
            self._unpacked = None  # what the component had goes before it is clear that there is something new
            (tmp_path / str(len(data))).touch()
            return from_bytes(self, data)

        monkeypatch.setattr(component, "from_bytes", careless)
        monkeypatch.setattr(attack, "WAYS", (attack.cut,))
        lost, elsewhere = attack.attack_bytes(nlp, tmp_path, range(1), seed=1).failures
        assert "what was there before is lost" in lost and "something was written elsewhere" in elsewhere


class TestKill:
    def test_a_difference_is_noticed(self, program, tmp_path, capsys):
        attack = program("attack_kill")
        run = attack.Run(tmp_path, "v", 2)
        run.out.mkdir()
        (run.out / "model.safetensors").write_bytes(b"weights")
        (run.out / "retainer.json").write_text('{"scores": {"history": [{"dev": 1, "seconds": 2}], "per_type": {}}}')
        assert attack.compared(run, run.result()) == 0
        assert attack.compared(run, (b"weighty", "[]")) == 2
        (tmp_path / "v.partial").mkdir()
        assert attack.compared(run, run.result()) == 1
        assert "weights DIFFER, history DIFFERS" in capsys.readouterr().out

    def test_the_command_keeps_every_epoch(self, program, tmp_path, monkeypatch):
        from retainer.training import learn

        made = learn.Checkpoint
        monkeypatch.setattr(learn, "Checkpoint", made)
        code = program("attack_kill").LEARN.replace("sys.exit(main(sys.argv[1:]))", "")
        exec(code, {})
        assert learn.Checkpoint(tmp_path, "k", 60.0, str).interval == 0.0
