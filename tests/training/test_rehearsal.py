"""Learn and Review: two stages, two teachers, and language models in place of data."""

import math
from dataclasses import replace

import pytest
import torch
from batches import NEW, OLD, make, mean, slow_ce, slow_kd, softmax, words
from recorded_progress import Record

from retainer.bench.task_sequence import TaskResult, TaskSequence
from retainer.data.corpus import Splits
from retainer.data.generated import generate
from retainer.data.tasks import plan
from retainer.errors import InputError
from retainer.methods import METHODS, LearnAndReview
from retainer.model.sentence_generator import GENERATOR_WEIGHTS
from retainer.training.learn import learn
from retainer.training.prepare import Rehearsal, prepare
from retainer.training.rehearsal import synthetic_sentences, with_generator
from retainer.training.task_data import TaskData
from retainer.versions.version import load

METHOD = METHODS["learn_and_review"]


@pytest.fixture(scope="module")
def remembering(encoder, artist, quick):
    """A first version that keeps a language model of its task."""
    return learn(artist, encoder, method=METHOD, recipe=quick, device="cpu")


class TestTerms:
    @pytest.fixture(autouse=True)
    def double(self):
        torch.set_default_dtype(torch.float64)
        yield
        torch.set_default_dtype(torch.float32)

    @pytest.mark.parametrize("seed", range(5))
    def test_against_the_formula(self, seed):
        student, teacher, tokens = make(seed)
        teacher = replace(teacher, second_view=student.second_view)
        made_up_words = tokens.sentences >= 2
        tokens = replace(tokens, labels=tokens.labels.where(~made_up_words | (tokens.labels < 0), 0))
        tokens = replace(tokens, synthetic=made_up_words)
        labels, _, outside, annotated = words(tokens)
        review = []
        for i in outside:
            if made_up_words[i]:
                p, q = softmax(student.logits[i]), softmax(teacher.logits[i])
                new = softmax(student.second_view.logits[i])[OLD:]
                target = [*(x * (1 - sum(new)) for x in q), *new]
                assert sum(target) == pytest.approx(1)
                review.append(-sum(target[c] * math.log(p[c]) for c in range(OLD + NEW)))
        memory = METHOD.begin(tokens, teacher)
        terms = METHOD.losses(student, teacher, tokens, METHOD.targets(tokens, teacher, memory, None))
        real = [i for i in outside if not made_up_words[i]]
        assert {name: float(value.detach()) for name, value in terms.items()} == pytest.approx(
            {
                "ce": slow_ce(student, labels, annotated),
                "kd": slow_kd(student, teacher, real, 1.0, 1.0),
                "review": mean(review),
            }
        )

    def test_without_a_review_it_is_extend_ner(self):
        student, teacher, tokens = make(0)
        plain = replace(METHODS["extend_ner"], student_temperature=1.0)
        ours, theirs = (one.losses(student, teacher, tokens, tokens) for one in (METHOD, plain))
        assert METHOD.begin(tokens, replace(teacher, second_view=None)) is None
        assert {k: float(v.detach()) for k, v in ours.items()} == {k: float(v.detach()) for k, v in theirs.items()}


