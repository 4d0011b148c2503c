"""The page of two versions: it says what the numbers say, stands alone, and nothing in it becomes markup."""

import base64
import hashlib
import json
import re
from dataclasses import replace

import pytest
from html_reader import Reader, headline, words
from scripted import EVERY, KNOWN, Scripted, noisy

from retainer.comparison.compare import compare
from retainer.comparison.gates import Gates
from retainer.comparison.scored import ScoredComparison, TypeComparison
from retainer.data.corpus import Corpus
from retainer.data.generated import generate
from retainer.data.spans import Sentence, Span
from retainer.metrics.f1 import Score
from retainer.metrics.significance import Bootstrap
from retainer.report.compare.page import compare_page
from retainer.report.compare.rows import comparison_remarks

EVIL = ["<script>alert(1)</script>", "\"'></article>&amp;", "{{ 7 * 7 }}{% x %}", "]]><!--"]


@pytest.fixture(scope="module")
def corpus():
    return generate(150, seed=9, types=EVERY)


@pytest.fixture(scope="module")
def difference(corpus):
    return compare(Scripted(KNOWN, noisy(1, 0.75)), Scripted(EVERY, noisy(2, 0.65)), corpus)


def page(difference, *, gates=None, old="v1", new="v2", facts=None):
    outcomes = (gates or Gates()).outcomes(difference)
    return compare_page(difference, old, new, outcomes, facts or {"command": "retainer compare v1 v2 data"})


def rows(html, label):
    """The cells of a table, by the name of its region."""
    table = re.search(rf'aria-label="{label}">(.*?)</table>', html, re.DOTALL)[1]
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in re.findall(r"<tr.*?</tr>", table)]
    return {words(re.sub("<[^>]+>", "", row[0])): [words(re.sub("<[^>]+>", "", c)) for c in row[1:]] for row in cells}


def articles(html):
    return re.findall(r"<article.*?</article>", html, re.DOTALL)


class TestNumbers:
    def test_scores(self, difference):
        table = rows(page(difference), "Scores")
        scored = difference.scored
        for type_, both in scored.kept.items():
            parts = [both.new.support, *(f"{getattr(s, m):.2f}" for s in (both.old, both.new) for m in MEASURES)]
            assert table[type_][:7] == list(map(str, parts))
            apart = both.differences["f1"]
            shown = [
                float(n.replace("\u2212", "-")) for n in re.findall("[\u2212+]?[0-9.]+", " ".join(table[type_][7:]))
            ]
            assert shown == pytest.approx([apart.difference, apart.low, apart.high], abs=0.006)
            assert ("*" in table[type_][7]) == both.real
        assert table["dish"][1:4] == ["–"] * 3 and table["dish"][7] == "new"
        assert f"{scored.keep:.2f}" in table["keep"] and f"{scored.gain:.2f}" in table["gain"]
        assert f"{scored.forget:.2f}" in table["forget"]

    def test_drift(self, difference):
        table = rows(page(difference), "Drift")
        for type_, agreement in {**difference.agreements, "all old types": difference.total}.items():
            assert table[type_] == [
                str(agreement.old),
                str(agreement.new),
                f"{agreement.agreement:.1f} %",
                f"{agreement.low:.1f} to {agreement.high:.1f}",
                *map(str, (agreement.kept, agreement.moved, agreement.relabelled, agreement.lost)),
                f"{agreement.silent_drift:.1f} %",
                str(agreement.gained),
                str(agreement.taken),
            ]

    def test_verdict(self, difference):
        scored = difference.scored
        assert headline(page(difference)) == (
            f"v2 keeps {scored.keep:.1f} of {scored.before:.1f} F1 on the old types and reaches "
            f"{scored.gain:.1f} on the new one."
        )
        worse = [type_ for type_, one in scored.kept.items() if one.real and one.drop > 0]
        said = re.search(
            r"<p>(Worse beyond chance: [^<]*|No old type got worse beyond chance[^<]*)\.</p>", page(difference)
        )[1]
        assert all(type_ in said for type_ in worse) and ("No old" in said) == (not worse)

    @pytest.mark.parametrize(("p", "said"), [(0.02, True), (0.06, False)])
    def test_an_interval_without_zero_that_is_not_enough(self, difference, p, said):
        """Of three types compared at once one needs a p below 0.02; its interval asks for 0.05 alone."""
        bad, fine = Bootstrap(-2.0, -4.0, -0.1, p), Bootstrap(0.0, 0.0, 0.0, 1.0)
        kept = {
            "artist": TypeComparison(Score(50, 50, 50), Score(49, 50, 50), {"f1": bad}, 0.06),
            "city": TypeComparison(Score(5, 5, 5), Score(5, 5, 5), {"f1": fine}, 1.0),
            "movie": TypeComparison(Score(5, 5, 5), Score(5, 5, 5), {"f1": fine}, 1.0),
        }
        mean = Bootstrap(0.7, 0.1, 1.3, p)
        remarks = comparison_remarks(replace(difference, scored=ScoredComparison(kept, {}, mean)))
        why = " (the interval of artist leaves out zero, but the test corrects for comparing 3 types at once)"
        assert remarks[0] == f"No old type got worse beyond chance{why if said else ''}."
        assert ("Their mean F1 fell beyond chance, by 0.70 (+0.10 to +1.30)." in remarks) == said
        alone = ScoredComparison({"artist": replace(kept["artist"], adjusted_p=p)}, {}, mean)
        assert not any(
            "at once" in one or "mean" in one for one in comparison_remarks(replace(difference, scored=alone))
        )

    def test_gates(self, difference):
        html = page(difference, gates=Gates(max_drop=0, min_agreement=0))
        said = re.findall(r"<li( class=\"no\")?><b>(\w+)</b> ([^<]*)</li>", html)
        assert [(bool(no), word) for no, word, _ in said] == [(True, "refused"), (False, "passed")]
        assert "dropped by" in said[0][2] and "--min-agreement 0: passed by artist" in said[1][2]


