"""The table of formats: what each is called, how it is read, written and recognised."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from retainer.corpora.conll import read_conll, write_conll
from retainer.corpora.conll2012 import read_conll2012, sniff_conll2012, write_conll2012
from retainer.corpora.corpus import Corpus
from retainer.corpora.doccano import read_doccano, sniff_doccano, write_doccano
from retainer.corpora.enamex import read_enamex, sniff_enamex, write_enamex
from retainer.corpora.i2b2 import read_i2b2, sniff_i2b2, write_i2b2
from retainer.corpora.jsonl import read_jsonl
from retainer.corpora.lines import opening
from retainer.corpora.prodigy import read_prodigy, sniff_prodigy, write_prodigy
from retainer.corpora.records import sniff_json
from retainer.corpora.tokens import write_tokens
from retainer.errors import unknown
from retainer.spans import Sentence


@dataclass(frozen=True)
class Format:
    """How a format is read from text, written to text, and recognised by its first line that is not blank."""

    read: Callable[[str, str], Corpus]
    write: Callable[[Iterable[Sentence]], str]
    sniff: Callable[[str], bool]


FORMATS: dict[str, Format] = {
    "prodigy": Format(read_prodigy, write_prodigy, sniff_prodigy),
    "doccano": Format(read_doccano, write_doccano, sniff_doccano),
    "jsonl": Format(read_jsonl, write_tokens, sniff_json),
    "i2b2": Format(read_i2b2, write_i2b2, sniff_i2b2),
    "conll2012": Format(read_conll2012, write_conll2012, sniff_conll2012),
    "enamex": Format(read_enamex, write_enamex, sniff_enamex),
    "conll": Format(read_conll, write_conll, sniff=lambda line: True),
}
"""The formats by name, in the order in which a file is tried; columns come last because they can look like anything."""


def named(name: str) -> Format:
    """Return a format by its name."""
    if name in FORMATS:
        return FORMATS[name]
    raise unknown("format", name, sorted(FORMATS))


def sniffed(text: str) -> Format:
    """Return the format that the first line of a text speaks of."""
    line = opening(text)
    return next(format for format in FORMATS.values() if format.sniff(line))
