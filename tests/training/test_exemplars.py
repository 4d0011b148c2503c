"""Annotated sentences of old types that could be kept: they join the data, and whether a word is new stays open."""

import json
from dataclasses import replace

import pytest
import torch

from retainer.cli.main import main
from retainer.data.corpus import fingerprint
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.data.tasks import hide
from retainer.errors import InputError
from retainer.methods import METHODS
from retainer.model.quirks import NONE
from retainer.training.learn import learn
from retainer.training.prepare import gold_labels, prepare
from retainer.training.preview import preview
from retainer.training.recipe import Recipe
from retainer.training.request import LearnRequest
from retainer.training.step import TrainingStep
from retainer.training.task_data import TaskData
from retainer.training.teacher_targets import merge_into_outside

NAMES = [name for name, one in METHODS.items() if not one.joint and one.quirks == NONE]
BRIEF = Recipe(epochs=2, batch=16, lr=1e-3)


@pytest.fixture(scope="module")
def learned():
    """What the artists were learned from; usually gone."""
    return hide(generate(200, seed=6, types=["artist", "city"]), ["artist"])


@pytest.fixture(scope="module")
def start(encoder, learned):
    recipe = Recipe(epochs=12, batch=16, base_lr=3e-3, holdout=0)
    return learn(learned, encoder, recipe=recipe, device="cpu")


@pytest.fixture(scope="module")
def kept(learned):
    """The forty sentences somebody could keep."""
    some = [sentence for sentence in learned if sentence.spans][:40]
    return replace(learned, sentences=tuple(some), source="kept.conll")


class TestAsked:
    LOGITS = torch.tensor([[0.3, 1.0, -2.0, 0.7, 1.5], [0.3, 1.0, -2.0, 0.7, 1.5]])  # O, two old, two new
    NEW = torch.tensor([[False] * 3 + [True] * 2] * 2)

    def test_new_labels_count_as_outside(self):
        asked = merge_into_outside(self.LOGITS, self.NEW & torch.tensor([[True], [False]]), outside=0)
        plain, made = self.LOGITS.softmax(-1)[0], asked.softmax(-1)[0]
        assert torch.equal(asked[1], self.LOGITS[1]), "only where it is open"
        assert made[0] == pytest.approx(float(plain[0] + plain[3] + plain[4])) and (made[3:] == 0).all()
        assert torch.allclose(made[1:3], plain[1:3])

    def test_outside_need_not_come_first(self):
        order = [1, 2, 0, 3, 4]
        asked = merge_into_outside(self.LOGITS[:, order], self.NEW, outside=2)
        plain = merge_into_outside(self.LOGITS, self.NEW, outside=0)
        assert torch.allclose(asked, plain[:, order])

    def test_who_says_outside_pushes_no_new_label_down(self):
        logits = self.LOGITS[:1].clone().requires_grad_()
        merge_into_outside(logits, self.NEW[:1], 0).log_softmax(-1)[0, 0].neg().backward()
        assert (logits.grad[0, 3:] < 0).all() and (logits.grad[0, 1:3] > 0).all(), "and old ones it does"
        plain = self.LOGITS[:1].clone().requires_grad_()
        plain.log_softmax(-1)[0, 0].neg().backward()
        assert (plain.grad[0, 3:] > 0).all(), "else it would"


class TestTheLesson:
    def test_the_words_that_are_open(self, start, city, kept):
        prepared = prepare(start.tagger, TaskData(city, ("city",), exemplars=kept.sentences), METHODS["rdp"], BRIEF)
        real = sum(len(sentence.words) for sentence in city)
        gold = gold_labels((*city.sentences, *kept.sentences), prepared.student.labels)
        assert torch.equal(prepared.tokens.labels, gold)
        open_ = prepared.open.at(torch.arange(len(gold)))
        assert not open_[:real].any() and not open_[:, : prepared.tokens.old].any()
        assert open_[real:, prepared.tokens.old :].all(), "at O words; what is annotated stays"
        artists = start.tagger.labels.of(["artist"])
        heard = prepared.teacher.output.logits.softmax(-1)[real:]
        annotated = gold[real:] != 0
        assert torch.equal(heard[annotated].argmax(-1), gold[real:][annotated]), "gold where it stands"
        assert (heard[~annotated][:, artists] > 0).any(), "elsewhere the teacher may still find some"
        assert prepared.student.head.retaught is None, "no row learns for an exemplar"

    def test_what_the_methods_see(self, start, city, kept):
        """Of an open word the student is asked about old types, in a second look too; of others everything."""
        prepared = prepare(start.tagger, TaskData(city, ("city",), exemplars=kept.sentences), METHODS["tbcl"], BRIEF)
        step, seen = TrainingStep(prepared, prepared.slice, BRIEF), []
        losses = type(prepared.method).losses
        spy = replace(
            prepared, method=_Spy(prepared.method, lambda *said: seen.append(said) or losses(prepared.method, *said))
        )
        step.task = spy
        for windows, length in prepared.slice.shuffled(8, 0):
            step._terms(windows, length)
        touched = 0
        for student, _, given, _ in seen:
            marked = prepared.open.at(given.rows).any(-1) & given.unannotated
            for one in (student, student.second_view):
                new = one.log_p.exp()[:, given.old :].sum(-1)
                assert (new[marked] == 0).all() and (new[~marked] > 0).all()
            touched += int(marked.sum())
        words = torch.arange(len(prepared.tokens.labels))
        assert touched == int((prepared.open.at(words).any(-1) & prepared.tokens.unannotated).sum()) > 0

    def test_without_exemplars_nothing_is_asked_otherwise(self, start, city):
        prepared = prepare(start.tagger, TaskData(city, ("city",)), METHODS["rdp"], BRIEF)
        step = TrainingStep(prepared, prepared.slice, BRIEF)
        assert prepared.open is None and not prepared.teacher.informed
        student = prepared.student.outputs(prepared.slice.batch(*prepared.slice.shuffled(8, 0)[0]))
        assert step._with_open_labels(student, prepared.tokens) is student