MEASURES = ("precision", "recall", "f1")


class TestTexts:
    def test_every_text_that_differs_and_no_other(self, difference):
        shown = articles(page(difference))
        cases = [case for case in difference.cases if case.differs]
        assert len(shown) == len(cases) < len(difference.cases)
        for html, case in zip(shown, cases, strict=True):
            assert f"sentence {case.number}<" in html
            listed = json.loads(Reader(html).attributes[1][1])
            assert [(kind, tuple(types)) for kind, types, _ in listed] == [(c.kind, c.types) for c in case.changes]
            bare = re.sub(r'<span class="(unseen|chip).*?</span>', "", html)
            lines = [re.sub("<[^>]+>", "", line) for line in re.findall(r'dir="auto">(.*?)</dd>', bare, re.DOTALL)]
            assert [line.replace("&#39;", "'").replace("&amp;", "&") for line in lines] == [case.text] * 3

    def test_old_stands_above_new(self):
        text = Sentence(tuple("play paris by boston in rome today".split()))
        old = Scripted(KNOWN, lambda s: [Span(1, 2, "movie"), Span(3, 4, "artist"), Span(5, 6, "city")])
        new = Scripted(EVERY, lambda s: [Span(1, 2, "city"), Span(3, 5, "artist"), Span(6, 7, "dish")])
        html = page(compare(old, new, [" ".join(text.words)]))
        (article,) = articles(html)
        reader = words(Reader(article).text)
        assert reader == (
            "line 1 · relabelled, moved, lost, gained "
            "old play paris [movie now city] by boston [artist moved] in rome [city lost] today "
            "new play paris [city was movie] by boston in [artist moved] rome today [dish gained]"
        )

    def test_annotation_says_who_is_right(self):
        gold = Corpus((Sentence(("to", "paris", "now"), (Span(1, 2, "city"),)),))
        old, new = Scripted(KNOWN, lambda s: [Span(1, 2, "city")]), Scripted(KNOWN, lambda s: [Span(1, 3, "city")])
        (article,) = articles(page(compare(old, new, gold)))
        text = words(Reader(article).text)
        assert "annotated to paris [city] now" in text
        assert "old to paris [city moved ✓] now" in text and "new to paris now [city moved ✗]" in text

    def test_long_texts_are_cut_around_the_changes(self):
        text = "word " * 2000 + "paris " + "word " * 2000 + "rome"
        old = Scripted(KNOWN, lambda s: [Span(2000, 2001, "city"), Span(4001, 4002, "city")])
        new = Scripted(KNOWN, lambda s: [Span(4001, 4002, "movie")])
        html = page(compare(old, new, [text]))
        (article,) = articles(html)
        shown = words(Reader(article).text)
        assert "paris [city lost]" in shown and "rome [city now movie]" in shown and "rome [movie was city]" in shown
        assert len(article) < 5000 and shown.count("…") == 4, "on each side before the first and between the two"

    def test_more_texts_than_a_page_holds(self, difference, monkeypatch):
        monkeypatch.setattr("retainer.report.compare.page.MOST_TEXTS", 5)
        html = page(difference)
        assert len(articles(html)) == 5 and "the first 5 are shown, --json has all" in html

    def test_the_same_version(self):
        version = Scripted(KNOWN, lambda s: [Span(0, 1, "city")])
        html = page(compare(version, version, ["paris"]))
        assert headline(html) == "v1 and v2 find the same entities."
        assert "They find the same everywhere." in html and not articles(html)

    def test_choices(self, difference):
        html = page(difference)
        options = {name: re.findall(r'value="([^"]+)"', part) for name, part in CHOICE.findall(html)}
        assert options == {
            "type": list(EVERY),
            "kind": ["lost", "relabelled", "moved", "gained", "kept"],
            "right": ["old", "new", "neither"],
        }
        assert '<form id="choose" class="choose" hidden>' in html, "no controls that do nothing without a script"
        assert all(f'<label for="{name}">' in html for name in options)
        plain = page(compare(Scripted(KNOWN, lambda s: []), Scripted(KNOWN, lambda s: [Span(0, 1, "city")]), ["x"]))
        assert [name for name, _ in CHOICE.findall(plain)] == ["type", "kind"]


