"""The report of a bench: its numbers follow from the cells, names stay text, and what is wrong gets one sentence."""

import csv
import gzip
import io
import json
import re
import shutil
import statistics
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from results import result
from retainer.bench.cell import found_spans, pack, save_gold, save_result, stored_gold
from retainer.bench.result import CellResult
from retainer.cli.main import main
from retainer.data.corpus import Corpus
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.data.spans import Sentence, Span
from retainer.metrics.significance import bootstrap, count_entities, f1_of_counts, holm, paired_t
from retainer.report.bench.cases import case_study
from retainer.report.bench.folder import read_bench, read_bench_corpus, types_of_setting
from retainer.report.bench.means import axis_start, mean_run, method_lines
from retainer.report.bench.method_comparison import MethodComparison, compare_methods, mean_gain, untested
from retainer.report.bench.method_tests import FEW_SEEDS, NO_GOLD, NO_SPANS, OTHER_CORPUS, MethodTester, method_family
from retainer.report.bench.numbers import mean_and_deviation, probability, signed
from retainer.report.bench.page import bench_finding, corpus_statistics, leader_text
from retainer.report.bench.paper_tables import cells_csv, escape_latex, paper_latex, paper_markdown
from retainer.report.bench.published import Published
from retainer.report.bench.rows import MethodRow

RESULTS = Path(__file__).parents[2] / "results" / "bench" / "conll2003"
TYPES = ("artist", "city", "movie")
GROUPS = {"FG-1-PG-1": (("artist",), ("city",), ("movie",)), "FG-2-PG-1": (("artist", "city"), ("movie",))}
SKILL = {"joint": 0.95, "partial_joint": 0.9, "rdp": 0.85, "rdp-no-cd": 0.84, "extend_ner": 0.6, "finetune": 0.3}


def scored(gold, found, known, new):
    """One task of a cell, counted from spans."""
    made = count_entities(gold, found, known).sum(0)
    micro, macro = f1_of_counts(made)
    each = [float(f1_of_counts(made[i : i + 1])[0]) for i in range(len(known))]
    per_type = {t: {"precision": v, "recall": v, "f1": v, "support": 9} for t, v in zip(known, each, strict=True)}
    old = [v for t, v in zip(known, each, strict=True) if t not in new]
    return {
        "types": list(new),
        "micro": float(micro),
        "macro": float(macro),
        "per_type": per_type,
        "old_macro": statistics.fmean(old) if old else None,
        "new_macro": statistics.fmean(v for t, v in zip(known, each, strict=True) if t in new),
        "guesses": {"precision": 70.0, "recall": 90.0} if old else None,
        "dev": {"micro": float(micro), "macro": float(macro)},
        "seconds": 2.0,
    }


def make_cell(folder, gold, setting, place, seed, groups=None, preset="p", **more):
    """Write a cell of a method that finds each entity with its skill, into a folder of its own name or another."""
    method = more.pop("method", place)
    random = np.random.default_rng([seed, len(method), sum(map(ord, setting))])
    known, tasks, spans = [], [], []
    for new in groups or GROUPS[setting]:
        known += new
        skill = SKILL.get(method, 0.5)
        found = [tuple(s for s in row if s.type in known and random.random() < skill) for row in gold]
        spans.append(found)
        tasks.append(scored(gold, found, list(known), new))
    average = {name: statistics.fmean(task[name] for task in tasks) for name in ("micro", "macro")}
    document = {
        "preset": preset, "setting": setting, "variant": "", "method": method, "seed": seed, "encoder": "/home/me/tiny",
        "tasks": tasks, "average": average, "forgetting": {"artist": 1.5}, "backward_transfer": {"artist": -2.5},
        "seconds": 6.0, "versions": {"retainer": "0"}, "recipe": {"epochs": 2}, "fields": {}, "key": "k", **more,
    }  # fmt: skip
    file = folder / preset / setting / place / f"seed-{seed}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    save_result(file, CellResult.of(document), [pack(task) for task in spans])
    return file


@pytest.fixture(scope="module")
def test_set():
    return generate(80, seed=3, types=list(TYPES))


@pytest.fixture(scope="module")
def made(tmp_path_factory, test_set):
    """A bench of six methods, two of them upper bounds, two settings and three seeds, with the gold spans."""
    folder = tmp_path_factory.mktemp("bench")
    gold = [s.spans for s in test_set]
    for setting in GROUPS:
        for method in SKILL:
            for seed in (1, 2, 3):
                make_cell(folder, gold, setting, method, seed)
    save_gold(folder / "p", test_set)
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory, test_set):
    folder = tmp_path_factory.mktemp("data")
    for name, count, seed in (("train", 60, 1), ("dev", 20, 2)):
        write(generate(count, seed=seed, types=list(TYPES)), folder / f"{name}.conll", "conll")
    write(test_set, folder / "test.conll", "conll")
    return folder


