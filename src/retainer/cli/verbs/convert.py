"""`retainer convert`."""

from __future__ import annotations

from pathlib import Path

from retainer.cli.output import note, say
from retainer.data.formats.table import FORMATS
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
}


def convert(in_: str, out: str, /, *, from_: str | None = None, to: str | None = None) -> None:
    """Turn a corpus from one format into another.

    :param in_: annotated file or folder in any format of docs/formats.md; detected from the content
    :param out: file to write, or for brat a folder; must not exist
    :param from_: format of IN: conll, jsonl, prodigy, doccano, labelstudio, brat, conll2012, enamex or i2b2 (default:
        detected from the content)
    :param to: format of OUT: conll, jsonl (tokens and ner_tags), prodigy, doccano, labelstudio, brat, conll2012, enamex
        or i2b2 (default: detected from its suffix)
    """
    target = to or SUFFIXES.get(Path(out).suffix)
    if target is None:
        raise InputError(f"which format should {out} have? say --to {', '.join(sorted(FORMATS))}")
    require_free(out)
    corpus = read(in_, from_)
    write(corpus, out, target)
    for what, count in corpus.oddities.items():
        note(f"note: {count} {what}")
    say(f"{sentences(len(corpus))}, {entities(sum(corpus.counts.values()))}: {corpus.format} -> {target}")
