"""The prior correction: when an offset is taken, when it must not be, and where it ends up."""

import math
from dataclasses import replace

import numpy as np
import pytest

from retainer.data.generated import generate
from retainer.data.labels import Labels
from retainer.data.spans import Sentence, Span
from retainer.data.tasks import hide
from retainer.errors import InputError
from retainer.methods import METHODS, Retain
from retainer.metrics.f1 import Spans, score
from retainer.model.decode import predicted_spans
from retainer.model.quirks import RELEASED
from retainer.training import blend
from retainer.training.evidence import Evidence
from retainer.training.learn import learn
from retainer.training.prior import corrected, fit_offsets
from retainer.training.recipe import Recipe
from retainer.training.request import LearnRequest
from retainer.versions.version import load

LABELS = Labels(("O", "B-old", "I-old", "B-new", "I-new"))


def evidence(words, *, old=(), annotated=("new",)):
    """One word per sentence: its scores of O, old and new, and whether it is a new entity."""
    logits = np.full((len(words), 5), -20.0)
    logits[:, [0, 1, 3]] = [scores for scores, _ in words]
    starts = np.arange(len(words) + 1)
    rows = [(row, row + 1, 1) for row, (_, new) in enumerate(words) if new] + [(row, row + 1, 0) for row in old]
    gold = Spans(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)
    judged = ("old", "new") if len(old) else ("new",)
    return Evidence(logits, LABELS, starts, ("new",), judged, gold, annotated)


RIGHT, DOUBTFUL, NOTHING = (0.0, -5.0, 3.0), (0.0, -5.0, 1.0), (4.0, -5.0, -4.0)
"""A clear entity, a word that only looks like one, and a word that does not."""


class TestTheRule:
    def test_one_that_must_be_taken(self):
        """Sixty found too many beside sixty right ones: a lower bias leaves the right ones alone."""
        found = fit_offsets(evidence([(RIGHT, True)] * 60 + [(DOUBTFUL, False)] * 60 + [(NOTHING, False)] * 60))
        assert -3 < found["new"] <= -1

    def test_one_that_must_not_be_taken(self):
        """The same with three entities: two mistakes less are no evidence."""
        assert fit_offsets(evidence([(RIGHT, True)] * 3 + [(DOUBTFUL, False)] * 2)) == {"new": 0.0}

    def test_what_is_found_too_rarely_is_raised(self):
        missed = (1.5, -5.0, 0.0)
        found = fit_offsets(evidence([(RIGHT, True)] * 30 + [(missed, True)] * 60 + [(NOTHING, False)] * 60))
        assert found["new"] >= 1.5

    def test_nothing_to_gain(self):
        assert fit_offsets(evidence([(RIGHT, True)] * 60 + [(NOTHING, False)] * 60)) == {"new": 0.0}

    def test_an_annotated_old_type_may_not_fall(self):
        """Raising the new type would win more of it than it takes of the old one; it is refused all the same."""
        missed, shared = (1.5, -5.0, 0.0), (-5.0, 1.0, 0.5)
        words = [(RIGHT, True)] * 30 + [(missed, True)] * 60 + [(shared, False)] * 6
        assert fit_offsets(evidence(words))["new"] >= 1.5
        old = range(90, 96)
        assert fit_offsets(evidence(words, old=old, annotated=("old", "new")))["new"] < 1.5
        agreed = evidence(words, old=old)
        now, start = agreed.shifted(fit_offsets(agreed)).as_it_is, agreed.as_it_is
        assert (now.f1 - start.f1)[0] >= -0.5, "and agreement with the parent by half a point at most"

    def test_an_old_type_that_is_hardly_found_any_more_is_raised(self):
        """The parent finds forty, the student ten of them: its scores still tell them from the rest."""
        lost, kept = (1.5, 0.0, -5.0), (0.0, 3.0, -5.0)
        words = [(RIGHT, True)] * 30 + [(kept, False)] * 10 + [(lost, False)] * 30 + [(NOTHING, False)] * 60
        found = fit_offsets(evidence(words, old=range(30, 70)))
        assert found["old"] >= 1.5 and found["new"] == 0.0

    def test_rare_types_share_one(self):
        """Five types, each with too few entities to speak for itself, all found too often."""
        types = tuple(f"t{number}" for number in range(8))
        labels = Labels(("O",)).grow(types)
        rows, spans = [], []
        for number, type_ in enumerate(types):
            for right in (True,) * 8 + (False,) * 8:
                scores = np.full(len(labels.names), -20.0)
                scores[0], scores[labels.of([type_])[0]] = 0.0, 3.0 if right else 1.0
                spans += [(len(rows), len(rows) + 1, number)] if right else []
                rows.append(scores)
        gold = Spans(*np.array(spans).T)
        found = fit_offsets(Evidence(np.array(rows), labels, np.arange(len(rows) + 1), types, types, gold, types))
        assert all(-3 < offset <= -1 for offset in found.values())

    def test_f1_and_its_error_by_hand(self):
        found = evidence([(RIGHT, True)] * 7 + [(DOUBTFUL, False)] * 3 + [((4.0, -5.0, -4.0), True)] * 2)
        now = found.as_it_is
        assert now.f1.tolist() == [pytest.approx(200 * 7 / (10 + 9))]
        types = ["old", "new"]
        spans = predicted_spans(found.logits.argmax(1), LABELS, found.sentence_starts, types)
        slow = score(found.gold, spans, types)
        assert now.f1[0] == pytest.approx(slow.per_type["new"].f1)
        for row in (0, 8, 11):  # the influence of a sentence is what its weight changes
            more = []
            for weight in (1.0, 1.001):
                w = np.ones(12)
                w[row] = weight
                more.append(200 * (now.correct @ w) / ((now.found + now.support) @ w))
            assert now.influence[0, row] == pytest.approx(((more[1] - more[0]) / 0.001)[0], abs=1e-2)