@pytest.fixture
def bench(made, tmp_path):
    """A copy a test may change."""
    return Path(shutil.copytree(made, tmp_path / "bench", ignore=shutil.ignore_patterns("*.html")))


def ranked(folder, gold=True, against=None, draws=200):
    found = read_bench(folder)
    return found, compare_methods(found, MethodTester(found, found.gold(None) if gold else None, draws=draws), against)


class Checker(HTMLParser):
    """Every tag closes where it should; the text of table cells by caption."""

    VOID = {"meta", "br", "input", "col"}

    def __init__(self):
        super().__init__()
        self.open, self.tables, self.scripts, self.cell = [], {}, 0, None

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        if tag not in self.VOID and not (self.open and self.open[-1] == "svg" and tag == "path"):
            self.open.append(tag)
        if tag == "caption":
            self.caption, self.rows = "", []
        if tag == "tr" and "table" in self.open and hasattr(self, "rows"):
            self.rows.append([])
        if tag in ("td", "th"):
            self.cell = ""

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if tag in ("path",) and self.open[-1] != tag:
            return
        assert self.open.pop() == tag
        if tag in ("td", "th") and hasattr(self, "rows"):
            self.rows[-1].append(" ".join(self.cell.split()))
            self.cell = None
        if tag == "caption":
            self.caption = " ".join(self.caption.split())
        if tag == "table" and hasattr(self, "caption"):
            self.tables.setdefault(self.caption, self.rows)

    def handle_data(self, text):
        if self.open and self.open[-1] == "caption":
            self.caption += text
        if self.cell is not None and "td" in self.open or "th" in self.open:
            self.cell = (self.cell or "") + text


def page_of(folder, *more):
    target = folder / "report.html"
    assert main(["report", str(folder), *more]) == 0
    return target.read_text()


