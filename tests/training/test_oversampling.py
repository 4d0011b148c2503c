"""Rare types: how rare, and whose sentences an epoch shows more than once."""

import numpy as np
import pytest

from retainer.data.corpus import Corpus
from retainer.data.spans import Sentence, Span
from retainer.errors import InputError
from retainer.methods import METHODS
from retainer.model.tokenization import Tokenization
from retainer.training.learn import learn
from retainer.training.loop import TrainingLoop
from retainer.training.oversampling import spread, times, uneven
from retainer.training.prepare import prepare
from retainer.training.progress import Progress
from retainer.training.recipe import Recipe
from retainer.training.request import LearnRequest
from retainer.versions.version import load


def sentence(*types):
    words = tuple(f"w{at}" for at in range(len(types) + 1))
    return Sentence(words, tuple(Span(at, at + 1, type_) for at, type_ in enumerate(types)))


UNEVEN = [*[sentence("city")] * 24, *[sentence("dish")] * 8, sentence("city", "film"), sentence("film"), sentence()]
"""25 with a city, 8 with a dish, 2 with a film (one of them beside a city), one with nothing."""


def test_spread_counts_sentences_not_entities():
    assert spread([sentence("a", "a"), sentence("a", "b")], ["a", "b", "c"]) == {"a": 2, "b": 1}


@pytest.mark.parametrize(("most", "dish", "film"), [(1, 1, 1), (2, 2, 2), (5, 3, 5), (99, 3, 12)])
def test_by_the_rarest_type_up_to_a_limit(most, dish, film):
    assert times(UNEVEN, ["city", "dish", "film"], most).tolist() == [1] * 24 + [dish] * 8 + [film, film, 1]


def test_only_types_that_are_taught_count():
    assert times(UNEVEN, ["dish", "film"], 9).tolist() == [1] * 24 + [1] * 8 + [4, 4, 1]
    assert times([sentence()], ["city"], 9).tolist() == [1]


def test_who_is_called_rare():
    assert uneven(UNEVEN, ["city", "dish", "film"]) == "film is in 2 sentences, city in 25"
    assert uneven(UNEVEN, ["city", "dish"]) == "" == uneven(UNEVEN, ["city"])


def test_an_epoch_shows_them_as_often_and_a_look_sees_each_once(wordpiece):
    plain = Tokenization(wordpiece, 128)(UNEVEN)
    shown = plain.in_turns(times(UNEVEN, ["city", "dish", "film"], 5))
    for batches in (shown.shuffled(8, seed=3), shown.in_order(8, seed=3)):
        counts = np.bincount(np.concatenate([windows.numpy() for windows, _ in batches]))
        assert counts.tolist() == [1] * 24 + [3] * 8 + [5, 5, 1] and len(batches) == shown.steps(8) == 8
    assert sum(len(windows) for windows, _ in shown.longest_first(64, 16)) == len(UNEVEN)
    same = zip(plain.shuffled(8, seed=3), plain.in_turns(np.ones(len(UNEVEN), int)).shuffled(8, seed=3), strict=True)
    assert all(a.equal(b) and x == y for (a, x), (b, y) in same)


def test_learn_uses_and_records_it(encoder):
    data = Corpus(tuple(UNEVEN), "some.conll")
    task = LearnRequest(data, load(encoder), recipe=Recipe(repeat=5), dev=data, device="cpu").resolve()
    prepared = prepare(task.version.tagger, task.data, METHODS["rdp"], task.recipe)
    assert TrainingLoop(prepared, task.recipe, 0, Progress()).steps == 8 and not task.notes
    version = learn(data, encoder, dev=data, recipe=Recipe(repeat=5, epochs=1), device="cpu")
    assert version.lineage.recipe["repeat"] == 5 and version.lineage.data["sentences"] == len(UNEVEN)


def test_learn_tells_who_could_use_it(encoder):
    data, start = Corpus(tuple(UNEVEN), "some.conll"), load(encoder)
    [note] = LearnRequest(data, start, method="rdp", recipe=Recipe(holdout=0), device="cpu").resolve().notes
    assert note.startswith("film is in 2 sentences, city in 25; --set.repeat 5")


def test_nonsense_is_refused():
    with pytest.raises(InputError, match="repeat must be above 0"):
        Recipe(repeat=0)
