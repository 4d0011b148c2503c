import json
import random
from dataclasses import replace
from hashlib import sha256

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from retainer.data.generated import generate
from retainer.data.spans import Sentence, Span
from retainer.data.tags import split_tag
from retainer.errors import InputError
from retainer.model.generator_training import GeneratorRecipe, train_generator
from retainer.model.lexicon import BEGIN, END, PLAIN, UNKNOWN, Lexicon
from retainer.model.sentence_generator import (
    GENERATOR_FACTS,
    GENERATOR_WEIGHTS,
    Generator,
    Network,
    _pick,
    load_generator,
)

TYPES = ("artist", "city")
WORDS = ("play", "B-artist", "<end>", "<unknown>", "Paris")


@st.composite
def sentences(draw, types=TYPES):
    size = draw(st.integers(0, 8))
    cuts = sorted(draw(st.sets(st.integers(0, size))))
    type_ = st.sampled_from(types)
    spans = [Span(start, end, draw(type_)) for start, end in zip(cuts, cuts[1:], strict=False) if draw(st.booleans())]
    return Sentence(tuple(draw(st.sampled_from(WORDS)) for _ in range(size)), tuple(spans))


@pytest.fixture(scope="module")
def slice_():
    return generate(200, seed=3).sentences


@pytest.fixture(scope="module")
def generator(slice_):
    return train_generator(slice_, TYPES, seed=1, recipe=GeneratorRecipe(epochs=6, width=64))


def untrained(types=TYPES, width=8):
    """A generator that knows nothing, so that only the rules keep its sentences in shape."""
    torch.manual_seed(0)
    lexicon = Lexicon(types, WORDS)
    network = Network(len(lexicon.names), width)
    torch.nn.init.normal_(network.bias, std=2.0)
    return Generator(lexicon, network)


def by_hand(network, tokens):
    """The negative log-probability of every token but the first, one word after the other."""
    memory, found = None, []
    for now, then in zip(tokens, tokens[1:], strict=False):
        scores, memory = network(torch.tensor([[now]]), memory)
        found.append(float(scores[0, 0].logsumexp(0) - scores[0, 0, then]))
    return found


# ---------------------------------------------------------------------------------------------------------- tokens


@given(sentences())
def test_linearise_and_back(sentence):
    assert Lexicon(TYPES, WORDS).delinearise(Lexicon(TYPES, WORDS).linearise(sentence)) == sentence


@given(sentences((*TYPES, "film", "O")))
def test_entities_of_other_types_are_plain_words(sentence):
    lexicon = Lexicon(TYPES, WORDS)
    known = [span for span in sentence.spans if span.type in TYPES]
    tokens = lexicon.linearise(sentence)
    assert lexicon.delinearise(tokens) == sentence.with_spans(known)
    assert tokens[0] == (BEGIN if known else PLAIN)
    assert len(tokens) == len(sentence.words) + sum(span.end - span.start for span in known) + 2


def test_the_tokens_of_a_sentence_read_as_documented():
    words = ("play", "songs", "by", "miles", "davis")
    lexicon = Lexicon(TYPES, words)
    tokens = lexicon.linearise(Sentence(words, (Span(3, 5, "artist"),)))
    assert [lexicon.names[token] for token in tokens] == [
        *("<begin>", "play", "songs", "by", "B-artist", "miles", "I-artist", "davis", "<end>")
    ]


def test_the_rare_become_unknown():
    lexicon = Lexicon.of([Sentence(("a", "b", "c", "b")), Sentence(("c", "b"))], ["x", "x"], limit=2)
    assert (lexicon.types, lexicon.words) == (("x",), ("b", "c"))
    assert lexicon.linearise(Sentence(("a", "b"))) == [PLAIN, UNKNOWN, lexicon.first, END]


# --------------------------------------------------------------------------------------------------------- drawing


def well_formed(lexicon, tokens):
    """Follow the rules of IOB2 slowly, by the names of the tokens."""
    body = tokens[1 : tokens.index(END)]
    inside, tag = "", ""
    for token in body:
        assert token not in (BEGIN, PLAIN, UNKNOWN)
        if token < lexicon.first:
            assert not tag, "a tag follows a tag"
            tag = lexicon.names[token]
            kind, type_ = split_tag(tag)
            assert kind == "B" or type_ == inside, "an I- goes on with nothing"
        else:
            inside, tag = (split_tag(tag)[1] if tag else ""), ""
    assert body and not tag, "a sentence ends in a tag or has no word"


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 12), st.integers(0, 1000))
def test_even_an_untrained_model_is_well_formed(longest, seed):
    generator = untrained()
    for tokens in generator._draw(64, longest, torch.Generator().manual_seed(seed)):
        well_formed(generator.lexicon, tokens)
        sentence = generator.lexicon.delinearise(tokens)
        assert 1 <= len(sentence.words) <= longest
        if sentence.spans:
            assert generator.lexicon.linearise(sentence) == tokens[: tokens.index(END) + 1]