class TestWhatOldTypesAreJudgedBy:
    def test_the_parent_where_nothing_is_annotated(self, pair):
        parent, student = (load(pair[name], device="cpu") for name in ("v1", "v2"))
        dev = hide(generate(80, seed=9, types=["artist", "city"]), ["city"])
        found = Evidence.of(student.tagger, parent.tagger, dev, ("city",))
        assert found.annotated == ("city",) and found.taught == ("city",)
        wanted = set()
        for base, sentence, spans in zip(found.sentence_starts, dev, parent.tag(dev.sentences), strict=False):
            taken = {place for span in sentence.spans for place in range(span.start, span.end)}
            wanted |= {(base + s.start, base + s.end) for s in spans if not taken & set(range(s.start, s.end))}
        old = found.gold.type == student.types.index("artist")
        assert set(zip(found.gold.start[old], found.gold.end[old], strict=True)) == wanted and len(wanted) > 5
        assert (~old).sum() == dev.counts["city"]
        assert found.judged == ("artist", "city") and found.weights.tolist() == pytest.approx([1 / 3, 2 / 3])


DEV = hide(generate(120, seed=7, types=["artist", "city"]), ["city"])
RECIPE = Recipe(epochs=2, batch=16, base_lr=1e-3, lr=1e-3)


class TestLearning:
    @pytest.fixture(scope="class")
    def picked(self):
        """Sentences picked for their cities, as people pick them; the dev set is not."""
        some = hide(generate(300, seed=5, types=["artist", "city"]), ["city"])
        return replace(some, sentences=tuple(sentence for sentence in some if sentence.spans))

    @pytest.fixture(scope="class")
    def both(self, pair, picked, tmp_path_factory):
        """The same student without a correction and with one of -1.5, whatever the dev set says."""
        folder, start = tmp_path_factory.mktemp("prior") / "v", load(pair["v1"], device="cpu")
        recipe = Recipe(epochs=4, batch=8, lr=5e-3)
        plain = learn(picked, start, method="retain-no-prior", dev=DEV, recipe=recipe, device="cpu")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(blend, "fit_offsets", lambda evidence: {"city": -1.5})
            version = learn(picked, start, method="retain", dev=DEV, recipe=recipe, device="cpu", out=folder)
        return plain, version, folder

    def test_it_is_the_same_student_with_another_bias(self, both):
        plain, version, _ = both
        assert plain.lineage.prior == {} and version.lineage.prior == {"city": -1.5}
        a, b = plain.tagger, version.tagger
        rows = a.labels.of(["city"])
        moved = (b.head.bias() - a.head.bias())[rows].tolist()
        assert moved == pytest.approx([-1.5] * len(rows), abs=1e-5)
        assert (a.head.weight() == b.head.weight()).all()
        others = [row for row in range(len(a.labels.names)) if row not in rows]
        assert (a.head.bias()[others] == b.head.bias()[others]).all()
        states = a.network.state_dict(), b.network.state_dict()
        assert all(states[0][name].equal(states[1][name]) for name in states[0])

    def test_it_is_recorded_and_a_pipeline_finds_the_same(self, both, pipeline):
        plain, version, folder = both
        again = load(folder, device="cpu")
        assert again.lineage.prior == version.lineage.prior and again.lineage.recipe["prior"] == "dev"
        texts = [" ".join(sentence.words) for sentence in DEV.sentences[:60]]
        ours, theirs = again.predict(texts), pipeline(folder, texts)
        places = [[[(e["start"], e["end"], e["entity_group"]) for e in found] for found in x] for x in (ours, theirs)]
        assert places[0] == places[1] and ours == version.predict(texts) != plain.predict(texts)

    def test_offsets_fold_into_the_scores(self, both):
        tagger, offsets = both[0].tagger, {"city": -1.5, "artist": 0.25}
        wanted = [offsets.get(type_, 0.0) for _, type_ in tagger.labels.parts]
        moved = corrected(tagger, offsets).head.bias() - tagger.head.bias()
        assert moved.tolist() == pytest.approx(wanted, abs=1e-6)

    def test_a_first_version_is_corrected_too(self, encoder, artist):
        dev = hide(generate(80, seed=3, types=["artist", "city"]), ["artist"])
        version = learn(artist, encoder, dev=dev, recipe=replace(RECIPE, prior="dev"), device="cpu")
        assert set(version.lineage.prior) == {"artist"} and math.isfinite(version.lineage.prior["artist"])


