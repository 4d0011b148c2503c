"""The measurement of one more type, as a practitioner learns it: who sees what, and what is counted."""

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
def person():
    folder = str(Path(__file__).parents[2] / "benchmarks")
    sys.path.insert(0, folder)
    yield importlib.import_module("person")
    sys.path.remove(folder)


@pytest.fixture(scope="module")
def train():
    return generate(200, seed=1, types=TYPES)


class TestDrawn:
    def test_each_side_sees_its_own_types_and_sentences(self, person, train):
        rest, annotated = person.drawn(train, "city", 60, seed=3)
        assert rest.types == ("artist", "dish") and annotated.types == ("city",)
        assert (len(rest), len(annotated)) == (140, 60)
        assert sorted(s.words for s in (*rest, *annotated)) == sorted(s.words for s in train)
        assert rest.counts["artist"] < train.counts["artist"] and rest.counts["dish"] < train.counts["dish"]

    def test_the_seed_decides(self, person, train):
        draws = [person.drawn(train, "city", 60, seed)[1].sentences for seed in (1, 1, 2)]
        assert draws[0] == draws[1] != draws[2]

    def test_only_sentences_that_have_it(self, person, train):
        _, some = person.drawn(train, "city", 40, seed=1)
        _, all_ = person.drawn(train, "city", 40, seed=1, having=True)
        assert all(one.spans for one in all_) and not all(one.spans for one in some)

    def test_too_many(self, person, train):
        with pytest.raises(InputError, match="to draw 200 from"):
            person.drawn(train, "city", 200, seed=1)


def test_kept_counts_what_was_right_and_still_is(person):
    a, b, wrong = Span(0, 1, "a"), Span(2, 3, "b"), Span(4, 5, "a")
    gold = [[a, b], [a], [b]]
    before = [[a, b, wrong], [a], []]
    after = [[a, Span(2, 3, "c"), wrong], [Span(0, 2, "a")], [b]]
    counts = person.kept(gold, before, after)
    assert counts == {"a": (2, 1), "b": (1, 0)}, "neither a wrong one nor one found later counts"
    assert person.shares(counts) == {"a": 50.0, "b": 0.0, "all": pytest.approx(100 / 3)}
    assert person.shares({}) == {"all": None}


def test_means(person):
    assert person.mean([1.0, 3.0]) == "2.0 ± 1.4"
    assert person.mean([1.0]) == "1.0" and person.mean([None]) == "–" and person.mean([None, 2.0]) == "2.0 (of 1)"


def test_a_type_that_was_not_calibrated_is_told(person):
    def run(curves):
        return {
            "calibration_error": {"plain": {"a": 4.0, "all": 4.0}, "calibrated": {"a": 2.0, "all": 2.0}},
            "curves": curves,
        }

    runs = [run({"a": {}}), run({})]
    assert person.trust_of(runs, "a") == "4.0 ± 0.0 → 2.0 ± 0.0 (1 of 2 calibrated)"
    assert person.trust_of(runs[:1], "a") == person.trust_of(runs[1:], "all") == "4.0 → 2.0"
    assert person.trust_of(runs, "unknown") == "–"


def test_a_whole_run(person, train, encoder, tmp_path, monkeypatch, capsys):
    """On invented sentences: the file has every seed and method, and its tables are those of its numbers."""
    (tmp_path / "corpus").mkdir()
    write(train, tmp_path / "corpus" / "train.txt", "conll")
    write(generate(60, seed=2, types=TYPES), tmp_path / "corpus" / "test.txt", "conll")
    out = tmp_path / "made.json"
    flags = ["--new", "city", "--sentences", "100", "--epochs", "2", "--device", "cpu", "--seeds", "2,1"]
    places = ["--data", str(tmp_path / "corpus"), "--out", str(out), "--encoder", str(encoder)]
    monkeypatch.setattr("sys.argv", ["person.py", *places, *flags])
    person.main()
    printed = capsys.readouterr().out
    document = json.loads(out.read_text())
    assert str(tmp_path) not in out.read_text(), "no place of this machine"
    assert [run["seed"] for run in document["runs"]] == [1, 2] and document["machine"] and document["seconds"] > 0
    for run in document["runs"]:
        assert set(run["methods"]) == {"rdp", "finetune"} and run["annotated"]["entities"].keys() == {"city"}
        before = run["base"]["scores"]["per_type"]
        assert set(before) == {"artist", "dish"}
        for one in run["methods"].values():
            after = one["scores"]["per_type"]
            assert one["forget"] == {type_: before[type_]["f1"] - after[type_]["f1"] for type_ in before}
            assert one["gain"] == after["city"]["f1"] and set(one["calibration_error"]) == {"plain", "calibrated"}
    monkeypatch.setattr("sys.argv", ["person.py", "--show", str(out)])
    person.main()
    shown = capsys.readouterr().out
    assert shown in printed and "--data CORPUS" in document["command"]
    gains = [run["methods"]["rdp"]["gain"] for run in document["runs"]]
    assert f"| rdp | {person.mean([r['methods']['rdp']['keep']['all'] for r in document['runs']])} | " in shown
    assert person.mean(gains) in shown


@pytest.mark.parametrize("method", ["joint", "rdp_released"])
def test_methods_that_need_more_are_refused(person, train, tmp_path, method):
    plan = person.Plan(tmp_path, "city", 10, False, (method,), "builtin", "cpu", 1, 0)
    with pytest.raises(InputError, match=method):
        plan.check()