class TestNumbers:
    def test_tables_follow_from_the_cells(self, made):
        """A slow recomputation of every column from the files alone."""
        html = page_of(made)
        checker = Checker()
        checker.feed(html)
        assert not checker.open
        head, *body = checker.tables["FG-1-PG-1"]
        assert head[:4] == ["method", "seeds", "micro", "macro"]
        rows = {row[0]: dict(zip(head, row, strict=True)) for row in body if len(row) == len(head)}
        assert set(rows) == set(SKILL)
        for method, row in rows.items():
            files = sorted((made / "p" / "FG-1-PG-1" / method).glob("seed-?.json"))
            cells = [json.loads(file.read_text()) for file in files]
            macros = [statistics.fmean(t["macro"] for t in cell["tasks"]) for cell in cells]
            assert row["macro"].startswith(f"{statistics.fmean(macros):.2f} ± {statistics.stdev(macros):.2f}")
            assert row["seeds"] == "3" and row["forget"] == "1.50" and row["backward"] == "−2.50"
            assert row["last"] == f"{statistics.fmean(c['tasks'][-1]['macro'] for c in cells):.2f}"
            assert row["old"] == f"{statistics.fmean(c['tasks'][-1]['old_macro'] for c in cells):.2f}"
            assert row["guesses P / R"] == "70.00 / 90.00"
        assert "best" in rows["rdp"]["macro"] + rows["rdp-no-cd"]["macro"] and "best" not in rows["joint"]["macro"]

    def test_differences(self, made):
        found, (first, second) = ranked(made)
        gold = stored_gold(made / "p")
        for comparison in (first, second):
            test = comparison.tests["extend_ner"]
            sides = []
            for method in ("extend_ner", "rdp"):
                files = [made / "p" / comparison.setting / method / f"seed-{seed}.json" for seed in (1, 2, 3)]
                sides.append([json.loads(file.read_text())["average"]["macro"] for file in files])
            assert test.seeds == (1, 2, 3) and test.p == pytest.approx(stats.ttest_rel(*sides).pvalue)
            assert test.gain == pytest.approx(statistics.fmean(sides[0]) - statistics.fmean(sides[1]))
            assert comparison.gain.rival.method == "extend_ner" and comparison.gain.macro == pytest.approx(-test.gain)
            slow = []
            for method in ("extend_ner", "rdp"):
                slow.append([])
                for seed in (1, 2, 3):
                    spans = found_spans(made / "p" / comparison.setting / method / f"seed-{seed}.json")
                    for at, task in enumerate(spans):
                        known = [t for group in GROUPS[comparison.setting][: at + 1] for t in group]
                        slow[-1].append(count_entities(gold, [task.get(i, ()) for i in range(len(gold))], known))
            assert test.sentences.difference == pytest.approx(bootstrap(*slow, draws=200).difference)
            assert test.sentences.p == bootstrap(*slow, draws=200).p
            assert test.sentences.low == pytest.approx(bootstrap(*slow, draws=200).low)
            assert test.sentences.difference == pytest.approx(test.gain, abs=1e-6)
        assert mean_gain([first, second])[1] == pytest.approx((first.gain.macro + second.gain.macro) / 2)
        assert (
            "beats its best measured rival" in bench_finding([first, second])
            and read_bench(made).preset == found.preset
        )

    def test_holm(self):
        assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
        assert holm([]) == [] and holm([0.9, 0.8]) == [1.0, 1.0]

    def test_means_over_seeds(self, made):
        found = read_bench(made)
        rows = found.rankings[0].rows
        row = next(row for row in rows if row.name == "rdp")
        run = mean_run(row)
        for task in range(3):
            for type_ in GROUPS["FG-1-PG-1"][0]:
                slow = [cell.tasks[task].per_type[type_]["f1"] for cell in row.cells]
                assert run.f1(task, type_) == pytest.approx(statistics.fmean(slow))
        drawn = method_lines("FG-1-PG-1", rows)
        assert drawn.values["rdp"][2] == pytest.approx(row.last("macro")) and drawn.f1(0, "unknown") is None
        assert axis_start([drawn]) % 10 == 0 and types_of_setting(rows) == TYPES

    def test_words(self):
        assert probability(0.0) == "< 0.001" and probability(0.0311) == "0.031" and signed(-1.234) == "−1.23"
        assert (
            method_family("rdp-no-cd")
            == method_family("rdp_paper")
            == method_family("rdp")
            != method_family("extend_ner")
        )

    def test_real_cells(self, tmp_path):
        found, all_ = ranked(RESULTS, gold=False)
        assert found.preset == "conll2003" and [s.setting for s in all_] == ["FG-1-PG-1", "FG-2-PG-1"]
        for comparison in all_:
            rivals = [r for r in comparison.rows if not (r.joint or r.variant or r.method.startswith("rdp"))]
            assert comparison.gain.rival is max(rivals, key=lambda row: statistics.fmean(row.values("macro")))
            test = comparison.tests["extend_ner"]
            ours, theirs = (
                [cell.average["macro"] for cell in row.cells]
                for row in (next(r for r in comparison.rows if r.name == "extend_ner"), comparison.chosen)
            )
            assert test.p == pytest.approx(paired_t(ours, theirs)) and test.p < 0.01
            assert comparison.tests["rdp (recipe paper)"].p is None
            assert comparison.place(next(r for r in comparison.rows if r.joint), "macro") == 0
        target, cells = tmp_path / "page.html", tmp_path / "cells"
        shutil.copytree(RESULTS, cells, ignore=shutil.ignore_patterns("*.gz"))
        assert main(["report", str(cells), "--out", str(target)]) == 0
        html = target.read_text()
        assert "no gold spans" in html and "82.55 / 80.64 ?" in html and FEW_SEEDS in html
        assert "? rdp as printed, but the paper&#39;s own tasks average to 83.03 / 81.11" in html
        assert "with bert-base-cased" in html

    def test_real_spans_fit_the_real_corpus(self, conll2003, tmp_path):
        """Counting the stored spans again gives the scores of the cells, released code's up to its own way to count."""
        few = shutil.ignore_patterns("seed-[2-9]*", "gold*")
        found = read_bench(shutil.copytree(RESULTS / "FG-1-PG-1", tmp_path / "c" / "s", ignore=few))
        tester = MethodTester(found, found.gold(read_bench_corpus(conll2003)), draws=20)
        for comparison in compare_methods(found, tester, None):
            for test in comparison.tests.values():
                assert test.sentences is not None, test.why
                assert test.sentences.difference == pytest.approx(test.gain, abs=0.1)


