"""`retainer compare` as a person and a CI job meet it: what is printed where, the gates, the page, the documents."""

import io
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from text_cases import CASES, REFUSED

from retainer.cli.main import main
from retainer.comparison.compare import compare
from retainer.comparison.gates import GateOutcome
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.data.spans import Sentence
from retainer.data.tasks import hide
from retainer.report.compare.next_steps import next_steps
from retainer.training.learn import learn
from retainer.training.recipe import Recipe
from retainer.versions.version import Version, load

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def models(tmp_path_factory, pair):
    """Two versions, one after the other: the second keeps what it can. And one that forgets."""
    folder = tmp_path_factory.mktemp("models")
    for name, place in pair.items():
        (folder / name).symlink_to(place)
    data = hide(generate(200, seed=6, types=["artist", "city"]), ["city"])
    recipe = Recipe(epochs=6, lr=5e-3)
    learn(data, pair["v1"], method="finetune", recipe=recipe, device="cpu", out=folder / "forgets")
    return folder


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Data in several shapes."""
    folder = tmp_path_factory.mktemp("files")
    both = generate(80, seed=3, types=["artist", "city"])
    write(both, folder / "both.conll", "conll")
    (folder / "texts.txt").write_text("".join(sentence.located()[0] + "\n" for sentence in both))
    (folder / "texts.jsonl").write_text("".join(json.dumps({"text": s.located()[0]}) + "\n" for s in both))
    return folder


@pytest.fixture
def here(tmp_path, monkeypatch, models, files):
    """A folder with the models and the data."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").symlink_to(models)
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def run(here, capsys):
    def call(*argv):
        status = main(["compare", *map(str, argv), "--device", "cpu"])
        out, err = capsys.readouterr()
        return status, out, err

    return call


@pytest.fixture
def refused(run, here):
    """Status 2, one sentence, nothing printed or written."""

    def call(*argv, says):
        before = sorted(here.iterdir())
        status, out, err = run(*argv)
        assert (status, out) == (2, "") and says in err.splitlines()[-1], err
        assert err.splitlines()[-1].startswith("retainer: ")
        assert sorted(here.iterdir()) == before

    return call


def document(run, *argv):
    status, out, err = run(*argv, "--json")
    return status, json.loads(out), err


class TestSpoken:
    def test_with_gold(self, run):
        status, out, err = run("models/v1", "models/v2", "both.conll")
        assert status == 0 and err == "both.conll: annotated, 80 sentences; annotated types: artist, city\n"
        for part in ("old F1", "95 %", "keep", "forget", "gain", "agreement", "kept: ", "gained, of new types: "):
            assert part in out
        assert re.search(
            r"models/v2 keeps [\d.]+ of [\d.]+ F1 on the old type and reaches [\d.]+ on the new one\.", out
        )

    def test_lists_are_as_long_as_asked_for(self, run):
        _, everything, _ = document(run, "models/v1", "models/v2", "both.conll")
        kept = everything["changes"]["kept"]
        assert kept > 8
        for show in (0, 3, 1000):
            out = run("models/v1", "models/v2", "both.conll", "--show", show)[1]
            listed = re.search(r"^kept: .*\n((?:  .*\n)*)", out, flags=re.MULTILINE)
            assert (len(listed[1].splitlines()) if listed else 0) == min(show, kept)
        assert f"kept: {kept}, the first 3\n" in run("models/v1", "models/v2", "both.conll", "--show", 3)[1]

    def test_the_document(self, run):
        status, made, _ = document(run, "models/v1", "models/v2", "both.conll", "--max-drop", 100)
        difference = compare("models/v1", "models/v2", "both.conll", device="cpu")
        assert status == 0 and made["gates"][0]["passed"] and (made["old"], made["new"]) == ("models/v1", "models/v2")
        for key, value in difference.as_dict().items():
            assert made[key] == json.loads(json.dumps(value))
        assert made["cases"] == [case.as_dict(difference.scored_types) for case in difference.cases]
        changes = [change for case in made["cases"] for change in case["changes"]]
        for kind, number in made["changes"].items():
            assert sum(change["kind"] == kind for change in changes) == number
        for case in made["cases"]:
            for change in case["changes"]:
                for side in filter(None, (change["old"], change["new"])):
                    assert case["text"][side["start"] : side["end"]] == side["word"]

    @pytest.mark.parametrize("data", ["texts.txt", "texts.jsonl", "-"])
    def test_without_gold(self, run, data, monkeypatch):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path("texts.txt").read_bytes())))
        status, made, err = document(run, "models/v1", "models/v2", data)
        assert status == 0 and "texts without annotation" in err and made["scores"] is None and not made["gold"]
        assert made["texts"] == 80 and made["agreement"]["per_type"]["artist"]["old"] > 10
        assert made["agreement"]["all"]["agreement"] == made["agreement"]["per_type"]["artist"]["agreement"]

    def test_nothing_to_say(self, run, here):
        write([Sentence(("a", "b"))], "empty.conll", "conll")
        status, out, err = run("models/v1", "models/v1", "empty.conll")
        assert status == 0 and "find the same entities" in out and "annotated types: none" in err

    def test_what_would_steer_the_terminal_does_not(self, run, here):
        Path("odd.txt").write_text("play songs by \x1b[31mprince\x07 in boston\n" * 3)
        out = run("models/v1", "models/forgets", "odd.txt", "--show", 100)[1]
        assert "\ufffd" in out and "\x1b" not in out and "\x07" not in out

    def test_loads_no_torch_to_refuse(self, here):
        code = (
            "import sys; from retainer.cli.main import main\n"
            "assert main(['compare', 'models/v1', 'models/v2', 'texts.txt', '--max-drop', '1']) == 2\n"
            "sys.exit('torch' in sys.modules)"
        )
        assert subprocess.run([sys.executable, "-c", code], stderr=subprocess.DEVNULL).returncode == 0


