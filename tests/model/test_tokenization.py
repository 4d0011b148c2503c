import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from property_examples import examples
from tiny import pieces

from retainer.data.generated import generate
from retainer.data.spans import Sentence
from retainer.model.batches import BUCKETS, bucket
from retainer.model.tokenization import Tokenization
from retainer.model.windows import windows


@pytest.fixture(params=["wordpiece", "bytelevel"])
def any_encoder(request):
    return Tokenization(request.getfixturevalue(request.param), 32)


def test_the_tests_have_the_same_pieces_every_time(wordpiece):
    """Or no result of a model trained here could be had again."""
    assert wordpiece.get_vocab() == pieces() == pieces()
    assert len(pieces()) == 700 and wordpiece.tokenize("[MASK] Boston") == ["[MASK]", *wordpiece.tokenize("boston")]


def first_pieces(encoded):
    """Find, for every word, the piece at its mark."""
    marked = encoded.words >= 0
    return dict(zip(encoded.words[marked].tolist(), encoded.ids[marked].tolist(), strict=True))


def test_first_piece_of_every_word_is_marked(any_encoder):
    sentences = generate(50, seed=1).sentences
    encoded = any_encoder(sentences)
    found = first_pieces(encoded)
    words = [word for sentence in sentences for word in sentence.words]
    assert sorted(found) == list(range(len(words))) and encoded.word_count == len(words)
    for number, word in enumerate(words):
        pieces = any_encoder.tokenizer([word], is_split_into_words=True, add_special_tokens=False)["input_ids"]
        assert found[number] == pieces[0]


def test_pieces_word_by_word(any_encoder):
    sentences = [*generate(20, seed=1).sentences, Sentence(()), Sentence(("\u200b", "a"))]
    for sentence, words in zip(sentences, any_encoder.by_word(sentences), strict=True):
        assert len(words) == len(sentence.words) and all(words)
        if sentence.words and "\u200b" not in sentence.words:
            whole = any_encoder.tokenizer(list(sentence.words), is_split_into_words=True, add_special_tokens=False)
            assert sum(words, []) == whole["input_ids"]


def test_windows_begin_and_end_as_the_tokenizer_wants(any_encoder):
    encoded = any_encoder(generate(5, seed=2).sentences)
    tokenizer = any_encoder.tokenizer
    for start, end in zip(encoded.starts[:-1].tolist(), encoded.starts[1:].tolist(), strict=True):
        assert encoded.ids[start] == tokenizer.cls_token_id and encoded.ids[end - 1] == tokenizer.sep_token_id
        assert encoded.words[start] == encoded.words[end - 1] == -1


def test_words_without_pieces_are_kept_as_unknown(wordpiece):
    sentence = Sentence(("hello", "\u200b", "\x00", "world", "\u200b"))
    encoded = Tokenization(wordpiece, 32)([sentence, Sentence(("\u200b",))])
    found = first_pieces(encoded)
    assert [found[i] == wordpiece.unk_token_id for i in (1, 2, 4, 5)] == [True] * 4
    assert encoded.word_count == 6


def test_empty_sentences_have_no_window(wordpiece):
    encoded = Tokenization(wordpiece, 32)([Sentence(()), Sentence(("a",)), Sentence(())])
    assert encoded.sentence_starts.tolist() == [0, 0, 1, 1]
    assert encoded.window_sentences.tolist() == [1]
    assert Tokenization(wordpiece, 32)([]).word_count == 0


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=200), st.integers(4, 30))
def test_windows_own_every_word_once(lengths, room):
    made = windows(lengths, room)
    owned = [word for window in made for word in range(window.own_start, window.own_end)]
    assert owned == list(range(len(lengths)))
    for window in made:
        assert window.start <= window.own_start <= window.own_end <= window.end
        assert sum(min(n, room) for n in lengths[window.start : window.end]) <= room
    for left, right in zip(made, made[1:], strict=False):
        assert left.start < right.start <= left.end < right.end