class TestPage:
    def test_stands_alone(self, made):
        html = page_of(made)
        assert not re.search(r'(?:src|href|action)="(?!#)', html) and "@import" not in html and "url(" not in html
        assert "default-src 'none'" in html and html.count("<script") == 1
        assert "Imp." in html and "tiny" in html and "/home/me" not in html
        assert html.count('class="chart"') == 2 and html.count("<details") > 10

    def test_sentences_only_with_data_and_consent(self, made, data, test_set, tmp_path):
        without, silent, full = (tmp_path / name for name in ("a.html", "b.html", "c.html"))
        assert main(["report", str(made), "--out", str(without)]) == 0
        assert main(["report", str(made), "--data", str(data), "--no-text", "--out", str(silent)]) == 0
        assert main(["report", str(made), "--data", str(data), "--out", str(full)]) == 0
        texts = [path.read_text() for path in (without, silent, full)]
        assert ["Where methods differ" in text for text in texts] == [False, False, True]
        assert ["The data" in text for text in texts] == [False, True, True]
        for sentence in test_set:
            assert " ".join(sentence.words) not in texts[0] + texts[1]
        assert 'class="example case"' in texts[2] and 'class="choose" hidden' in texts[2], "no controls that do nothing"

    def test_the_case_study(self, made, data, test_set):
        found, all_ = ranked(made)
        shown = case_study(found, all_, test_set)
        assert shown.setting == "FG-1-PG-1" and shown.methods[:2] == ("rdp", "extend_ner") and shown.seed == 1
        assert len({tuple(p.text for p in case.truth) for case in shown.cases}) == len(shown.cases) > 3
        spans = [found_spans(made / "p/FG-1-PG-1" / m / "seed-1.json")[-1] for m in shown.methods]
        differ = sum(len({frozenset(one.get(i, ())) for one in spans}) > 1 for i in range(len(test_set)))
        assert shown.differing == differ
        ours = sum(set(spans[0].get(i, ())) == set(s.spans) != set(spans[1].get(i, ())) for i, s in enumerate(test_set))
        assert shown.ours == ours and {case.side for case in shown.cases} <= {"ours", "theirs", "alike"}

    def test_what_all_have_in_common_is_said_once(self, made, data, test_set, tmp_path):
        shutil.copytree(made, tmp_path / "made")
        for file in (tmp_path / "made").rglob("seed-*.json"):
            file.write_text(json.dumps(json.loads(file.read_text()) | {"variant": "epochs=2"}))
        found, all_ = ranked(tmp_path / "made")
        shown = case_study(found, all_, test_set)
        assert shown.methods[:2] == ("rdp", "extend_ner") and shown.variant == "epochs=2"
        assert main(["report", str(tmp_path / "made"), "--data", str(data), "--out", str(tmp_path / "r.html")]) == 0
        html = (tmp_path / "r.html").read_text()
        assert "FG-1-PG-1 with epochs=2, seed 1, after" in html and ">rdp, not extend_ner<" in html

    def test_statistics(self, data, test_set):
        corpus = Corpus(test_set.sentences)
        made = corpus_statistics((corpus, None, corpus), TYPES[:2])
        assert made["parts"] == ["train", "test"]
        rows = dict(made["lines"])
        assert rows["sentences"] == [80, 80] and rows["entities of other types"] == [corpus.counts["movie"]] * 2
        assert dict(made["types"])["city"] == [corpus.counts["city"]] * 2

    def test_names_stay_text(self, tmp_path):
        evil = "<script>alert(1)</script>\"'&"
        sentences = [
            Sentence((f"<img src=x{i}>", "</script>", "w"), (Span(0, 1, evil), Span(1, 2, "b"))) for i in (1, 2, 3)
        ]
        gold = [s.spans for s in sentences]
        for method in ("rdp", "finetune", "<b>bold</b>"):
            for seed in (1, 2, 3):
                file = make_cell(tmp_path, gold, "FG-1-PG-1", "m", seed, groups=((evil,), ("b",)))
                document = json.loads(file.read_text()) | {"method": method, "variant": evil}
                target = tmp_path / "p" / "FG-1-PG-1" / str(abs(hash(method))) / file.name
                target.parent.mkdir(exist_ok=True)
                shutil.copy(file.with_suffix(".spans.json.gz"), target.with_suffix(".spans.json.gz"))
                target.write_text(json.dumps(document))
        shutil.rmtree(tmp_path / "p" / "FG-1-PG-1" / "m")
        save_gold(tmp_path / "p", sentences)
        found, all_ = ranked(tmp_path)
        from retainer.report.bench.page import bench_page

        corpus = Corpus(tuple(sentences))
        shown = case_study(found, all_, corpus)
        html = bench_page(found, all_, parts=(corpus, None, corpus), study=shown, facts={"command": evil})
        checker = Checker()
        checker.feed(html)
        assert not checker.open and checker.scripts == 1
        assert "<script>alert" not in html and "<b>bold" not in html and "<img" not in html
        assert "\\textless{}script\\textgreater{}" in paper_latex(all_) and "<script>" not in paper_markdown(
            all_
        ).replace("\\<", "")

    def test_encoders_of_one_name_are_two_rows(self, bench, test_set):
        gold = [s.spans for s in test_set]
        for place in ("old", "new"):
            facts = {"method": "rdp", "variant": "tiny", "encoder": f"/home/me/{place}/tiny"}
            make_cell(bench, gold, "FG-1-PG-1", f"rdp.{place}", 1, **facts)
        html = page_of(bench)
        assert "rdp (old/tiny)" in html and "rdp (new/tiny)" in html and "/home/me" not in html

    def test_legends_have_no_numbers_that_were_not_measured(self, made):
        """A number in a legend is one of this report, or a threshold that holds for it."""
        html = page_of(made)
        legends = " ".join(re.findall(r'<ul class="legend">.*?</ul>', html, re.DOTALL))
        assert set(re.findall(r"(?<!F)\d+(?:\.\d+)?", re.sub("<[^>]+>", "", legends))) == {"0.05", "20"}

    def test_published_scores_only_beside_their_own_corpus(self, tmp_path, test_set):
        types = {"artist": "location", "city": "misc", "movie": "organisation"}
        gold = [tuple(Span(s.start, s.end, types[s.type]) for s in one.spans) for one in test_set]
        groups = (("location",), ("misc",), ("organisation",), ("person",))
        make_cell(tmp_path, gold, "FG-1-PG-1", "rdp", 1, groups=groups, preset="conll2003")
        html = page_of(tmp_path)
        assert "82.55" not in html and "published scores are left out" in html
        target = tmp_path / "t.md"
        assert main(["report", str(tmp_path), "--markdown", "--out", str(target)]) == 0
        assert "82.55" not in target.read_text() and "published scores are left out" in target.read_text()

    def test_loads_no_torch(self, made):
        code = (
            f"import sys; from retainer.cli.main import main; assert main(['report', {str(made)!r}]) == 0\n"
            "sys.exit(any(name in sys.modules for name in ('torch', 'transformers')))"
        )
        assert subprocess.run([sys.executable, "-c", code]).returncode == 0

    def test_the_best_leads_where_nothing_is_chosen(self, bench):
        for setting in GROUPS:
            shutil.rmtree(bench / "p" / setting / "rdp")
        _, (first, _) = ranked(bench)
        assert first.chosen.method == "rdp-no-cd"
        for setting in GROUPS:
            for method in set(SKILL) - {"joint", "rdp"}:
                shutil.rmtree(bench / "p" / setting / method)
        assert "no rival" in page_of(bench)