class TestNextSteps:
    """What to try where an old type got worse beyond chance or a gate said no: only there, and not what was tried."""

    def test_worse(self, run):
        out = run("models/v1", "models/forgets", "both.conll", "--show", 0)[1]
        assert (
            out.splitlines()[-2:]
            == [
                "To keep more of the old types (docs/which-method.md), try: retainer learn DATA --from models/v1 --out "
                "models/forgets-retain --method retain --text TEXTS",
                "Or let annotated data choose: retainer bench own --data ANNOTATED --quick --out quick-bench",
            ]
            and "Worse beyond chance: artist" in out
        )

    def test_not_worse(self, run):
        out = run("models/v1", "models/v1", "both.conll", "--show", 0)[1]
        assert "No old type got worse beyond chance" in out and "retainer learn" not in out

    @pytest.fixture
    def steps(self, here):
        """What is suggested for a version with another record."""
        before, after = (load(f"models/{name}", device="cpu") for name in ("v1", "forgets"))
        difference = compare(before, after, "both.conll")

        def suggested(*gates, **facts):
            tried = Version(after.tagger, replace(after.lineage, **facts), place=after.place)
            return next_steps(difference, before, tried, "models/v1", "v2/", gates)

        return suggested

    def test_what_was_tried_is_not_suggested(self, steps):
        """As docs/which-method.md has it: retain, then text for it, then another method."""
        assert steps(method="retain")[0].endswith("--out v2-text --method retain --text TEXTS --dev FILE")
        assert steps(method="retain", data={"dev_given": True})[0].endswith("--method retain --text TEXTS")
        assert steps(method="retain", data={"text": {}})[0].endswith("--out v2-cpfd --method cpfd --text TEXTS")
        assert steps(method="rdp", data={"text": {}})[0].endswith("--method retain --text TEXTS")
        [_, plain, _] = steps(method="rdp", fields={"pseudo": "prototype"})
        assert "rdp without prototypes" in plain and "--set.pseudo argmax" in plain

    def test_a_gate_that_says_no_has_them_too(self, run):
        """On texts alone nothing is worse beyond chance, for there is no annotation; the gate still says no."""
        call = ("models/v1", "models/forgets", "texts.txt", "--show", 0)
        hint = "To keep more of the old types (docs/which-method.md), try: retainer learn DATA --from models/v1"
        assert hint not in run(*call)[1] and hint in run(*call, "--min-agreement", 90)[1]
        _, _, told = run(*call, "--min-agreement", 90, "--page", "c.html")
        assert "page written to c.html\n" in told and "kept; the new version finds" in told and Path("c.html").is_file()
        assert hint not in run(*call, "--min-agreement", 0)[1], "it passed"
        first = "First read the lists of what was lost, moved or relabelled (--show 100): "
        assert run(*call, "--min-agreement", 90)[1].index(first) < run(*call, "--min-agreement", 90)[1].index(hint)
        assert first not in run("models/v1", "models/forgets", "both.conll", "--max-drop", 5)[1]
        call = ("models/v1", "models/v2", "both.conll", "--show", 0, "--min-gain", 100)
        out, steps = run(*call)[1], document(run, *call)[1]["next_steps"]
        assert out.splitlines()[-len(steps) :] == steps and "To find more of city, annotate more" in out

    @pytest.fixture
    def kept(self, steps, monkeypatch):
        """The same, where no old type got worse."""
        monkeypatch.setattr("retainer.report.compare.next_steps.worse_types", lambda _: {})
        return steps

    def test_what_to_try_is_about_the_gate_that_said_no(self, kept):
        def no(name, **broken):
            return GateOutcome(name, 5.0, broken, ("artist",), ())

        assert kept() == kept(no("max-drop"), no("min-gain")) == []
        assert "To keep more" in kept(no("max-drop", artist="dropped"))[0]
        facts = {"recipe": {"epochs": 5}, "scores": {"history": [{}] * 5}, "method": "rdp"}
        check, longer, bench = kept(no("min-gain", city="is found with F1 3"), **facts)
        assert check.endswith("retainer check DATA --model models/v1") and "more of city" in check
        assert longer.endswith("--out v2-longer --method rdp --epochs 10") and "bench own" in bench
        both = kept(no("min-gain", city="is found with F1 3"), no("max-drop", artist="dropped"), **facts)
        assert "To keep more" in both[0] and not any("epoch" in step for step in both), "more of what lost a type"
        stopped = {**facts, "recipe": {"epochs": 10}}
        assert len(kept(no("min-gain", city="is found with F1 3"), **stopped)) == 2, "more epochs would change nothing"
        assert "one by one" in kept(no("min-gain", city="is found with F1 3"), parent="another")[0]

    def test_swapped(self, run):
        out = run("models/v2", "models/v1", "both.conll", "--show", 0, "--max-drop", 0)[1]
        assert out.splitlines()[-1] == (
            "NEW (models/v1) is an ancestor of OLD (models/v2), so the arguments seem to be swapped: "
            "retainer compare models/v1 models/v2 DATA"
        )
        assert "between" not in out and "retainer learn" not in out

    def test_swapped_where_a_gate_has_nothing_to_measure(self, refused):
        says = "NEW has no type that OLD lacks, but OLD has city: are the two swapped?"
        refused("models/v2", "models/v1", "both.conll", "--max-drop", 5, "--min-gain", 5, says=says)

    def test_versions_between(self, steps):
        [only] = steps(parent="another")
        assert "one by one" in only and "retainer log v2/" in only


