"""The page of an evaluation: its plots stand where the numbers say, it stands alone, and nothing in it is markup."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from html_reader import Reader, headline, words

from retainer.cli.main import main
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.metrics.calibration import fit_curve, reliability
from retainer.metrics.f1 import Score, Scores
from retainer.report.evaluation import reliability_plots as drawing
from retainer.report.evaluation.page import evaluation_page
from retainer.report.evaluation.reliability_numbers import AssessedVersion, reliability_remarks, side_mean
from retainer.training.learn import learn
from retainer.training.recipe import Recipe

EVIL = ["<script>alert(1)</script>", "\"'></figure>&amp;", "{{ 7 * 7 }}{% x %}"]


def made(name="v2", types=("artist", "city"), curves=("artist",), count=400, seed=1, slope=0.4):
    """Entities of which too few are right for their scores; returns them too, for a second opinion."""
    rng = np.random.default_rng(seed)
    scores = 1 - rng.beta(0.7, 3, count) * 0.8
    right = rng.uniform(size=count) < 1 / (1 + np.exp(-slope * np.log(scores / (1 - scores + 1e-9))))
    owners = [types[i] for i in rng.integers(len(types), size=count)] if count else []
    chosen = np.array([owner in curves for owner in owners], dtype=bool)
    better = np.where(chosen, fit_curve(scores, right)(scores), scores)
    found = {side: reliability(s, right, owners, types) for side, s in (("plain", scores), ("calibrated", better))}
    table = Scores({type_: Score(70, 100, 90 + at) for at, type_ in enumerate(types)})
    return AssessedVersion(name, table, found, tuple(curves)), {"plain": scores, "calibrated": better}, right, owners


def page(*found, **facts):
    return evaluation_page(found, "test.conll", facts or {"command": "retainer evaluate v2 test.conll"})


def plots(html):
    """The plots by their titles."""
    drawn = [ET.fromstring(text) for text in re.findall(r'<svg class="chart reliability".*?</svg>', html, re.DOTALL)]
    return {plot.find("title").text.removesuffix(": how often entities are right, by score"): plot for plot in drawn}


def points(plot, kind):
    """Scores and shares of the marks of a kind, read back from where they stand."""
    hue = drawing._LOOKS[kind]
    marks = [one for one in plot.iter("path") if re.fullmatch(rf"dot c{hue}( few)?", one.get("class"))]
    places = [map(float, re.findall(r"[\d.]+", one.get("transform"))) for one in marks]
    shares = [((x - drawing._LEFT) / drawing._SIZE, 1 - (y - drawing._TOP) / drawing._SIZE) for x, y in places]
    return shares, ["few" in one.get("class") for one in marks]


def rows(html, label):
    table = re.search(rf'aria-label="{re.escape(label)}">(.*?)</table>', html, re.DOTALL)[1]
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in re.findall(r"<tr.*?</tr>", table)]
    return {words(re.sub("<[^>]+>", "", row[0])): [words(re.sub("<[^>]+>", "", c)) for c in row[1:]] for row in cells}


class TestPlots:
    def test_points_stand_where_entities_are(self):
        one, scores, right, owners = made()
        drawn = plots(page(one))
        assert list(drawn) == ["v2, all types", "v2, artist", "v2, city"]
        for type_ in ("all types", "artist", "city"):
            for side in ("plain", "calibrated"):
                tenths = {}
                for score, hit, owner in zip(scores[side], right, owners, strict=True):
                    if type_ in ("all types", owner):
                        tenths.setdefault(min(int(score * 10), 9), []).append((score, hit))
                wanted = [tuple(np.mean(tenths[tenth], axis=0)) for tenth in sorted(tenths)]
                found, hollow = points(drawn[f"v2, {type_}"], side)
                if side == "calibrated" and type_ == "city":
                    assert not found, "what is not calibrated is not drawn twice"
                else:
                    assert np.allclose(found, wanted, atol=0.001)
                    assert hollow == [len(tenths[tenth]) < drawing.FEW_IN_A_TENTH for tenth in sorted(tenths)]

    def test_bars_are_as_high_as_entities_are_many(self):
        one, scores, *_ = made()
        plot = plots(page(one))["v2, all types"]
        counts = [np.bincount(np.minimum((scores[side] * 10).astype(int), 9)) for side in ("plain", "calibrated")]
        most = max(map(max, counts))
        for side, wanted in zip(("plain", "calibrated"), counts, strict=True):
            bars = [float(bar.get("height")) for bar in plot.iter("rect") if f" {side} " in bar.get("class")]
            assert bars == pytest.approx([max(1.0, drawing._STRIP * n / most) for n in wanted if n], abs=0.01)

    def test_words_for_those_who_cannot_see(self):
        one, *_ = made()
        said = plots(page(one))["v2, city"].find("desc").text
        first = one.side("plain", "city")["bins"][0]
        assert f"score {100 * first['score']:.1f} percent, right {100 * first['right']:.1f} percent" in said
        assert "calibrated" not in said


class TestNumbers:
    def test_rows(self):
        one, scores, right, owners = made()
        table = rows(page(one), "Calibration, v2")
        for type_ in ("artist", "city", "all types"):
            chosen = [type_ in ("all types", owner) for owner in owners]
            cells = [str(sum(chosen)), f"{100 * right[chosen].mean():.1f}"]
            for side in ("plain", "calibrated"):
                error = one.side(side, None if type_ == "all types" else type_)["error"]
                cells += [f"{100 * scores[side][chosen].mean():.1f}", f"{error:.1f}"]
            assert table[type_] == (cells if type_ != "city" else [*cells[:4], "–", "–"])

    def test_finding(self):
        one, *_ = made()
        before, after = one.side("plain")["error"], one.side("calibrated")["error"]
        assert headline(page(one)) == (
            f"v2 reaches {one.scores.micro:.1f} micro F1; its scores are {before:.1f} points from the share of "
            f"entities that is right; calibrated, {after:.1f}."
        )

    def test_which_way_scores_are_wrong(self):
        sure, unsure = made(slope=0.2)[0], made(slope=4.0)[0]
        assert "overconfident" in reliability_remarks(sure)[0] and "underconfident" in reliability_remarks(unsure)[0]
        exact = reliability(np.array([0.75] * 4), np.array([True, True, True, False]), ["artist"] * 4, ["artist"])
        assert (
            "about right"
            in reliability_remarks(AssessedVersion("v", sure.scores, {"plain": exact, "calibrated": exact}))[0]
        )
        assert f"mean score is {side_mean(sure.side('plain'), 'score'):.1f}" in reliability_remarks(sure)[0]
        worst = max(("artist", "city"), key=lambda type_: sure.side("plain", type_)["error"])
        assert (
            f"Furthest off is {worst}" in reliability_remarks(sure)[1]
            and "Not calibrated: city;" in reliability_remarks(sure)[2]
        )

    def test_a_chain_stands_side_by_side(self):
        old, new = made("v1", ("artist",))[0], made("v2")[0]
        html = page(old, new)
        assert list(plots(html)) == ["v2, all types", "v2, artist", "v2, city", "v1, all types", "v1, artist"]
        table = rows(html, "Scores")
        assert table["type"] == ["support", "F1 of v1", "F1 of v2"]
        f1 = f"{new.scores.per_type['city'].f1:.2f}"
        assert table["city"] == ["91", "–", f1] and table["micro"][0] == "" and headline(html).startswith("v2 reaches")

    def test_one_version_has_precision_and_recall(self):
        table = rows(page(made()[0]), "Scores")
        assert (
            table["artist"] == ["90", "70.00", "77.78", "73.68"]
            and table["micro"][-1] == f"{made()[0].scores.micro:.2f}"
        )

    def test_nothing_found(self):
        html = page(made(count=0)[0])
        assert "finds nothing, so its scores cannot be measured" in headline(html) and html.count("nothing found") >= 3
        assert not any(points(plot, "plain")[0] for plot in plots(html).values())

    def test_never_calibrated(self):
        html = page(made(curves=())[0])
        assert "calibrated, <b>" not in html and "filled, right" not in html
        assert not any(points(plot, "calibrated")[0] for plot in plots(html).values())


class TestAlone:
    def test_reaches_for_nothing(self):
        html = page(made("v1")[0], made("v2")[0])
        reader = Reader(html)
        assert html.startswith("<!doctype html>") and ("lang", "en") in reader.attributes
        assert not re.search(r'https?:|url\(|@import|(?:src|action)=|href="(?!#)', html)
        assert not {"link", "img", "iframe", "script"} & set(reader.seen) and "default-src 'none'" in html
        targets = re.findall(r'href="#([^"]+)"', html)
        assert targets and set(targets) <= set(reader.ids)
        assert all("aria-labelledby" in part for part in re.findall(r"<svg class=\"chart reliability\"[^>]*>", html))

    @pytest.mark.parametrize("evil", [*EVIL, "all types"])
    def test_nothing_becomes_markup(self, evil):
        html = page(made(evil, (evil, "b"), (evil,))[0], **{"command": evil, "data": evil})
        reader = Reader(html)
        assert "script" not in reader.seen and reader.seen.count("figure") == 3
        assert evil in reader.text and "49" not in words(reader.text).split()


class TestVerbs:
    @pytest.fixture(scope="class")
    def folder(self, encoder, tmp_path_factory):
        place = tmp_path_factory.mktemp("chain")
        recipe = Recipe(epochs=8, base_lr=3e-3, lr=3e-3, holdout=0.3)
        base = learn(generate(300, seed=3, types=["artist"]), encoder, recipe=recipe, device="cpu", out=place / "v1")
        data = generate(300, seed=4, types=["city"])
        learn(data, base, recipe=recipe, device="cpu", out=place / "v2")
        write(generate(120, seed=8, types=["artist", "city"]), place / "test.conll", "conll")
        return place

    def test_evaluate(self, folder, capsys, monkeypatch):
        monkeypatch.chdir(folder)
        assert main(["evaluate", "v2", "test.conll", "--page", "e.html", "--device", "cpu"]) == 0
        said = capsys.readouterr().out
        html = (folder / "e.html").read_text()
        off = re.search(r"scores are ([\d.]+) points", said)[1]
        assert f"<b>{off}</b> points" in html and "retainer evaluate v2 test.conll" in html
        assert list(plots(html)) == ["v2, all types", "v2, artist", "v2, city"]

    def test_report_of_a_chain(self, folder, capsys, monkeypatch):
        monkeypatch.chdir(folder)
        assert main(["report", "v2", "--data", "test.conll"]) == 0
        assert capsys.readouterr().out.strip().endswith("v2.html")
        names = list(plots((folder / "v2.html").read_text()))
        assert names == ["v2, all types", "v2, artist", "v2, city", "v1, all types", "v1, artist"]
        assert main(["verify", "v2"]) == 0, "nothing was put into the version"

    def test_parents_that_are_gone_or_know_nothing_of_it(self, folder, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(folder)
        write(generate(40, seed=9, types=["city"]), tmp_path / "cities.conll", "conll")
        assert main(["report", "v2", "--data", str(tmp_path / "cities.conll"), "--out", str(tmp_path / "r.html")]) == 0
        said = capsys.readouterr().err
        assert "v1 knows no type of" in said and "not in the data, so not scored: artist" in said
        assert ">artist<" not in (tmp_path / "r.html").read_text()
        (folder / "v2").rename(tmp_path / "v2")
        try:
            assert main(["report", str(tmp_path / "v2"), "--data", "test.conll"]) == 0
        finally:
            (tmp_path / "v2").rename(folder / "v2")
        assert "so left out" in capsys.readouterr().err and "v1, artist" not in (tmp_path / "v2.html").read_text()

    @pytest.mark.parametrize(
        ("call", "says"),
        [
            (["report", "v2"], "needs annotated sentences (--data FILE)"),
            (["report", "v2", "--data", "test.conll", "--latex"], "are for a bench"),
            (["evaluate", "v2", "test.conll", "--page", "v1"], "not a plain file"),
        ],
    )
    def test_bad_calls(self, folder, capsys, monkeypatch, call, says):
        monkeypatch.chdir(folder)
        before = sorted(folder.iterdir())
        assert main(call) == 2 and says in capsys.readouterr().err
        assert sorted(folder.iterdir()) == before
