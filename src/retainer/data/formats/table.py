"""The table of formats: what each is called, how it is read, written and recognised."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from retainer.data.corpus import Corpus
from retainer.data.formats.binary import BINARY_FORMATS
from retainer.data.formats.brat import read_brat, sniff_brat, write_brat
from retainer.data.formats.conll import is_columns, names_columns, read_conll, sniff_conll, write_conll
from retainer.data.formats.conll2012 import read_conll2012, sniff_conll2012, write_conll2012
from retainer.data.formats.csv_table import read_csv, read_tsv, sniff_csv, sniff_tsv, write_csv, write_tsv
from retainer.data.formats.doccano import read_doccano, sniff_doccano, write_doccano
from retainer.data.formats.enamex import read_enamex, sniff_enamex, write_enamex
from retainer.data.formats.i2b2 import read_i2b2, sniff_i2b2, write_i2b2
from retainer.data.formats.jsonl import read_jsonl
from retainer.data.formats.labelstudio import (
    read_labelstudio,
    sniff_labelstudio,
    suggest_labelstudio,
    write_labelstudio,
)
from retainer.data.formats.prodigy import read_prodigy, sniff_prodigy, suggest_prodigy, write_prodigy
from retainer.data.formats.records import sniff_json
from retainer.data.formats.tokens import write_tokens
from retainer.data.plugins import clashing_names, load_plugin, plugin_address, plugin_names
from retainer.data.spans import Sentence
from retainer.data.suggested import Suggested
from retainer.errors import InputError, unknown


@dataclass(frozen=True)
class Format:
    """How a format is read from text, written to text, and recognised by its first line that is not blank."""

    read: Callable[[str, str], Corpus]
    write: Callable[[Iterable[Sentence]], str | Mapping[str, str]]
    """Make the text of a file, or the texts of the files of a folder by their names."""
    sniff: Callable[[str], bool]
    holds_complete: bool = False
    """Whether a sentence can say which types are complete in it."""


FORMATS: dict[str, Format] = {
    "prodigy": Format(read_prodigy, write_prodigy, sniff_prodigy, holds_complete=True),
    "doccano": Format(read_doccano, write_doccano, sniff_doccano, holds_complete=True),
    "labelstudio": Format(read_labelstudio, write_labelstudio, sniff_labelstudio),
    "jsonl": Format(read_jsonl, write_tokens, sniff_json, holds_complete=True),
    "i2b2": Format(read_i2b2, write_i2b2, sniff_i2b2),
    "conll2012": Format(read_conll2012, write_conll2012, sniff_conll2012),
    "enamex": Format(read_enamex, write_enamex, sniff_enamex),
    "brat": Format(read_brat, write_brat, sniff_brat),
    "tsv": Format(read_tsv, write_tsv, sniff_tsv, holds_complete=True),
    "csv": Format(read_csv, write_csv, sniff_csv, holds_complete=True),
    "conll": Format(read_conll, write_conll, sniff=lambda line: True),
}
"""The formats by name, in the order in which a file is tried; columns come last because they can look like anything."""

TABLE_FORMATS = ("csv", "tsv")
"""The formats whose header may also be that of columns."""
COLUMN_FORMAT = "conll"
"""The format whose lines may look like plain text, so that more than the first line decides."""

SUGGESTIONS: dict[str, Callable[[Iterable[Suggested], str], str]] = {
    "labelstudio": suggest_labelstudio,
    "prodigy": suggest_prodigy,
}
"""The formats that hold suggestions of a model for a person to correct; they take the name of the model too."""


def format_names() -> list[str]:
    """Return the names of all formats, in alphabetical order."""
    return sorted([*FORMATS, *BINARY_FORMATS])


def find_format(name: str) -> Format:
    """Return a format of text by its name; it may be one of another package."""
    if name in FORMATS:
        return FORMATS[name]
    address = plugin_address("format", name)
    if address is None:
        names = [*format_names(), *(one for one in plugin_names("format") if one not in FORMATS)]
        raise InputError(f"{unknown('format', name, names)}{clashing_names('format', FORMATS)}")
    found = load_plugin("format", address)
    if not isinstance(found, Format):
        raise InputError(f"{address} is not a format: expected a retainer.Format (docs/plugins.md)")
    return found


def holds_complete(name: str) -> bool:
    """Say whether a sentence can say in a format which types are complete in it; refuse an unknown name."""
    if name in BINARY_FORMATS:
        return BINARY_FORMATS[name].holds_complete
    return find_format(name).holds_complete


def _is_tagged(lines: Sequence[str]) -> bool:
    """Say whether a line that names columns stands before a word and its tag on every line, and nothing else."""
    return names_columns(lines[0]) and is_columns(lines)


def recognise(lines: Sequence[str]) -> str | None:
    """Name the format of a file by its first lines that are not blank, or return None for plain text.

    The first line decides, and a tag after a tab in it means columns, since their words may look like anything. What no
    other format claims is columns if most of its lines are, and plain text otherwise.
    """
    first = lines[0] if lines else ""
    if not sniff_conll(first) or sniff_brat(first):
        name = next(name for name, format in FORMATS.items() if format.sniff(first))
        if name not in (COLUMN_FORMAT, *TABLE_FORMATS) or (name in TABLE_FORMATS and not _is_tagged(lines)):
            return name
    return COLUMN_FORMAT if is_columns(lines) else None