class TestTexts:
    @pytest.fixture(scope="class")
    def version(self, models):
        return load(models / "v1", device="cpu")

    @pytest.mark.parametrize("case", CASES.values(), ids=CASES)
    def test_every_shape(self, run, here, version, monkeypatch, case):
        monkeypatch.setattr("retainer.versions.version.load", lambda *_, **__: version)
        Path("in").write_bytes(case.bytes)
        status, out, err = run("models/v1", "models/v1", "in", "--json")
        if not case.worded:
            assert status == 2 and "in: found no text to compare the versions on" in err
            return
        told = json.loads(out)
        assert status == 0 and err.startswith("in: annotated" if case.gold else "in: texts without annotation")
        assert case.gold or told["texts"] == len(case.texts), "an empty line is an empty text"
        assert {one["number"]: one["text"] for one in told["cases"]}.items() <= case.worded.items()

    @pytest.mark.parametrize(("content", "message"), REFUSED.values(), ids=REFUSED)
    def test_refused(self, refused, here, version, monkeypatch, content, message):
        monkeypatch.setattr("retainer.versions.version.load", lambda *_, **__: version)
        Path("in").write_bytes(content)
        refused("models/v1", "models/v1", "in", says=message)

    @pytest.mark.parametrize("data", ["gaps.txt", "gaps.jsonl", "-"])
    def test_a_text_has_the_number_of_its_line(self, run, here, data, monkeypatch):
        lines = Path("texts.txt").read_text().splitlines()
        Path("gaps.txt").write_text("".join(f"\n{line}\n  \n" for line in lines))
        Path("gaps.jsonl").write_text("".join("\n" + json.dumps({"text": line}) + "\n\n" for line in lines))
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path("gaps.txt").read_bytes())))
        _, dense, _ = document(run, "models/v1", "models/v2", "texts.txt")
        _, sparse, _ = document(run, "models/v1", "models/v2", data)
        assert (dense["texts"], sparse["texts"]) == (80, 240) and len(dense["cases"]) > 10
        assert [one["number"] for one in sparse["cases"]] == [3 * one["number"] - 1 for one in dense["cases"]]
        for key in ("agreement", "changes", "found_of_gained_types"):
            assert sparse[key] == dense[key], "texts without words change no number"


