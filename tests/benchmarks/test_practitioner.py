"""The grid of cases a practitioner has: who sees which sentences, what is run and what is not, and its tables."""

import importlib
import json
import sys
from pathlib import Path

import pytest

from retainer.data.generated import generate
from retainer.data.io import write
from retainer.data.spans import Span
from retainer.errors import InputError

TYPES = ["artist", "city", "dish"]


@pytest.fixture(scope="module")
def practitioner():
    folder = str(Path(__file__).parents[2] / "benchmarks")
    sys.path.insert(0, folder)
    yield importlib.import_module("practitioner")
    sys.path.remove(folder)


@pytest.fixture(scope="module")
def train():
    return generate(200, seed=1, types=TYPES)


@pytest.fixture(scope="module")
def corpus(train, tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "corpus"
    folder.mkdir()
    write(train, folder / "train.txt", "conll")
    write(generate(40, seed=2, types=TYPES), folder / "test.txt", "conll")
    return folder


@pytest.fixture
def call(practitioner, corpus, encoder, tmp_path, monkeypatch, capsys):
    """Call the program on one case, and return what it prints and writes."""
    out = tmp_path / "made.json"

    def called(*flags, case="city"):
        places = ["--case", f"{corpus}:{case}", "--out", str(out), "--encoder", str(encoder)]
        small = ["--bases", str(tmp_path / "bases"), "--epochs", "1", "--device", "cpu", "--seeds", "1"]
        monkeypatch.setattr("sys.argv", ["practitioner.py", *places, *small, *flags])
        practitioner.main()
        return capsys.readouterr().out, json.loads(out.read_text()) if out.exists() else None

    called.out = out
    return called


DRAWN = [("random", 20), ("random", 40), ("having", 20), ("having", 40), ("having", 190)]


class TestDeal:
    def test_no_sentence_has_two_uses(self, practitioner, train):
        found = practitioner.deal(train, "city", 1, DRAWN, text=50, base=60)
        annotated = {row for rows in found.annotated.values() for row in rows}
        text, base = set(found.text), set(found.base)
        assert (len(text), len(base)) == (50, 60)
        assert not (annotated & text or annotated & base or text & base)

    def test_sizes_are_nested_and_having_is_having(self, practitioner, train):
        found = practitioner.deal(train, "city", 1, DRAWN, text=50, base=60)
        for draw in ("random", "having"):
            assert found.annotated[draw, 20] == found.annotated[draw, 40][:20]
        has = {row for row, one in enumerate(train) if any(span.type == "city" for span in one.spans)}
        assert set(found.annotated["having", 40]) <= has and not set(found.annotated["random", 40]) <= has
        assert ("having", 190) not in found.annotated and found.having == len(has) < 190

    def test_the_seed_decides(self, practitioner, train):
        deals = [practitioner.deal(train, "city", seed, DRAWN, 50, 60) for seed in (1, 1, 2)]
        assert deals[0] == deals[1] and deals[0].text != deals[2].text and deals[0].base != deals[2].base


class TestCase:
    def test_the_type_may_hold_anything(self, practitioner):
        case = practitioner.Case.parse("/data/FEWNERD:person-artist/author:x")
        assert (case.folder, case.new) == (Path("/data/FEWNERD"), "person-artist/author:x")
        assert case.name == "fewnerd:person-artist/author:x"

    def test_without_a_type(self, practitioner):
        with pytest.raises(InputError, match="FOLDER:TYPE"):
            practitioner.Case.parse("/data/FEWNERD")

    def test_a_preset_names_the_types(self, practitioner, train):
        types = ["location", "misc", "organisation", "person", "date"]
        spans = [Span(place, place + 1, type_) for place, type_ in enumerate(types)]
        sentence = type(train[0])(tuple("abcde"), tuple(spans))
        corpus = type(train)((sentence,))
        old = {name: practitioner.Case(Path(name), "person").old(corpus) for name in ("CONLL2003", "mine")}
        assert old["CONLL2003"] == ("location", "misc", "organisation")
        assert old["mine"] == ("date", "location", "misc", "organisation")
        with pytest.raises(InputError, match="no 'date' to learn"):
            practitioner.Case(Path("CONLL2003"), "date").old(corpus)


def test_the_grid(practitioner, call, monkeypatch):
    """Every run once, in any number of calls; every method and size starts at the same first version."""
    learned, taught = [], practitioner.taught

    def noted(*given, **how):
        learned.append(how)
        return taught(*given, **how)

    monkeypatch.setattr(practitioner, "taught", noted)
    grid = ("--draws", "random,having", "--text", "0,40", "--base", "60")
    printed, before = call(*grid, "--sizes", "20", "--methods", "rdp-no-ppl,finetune")
    assert len(learned) == 7 and len(before["runs"]) == 6 and len(before["first"]) == 1
    assert "left out: corpus:city seed 1 random 20: finetune does not learn from text" in printed
    printed, document = call(*grid, "--sizes", "20", "--methods", "rdp-no-ppl,finetune,retain:epochs=2:look_weight=0.5")
    assert len(learned) == 11 and len(document["runs"]) == 10, "the first version and the first runs are there already"
    assert [run for run in document["runs"] if run["method"] in before["methods"]] == before["runs"]
    assert [one["runs"] for one in document["calls"]] == [6, 4]
    keys = {(run["method"].split(":")[0], run["draw"], run["size"], run["text"]) for run in document["runs"]}
    ways = [("rdp-no-ppl", 0), ("rdp-no-ppl", 40), ("finetune", 0), ("retain", 0), ("retain", 40)]
    assert keys == {(method, draw, 20, text) for method, text in ways for draw in ("random", "having")}
    for run in document["runs"]:
        assert run["text_used"] == min(run["text"], 20 * run["epochs"])
        assert run["epochs"] == (2 if run["method"].startswith("retain") else 1) and run["new"]["entities"] > 0
    assert len({run["base"] for run in document["runs"]}) == len({run["before"] for run in document["runs"]}) == 1
    texts = [how["text"] for how in learned if how.get("text") is not None]
    assert len({text.sentences for text in texts}) == 1 and not texts[0].counts
    assert not any("dev" in how for how in learned)
    assert str(call.out.parent) not in call.out.read_text(), "no place of this machine"
    assert "--case CORPUS:city" in document["calls"][0]["command"] and document["calls"][0]["machine"]
    with pytest.raises(InputError, match="choose another --out"):
        call(*grid, "--sizes", "30", "--methods", "rdp-no-ppl")
    assert json.loads(call.out.read_text()) == document
    assert_shown(call, document, printed)


def assert_shown(call, document, printed):
    shown, _ = call("--show", str(call.out))
    assert shown in printed
    by_method = {run["method"]: run for run in document["runs"] if (run["draw"], run["text"]) == ("random", 0)}
    rival, other = by_method["rdp-no-ppl"], by_method["finetune"]
    assert f"| rdp-no-ppl | {rival['old'] - rival['before']:+.1f} | {rival['new']['f1']:.1f} |" in shown
    apart = (other["old"] - other["before"]) - (rival["old"] - rival["before"])
    assert f"| finetune | {other['old'] - other['before']:+.1f} ({apart:+.1f}) |" in shown
    for title in ("Without text", "40 sentences of text", "Apart from rdp-no-ppl", "Gained through text", "By case"):
        assert title in shown


def test_too_few_sentences_have_the_type(call, practitioner, monkeypatch):
    """What cannot be run is told and left out; the rest is run."""
    run = {"before": 1.0, "old": 1.0, "new": {"f1": 0.0, "precision": 0.0, "recall": 0.0}, "base": "", "key": ""}
    rest = {"kept": None, "epochs": 1, "seconds": 1.0}
    first = {"case": "corpus:city", "seed": 1, "macro": 0.0}
    monkeypatch.setattr(practitioner, "learned_first", lambda *_: first)
    monkeypatch.setattr(practitioner, "measure", lambda _, cell: {**cell.identity, **run, **rest})
    printed, document = call("--sizes", "20,150", "--methods", "rdp", "--draws", "having")
    assert [(one["draw"], one["size"]) for one in document["runs"]] == [("having", 20)]
    (left_out,) = document["skipped"]
    assert left_out["size"] == 150 and left_out["why"].endswith("sentences have city")
    assert f"having 150: {left_out['why']}" in printed


@pytest.mark.parametrize(
    ("flags", "case", "message"),
    [
        (["--methods", "joint"], "city", "joint does not learn from a version"),
        (["--draws", "picked"], "city", "'picked' is not a way to draw"),
        (["--text", "500"], "city", "the 0 sentences that corpus:city leaves"),
        ([], "river", "no 'river' to learn"),
    ],
)
def test_refusals(call, flags, case, message):
    with pytest.raises(InputError, match=message):
        call("--sizes", "20", *flags, case=case)
    assert not call.out.exists()


def test_means_within_a_case_and_seed_come_first(practitioner):
    tables = importlib.import_module("practitioner_tables")

    def runs(method, *new):
        places = [("a", 1, 20), ("a", 1, 40), ("b", 1, 20)]
        return [
            {"case": case, "seed": seed, "size": size, "draw": "random", "text": 0, "method": method, "new": {"f1": f1}}
            for (case, seed, size), f1 in zip(places, new, strict=True)
        ]

    ours, theirs = (tables.select(runs(*one)) for one in (("x", 10.0, 20.0, 40.0), ("y", 9.0, 17.0, 36.0)))
    assert tables.apart(ours, theirs, tables.gain) == [2.0, 4.0]
    assert tables.with_error([2.0, 4.0]) == "+3.0 ± 1.0" and tables.with_error([2.0]) == "+2.0"
    assert tables.beside(ours, theirs, tables.gain, "") == "27.5 (+3.0 ± 1.0)" and tables.with_error([]) == "–"
