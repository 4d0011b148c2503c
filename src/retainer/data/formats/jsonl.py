"""JSON lines of every known shape, distinguished by the keys of the first record."""

from retainer.data.corpus import Corpus
from retainer.data.formats.doccano import SPAN_KEYS, read_doccano, sniff_doccano
from retainer.data.formats.prodigy import ANSWER_KEYS, read_prodigy, sniff_prodigy, token_offsets
from retainer.data.formats.records import JsonRecord, numbered_records, require_field
from retainer.data.formats.tokens import TAG_KEYS, read_tokens, sniff_tokens, words_of
from retainer.data.lines import first_line
from retainer.data.spans import Sentence
from retainer.errors import InputError, shortened

_SHAPES = (
    (sniff_prodigy, read_prodigy),
    (sniff_doccano, read_doccano),
    (sniff_tokens, read_tokens),
)

ANNOTATION_KEYS = frozenset({*ANSWER_KEYS, *SPAN_KEYS, *TAG_KEYS})
"""The keys under which records of any shape hold entities."""


def without_annotation(record: JsonRecord) -> Sentence:
    """Return the text of a record of any shape, annotated or not; the words, where it has some, are kept."""
    if "text" not in record and "tokens" in record:
        return Sentence(tuple(words_of(record)))
    text, tokens = require_field(record, "text", str), record.get("tokens")
    if isinstance(tokens, list) and tokens and isinstance(tokens[0], dict):
        return Sentence.from_offsets(text, token_offsets(record, text), ())
    return Sentence.from_text(text)


def read_jsonl(text: str, source: str = "memory") -> Corpus:
    """Read a file whose first record says whether it comes from Prodigy, doccano or a Hugging Face dataset."""
    line = first_line(text)
    for sniff, read in _SHAPES:
        if sniff(line):
            return read(text, source)
    if not line:
        return Corpus((), source, "jsonl")
    where, record = next(numbered_records(text, source))
    keys = shortened(", ".join(record)) or "(none)"
    raise InputError(
        f"{where}: found the keys {keys}; expected text and spans (Prodigy), text and "
        "label (doccano), or tokens and ner_tags (Hugging Face)"
    )