class TestUpperBounds:
    """Both score above all others in these cells, and are not contenders."""

    BOUNDS = {"joint", "partial_joint"}

    def test_they_are_neither_best_nor_rivals(self, made, test_set):
        found, all_ = ranked(made)
        for comparison in all_:
            placed = {row.name: comparison.place(row, "macro") for row in comparison.rows}
            assert {placed[name] for name in self.BOUNDS} == {0} and comparison.best.method.startswith("rdp")
            assert comparison.gain.rival.method == "extend_ner"
            assert leader_text(comparison).startswith(f"{comparison.setting}: highest, upper bounds aside, is rdp")
        assert not self.BOUNDS & set(case_study(found, all_, test_set).methods)

    def test_no_method_is_tested_against_them(self, made):
        """What is no rival must not make the correction for many comparisons harsher either."""
        _, all_ = ranked(made)
        for comparison in all_:
            assert set(comparison.tests) == set(SKILL) - self.BOUNDS - {"rdp"}
            tests = list(comparison.tests.values())
            assert [test.adjusted for test in tests] == holm([test.p for test in tests])

    def test_one_that_is_chosen_is_compared_with_all(self, made):
        _, all_ = ranked(made, against="joint")
        assert all(set(comparison.tests) == set(SKILL) - {"joint"} for comparison in all_)

    def test_without_a_name_none_is_chosen(self, bench):
        for setting in GROUPS:
            for method in set(SKILL) - self.BOUNDS - {"finetune"}:
                shutil.rmtree(bench / "p" / setting / method)
        assert ranked(bench)[1][0].chosen.method == "finetune"

    def test_they_stand_above_a_rule_on_the_page(self, made):
        html = page_of(made)
        (scores, *_) = re.findall(r'<table class="scores">.*?</table>', html, re.DOTALL)
        groups = [re.findall(r'<th scope="row">(.*?)</th>', body) for body in scores.split("<tbody>")[1:]]
        assert set(groups[0]) == self.BOUNDS and "rdp" in groups[1]
        assert scores.count('class="joint"') == 2
        legends = " ".join(re.findall(r'<ul class="legend">.*?</ul>', html, re.DOTALL))
        assert "<em>joint</em> sees all" in legends and "<em>partial_joint</em> sees all" in legends
        assert "bold</b> best, upper bounds aside" in legends and legends.count(": an upper bound") == 2

    def test_of_one_alone_it_is_the_bound(self, bench):
        for setting in GROUPS:
            shutil.rmtree(bench / "p" / setting / "partial_joint")
        html = page_of(bench)
        assert html.count(": the upper bound") == 1 and "partial" not in html

    def test_distances_to_both(self, made):
        checker = Checker()
        checker.feed(page_of(made))
        for comparison in ranked(made, gold=False)[1]:
            head, *body = checker.tables[comparison.setting]
            rows = {row[0]: dict(zip(head, row, strict=True)) for row in body if len(row) == len(head)}
            means = {row.name: row.mean("macro") for row in comparison.rows}
            for name, row in rows.items():
                assert row["to joint"] == signed(means[name] - means["joint"])
                assert row["to partial"] == signed(means[name] - means["partial_joint"])

    def test_they_stand_above_a_rule_in_latex_and_unmarked_in_markdown(self, made):
        _, all_ = ranked(made, gold=False)
        text = paper_latex(all_)
        above, below = text.split("\\midrule")[1:3]
        assert "joint &" in above and "partial\\_joint &" in above and "joint &" not in below and "rdp &" in below
        assert "textbf" not in above and "underline" not in above and "dagger" not in above
        assert "% Above the rule: upper bounds" in text
        lines = [line for line in paper_markdown(all_).splitlines() if line.startswith(("| joint", "| partial"))]
        assert len(lines) == 4 and not any("*" in line for line in lines)


