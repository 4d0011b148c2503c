"""Scores that mean what they say."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from retainer.cli.main import main
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.metrics.calibration import (
    LEAST_ENTITIES,
    PRIOR_STRENGTH,
    Curve,
    bins,
    calibrate,
    calibration_error,
    fit_curve,
    fit_curves,
    hits,
    reliability,
)
from retainer.metrics.f1 import Spans
from retainer.training.learn import learn
from retainer.training.recipe import Recipe
from retainer.versions.retype import rename_types
from retainer.versions.version import load


def logistic(z):
    return 1 / (1 + np.exp(-z))


def drawn(slope, shift, count, seed=0):
    """Entities whose chance of being right follows a curve."""
    rng = np.random.default_rng(seed)
    scores = rng.uniform(0.3, 0.999, count)
    return scores, rng.uniform(size=count) < logistic(slope * np.log(scores / (1 - scores)) + shift)


class TestFit:
    @pytest.mark.parametrize(("slope", "shift"), [(1.0, 0.0), (0.4, -0.7), (2.0, 1.0)])
    def test_finds_the_curve_again(self, slope, shift):
        found = fit_curve(*drawn(slope, shift, 20_000))
        assert found.slope == pytest.approx(slope, abs=0.1) and found.shift == pytest.approx(shift, abs=0.1)

    @pytest.mark.parametrize("count", [1, 5, 300])
    def test_is_the_minimum_another_search_finds(self, count):
        scores, right = drawn(0.5, -0.5, count, seed=count)
        x = np.log(scores / (1 - scores))

        def loss(at):
            p = logistic(at[0] * x + at[1])
            return -np.log(np.where(right, p, 1 - p)).sum() + PRIOR_STRENGTH / 2 * ((at[0] - 1) ** 2 + at[1] ** 2)

        found = fit_curve(scores, right)
        other = minimize(loss, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12}).x
        assert (found.slope, found.shift) == pytest.approx(tuple(other), abs=1e-5)

    def test_nothing_seen_changes_nothing(self):
        assert fit_curve([], []) == Curve()

    @pytest.mark.parametrize("right", [True, False])
    def test_all_alike_stays_finite(self, right):
        found = fit_curve([1.0, 0.0, 0.9] * 20, [right] * 60)
        made = found(np.array([0.0, 0.5, 1.0]))
        assert np.isfinite(made).all() and ((made > 0) & (made < 1)).all()


def test_a_curve_keeps_the_order_of_scores():
    made = fit_curve(*drawn(0.4, -0.7, 500))(np.linspace(0.01, 0.99, 50))
    assert (np.diff(made) > 0).all()


def test_every_type_has_its_own():
    scores = np.array([0.9, 0.9, 0.9])
    made = calibrate({"a": Curve(1.0, -1.0), "b": Curve(0.5, 0.0)}, scores, ["a", "b", "c"])
    assert made == pytest.approx([logistic(np.log(9) - 1), logistic(np.log(9) / 2), 0.9])
    assert (scores == 0.9).all(), "what was given is left as it is"


class TestError:
    def test_by_hand(self):
        scores, right = [0.95, 0.95, 0.15, 1.0], [True, False, True, True]
        first, last = bins(scores, right)
        assert (first.tenth, first.count, first.score, first.right) == (1, 1, 0.15, 1.0)
        assert (last.tenth, last.count) == (9, 3) and last.right == pytest.approx(2 / 3)
        assert calibration_error(scores, right) == pytest.approx(100 * (0.85 * 1 + abs(2.9 / 3 - 2 / 3) * 3) / 4)

    def test_nothing_to_measure(self):
        assert calibration_error([], []) is None and bins([], []) == []

    def test_a_fitted_curve_has_less(self):
        seen, fresh = drawn(0.4, -0.7, 2000), drawn(0.4, -0.7, 2000, seed=1)
        assert calibration_error(fit_curve(*seen)(fresh[0]), fresh[1]) < calibration_error(*fresh) / 3


def slow(scores, right):
    """Tenth by tenth, entity by entity: a second opinion on the bins and on the error."""
    tenths = {}
    for one, hit in zip(scores, right, strict=True):
        tenths.setdefault(min(int(one * 10), 9), []).append((float(one), bool(hit)))
    rows = []
    for tenth, some in sorted(tenths.items()):
        count = len(some)
        rows.append((tenth, count, sum(s for s, _ in some) / count, sum(hit for _, hit in some) / count))
    total = sum(count for _, count, *_ in rows)
    return rows, 100 * sum(count * abs(s - r) for _, count, s, r in rows) / total if total else None


def test_reliability_against_a_slow_recomputation():
    scores, right = drawn(0.5, -0.4, 700, seed=5)
    scores[:4] = [0.0, 1.0, 0.5, 0.3]  # the edges
    names = [["a", "b", "b"][i % 3] for i in range(700)]
    found = reliability(scores, right, names, ["a", "b", "unseen"])
    parts = {type_: [name == type_ for name in names] for type_ in ("a", "b")}
    for measured, chosen in [(found, [True] * 700), *((found["per_type"][t], mask) for t, mask in parts.items())]:
        rows, off = slow(scores[chosen], right[chosen])
        reported = [value for one in measured["bins"] for value in one.values()]
        assert reported == pytest.approx([value for row in rows for value in row])
        assert measured["error"] == pytest.approx(off)
    assert found["per_type"]["unseen"] == {"error": None, "bins": []}


def spans(*rows):
    return Spans(*(np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)))


def test_an_entity_is_right_if_words_and_type_are():
    found, gold = spans((0, 2, 0), (3, 4, 1), (5, 6, 0)), spans((0, 2, 0), (3, 4, 0), (5, 7, 0))
    assert hits(found, gold).tolist() == [True, False, False]


def test_few_entities_say_nothing():
    enough, few = (
        [(i, i + 1, 0) for i in range(LEAST_ENTITIES)],
        [(100 + i, 101 + i, 1) for i in range(LEAST_ENTITIES - 1)],
    )
    found = spans(*enough, *few)
    made = fit_curves(found, np.full(len(found.start), 0.9), found, ["a", "b"])
    assert list(made) == ["a"] and made["a"]["entities"] == LEAST_ENTITIES and made["a"]["shift"] > 0


class TestVersions:
    @pytest.fixture(scope="class")
    def taught(self, encoder):
        data = generate(400, seed=3, types=["artist"])
        return learn(data, encoder, recipe=Recipe(epochs=8, base_lr=3e-3, holdout=0.3), device="cpu")

    def test_learning_calibrates_the_new_types(self, taught):
        assert list(taught.lineage.calibration) == ["artist"]
        facts = taught.lineage.calibration["artist"]
        texts = [" ".join(sentence.words) for sentence in generate(60, seed=8, types=["artist"])]
        pairs = zip(taught.predict(texts), taught.predict(texts, calibrated=True), strict=True)
        scores = [(a["score"], b["score"]) for plain, better in pairs for a, b in zip(plain, better, strict=True)]
        assert scores
        for plain, better in scores:
            inside = min(max(plain, 1e-4), 1 - 1e-4)
            assert better == pytest.approx(logistic(facts["slope"] * np.log(inside / (1 - inside)) + facts["shift"]))

    def test_old_types_keep_theirs(self, taught, quick):
        later = learn(generate(300, seed=4, types=["city"]), taught, recipe=quick, device="cpu")
        assert later.lineage.calibration["artist"] == taught.lineage.calibration["artist"]

    def test_it_is_saved_and_renamed(self, taught, tmp_path):
        taught.save(tmp_path / "v")
        again = load(tmp_path / "v", device="cpu")
        assert again.lineage.calibration == taught.lineage.calibration
        assert list(rename_types(again, {"artist": "band"}).lineage.calibration) == ["band"]

    def test_reliability_by_hand(self, taught):
        data = generate(120, seed=8, types=["artist"])
        scores, right = [], []
        for sentence in data:
            gold = set(sentence.character_spans())
            for one in taught.predict(" ".join(sentence.words), calibrated=True):
                scores.append(one["score"])
                right.append(any((s.start, s.end) == (one["start"], one["end"]) for s in gold))
        found = taught.reliability(data)
        assert found["calibrated"]["error"] == pytest.approx(calibration_error(scores, right), abs=0.01)
        assert found["plain"]["error"] != found["calibrated"]["error"]

    def test_the_verbs(self, taught, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        taught.save("v")
        data = generate(60, seed=8, types=["artist"])
        write(data, "test.conll", "conll")
        (tmp_path / "texts.txt").write_text("\n".join(" ".join(sentence.words) for sentence in data))
        assert main(["evaluate", "v", "test.conll", "--device", "cpu"]) == 0
        said = capsys.readouterr().out
        assert "that is right (docs/scores.md); " in said and "with predict --calibrated" in said
        assert main(["evaluate", "v", "test.conll", "--json", "--device", "cpu"]) == 0
        reported = json.loads(capsys.readouterr().out)["calibration"]
        assert set(reported) == {"plain", "calibrated"}
        for one in reported.values():
            assert one["per_type"] == {"artist": {name: one[name] for name in ("error", "bins")}}, "the only type"
        counts = []
        for more in ([], ["--threshold.artist", "0.9"], ["--threshold.all", "0.9"], ["--threshold.all", "1"]):
            assert main(["predict", "v", "--input", "texts.txt", "--calibrated", "--device", "cpu", *more]) == 0
            found = [one for line in capsys.readouterr().out.splitlines() for one in json.loads(line)["entities"]]
            counts.append(len(found))
            assert all(one["score"] >= (0.9 if more else 0) for one in found)
        assert counts[0] >= counts[1] == counts[2] >= counts[3] == 0 < counts[0]

    def test_types_without_a_curve_are_named_once(self, pair, tmp_path, capsys):
        version = load(pair["v2"], device="cpu")
        curve = {"artist": {"slope": 0.5, "shift": 0.0, "entities": 20.0}}
        version.lineage = replace(version.lineage, calibration=curve)
        version.save(tmp_path / "v")
        (tmp_path / "texts.txt").write_text("play songs by boston\n" * 600)
        call = ["predict", str(tmp_path / "v"), "--input", str(tmp_path / "texts.txt"), "--device", "cpu"]
        assert main(call) == 0 and "not calibrated" not in capsys.readouterr().err
        assert main([*call, "--calibrated"]) == 0
        said = capsys.readouterr().err
        assert said == "not calibrated, so their scores are those without --calibrated: city\n"

    @pytest.mark.parametrize(
        ("more", "says"),
        [
            (["--threshold.artst", "0.5"], "artist"),
            (["--threshold.artist", "50"], "0 to 1"),
            (["--calibrated"], "never"),
            (["--threshold", "0.5"], "--threshold.NAME and a number, or --threshold.all for every type"),
            (["--threshold.artist", "much"], "--threshold.NAME and a number"),
        ],
    )
    def test_bad_calls(self, checkpoint, capsys, more, says):
        folder = checkpoint("O", "B-artist", "I-artist")
        assert main(["predict", str(folder), "some text", "--device", "cpu", *more]) == 2
        assert says in capsys.readouterr().err