class TestStages:
    def test_every_version_keeps_a_model_per_task(self, remembering, city, quick, tmp_path):
        assert [model.types for model in remembering.generators] == [("artist",)]
        second = learn(city, remembering, method=METHOD, recipe=quick, device="cpu", out=tmp_path / "v2")
        again = load(tmp_path / "v2", device="cpu")
        assert [model.types for model in again.generators] == [("artist",), ("city",)]
        drawn = [[model.sample(5, 1) for model in version.generators] for version in (second, again)]
        assert drawn[0] == drawn[1]
        texts = {" ".join(sentence.words) for sentence in city}
        assert not any(text in file.read_text(errors="ignore") for text in texts for file in tmp_path.rglob("*.json"))

    def test_the_second_stage_sees_made_up_sentences(self, remembering, city, quick, monkeypatch):
        seen = []

        def looked(*args, **kwargs):
            seen.append(args[4])
            return prepare(*args, **kwargs)

        monkeypatch.setattr("retainer.training.learn.prepare", looked)
        learn(city, remembering, method=METHOD, recipe=replace(quick, holdout=0), device="cpu")
        first, second = seen
        assert first is None and len(second.sentences) == len(city)
        assert not any(sentence.spans for sentence in second.sentences)
        assert second.student.labels.types == ("artist", "city")

    def test_made_up_words_come_last_and_weigh_in_the_review_alone(self, remembering, city, quick):
        review = Rehearsal(synthetic_sentences(remembering, 20, 1), remembering.tagger)
        prepared = prepare(remembering.tagger, TaskData(city, ("city",)), METHOD, quick, review)
        assert prepared.slice.sentence_starts.shape[0] - 1 == len(city) + 20
        real = sum(len(sentence.words) for sentence in city)
        assert not prepared.tokens.synthetic[:real].any() and prepared.tokens.synthetic[real:].all()
        assert (prepared.tokens.labels[real:] == prepared.tokens.outside).all()

    def test_the_same_seed_gives_the_same_version(self, remembering, city, quick):
        one, again = (learn(city, remembering, method=METHOD, recipe=quick, seed=4, device="cpu") for _ in range(2))
        pairs = zip(one.tagger.state_dict().values(), again.tagger.state_dict().values(), strict=True)
        assert all(torch.equal(a, b) for a, b in pairs)

    def test_who_has_no_models_is_told(self, first, city, quick, capsys):
        record = Record()
        learned = learn(city, first, method=METHOD, recipe=quick, device="cpu", progress=record)
        assert any("nothing to review" in note for note in record.notes)
        assert [model.types for model in learned.generators] == [("city",)]

    def test_draws_are_spread_over_tasks(self, remembering, city):
        both = with_generator(remembering, city, ["city"], 1)
        sentences = synthetic_sentences(both, 7, 3)
        counts = [len(model.sample(share, 3)) for model, share in zip(both.generators, (4, 3), strict=True)]
        assert len(sentences) == sum(counts) == 7

    def test_a_damaged_model_is_refused(self, remembering, tmp_path):
        remembering.save(tmp_path / "v")
        (tmp_path / "v" / "generators" / "1" / GENERATOR_WEIGHTS).write_bytes(b"no")
        with pytest.raises(InputError, match="generator"):
            load(tmp_path / "v", device="cpu")

    def test_other_methods_keep_none(self, first):
        assert first.generators == ()


def test_a_sequence_with_a_shared_first_version(encoder, quick, tmp_path):
    """The first version comes from elsewhere, so its language model is made when it is taken over."""
    corpora = [generate(count, seed=seed, types=["artist", "city"]) for count, seed in ((80, 1), (30, 2), (30, 3))]
    made = plan(Splits(*corpora), fg=1, pg=1, seed=1)
    shared = learn(made.task(1).train, encoder, recipe=quick, dev=made.task(1).dev, device="cpu")
    sequence = TaskSequence(made, METHOD, recipe=quick, seed=1, device="cpu")
    steps = list(sequence.run(TaskResult.after(made.task(1), shared, 0.0)))
    assert [len(step.version.generators) for step in steps] == [1, 2]
    steps[0].version.save(tmp_path / "kept")
    kept = load(tmp_path / "kept", device="cpu")
    (again,) = sequence.run(finished=1, version=kept)
    assert again.scores == steps[1].scores, "taken up again after the first task, it still reviews"
    pairs = zip(again.version.tagger.state_dict().values(), steps[1].version.tagger.state_dict().values(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def test_fields():
    with pytest.raises(InputError, match="review_weight"):
        LearnAndReview(review_weight=-1.0)