class TestMissing:
    def test_fewer_than_three_seeds(self, bench):
        for setting in GROUPS:
            (bench / "p" / setting / "extend_ner" / "seed-3.json").unlink()
        _, all_ = ranked(bench)
        assert all(s.tests["extend_ner"].p is None and s.tests["extend_ner"].seeds == (1, 2) for s in all_)
        assert all(s.tests["extend_ner"].sentences is not None for s in all_), "sentences need no seeds"
        assert FEW_SEEDS in page_of(bench) and "too few seeds" in bench_finding(all_)

    def test_no_gold_spans(self, bench, data):
        (bench / "p" / "gold.spans.json.gz").unlink()
        assert page_of(bench).count("no gold spans") == 1, "said once, not row by row"
        found = read_bench(bench)
        (first, _) = compare_methods(found, MethodTester(found, None), None)
        assert first.tests["finetune"].why == NO_GOLD and first.tests["finetune"].p is not None
        assert "no gold spans" not in page_of(bench, "--data", str(data))

    def test_columns_that_are_empty_everywhere_are_left_out(self, bench):
        named = 'scope="col">p, sentences<', 'scope="col">on sentences<', 'scope="col">published<'
        assert [name in page_of(bench) for name in named] == [True, True, False], "no paper has these tasks"
        (bench / "p" / "gold.spans.json.gz").unlink()
        html = page_of(bench)
        assert not any(name in html for name in named) and 'scope="col">p, seeds<' in html
        assert main(["report", str(bench), "--markdown", "--out", str(bench / "t.md")]) == 0
        printed = (bench / "t.md").read_text()
        assert "p, seeds |" in printed and "p, sentences" not in printed and "published" not in printed
        checker = Checker()
        checker.feed(html)
        assert all(
            len({len(row) for row in checker.tables[name]}) == 1 for name in checker.tables if "compared" in name
        )

    def test_values_that_differ_between_settings_are_printed(self, bench):
        for file in (bench / "p").glob("FG-*/*/seed-*.json"):
            document = json.loads(file.read_text())
            document["recipe"] = {"epochs": 20 if document["setting"] == "FG-2-PG-1" else 10, "batch": 8}
            file.write_text(json.dumps(document))
        assert "epochs 10 (FG-1-PG-1) and 20 (FG-2-PG-1), batch 8" in page_of(bench)

    def test_many_types_stand_upright_and_many_new_ones_are_counted(self, tmp_path):
        types = [f"type-{i:02}" for i in range(12)]
        gold = [(Span(0, 1, type_),) for type_ in types]
        make_cell(tmp_path, gold, "FG-9-PG-3", "rdp", 1, groups=(tuple(types[:9]), tuple(types[9:])))
        html = page_of(tmp_path)
        assert 'class="heats wide many"' in html and 'title="type-00, type-01' in html and ">9 types</span>" in html
        assert "type-09, type-10, type-11</th>" in html, "a few are named"

    def test_no_spans_of_a_cell(self, bench):
        (bench / "p" / "FG-1-PG-1" / "finetune" / "seed-2.spans.json.gz").unlink()
        _, (first, _) = ranked(bench)
        assert first.tests["finetune"].why == NO_SPANS and first.tests["extend_ner"].sentences is not None
        assert untested([first]) == ["Not tested over sentences: finetune in FG-1-PG-1 (no spans kept)."]
        target = bench / "t.md"
        assert main(["report", str(bench), "--markdown", "--out", str(target)]) == 0
        assert target.read_text().count(NO_SPANS) == 1

    def test_spans_of_other_sentences(self, bench, tmp_path, capsys):
        file = bench / "p" / "FG-1-PG-1" / "finetune" / "seed-2.spans.json.gz"
        file.write_bytes(gzip.compress(json.dumps({"tasks": [{}, {}, {"500": [[0, 1, "city"]]}]}).encode()))
        _, (first, _) = ranked(bench)
        assert first.tests["finetune"].why == OTHER_CORPUS

    def test_another_corpus(self, bench, data, tmp_path, capsys):
        other = Path(shutil.copytree(data, tmp_path / "other"))
        write(generate(80, seed=9, types=list(TYPES)), other / "test.conll", "conll")
        assert main(["report", str(bench), "--data", str(other)]) == 2
        assert "not the test set" in capsys.readouterr().err
        (bench / "p" / "gold.spans.json.gz").unlink()
        assert main(["report", str(bench), "--data", str(other)]) == 2
        assert "not those the cells were measured on" in capsys.readouterr().err
        assert not (bench / "report.html").exists()