def test_samples_are_different_sentences_with_entities_of_the_types(generator, slice_):
    found = generator.sample(100, seed=1, longest=30)
    assert len(found) == len(set(found)) == 100
    known = {word for sentence in slice_ for word in sentence.words}
    for sentence in found:
        assert sentence.spans and {span.type for span in sentence.spans} <= set(TYPES)
        assert set(sentence.words) <= known and len(sentence.words) <= 30
    assert {span.type for sentence in found for span in sentence.spans} == set(TYPES)


def test_a_seed_decides(generator, slice_):
    assert generator.sample(20, seed=1) == generator.sample(20, seed=1)
    assert generator.sample(20, seed=1) != generator.sample(20, seed=2)
    again = train_generator(slice_, TYPES, seed=1, recipe=GeneratorRecipe(epochs=6, width=64))
    assert again.losses == generator.losses and again.sample(20, seed=1) == generator.sample(20, seed=1)
    other = train_generator(slice_, TYPES, seed=2, recipe=GeneratorRecipe(epochs=6, width=64))
    assert other.losses != generator.losses and other.sample(20, seed=1) != generator.sample(20, seed=1)


def test_nobody_elses_random_numbers_change(slice_, tmp_path):
    before = torch.get_rng_state(), random.getstate()
    train_generator(slice_[:20], TYPES, seed=1, recipe=GeneratorRecipe(epochs=1, width=8)).save(tmp_path)
    load_generator(tmp_path).sample(5, seed=1)
    assert torch.equal(before[0], torch.get_rng_state()) and before[1] == random.getstate()


def test_tokens_are_drawn_by_their_probability():
    scores = torch.randn(300, generator=torch.Generator().manual_seed(0)) * 2
    scores[:140] = -torch.inf
    drawn = _pick(scores.expand(40_000, -1).contiguous(), torch.Generator().manual_seed(1))
    share = drawn.bincount(minlength=300) / len(drawn)
    assert not share[:140].any()
    assert torch.allclose(share, scores.softmax(0), atol=0.006)


def test_a_low_temperature_draws_the_likely(generator):
    def likelihood(temperature):
        rows = map(generator.lexicon.linearise, replace(generator, temperature=temperature).sample(20, seed=1))
        losses = [loss for row in rows for loss in by_hand(generator.network, row)]
        return sum(losses) / len(losses)

    with torch.no_grad():
        assert likelihood(0.5) < likelihood(1.0) < likelihood(2.0)


def test_fewer_come_where_there_are_no_more():
    few = train_generator(
        [Sentence(("a", "b"), (Span(0, 1, "x"),))] * 40, ["x"], seed=1, recipe=GeneratorRecipe(width=16, epochs=20)
    )
    assert Sentence(("a", "b"), (Span(0, 1, "x"),)) in few.sample(200, seed=1, longest=2)
    assert len(few.sample(200, seed=1, longest=2)) < 20, "two words and a type make no more"
    none = train_generator([Sentence(("a", "b"))] * 40, ["x"], seed=1, recipe=GeneratorRecipe(width=16, epochs=20))
    assert len(none.sample(10_000, seed=1)) < 1000
    assert few.sample(0, seed=1) == []


def test_nonsense_is_refused(generator):
    for count, longest in ((-1, 64), (1, 0)):
        with pytest.raises(InputError, match="cannot draw"):
            generator.sample(count, seed=1, longest=longest)
    with pytest.raises(InputError, match="temperature 0"):
        replace(generator, temperature=0.0).sample(1, seed=1)
    for nothing in ([], [Sentence(())]):
        with pytest.raises(InputError, match="at least one type and one sentence"):
            train_generator(nothing, TYPES, seed=1)
    with pytest.raises(InputError, match="at least one type"):
        train_generator([Sentence(("a",))], [], seed=1)


# -------------------------------------------------------------------------------------------------------- learning


