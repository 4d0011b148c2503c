"""EM over text without annotation: it finds the share of a type, stays in its bounds, and never raises a type."""

import math
from dataclasses import replace

import numpy as np
import pytest

from retainer.data.generated import generate
from retainer.data.labels import Labels
from retainer.data.tasks import hide
from retainer.errors import InputError
from retainer.metrics.f1 import Spans
from retainer.training import label_shift as module
from retainer.training.evidence import Evidence
from retainer.training.label_shift import LOWEST, SOFTNESS, label_shift, shares_in, text_offsets
from retainer.training.learn import learn
from retainer.training.prior import corrected, fit_offsets
from retainer.training.recipe import Recipe
from retainer.training.request import LearnRequest
from retainer.versions.version import load


def posteriors(rng, share, words, learned_with):
    """Probabilities a calibrated student that learned with one share gives words of which another share is new."""
    new = rng.random(words) < share
    x = rng.normal(new * 2.0, 1.0)  # two normal distributions, so the posterior is known
    odds = np.exp(2 * x - 2) * learned_with / (1 - learned_with)
    return (odds / (1 + odds))[:, None]


class TestTheShift:
    @pytest.mark.parametrize("true", [0.02, 0.05, 0.1, 0.2])
    def test_it_finds_the_true_share(self, true):
        p = posteriors(np.random.default_rng(0), true, 40_000, 0.2)
        wanted = math.log(true / (1 - true)) - math.log(0.2 / 0.8)
        found = label_shift(p, np.array([0.2]))[0]
        assert found == pytest.approx(max(wanted, LOWEST / SOFTNESS), abs=0.25)

    def test_several_types_at_once(self):
        rng = np.random.default_rng(1)
        kinds = rng.choice(3, 60_000, p=[0.9, 0.08, 0.02])
        scores = rng.normal(size=(60_000, 3)) + 3 * np.eye(3)[kinds]
        density = np.stack([np.exp(-((scores - 3 * np.eye(3)[k]) ** 2).sum(1) / 2) for k in range(3)], 1)
        joint = density * np.array([0.6, 0.2, 0.2])
        p = joint / joint.sum(1, keepdims=True)
        found = label_shift(p[:, 1:], np.array([0.2, 0.2]))
        wanted = np.log(np.array([0.08, 0.02]) / 0.2) - math.log(0.9 / 0.6)
        assert np.abs(found - np.maximum(wanted, LOWEST / SOFTNESS + math.log(0.6 / 0.9))).max() < 0.3

    def test_a_student_that_finds_nothing_stays_in_bounds(self):
        found = label_shift(np.full((500, 1), 1e-9), np.array([0.1]))
        assert np.isfinite(found).all() and found[0] >= LOWEST / SOFTNESS - 0.2

    def test_data_in_which_every_word_is_of_the_type(self):
        found = label_shift(np.array([[0.9], [0.2], [0.1]]), np.array([1.0]))
        assert np.isfinite(found).all()

    def test_shares(self):
        data = hide(generate(50, seed=1, types=["artist", "city"]), ["city"])
        words = sum(len(sentence.words) for sentence in data)
        of = sum(span.end - span.start for sentence in data for span in sentence.spans)
        assert shares_in(data.sentences, ("city",)) == {"city": of / words} and shares_in((), ("city",)) == {"city": 0}


RIGHT_OLD, NOTHING = (0.0, 3.0, -5.0), (4.0, -5.0, -4.0)
"""A clear old entity, and a word that is none: the scores of O, old and new."""
TEXT = generate(5, seed=1)


class TestWhatOldTypesMayLose:
    """Forty old entities that the parent finds, and sixty words the student calls new, of which the parent says O."""

    def offsets(self, monkeypatch, taken):
        labels = Labels(("O", "B-old", "I-old", "B-new", "I-new"))
        logits = np.full((160, 5), -20.0)
        logits[:, [0, 1, 3]] = [RIGHT_OLD] * 40 + [taken] * 60 + [NOTHING] * 60
        gold = Spans(np.arange(40), np.arange(1, 41), np.zeros(40, dtype=np.int64))
        seen = Evidence(logits, labels, np.arange(161), (), ("old",), gold, ())
        monkeypatch.setattr(Evidence, "of", lambda *_: seen)
        monkeypatch.setattr(module, "_taught_offsets", lambda *_: {"new": -2.0})
        return text_offsets(None, None, TEXT, {"new": 0.2}, picked=True)

    def test_em_that_gives_words_of_the_new_type_to_an_old_one_is_refused(self, monkeypatch):
        """With it the sixty are called old, and no offset tells them from the forty."""
        assert self.offsets(monkeypatch, taken=(-5.0, 3.0, 4.0)) == {"new": 0.0, "old": 0.0}

    def test_unless_an_offset_of_the_old_type_gives_them_back(self, monkeypatch):
        found = self.offsets(monkeypatch, taken=(0.0, 0.5, 1.5))
        assert found["new"] == -2.0 and -3 < found["old"] <= -0.5

    def test_em_that_gives_them_to_nobody_is_taken(self, monkeypatch):
        assert self.offsets(monkeypatch, taken=(0.0, -5.0, 1.5)) == {"new": -2.0, "old": 0.0}