def wrong(capsys, *argv):
    """Run a call that must fail with one sentence."""
    assert main(["report", *map(str, argv)]) == 2
    printed = [line for line in capsys.readouterr().err.splitlines() if line.startswith("retainer: ")]
    assert len(printed) == 1
    return printed[0]


class TestRefusals:
    def test_no_cells(self, tmp_path, capsys):
        assert "holds no cells" in wrong(capsys, tmp_path)
        assert "is not a folder" in wrong(capsys, tmp_path / "nowhere")

    def test_any_level_will_do(self, bench, test_set, tmp_path, monkeypatch, capsys):
        """Above the bench, at the preset, at a setting, at a method: the report is of the cells below."""
        levels = {"..": (2, 6), ".": (2, 6), "p": (2, 6), "p/FG-1-PG-1": (1, 6), "p/FG-1-PG-1/rdp": (1, 1)}
        for level, (settings, methods) in levels.items():
            found = read_bench(bench / level)
            assert (len(found.rankings), len(found.rankings[0].rows)) == (settings, methods), level
            assert found.gold(None) is not None, "the gold spans lie in the folder of the preset"
        monkeypatch.chdir(bench / "p" / "FG-1-PG-1" / "rdp")
        assert read_bench(Path()).path == read_bench(Path("..")).path == (bench / "p").resolve()
        make_cell(tmp_path / "second", [s.spans for s in test_set], "FG-1-PG-1", "rdp", 1)
        assert "bench/p and second/p; name one" in wrong(capsys, tmp_path)

    def test_damaged(self, bench, capsys):
        file = bench / "p" / "FG-1-PG-1" / "rdp" / "seed-1.json"
        whole = file.read_text()
        for text, says in (
            (whole[: len(whole) // 2], "is damaged"),
            ("[]", "is not a cell"),
            ('{"preset": "p"}', "is not a cell"),
        ):
            file.write_text(text)
            assert says in wrong(capsys, bench)
        assert not (bench / "report.html").exists()
        file.write_text(whole)
        spans = file.with_suffix(".spans.json.gz")
        for kept in (spans.read_bytes()[:50], gzip.compress(b"{}"), gzip.compress(b'{"tasks": [{"x": [[1]]}]}'), b""):
            spans.write_bytes(kept)
            assert "is damaged" in wrong(capsys, bench)

    def test_mixed(self, bench, test_set, capsys):
        gold = [s.spans for s in test_set]
        file = make_cell(bench, gold, "FG-1-PG-1", "rdp", 1, preset="q")
        assert "holds cells of p and q" in wrong(capsys, bench)
        assert main(["report", str(bench / "q")]) == 0 and (bench / "q" / "report.html").exists()
        shutil.move(file, bench / "p" / "FG-1-PG-1" / "rdp" / "seed-9.json")
        shutil.rmtree(bench / "q")
        assert "mixes cells of p and q" in wrong(capsys, bench)

    def test_other_tasks_and_twice_the_same(self, bench, test_set, capsys):
        gold = [s.spans for s in test_set]
        make_cell(bench, gold, "FG-1-PG-1", "rdp", 4, groups=(("city",), ("artist",)))
        assert "different tasks" in wrong(capsys, bench)
        (bench / "p/FG-1-PG-1/rdp/seed-4.json").unlink()
        shutil.copytree(bench / "p/FG-1-PG-1/rdp", bench / "p/FG-1-PG-1/rdp-copy")
        assert "is the same cell as another file" in wrong(capsys, bench)

    def test_calls(self, made, tmp_path, capsys):
        assert "did you mean 'extend_ner'" in wrong(capsys, made, "--against", "extend_nre")
        assert "did you mean 'rdp'" in wrong(capsys, made, "--against", "RDP")
        assert "exclude each other" in wrong(capsys, made, "--latex", "--csv")
        assert "there is no" in wrong(capsys, made, "--data", tmp_path / "nowhere")
        assert "is not a plain file" in wrong(capsys, made, "--out", tmp_path)


class TestPapers:
    def test_latex(self, made, capsys):
        assert main(["report", str(made), "--latex"]) == 0
        text = capsys.readouterr().out
        assert text.count("\\begin{tabular}{lcccc}") == 1 and text.count(" \\\\") == 2 + len(SKILL) + 1
        assert "extend\\_ner" in text and "$\\pm$" in text and "\\textbf{" in text and "\\underline{" in text
        assert re.search(r"Imp. & \+\d", text) and all(
            line.count("&") == 4 for line in text.splitlines() if "pm" in line
        )

    def test_rows_stand_in_one_order_everywhere(self, made):
        """The upper bounds, then the others, the best first."""
        _, ranked_ = ranked(made, gold=False)
        checker = Checker()
        checker.feed(page_of(made))
        for comparison in ranked_:
            names = [row.name for row in comparison.rows]
            others = [row.mean("macro") for row in comparison.rows[2:]]
            assert names[:2] == ["joint", "partial_joint"] and others == sorted(others, reverse=True)
            assert [row[0] for row in checker.tables[comparison.setting][1:-1]] == names
            assert re.findall(r"^([\w\\-]+) & \S*\d", paper_latex([comparison]), re.MULTILINE) == list(
                map(escape_latex, names)
            )

    def test_the_order_over_several_settings(self):
        """A row that has only the easy setting is not better for it."""

        def comparison(setting, **scores):
            cells = {name: result(name, macro=f1) for name, f1 in scores.items()}
            return MethodComparison(
                setting, [MethodRow(name, (cell,)) for name, cell in cells.items()], Published(), None, {}
            )

        text = paper_latex([comparison("hard", joint=50.0, rdp=45.0), comparison("easy", joint=90.0, finetune=60.0)])
        assert re.findall(r"^(\w+) & \S*\d", text.replace("--", "0"), re.MULTILINE) == ["joint", "rdp", "finetune"]

    def test_latex_escapes(self):
        assert escape_latex("a_b & 50% {x} \\ ~^ #1 $ <|>") == (
            r"a\_b \& 50\% \{x\} \textbackslash{} \textasciitilde{}\textasciicircum{} \#1 \$ "
            r"\textless{}\textbar{}\textgreater{}"
        )

    def test_markdown(self, made, tmp_path):
        target = tmp_path / "t.md"
        assert main(["report", str(made), "--markdown", "--against", "extend_ner", "--out", str(target)]) == 0
        text = target.read_text()
        tables = [block.splitlines() for block in text.split("\n\n") if block.startswith("| ")]
        assert len(tables) == 4 and all(len({line.count(" | ") for line in one}) == 1 for one in tables)
        assert "Against extend\\_ner" in text and "| **" in text and "Mean gain" in text
        found, (first, _) = ranked(made)
        assert mean_and_deviation(next(row for row in first.rows if row.name == "rdp").values("macro")) in text

    def test_csv(self, made, capsys):
        assert main(["report", str(made), "--csv"]) == 0
        rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
        assert len(rows) == len(SKILL) * 3 * (3 + 2)
        for row in rows:
            cell = json.loads((made / "p" / row["setting"] / row["method"] / f"seed-{row['seed']}.json").read_text())
            task = cell["tasks"][int(row["task"]) - 1]
            assert json.loads(row["types"]) == task["types"] and float(row["macro"]) == task["macro"]
            assert {k: float(v) for k, v in row.items() if k.startswith("f1 ") and v} == {
                f"f1 {name}": score["f1"] for name, score in task["per_type"].items()
            }
            assert row["old_macro"] == "" if task["old_macro"] is None else float(row["old_macro"])

    def test_csv_of_odd_names(self, tmp_path):
        name = 'a,"b"\n'
        gold = [(Span(0, 1, name),)] * 4
        make_cell(tmp_path, gold, "FG-1-PG-1", "rdp", 1, groups=((name,),), peak_bytes=2**31)
        (row,) = csv.DictReader(io.StringIO(cells_csv(read_bench(tmp_path)), newline=""))
        assert json.loads(row["types"]) == [name] and f"f1 {name}" in row and row["peak_bytes"] == str(2**31)
        assert "2.00 GiB" in page_of(tmp_path)


def test_the_commands_would_measure_these_cells():
    from retainer.cli.verbs.report import _commands

    cells = [
        result(method, seed, variant=variant, setting="FG-1-PG-1")
        for method, variant, seeds in (("rdp", "", 2), ("joint", "", 2), ("rdp", "recipe paper, lr=1e-05, large", 1))
        for seed in range(1, seeds + 1)
    ]
    assert _commands("p", cells) == [
        "retainer bench p --data DATA --out OUT --setting FG-1-PG-1 --methods rdp,joint --seeds 1,2",
        "retainer bench p --data DATA --out OUT --setting FG-1-PG-1 --methods rdp --seeds 1 --recipe paper "
        "--set.lr 1e-05 --encoder large",
    ]
