"""The tokenizer of the tiny models: a few hundred word pieces, learned from generated text."""

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from retainer.data.generated import generate


def texts():
    return [" ".join(sentence.words) for sentence in generate(400, seed=11)]


SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def empty_wordpiece(vocabulary=None):
    """A WordPiece tokenizer that splits words into the pieces it is given."""
    tokenizer = Tokenizer(models.WordPiece(vocabulary or {}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def pieces():
    """Learn a few hundred pieces, the same ones with the same numbers every time.

    Left alone, the trainer numbers the letters inside of words as a hash table without order brings them, and breaks
    ties between pieces by these numbers; then every process has another vocabulary, and every model another result.
    So these letters get their numbers first, in the way of special pieces.
    """
    tokenizer = empty_wordpiece()
    letters = sorted(set("".join(tokenizer.normalizer.normalize_str(text) for text in texts()).replace(" ", "")))
    trainer = trainers.WordPieceTrainer(
        vocab_size=700, special_tokens=[*SPECIAL, *(f"##{letter}" for letter in letters)], show_progress=False
    )
    tokenizer.train_from_iterator(texts(), trainer)
    return tokenizer.get_vocab()
