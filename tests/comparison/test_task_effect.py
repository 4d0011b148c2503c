"""What a task kept, gave away, lost and gained: counted from what two versions find, and reported everywhere."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from retainer.bench.task_sequence import TaskSequence
from retainer.cli.main import main
from retainer.comparison.compare import compare
from retainer.comparison.effect_words import TRAINING_PLACE
from retainer.comparison.task_effect import measure_effect, task_effect
from retainer.data.corpus import Corpus, Splits
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.data.spans import Sentence, Span
from retainer.data.tasks import hide, plan
from retainer.methods import METHODS
from retainer.metrics.f1 import gold_spans
from retainer.metrics.few import FEW_ENTITIES, LEAST_ENTITIES_NAMED
from retainer.model.predict import Tagged
from retainer.training.learn import learn
from retainer.training.recipe import Recipe

A, B, NEW = "artist", "movie", "city"


def saying(types, *said):
    """A tagger that finds what the test gives it for each sentence."""
    return SimpleNamespace(labels=SimpleNamespace(types=tuple(types)), said=said)


@pytest.fixture
def scripted(monkeypatch):
    def find(tagger, sentences, types):
        starts = np.cumsum([0, *(len(sentence.words) for sentence in sentences)])
        found = [sentence.with_spans(spans) for sentence, spans in zip(sentences, tagger.said, strict=True)]
        ones = np.ones(starts[-1], dtype=np.float32)
        return gold_spans(found, starts, types), Tagged(np.zeros(starts[-1], dtype=np.int64), ones, starts)

    monkeypatch.setattr("retainer.comparison.task_effect.find", find)


def corpus(*gold):
    return Corpus(tuple(Sentence(tuple("abcdef"), spans) for spans in gold))


def effect_of(measured, taught=(NEW,), annotated=(NEW,), place="set aside"):
    return task_effect(measured, taught, annotated, {"sentences": 1, "place": place})


class TestTheWarning:
    @pytest.mark.parametrize(("kept", "lost", "warned"), [(13, 7, True), (14, 6, False), (0, 19, False), (0, 20, True)])
    def test_a_type_of_which_little_was_kept(self, scripted, kept, lost, warned):
        """The rarest type can vanish while the mean over all entities looks well."""
        before = [[Span(0, 1, A)]] * (kept + lost) + [[Span(3, 4, B)]] * 500
        after = [[Span(0, 1, A)]] * kept + [[]] * lost + [[Span(3, 4, B)]] * 500
        data = corpus(*[()] * len(before))
        words = effect_of(measure_effect(saying([A, B], *before), saying([A, B, NEW], *after), data, [NEW]))["in_words"]
        assert (
            "warning, keeps little of artist: --text, --exemplars" in words
        ) == warned and "little of movie" not in words


class TestFates:
    def test_every_fate_once(self, scripted):
        gold = [(), (), (), (), (Span(0, 2, NEW),), ()]
        before = [[Span(0, 1, A)], [Span(0, 1, A)], [Span(0, 1, A)], [Span(0, 2, A)], [Span(1, 2, A)], [Span(3, 4, B)]]
        after = [[Span(0, 1, A)], [], [Span(0, 1, B)], [Span(0, 1, A)], [Span(0, 2, NEW)], [Span(3, 4, B)]]
        effect = effect_of(measure_effect(saying([A, B], *before), saying([A, B, NEW], *after), corpus(*gold), [NEW]))
        one = effect["old"][A]
        assert {kind: one[kind] for kind in ("kept", "lost", "relabelled", "moved", "given", "corrected")} == {
            "kept": 1, "lost": 1, "relabelled": 1, "moved": 1, "given": 1, "corrected": 0,
        }  # fmt: skip
        assert one["found"] == 5 and one["share"] == 25 and one["relabelled_as"] == {B: 1}
        assert effect["all"]["found"] == 6 and effect["all"]["kept"] == 2 and effect["all"]["share"] == 40
        assert one["before"] is None, "it is not annotated"

    def test_given_only_where_the_new_type_is_annotated(self, scripted):
        before, after = saying([A], [Span(0, 1, A)]), saying([A, NEW], [Span(0, 1, NEW)])
        stolen = effect_of(measure_effect(before, after, corpus(()), [NEW]))["old"][A]
        assert stolen["relabelled"] == 1 and stolen["given"] == 0 and stolen["share"] == 0
        missed = effect_of(measure_effect(before, saying([A, NEW], []), corpus((Span(0, 2, NEW),)), [NEW]))["old"][A]
        assert missed["given"] == 1 and missed["lost"] == 0, "it was an error, whichever version finds what there"
        stubborn = effect_of(
            measure_effect(before, saying([A, NEW], [Span(0, 1, A)]), corpus((Span(0, 1, NEW),)), [NEW])
        )
        assert stubborn["old"][A]["kept"] == 1 and stubborn["old"][A]["given"] == 0

    def test_an_error_that_is_gone_is_no_loss_where_the_type_is_annotated(self, scripted):
        before, after = saying([A], [Span(0, 1, A)], [Span(2, 3, A)]), saying([A], [], [])
        data = corpus((), (Span(2, 3, A),))
        blind, seeing = (
            effect_of(measure_effect(before, after, data, annotated), (), annotated)["old"][A]
            for annotated in ((), (A,))
        )
        assert (blind["lost"], blind["corrected"]) == (2, 0) and (seeing["lost"], seeing["corrected"]) == (1, 1)
        assert seeing["before"] == pytest.approx(200 / 3) and seeing["after"] == 0 and blind["before"] is None

    def test_in_words(self, scripted):
        """Of enough entities, shares and F1: half of the movies are lost."""
        size = FEW_ENTITIES
        data = corpus(*[(Span(0, 1, NEW), Span(2, 3, B))] * size)
        old, kept = [[Span(1, 2, A), Span(2, 3, B)]] * size, [Span(0, 1, NEW), Span(1, 2, A), Span(2, 3, B)]
        before = saying([A, B], *old)
        after = saying([A, B, NEW], *[kept[:2]] * (size // 2), *[kept] * (size // 2))
        said = effect_of(measure_effect(before, after, data, [NEW, B]), annotated=(NEW, B))["in_words"]
        assert "kept 75.0 % of what the previous version found (30 of 40 entities in 1 sentence set aside)" in said
        assert ", least of movie (50.0 %)" in said and "learned city at F1 100.0" in said
        assert "forgot: movie −33.3" in said and "say little" not in said
        same = effect_of(measure_effect(before, before, data, [A, B]), (), (A, B))["in_words"]
        assert same.startswith("kept 100.0 %") and "least" not in same and "forgot:" not in same

    @pytest.mark.parametrize("size", [LEAST_ENTITIES_NAMED - 1, LEAST_ENTITIES_NAMED, FEW_ENTITIES])
    def test_the_worst_type_is_named_only_where_its_share_means_something(self, scripted, size):
        said = [[Span(0, 1, A), Span(2, 3, B)]] * size + [[Span(0, 1, A)]] * FEW_ENTITIES
        before, after = saying([A, B], *said), saying([A, B, NEW], [Span(0, 1, A)], *said[1:])
        said = effect_of(measure_effect(before, after, corpus(*[()] * len(said)), [NEW]))["in_words"]
        share = f"{100 * (size - 1) / size:.1f} %" if size == FEW_ENTITIES else f"{size - 1} of {size}"
        assert (f", least of movie ({share})" in said) == (size >= LEAST_ENTITIES_NAMED)

    def test_nothing_to_keep(self, scripted):
        effect = effect_of(measure_effect(saying([A], []), saying([A, NEW], []), corpus(()), [NEW]))
        assert "found nothing to keep" in effect["in_words"] and effect["old"][A]["share"] is None
        unseen = effect_of(measure_effect(saying([]), saying([NEW], []), corpus(()), []), annotated=())
        assert unseen["new"][NEW]["f1"] is None and "not annotated there" in unseen["in_words"]


class TestFewEntities:
    """A share of a handful says nothing, so counts take its place, and what tells more is named."""

    @pytest.mark.parametrize("size", [1, FEW_ENTITIES - 1, FEW_ENTITIES])
    def test_what_was_kept_and_learned(self, scripted, size):
        data = corpus(*[(Span(0, 1, NEW),)] * size)
        before, after = [[Span(2, 3, A)]] * size, [[Span(0, 1, NEW), Span(2, 3, A)]] * size
        said = effect_of(measure_effect(saying([A], *before), saying([A, NEW], *after), data, [NEW]))["in_words"]
        caution = "counts below 20 say little: check with retainer compare on annotated data"
        if size == FEW_ENTITIES:
            assert "kept 100.0 % of what" in said and "learned city at F1 100.0" in said and caution not in said
        else:
            what = "1 entity" if size == 1 else "19 entities"
            kept = f"kept {size} of {what} that the previous version found in 1 sentence set aside"
            assert said == f"{kept}; found {size} of {size} city; {caution}"

    @pytest.mark.parametrize("size", [1, FEW_ENTITIES - 1, FEW_ENTITIES])
    def test_a_type_that_is_not_found(self, scripted, size):
        """One entity that was missed is not a type that is never found."""
        effect = effect_of(
            measure_effect(saying([]), saying([NEW], *[[]] * size), corpus(*[(Span(0, 1, NEW),)] * size), [NEW])
        )
        assert ("never finds city" in effect["in_words"]) == (size == FEW_ENTITIES)
        assert (f"found 0 of {size} city" in effect["in_words"]) == (size < FEW_ENTITIES)
        assert ("F1" in effect["in_words"]) == (size == FEW_ENTITIES) and effect["new"][NEW]["f1"] == 0

    def test_finds_that_are_not_annotated_are_counted_too(self, scripted):
        finds, data = saying([NEW], [Span(0, 1, NEW), Span(2, 3, NEW)]), corpus((Span(0, 1, NEW), Span(4, 5, NEW)))
        effect = effect_of(measure_effect(saying([]), finds, data, [NEW]))
        assert effect["in_words"].startswith("found 1 of 2 city (and 1 not annotated); counts below 20")
        assert "retainer evaluate on" in effect["in_words"], "a first version has nothing to be compared with"
        assert effect["new"][NEW] == {"f1": 50.0, "support": 2, "found": 2, "correct": 1}

    @pytest.mark.parametrize(
        ("size", "said"), [(2, "found 2 of 2 city in the"), (20, "learned city at F1 100.0 on the")]
    )
    def test_scores_on_training_sentences_are_called_that(self, scripted, size, said):
        finds, data = saying([NEW], *[[Span(0, 1, NEW)]] * size), corpus(*[(Span(0, 1, NEW),)] * size)
        measured = measure_effect(saying([]), finds, data, [NEW])
        assert effect_of(measured, place=TRAINING_PLACE)["in_words"].startswith(f"{said} training sentences")
        assert "training" not in effect_of(measured)["in_words"]

    @pytest.mark.parametrize("size", [2, FEW_ENTITIES])
    def test_training_sentences_never_show_that_nothing_was_forgotten(self, scripted, size):
        finds, data = saying([A], *[[Span(0, 1, A)]] * size), corpus(*[(Span(0, 1, A),)] * size)
        measured = measure_effect(finds, finds, data, [A])
        trained, apart = (effect_of(measured, (), (A,), place)["in_words"] for place in (TRAINING_PLACE, "set aside"))
        assert trained.endswith(
            "these sentences were learned from, so they say little: check with retainer compare on annotated data"
        )
        assert "forgot" not in trained and ("forgot nothing" in apart) == (size == FEW_ENTITIES)

    def test_old_types_that_are_annotated(self, scripted):
        """Of two movies one is lost, and of two artists none: neither is a figure, and nothing is ruled out."""
        data = corpus(*[(Span(0, 1, A), Span(2, 3, B))] * 2)
        before = saying([A, B], *[[Span(0, 1, A), Span(2, 3, B)]] * 2)
        after = saying([A, B], [Span(0, 1, A), Span(2, 3, B)], [Span(0, 1, A)])
        effect = effect_of(measure_effect(before, after, data, [A, B]), (B,), (A, B))
        assert "learned more of movie (found 1 of 2, 2 before)" in effect["in_words"]
        assert "forgot: movie (found 1 of 2, 2 before); counts" in effect["in_words"]
        one = effect["old"][B]
        assert (one["support"], one["correct_before"], one["correct_after"]) == (2, 2, 1)
        same = effect_of(measure_effect(before, before, data, [A, B]), (), (A, B))["in_words"]
        assert "forgot" not in same, "of two entities nobody knows"


@pytest.fixture(scope="module")
def good(encoder):
    """A version that finds its artists."""
    data = hide(generate(300, seed=6, types=["artist", "city"]), ["artist"])
    return learn(data, encoder, recipe=Recipe(epochs=8, batch=16, base_lr=3e-3), device="cpu")


BRIEF = Recipe(epochs=2, batch=16, lr=1e-3)


class TestLearning:
    def test_it_is_what_compare_says(self, good):
        """Where no new type is annotated nothing is explained away, so the two must agree."""
        texts = hide(generate(80, seed=21, types=["artist", "city"]), ["artist"])
        data = hide(generate(120, seed=5, types=["artist", "city"]), ["city"])
        new = learn(data, good, method="finetune", recipe=replace(BRIEF, select="last"), dev=texts, device="cpu")
        theirs = compare(good, new, hide(texts, [])).agreements["artist"]
        ours = new.lineage.scores["balance"]["old"]["artist"]
        assert theirs.old == ours["found"] > 0 and theirs.kept == ours["kept"]
        assert theirs.silent_drift > 0, "plain fine-tuning loses some"
        assert theirs.old - theirs.kept == sum(ours[k] for k in ("moved", "relabelled", "lost", "given", "corrected"))
        before, after = (one.evaluate(texts).per_type["artist"].f1 for one in (good, new))
        assert (ours["before"], ours["after"]) == (before, after)

    def test_each_version_looks_once(self, good, city, monkeypatch):
        import retainer.comparison.task_effect

        asked = []
        look = retainer.comparison.task_effect.find
        monkeypatch.setattr(
            "retainer.comparison.task_effect.find",
            lambda tagger, *more: asked.append(tagger.labels.types) or look(tagger, *more),
        )
        dev = generate(40, seed=9, types=["artist", "city"])
        version = learn(city, good, recipe=BRIEF, dev=dev, device="cpu")
        assert asked == [("artist", "city"), ("artist",)]
        assert set(version.lineage.scores["before"]) == {"artist"}
        asked.clear()
        plain = learn(city, good, recipe=BRIEF, dev=dev, device="cpu", measure=False)
        assert asked == [] and "balance" not in plain.lineage.scores
        theirs = version.tagger.state_dict()
        assert all(theirs[key].equal(value) for key, value in plain.tagger.state_dict().items())

    def test_a_sequence_of_tasks_does_not_pay_for_it(self, encoder, monkeypatch):
        monkeypatch.setattr("retainer.training.learn.measure_effect", lambda *_: pytest.fail("measured"))
        parts = [generate(60, seed=at, types=["artist", "city"]) for at in range(3)]
        steps = list(
            TaskSequence(
                plan(Splits(*parts), fg=1, pg=1), METHODS["rdp"], encoder=str(encoder), recipe=BRIEF, device="cpu"
            ).run()
        )
        assert len(steps) == 2


class TestReported:
    @pytest.fixture
    def folder(self, good, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        good.save("v1")
        write(hide(generate(200, seed=5, types=["artist", "city"]), ["city"]), "city.conll", "conll")
        return tmp_path

    CALL = ("learn", "city.conll", "--from", "v1", "--out", "v2", "--epochs", "2", "--device", "cpu")

    def test_at_the_end_of_learn_in_the_log_and_on_the_card(self, folder, capsys):
        assert main(list(self.CALL)) == 0
        out = capsys.readouterr().out
        effect = json.loads((folder / "v2" / "retainer.json").read_text())["scores"]["balance"]
        assert effect["in_words"] in out and effect["place"] == "set aside" and effect["sentences"] == 20
        (row,) = (line for line in out.splitlines() if line.split()[:1] == ["artist"])
        assert row.split()[1:3] == [str(effect["old"]["artist"]["found"]), str(effect["old"]["artist"]["kept"])]
        assert f"{effect['new']['city']['f1']:.2f} of {effect['new']['city']['support']}" in out
        assert "%" not in row, "there are too few for a share"
        assert main(["log", "v2"]) == 0 and effect["in_words"] in capsys.readouterr().out
        there = effect["all"]["found"] - effect["all"]["given"]
        assert there > 0 and f"{effect['all']['kept']} of {there} entities" in (folder / "v2" / "README.md").read_text()

    def test_with_nothing_set_aside_it_is_the_sentences_learned_from(self, folder, capsys):
        few = generate(60, seed=5, types=["artist", "city"])
        write(hide(few, ["city"]), "city.conll", "conll")
        assert main([*self.CALL[:-4], "--epochs", "1", "--set.lr", "1e-9", "--device", "cpu"]) == 0
        out = capsys.readouterr().out
        record = json.loads((folder / "v2" / "retainer.json").read_text())
        effect = record["scores"]["balance"]
        assert "60 sentences it learned from" in out and "give --dev FILE" in out and record["scores"]["dev"] is None
        assert "F1 in training" in out and "at F1 0.0 on the training sentences" in out
        assert effect["old"]["artist"]["kept"] > 0 and effect["new"]["city"]["found"] == 0
        assert "never finds city" in out and not record["scores"]["per_type"] and "city" not in record["calibration"]
        assert main(["log", "v2"]) == 0 and "│   F1 not measured" in capsys.readouterr().out

    def test_the_last_epoch_is_measured_too(self, folder, capsys):
        assert main([*self.CALL, "--set.select", "last"]) == 0
        out = capsys.readouterr().out
        effect = json.loads((folder / "v2" / "retainer.json").read_text())["scores"]["balance"]
        assert "the last epoch was asked for" in out and "too little data" not in out and effect["in_words"] in out
        assert main(["log", "v2"]) == 0
        logged = capsys.readouterr().out
        new = effect["new"]["city"]
        aside = f"F1 on what was set aside: city {new['f1']:.2f} ({new['support']} entities)"
        assert effect["in_words"] in logged and aside in logged and "dev F1" not in logged.split("●")[1]

    def test_for_machines(self, folder, capsys):
        assert main([*self.CALL, "--json"]) == 0
        effect = json.loads(capsys.readouterr().out)["scores"]["balance"]
        assert set(effect["old"]) == {"artist"} and set(effect["new"]) == {"city"} and effect["in_words"]