class TestWhoGetsOne:
    def resolved(self, first, city, **asked):
        recipe = replace(RECIPE, **({"prior": asked.pop("prior")} if "prior" in asked else {}))
        return LearnRequest(city, first, recipe=recipe, device="cpu", **asked).resolve()

    def test_auto_is_what_the_method_declares(self, first, city):
        assert self.resolved(first, city, method="retain", dev=DEV).recipe.prior == "dev"
        assert self.resolved(first, city, method="rdp", dev=DEV).recipe.prior == "none"
        assert self.resolved(first, city, method="rdp", dev=DEV, prior="dev").recipe.prior == "dev"
        assert self.resolved(first, city, method="retain", dev=DEV, prior="none").recipe.prior == "none"

    def test_without_a_dev_file_there_is_none_and_that_is_said(self, first, city):
        drawn = replace(city, sentences=(*city.sentences, *(one.with_spans(()) for one in city)))
        task = self.resolved(first, drawn, method="retain")
        assert task.recipe.prior == "none"
        [tip] = [note for note in task.notes if "prior" in note]
        assert tip == (
            "tip: with --dev FILE or --text TEXTS learn also corrects how often it expects a type "
            "(docs/methods.md#the-prior)"
        )
        [longer] = [note for note in self.resolved(first, city, method="retain").notes if "prior" in note]
        assert longer.startswith(f"{tip}; without either, --set.swap_share 0.5 may help, since these sentences")
        assert [note for note in self.resolved(first, city, method=Retain(swap_share=0.5)).notes if note == tip]
        assert not [note for note in self.resolved(first, city, method="rdp").notes if "prior" in note]
        with pytest.raises(InputError, match=r"to be corrected on a dev file \(--dev\), and none is given"):
            self.resolved(first, city, method="retain", prior="dev")

    def test_a_first_version_without_a_dev_file_needs_no_tip(self, encoder, city):
        task = self.resolved(encoder, city, method="retain")
        assert task.recipe.prior == "none" and not [note for note in task.notes if "prior" in note]
        assert self.resolved(encoder, city, method="retain", dev=DEV).recipe.prior == "dev"

    @pytest.fixture
    def cosine(self, encoder, artist):
        """A first version whose head has no bias."""
        return learn(artist, encoder, recipe=replace(RECIPE, head="cosine", epochs=1), device="cpu")

    @pytest.fixture
    def released(self, encoder):
        """A bare encoder with the defects of released code, as the bench loads it for `rdp_released`."""
        version = load(encoder, device="cpu", head="sequence")
        version.tagger.quirks = RELEASED
        return version

    def test_a_head_without_a_bias_has_none_and_that_is_said(self, cosine, city):
        task = self.resolved(cosine, city, method="retain", dev=DEV)
        assert task.recipe.prior == "none" and any("cosine head has no bias" in note for note in task.notes)

    @pytest.mark.parametrize(
        ("name", "method", "reason"),
        [
            ("cosine", "retain", "a cosine head has no bias that could correct the prior"),
            ("released", METHODS["rdp_released"], "has no place among the defects of released code"),
        ],
        ids=["cosine", "rdp_released"],
    )
    def test_what_cannot_be_corrected_is_refused_where_it_is_asked_for(self, request, city, name, method, reason):
        start = request.getfixturevalue(name)
        with pytest.raises(InputError, match=rf"{reason}; leave the prior as it is \(--set.prior none\)"):
            self.resolved(start, city, method=method, dev=DEV, prior="dev")
        assert self.resolved(start, city, method=method, dev=DEV, prior="none").recipe.prior == "none"


def test_a_dev_set_in_which_nothing_is_found(first, city):
    """No entity of the new type is right and none is found: nothing to learn from."""
    student = learn(city, first, recipe=Recipe(epochs=1, lr=1e-6, holdout=0), device="cpu")
    dev = replace(DEV, sentences=(Sentence(("drive", "to", "paris"), (Span(2, 3, "city"),)),))
    assert fit_offsets(Evidence.of(student.tagger, first.tagger, dev, ("city",))) == {"city": 0.0}