class TestGates:
    def test_a_drop(self, run):
        status, out, err = run("models/v1", "models/forgets", "both.conll", "--max-drop", 5)
        made = err.splitlines()[-1]
        assert status == 1 and re.search(r"--max-drop 5: no, artist dropped by [\d.]+ points of F1", made)
        assert "artist dropped" not in out and "keep" in out, "the gate speaks on stderr, the results are on stdout"

    def test_agreement(self, run):
        status, out, err = run("models/v1", "models/forgets", "texts.txt", "--min-agreement", 90)
        assert status == 1 and "--min-agreement 90: no, agreement on artist is" in err and "artist" in out

    def test_both_and_one_says_no(self, run):
        status, made, err = document(
            run, "models/v1", "models/forgets", "both.conll", "--max-drop", 100, "--min-agreement", 90
        )
        assert status == 1 and [gate["passed"] for gate in made["gates"]] == [True, False]
        assert "--max-drop 100: passed" in err and "--min-agreement 90: no" in err

    def test_a_new_type_that_was_hardly_learned(self, run):
        status, made, err = document(run, "models/v1", "models/v2", "both.conll", "--min-gain", 0)
        gained = made["scores"]["gained"]
        found = gained["city"]["new"]["f1"]
        assert status == 0 and "--min-gain 0: passed by city" in err and 0 < found < 100
        status, _, err = run("models/v1", "models/v2", "both.conll", "--min-gain", found + 0.01)
        assert status == 1 and f"no, city, which is new, is found with F1 {found:.2f}" in err

    def test_passed(self, run):
        status, _, err = run("models/v1", "models/v1", "both.conll", "--max-drop", 0, "--min-agreement", 100)
        assert (
            status == 0 and "--max-drop 0: passed by artist" in err and "--min-agreement 100: passed by artist" in err
        )

    def test_refused(self, refused, here):
        refused("models/v1", "models/v2", "both.conll", "--max-drop", -1, says="--max-drop -1: expected points of F1")
        refused("models/v1", "models/v2", "both.conll", "--max-drop", "nan", says="--max-drop nan")
        refused("models/v1", "models/v2", "both.conll", "--max-drop", "much", says="--max-drop much: expected a number")
        refused("models/v1", "models/v2", "both.conll", "--min-agreement", 101, says="--min-agreement 101: expected")
        refused("models/v1", "models/v2", "both.conll", "--min-gain", -1, says="--min-gain -1: expected")
        refused("models/v1", "models/v2", "texts.txt", "--min-gain", 50, says="--min-gain needs gold entities, and")
        refused("models/v1", "models/v1", "both.conll", "--min-gain", 50, says="only the new version knows (none)")
        refused("models/v1", "models/v2", "both.conll", "--min-agreement", 0.9, says="in percent: did you mean 90?")
        refused("models/v1", "models/v2", "both.conll", "--show", -1, says="--show -1")
        refused("models/v1", "models/v2", "texts.txt", "--max-drop", 1, says="texts.txt has texts only")
        write(generate(20, seed=4, types=["city"]), "city.conll", "conll")
        refused(
            "models/v1", "models/v2", "city.conll", "--max-drop", 1, says="the old version knows (artist); the data"
        )
        Path("nothing.txt").write_text("\n \n")
        refused("models/v1", "models/v2", "nothing.txt", says="nothing.txt: found no text")
        Path("none.conll").write_text("")
        refused("models/v1", "models/v2", "none.conll", says="none.conll: found no text")
        refused("models/v1", "models/nowhere", "texts.txt", says="models/nowhere")
        refused("models/v1", "models/v2", "nowhere.txt", says="nowhere.txt")
        refused("models/v1", "models/v2", "texts.txt", "--page", "models", says="models is not a plain file")
        refused("models/v1", "models/v2", "texts.txt", "--page", "texts.txt/page.html", says="cannot be written")

    def test_nothing_found_is_no_agreement(self, refused, here):
        Path("quiet.txt").write_text("! ! !\n")
        refused("models/forgets", "models/forgets", "quiet.txt", "--min-agreement", 1, says="neither version finds")


class TestDocuments:
    def test_every_field_is_told(self, models, here):
        """The keys the document has at its top, and those of agreement and scores, stand in docs/compare.md."""
        page = (ROOT / "docs" / "compare.md").read_text()
        made = compare(models / "v1", models / "v2", "both.conll", device="cpu").as_dict()
        for key in (*made, *made["agreement"]["all"], *made["scores"], *made["types"], "cases", "gates", "next_steps"):
            assert f"`{key}`" in page, key