class TestLearning:
    @pytest.fixture(scope="class")
    def parts(self, pair):
        some = hide(generate(110, seed=5, types=["artist", "city"]), ["city"])
        picked = replace(some, sentences=tuple(sentence for sentence in some if sentence.spans))
        text = hide(generate(100, seed=8, types=["artist"]), [])
        return load(pair["v1"], device="cpu"), picked, text

    def test_text_in_which_the_type_is_rare_lowers_it(self, parts):
        start, picked, text = parts
        recipe = Recipe(epochs=1, batch=8, lr=2e-3, prior="text")
        version = learn(picked, start, method="retain", text=text, recipe=recipe, device="cpu")
        plain = learn(picked, start, method="retain", text=text, recipe=replace(recipe, prior="none"), device="cpu")
        assert LOWEST <= version.lineage.prior["city"] < 0 and version.lineage.recipe["prior"] == "text"
        rows = plain.tagger.labels.of(["city"])
        moved = version.tagger.head.bias()[rows] - plain.tagger.head.bias()[rows]
        assert moved.tolist() == pytest.approx([version.lineage.prior["city"]] * 2, abs=1e-4)
        again = text_offsets(plain.tagger, start.tagger, text, {"city": 1e-6}, picked=True)
        assert again["city"] == 0.0, "a type is never raised"

    def test_data_drawn_as_they_came_have_no_offset(self, parts):
        """Half of the sentences have the type: they say themselves how often it occurs."""
        start, picked, text = parts
        others = [sentence.with_spans(()) for sentence in picked]
        drawn = replace(picked, sentences=(*picked.sentences[:9], *others[:9]))
        recipe = Recipe(epochs=1, batch=8, lr=5e-3, prior="text")
        version = learn(drawn, start, method="retain", text=text, recipe=recipe, device="cpu", measure=False)
        assert version.lineage.prior["city"] == 0.0

    def test_old_types_are_judged_by_the_parent(self, parts):
        """A student whose head lost half of its bias for the old type gets it back."""
        start, _, text = parts
        weak = corrected(start.tagger, {"artist": -4.0})
        found = [fit_offsets(Evidence.of(one, start.tagger, text, ())) for one in (weak, start.tagger)]
        assert found == [{"artist": pytest.approx(4.0, abs=2)}, {"artist": 0.0}]

    def test_it_takes_the_place_of_a_dev_file(self, parts):
        start, picked, text = parts
        asked = {"method": "retain", "text": text, "device": "cpu"}
        assert LearnRequest(picked, start, **asked).resolve().recipe.prior == "text"
        assert LearnRequest(picked, start, **asked, dev=picked).resolve().recipe.prior == "dev"
        assert LearnRequest(picked, start, **{**asked, "method": "rdp"}).resolve().recipe.prior == "none"
        none = LearnRequest(picked, start, **asked, recipe=Recipe(prior="none")).resolve()
        assert none.recipe.prior == "none" and not none.prior_note

    def test_text_that_is_not_drawn_corrects_nothing(self, parts):
        start, picked, text = parts
        asked = {"method": "retain", "text": text, "device": "cpu", "recipe": Recipe(text_share=0)}
        task = LearnRequest(picked, start, **asked).resolve()
        assert task.text is None and task.recipe.prior == "none" and task.prior_note.startswith("tip: with --dev")

    def test_a_type_that_is_taught_again_has_the_offset_of_text_alone(self, parts, monkeypatch):
        start, _, text = parts
        asked = []
        monkeypatch.setattr(module, "fit_offsets", lambda _, types, plain: asked.append(list(types)) or {})
        assert set(text_offsets(start.tagger, start.tagger, text, {"artist": 0.1}, picked=True)) == {
            "artist"
        } and asked == [[]]

    def test_a_first_version_has_none(self, parts, encoder):
        _, picked, _ = parts
        task = LearnRequest(picked, encoder, recipe=Recipe(prior="text"), device="cpu").resolve()
        assert task.recipe.prior == "none" and "first version" in task.prior_note

    def test_it_needs_text(self, parts):
        start, picked, _ = parts
        request = LearnRequest(picked, start, recipe=Recipe(prior="text"), device="cpu")
        with pytest.raises(InputError, match=r"corrected on text \(--text\), and none is given"):
            request.resolve()