def test_a_batch_loss_is_the_mean_over_its_tokens(generator, slice_):
    rows = [torch.tensor(generator.lexicon.linearise(sentence)) for sentence in slice_[:7]]
    assert len({len(row) for row in rows}) > 1
    with torch.no_grad():
        slow = [loss for row in rows for loss in by_hand(generator.network, row.tolist())]
        table = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-1)
        assert float(generator.network.loss(table)) == pytest.approx(sum(slow) / len(slow), rel=1e-5)
    assert len(slow) == sum(len(row) - 1 for row in rows)


def test_the_loss_falls(generator):
    assert len(generator.losses) == 6
    assert list(generator.losses) == sorted(generator.losses, reverse=True)
    assert generator.losses[-1] < 0.85 * generator.losses[0]


def test_the_loss_of_an_epoch_counts_every_token_once(slice_):
    still = train_generator(slice_[:50], TYPES, seed=1, recipe=GeneratorRecipe(epochs=1, width=8, lr=0.0, dropout=0.0))
    with torch.no_grad():
        slow = [loss for sentence in slice_[:50] for loss in by_hand(still.network, still.lexicon.linearise(sentence))]
    assert still.losses == (pytest.approx(sum(slow) / len(slow), rel=1e-5),)


def test_an_endless_sentence_is_cut():
    long = Sentence(("a",) * 5000, (Span(0, 5000, "x"),))
    assert train_generator([long, Sentence(("b",))], ["x"], seed=1, recipe=GeneratorRecipe(epochs=1, width=8)).losses


def test_no_epoch_is_no_training():
    assert train_generator([Sentence(("a",))], ["x"], seed=1, recipe=GeneratorRecipe(epochs=0)).losses == ()


# --------------------------------------------------------------------------------------------------------- keeping


def test_what_is_saved_draws_the_same(generator, tmp_path):
    warm = replace(generator, temperature=0.8)
    warm.save(tmp_path / "version")
    assert sorted(path.name for path in (tmp_path / "version").iterdir()) == [GENERATOR_FACTS, GENERATOR_WEIGHTS]
    again = load_generator(tmp_path / "version")
    assert (again.lexicon, again.losses, again.temperature) == (warm.lexicon, warm.losses, 0.8)
    assert again.types == TYPES
    assert again.sample(30, seed=4) == warm.sample(30, seed=4)


def test_where_there_is_none(tmp_path):
    assert load_generator(tmp_path) is None
    assert load_generator(tmp_path / "nowhere") is None


def cut(path):
    path.write_bytes(path.read_bytes()[:-20])


def empty(path):
    path.write_bytes(b"")


def swap(folder):
    untrained(("film",), 16).save(folder / "other")
    (folder / "other" / GENERATOR_WEIGHTS).replace(folder / GENERATOR_WEIGHTS)


def changed(**facts):
    def change(folder):
        path = folder / GENERATOR_FACTS
        path.write_text(json.dumps({**json.loads(path.read_text()), **facts}))

    return change


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda folder: cut(folder / GENERATOR_WEIGHTS),
            "the SHA-256 of generator.safetensors is not the one in generator.json",
        ),
        (lambda folder: cut(folder / GENERATOR_FACTS), "JSONDecodeError"),
        (lambda folder: (folder / GENERATOR_WEIGHTS).unlink(), "No such file"),
        (lambda folder: (folder / GENERATOR_FACTS).unlink(), "No such file"),
        (lambda folder: (folder / GENERATOR_FACTS).write_bytes(b"\xff"), "UnicodeDecodeError"),
        (lambda folder: (folder / GENERATOR_FACTS).write_text("[]"), "TypeError"),
        (lambda folder: (folder / GENERATOR_FACTS).write_text("{}"), "KeyError"),
        (swap, "SHA-256"),
        (
            lambda folder: empty(folder / GENERATOR_WEIGHTS) or changed(weights=sha256().hexdigest())(folder),
            "SafetensorError",
        ),
        (changed(words=["play"]), "size mismatch"),
        (changed(types=[1, 2]), "must be texts"),
        (changed(width=10**6), "size mismatch"),
        (changed(width="wide"), "TypeError"),
    ],
)
def test_a_damaged_one_is_refused(tmp_path, damage, message):
    untrained().save(tmp_path)
    damage(tmp_path)
    with pytest.raises(InputError, match=message) as error:
        load_generator(tmp_path)
    assert "\n" not in str(error.value) and f"the generator in {tmp_path} is damaged" in str(error.value)
