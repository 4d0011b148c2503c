"""Words are cut into pieces as they stand in their text, whatever a tokenizer does with blanks."""

import pytest
from foreign import texts, tokenizer
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast, RobertaTokenizerFast

from retainer.data.spans import Sentence
from retainer.model.subwords import WordSplitter
from retainer.model.tokenization import Tokenization

TEXTS = [text for text, _ in texts(40, 5)]
ODD = ["(Boston) ,Paris", " Play Queen", "Queen/Prince", "?", "New York,New York"]


def byte_level(**options):
    made = tokenizer("bytelevel", True)
    made.backend_tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(**options)
    return made


def metaspace(scheme, *before):
    made = tokenizer("unigram", True)
    space = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    made.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*before, space]) if before else space
    return made


def roberta(folder, **options):
    """A tokenizer of transformers' own class, saved and loaded as a checkpoint has it."""
    made = byte_level(add_prefix_space=False)
    vocabulary = made.get_vocab()
    merges = __import__("json").loads(made.backend_tokenizer.to_str())["model"]["merges"]
    RobertaTokenizerFast(vocab=vocabulary, merges=[tuple(pair) for pair in merges], **options).save_pretrained(folder)
    return AutoTokenizer.from_pretrained(folder)


KINDS = {
    "WordPiece": lambda folder: tokenizer("wordpiece", True),
    "byte level": lambda folder: byte_level(add_prefix_space=False),
    "byte level, blank first": lambda folder: byte_level(add_prefix_space=True),
    "RoBERTa": lambda folder: roberta(folder),
    "RoBERTa, blank first": lambda folder: roberta(folder, add_prefix_space=True),
    "XLM-R": lambda folder: metaspace("always", pre_tokenizers.WhitespaceSplit()),
    "DeBERTa": lambda folder: metaspace("always"),
    "first": lambda folder: metaspace("first"),
    "never": lambda folder: metaspace("never"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_has_the_pieces_its_tokenizer_gives_it(kind, tmp_path):
    """As a pipeline sees it: a comma that touches a word has no blank before it, and the first word has what it has."""
    made = KINDS[kind](tmp_path)
    encoder = Tokenization(made, 64)
    for text in [*TEXTS, *ODD]:
        (words,) = encoder.by_word([Sentence.from_text(text)])
        assert sum(words, []) == made(text, add_special_tokens=False)["input_ids"], text
    (alone,) = encoder.by_word([Sentence(("Drive", "to", "Oslo", ","))])
    assert sum(alone, []) == made("Drive to Oslo ,", add_special_tokens=False)["input_ids"]


def test_a_blank_put_before_by_a_normalizer():
    made = Tokenizer(models.BPE({"▁": 0, "a": 1, ",": 2, "<unk>": 3}, [], unk_token="<unk>"))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    whole = PreTrainedTokenizerFast(tokenizer_object=made)
    (cut,) = WordSplitter(made, 3)([Sentence.from_text("a a,")])
    assert cut == (whole("a a,")["input_ids"], [0, 2, 4]) == ([0, 1, 0, 1, 2], [0, 2, 4])


def test_many_sentences_at_once_are_cut_as_one_by_one():
    encoder = Tokenization(byte_level(add_prefix_space=False), 64)
    sentences = [Sentence.from_text(text) for text in [*TEXTS[:9], "", *ODD]] + [Sentence(()), Sentence(("Queen", "!"))]
    assert list(encoder.by_word(sentences)) == [next(encoder.by_word([one])) for one in sentences]
    assert list(encoder.by_word([])) == []
