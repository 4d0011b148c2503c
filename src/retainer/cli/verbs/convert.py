"""`retainer convert`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from retainer.cli.columns import Columns
from retainer.cli.output import note, say
from retainer.data.formats.binary import BINARY_FORMATS
from retainer.data.formats.table import format_names
from retainer.data.gzip_blocks import GZIP_SUFFIX, without_gzip_suffix
from retainer.data.io import read, write
from retainer.errors import InputError
from retainer.files import require_free
from retainer.plurals import entities, sentences

SUFFIXES = {
    **dict.fromkeys((".conll", ".txt", ".tsv", ".iob"), "conll"),
    **dict.fromkeys((".gold_conll", ".v4_gold_conll"), "conll2012"),
    ".jsonl": "jsonl",
    ".json": "labelstudio",
    ".name": "enamex",
    ".xml": "i2b2",
    ".csv": "csv",
    ".parquet": "parquet",
    ".spacy": "spacy",
}
"""The formats of files to write, by how their names end; .gz after that compresses them."""


def format_for(out: str, to: str | None, suffixes: Mapping[str, str] = SUFFIXES) -> str:
    """Return the format a file is to be written in: the one that is asked for, or that of its suffix."""
    found = to or suffixes.get(Path(without_gzip_suffix(out)).suffix)
    if found is None:
        raise InputError(f"which format should {out} have? say --to {', '.join(format_names())}")
    if found in BINARY_FORMATS and without_gzip_suffix(out) != out:
        raise InputError(f"{out}: {found} is compressed inside; leave {GZIP_SUFFIX} out")
    return found


def convert(
    in_: str,
    out: str,
    /,
    *,
    from_: str | None = None,
    to: str | None = None,
    columns: Columns = {},  # noqa: B006 (never changed)
) -> None:
    """Turn a corpus from one format into another.

    :param in_: annotated file or folder in any format of docs/formats.md; detected from the content
    :param out: file to write, or for brat and datasets a folder; must not exist; with .gz at the end it is compressed
    :param from_: format of IN: conll, jsonl, prodigy, doccano, labelstudio, brat, csv, tsv, parquet,
        datasets, conll2012, enamex, i2b2 or spacy (default: detected from the content)
    :param to: format of OUT: conll, jsonl (tokens and ner_tags), prodigy, doccano, labelstudio, brat, csv, tsv,
        parquet, datasets, conll2012, enamex, i2b2 or spacy (default: detected from its suffix)
    :param columns: {columns}
    """
    target = format_for(out, to)
    require_free(out)
    corpus = read(in_, from_, columns)
    write(corpus, out, target)
    for what, count in corpus.oddities.items():
        note(f"note: {count} {what}")
    say(f"{sentences(len(corpus))}, {entities(sum(corpus.counts.values()))}: {corpus.format} -> {target}")