class _Spy:
    """A method that tells what it was given."""

    def __init__(self, method, losses):
        self._method, self.losses = method, losses

    def __getattr__(self, name):
        return getattr(self._method, name)


class TestLearning:
    def test_plain_fine_tuning_keeps_more_with_them(self, start, learned, kept):
        """On sentences nobody kept; the data have no artist, so what is lost is lost by drifting away."""
        rest = replace(learned, sentences=tuple(s for s in learned if s.spans and s not in kept.sentences))
        data = generate(200, seed=5, types=["city"])
        recipe = Recipe(epochs=4, batch=16, lr=1e-3)
        without, with_ = (
            learn(data, start, method="finetune", recipe=recipe, device="cpu", exemplars=some) for some in (None, kept)
        )
        before, lost, held = (one.evaluate(rest).per_type["artist"].f1 for one in (start, without, with_))
        assert before > 80 and held > lost + 20
        cities = [one.evaluate(data).per_type["city"].f1 for one in (without, with_)]
        assert cities[1] > cities[0] - 10, "and the new type is learned all the same"

    @pytest.mark.parametrize("name", NAMES)
    def test_every_method_takes_them(self, name, start, few, kept):
        version = learn(few, start, method=name, recipe=replace(BRIEF, epochs=1), device="cpu", exemplars=kept)
        assert version.types == ("artist", "city")
        assert all(torch.isfinite(tensor).all() for tensor in version.tagger.state_dict().values())
        assert version.lineage.data["sentences"] == len(few), "they are counted apart"
        assert version.lineage.data["exemplars"] == {
            "sha256": fingerprint(kept),
            "sentences": 40,
            "entities": {"artist": kept.counts["artist"]},
        }

    def test_new_types_may_be_annotated_in_them(self, start, city):
        both = generate(40, seed=12, types=["artist", "city"])
        task = LearnRequest(city, start, recipe=BRIEF, exemplars=both, device="cpu").resolve()
        prepared = prepare(start.tagger, task.data, task.method, BRIEF)
        new = prepared.tokens.labels >= prepared.tokens.old
        real = sum(len(sentence.words) for sentence in task.data.train)
        assert new[real:].any() and prepared.open is not None, "then they are gold there, and elsewhere open"

    def test_beside_a_review(self, encoder, learned, kept, city):
        """Made-up sentences come after them, and are no exemplars."""
        first = learn(learned, encoder, method="learn_and_review", recipe=BRIEF, device="cpu")
        version = learn(city, first, method="learn_and_review", recipe=BRIEF, device="cpu", exemplars=kept)
        assert version.types == ("artist", "city") and len(version.generators) == 2

    def test_a_look_ahead(self, start, city, kept):
        seen = preview(LearnRequest(city, start, recipe=BRIEF, exemplars=kept, device="cpu").resolve())
        assert seen.exemplars["sentences"] == 40 and seen.train["sentences"] == len(city)


class TestTheVerb:
    @pytest.fixture
    def here(self, start, kept, city, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        start.save("v1")
        write(kept, "kept.conll", "conll")
        write(city, "city.conll", "conll")
        write(generate(30, seed=2, types=["movie"]), "movie.conll", "conll")
        return tmp_path

    CALL = ("learn", "city.conll", "--from", "v1", "--out", "v2", "--epochs", "1", "--device", "cpu")

    def test_recorded_told_and_repeated(self, here, capsys):
        assert main([*self.CALL, "--exemplars", "kept.conll"]) == 0
        assert main(["log", "v2"]) == 0 and ", 40 exemplars, seed 0" in capsys.readouterr().out
        made = json.loads((here / "v2" / "retainer.json").read_text())["data"]["exemplars"]
        assert f"40 sentences ({made['entities']['artist']} artist)" in (here / "v2" / "README.md").read_text()
        again = ["learn", "city.conll", "--config", "v2", "--out", "v3", "--device", "cpu"]
        assert main(again) == 2 and "it had 40 exemplars (--exemplars)" in capsys.readouterr().err
        write(generate(40, seed=3, types=["artist"]), "other.conll", "conll")
        assert main([*again, "--exemplars", "other.conll"]) == 2 and "exemplars differ" in capsys.readouterr().err
        assert main([*again, "--exemplars", "kept.conll"]) == 0 and "bit for bit" in capsys.readouterr().out

    def test_a_dry_run(self, here, capsys):
        assert main([*self.CALL, "--exemplars", "kept.conll", "--dry-run"]) == 0
        assert "sentences and 40 exemplars: " in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("exemplars", "says"),
        [
            ("city.conll", "city.conll has no entity of a type the model knows (artist)"),
            ("movie.conll", "movie.conll has entities of 'movie', which the model does not know and this run does not"),
            ("nowhere.conll", "nowhere.conll"),
        ],
    )
    def test_what_is_no_exemplar(self, here, capsys, exemplars, says):
        before = sorted(here.rglob("*"))
        assert main([*self.CALL, "--exemplars", exemplars]) == 2
        out, err = capsys.readouterr()
        assert out == "" and says in err and len(err.splitlines()) == 1 and sorted(here.rglob("*")) == before

    def test_a_first_version_has_nothing_to_keep(self, encoder, city, kept):
        with pytest.raises(InputError, match="knows no type yet"):
            learn(city, encoder, recipe=BRIEF, device="cpu", exemplars=kept)