def test_neighbouring_windows_share_words():
    made = windows([1] * 300, 40)
    assert all(left.end - right.start == 10 for left, right in zip(made, made[1:], strict=False))


def test_a_long_text_loses_no_word(any_encoder):
    sentence = Sentence(tuple(f"word{i}" for i in range(500)))
    encoded = any_encoder([sentence])
    assert sorted(first_pieces(encoded)) == list(range(500))
    assert encoded.lengths.max() <= 32 and set(encoded.window_sentences) == {0}


def test_a_word_longer_than_a_window_is_kept(wordpiece):
    encoded = Tokenization(wordpiece, 16)([Sentence(("a", "ab" * 45, "b"))])
    assert sorted(first_pieces(encoded)) == [0, 1, 2] and encoded.lengths.max() <= 16


def test_batches_are_gathered_and_padded(any_encoder):
    encoded = any_encoder(generate(20, seed=3).sentences)
    batch = encoded.batch(torch.tensor([3, 19, 0]), 32)
    for row, window in enumerate([3, 19, 0]):
        start, length = int(encoded.starts[window]), int(encoded.lengths[window])
        assert torch.equal(batch.ids[row, :length], encoded.ids[start : start + length])
        assert torch.equal(batch.words[row, :length], encoded.words[start : start + length])
        assert batch.mask[row].sum() == length
        assert (batch.ids[row, length:] == any_encoder.tokenizer.pad_token_id).all()
        assert (batch.words[row, length:] == -1).all()


@pytest.mark.parametrize("few_shapes", [False, True])
@pytest.mark.parametrize("size", [1, 7, 16, 1000])
def test_an_epoch_has_every_window_once(any_encoder, size, few_shapes):
    encoded = any_encoder(generate(101, seed=4).sentences)
    batches = encoded.shuffled(size, seed=1, few_shapes=few_shapes)
    assert sorted(int(w) for part, _ in batches for w in part) == list(range(len(encoded.lengths)))
    assert sum(len(part) < size for part, _ in batches) <= 1
    assert len(batches) == -(-len(encoded.lengths) // size)
    for part, length in batches:
        longest = encoded.lengths[part.numpy()].max()
        assert length == (bucket(longest) if few_shapes else longest)


def test_order_is_fixed_by_the_seed(any_encoder):
    encoded = any_encoder(generate(60, seed=4).sentences)
    orders = [[w for part, _ in encoded.shuffled(8, seed) for w in part.tolist()] for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]


def test_looking_passes_have_every_window_once(any_encoder):
    encoded = any_encoder(generate(60, seed=4).sentences)
    batches = encoded.longest_first(64, 16)
    assert sorted(int(w) for part, _ in batches for w in part) == list(range(len(encoded.lengths)))
    assert all(len(part) * length <= 64 or len(part) == 1 for part, length in batches)


def test_a_batch_for_looking_ends_where_padding_would_cost_more_than_another(any_encoder):
    mixed = any_encoder([*generate(20, seed=4).sentences, Sentence(("play",) * 40)])
    cost = {}
    for another in (0, 48, 10**9):
        batches = mixed.longest_first(4096, another)
        assert sorted(int(w) for part, _ in batches for w in part) == list(range(len(mixed.lengths)))
        cost[another] = len(batches), sum(len(part) * length for part, length in batches)
    assert cost[10**9][0] == 1 < cost[48][0] <= cost[0][0], "one batch where padding is free"
    assert cost[48][1] + 48 * cost[48][0] < cost[10**9][1] + 48
    assert cost[0][1] <= cost[48][1]


def test_buckets_round_up():
    lengths = np.arange(1, 1500)
    padded = bucket(lengths)
    assert (padded >= lengths).all() and (np.diff(padded) >= 0).all()
    assert set(padded[lengths <= 512]) == set(BUCKETS) and (padded[lengths > 512] % 128 == 0).all()