CHOICE = re.compile(r'<select id="(\w+)"[^>]*>(.*?)</select>')


class TestAlone:
    def test_reaches_for_nothing(self, difference):
        html = page(difference)
        reader = Reader(html)
        assert html.startswith("<!doctype html>") and ("lang", "en") in reader.attributes
        assert not re.search(r'https?:|url\(|@import|(?:src|action)=|href="(?!#)', html)
        assert not {"link", "img", "iframe"} & set(reader.seen) and reader.seen.count("script") == 1
        script = re.search(r"<script>(.*?)</script>", html, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"script-src 'sha256-{digest}'" in html and "default-src 'none'" in html
        assert "prefers-color-scheme: dark" in html
        targets = re.findall(r'href="#([^"]+)"', html)
        assert targets and set(targets) <= set(reader.ids)

    @pytest.mark.parametrize("gold", [True, False])
    @pytest.mark.parametrize("evil", EVIL)
    def test_nothing_becomes_markup(self, evil, gold):
        """Types, texts and the names of versions, with annotation and without."""
        sentence = Sentence((evil, "\x00\x1b", evil, "w"), (Span(0, 1, evil),))
        old = Scripted([evil, "b"], lambda s: [Span(0, 1, evil)])
        new = Scripted([evil, "b", "x" + evil], lambda s: [Span(0, 1, "x" + evil), Span(1, 2, evil)])
        difference = compare(old, new, Corpus((sentence,)) if gold else [" ".join(sentence.words)])
        html = page(difference, gates=Gates(min_agreement=50), old=evil, new=evil, facts={evil: evil, "command": evil})
        reader = Reader(html)
        assert reader.seen.count("script") == 1 and reader.seen.count("article") == 1
        assert evil in reader.text and "alert(1)</script>" not in html and "49" not in words(reader.text).split()
        assert "\x00" not in html and "\x1b" not in html
        (listed,) = [value for name, value in reader.attributes if name == "data-changes"]
        assert ["x" + evil] in [types[-1:] for _, types, _ in json.loads(listed)]
        assert evil in [value for name, value in reader.attributes if name == "value"]
