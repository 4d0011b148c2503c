"""JSON lines of any shape we know, told apart by the keys of the first record."""

from retainer.data.corpus import Corpus
from retainer.data.formats.doccano import read_doccano, sniff_doccano
from retainer.data.formats.prodigy import read_prodigy, sniff_prodigy
from retainer.data.formats.records import records
from retainer.data.formats.tokens import read_tokens, sniff_tokens
from retainer.data.lines import opening
from retainer.errors import InputError

_SHAPES = (
    (sniff_prodigy, read_prodigy),
    (sniff_doccano, read_doccano),
    (sniff_tokens, read_tokens),
)


def read_jsonl(text: str, source: str = "memory") -> Corpus:
    """Read a file whose first record says whether it comes from Prodigy, doccano or a Hugging Face dataset."""
    line = opening(text)
    for sniff, read in _SHAPES:
        if sniff(line):
            return read(text, source)
    if not line:
        return Corpus((), source, "jsonl")
    where, record = next(records(text, source))
    raise InputError(
        f"{where}: found the keys {', '.join(record) or '(none)'}; expected text and spans (Prodigy), text and label "
        "(doccano), or tokens and ner_tags (Hugging Face)"
    )
