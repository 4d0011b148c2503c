"""`retainer export`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from retainer.cli.columns import Columns
from retainer.cli.output import note, say
from retainer.data.formats.records import EMPTY_TEXTS
from retainer.data.io import write_suggestions
from retainer.data.spans import Sentence
from retainer.data.texts import Texts, read_texts
from retainer.errors import InputError, disk_refusals
from retainer.files import require_free
from retainer.plurals import amount, entities

if TYPE_CHECKING:
    from retainer.data.suggested import Suggested
    from retainer.versions.version import Version

_CHUNK = 256
"""Texts looked at at once, which bounds the memory."""


def export(
    model: str,
    /,
    *,
    onnx: str | None = None,
    int8: bool = False,
    plain: str | None = None,
    labelstudio: str | None = None,
    prodigy: str | None = None,
    input: str | None = None,
    device: str = "auto",
    columns: Columns = {},  # noqa: B006 (never changed)
) -> None:
    """Write a model for use without retainer, or what it finds in texts, for a person to correct.

    Exactly one of --onnx, --plain, --labelstudio and --prodigy says which. predict and evaluate take the folders of
    --onnx and --plain like any model; learn, check and convert take the corrected texts.

    :param model: a version's folder, any token-classification checkpoint, or a hub name
    :param onnx: new folder for model.onnx, the tokenizer and the names of the labels
    :param int8: 8-bit weights in most layers: less than half the size, faster on a CPU, a few entities differ
    :param plain: new folder for a Hugging Face model with labels that transformers' pipeline reads: B- and I- alone
    :param labelstudio: file to write: tasks with predictions, to import into Label Studio; needs --input
    :param prodigy: file to write: tasks with spans, to correct in Prodigy; needs --input
    :param input: the texts: a file with one text per line, JSON lines with a "text", or an annotated file or folder,
        whose annotations are ignored; or - for stdin
    :param device: where the model looks at the texts: auto, cpu or cuda
    :param columns: {columns}
    """
    files = {"labelstudio": labelstudio, "prodigy": prodigy}
    chosen = {format: file for format, file in files.items() if file is not None}
    networks = [folder for folder in (onnx, plain) if folder is not None]
    if len(chosen) + len(networks) != 1:
        raise InputError("give exactly one of --onnx DIR, --plain DIR, --labelstudio FILE and --prodigy FILE")
    if int8 and onnx is None:
        raise InputError("--int8 belongs to --onnx; leave it out")
    if networks:
        if input is not None:
            raise InputError("--input belongs to --labelstudio and --prodigy; leave it out")
        if columns:
            raise InputError("--columns belongs to --input; leave it out")
        return _export_network(model, networks[0], onnx is not None, int8)
    if input is None:
        raise InputError("which texts? give --input FILE")
    [(format, file)] = chosen.items()
    require_free(file)
    texts = read_texts(input, columns)
    _export_suggestions(model, format, file, texts, device)


def _export_network(model: str, folder: str, onnx: bool, int8: bool) -> None:
    require_free(folder)
    from retainer.versions.version import load

    version = load(model, device="cpu", need_head=True)
    with disk_refusals(folder):
        version.export(folder, int8=int8) if onnx else version.export_plain(folder)
    kind = "onnx " if onnx else "plain"
    say(f"exported  {', '.join(version.types)}\n{kind}     {folder}\n\nTry it:   retainer predict {folder} 'some text'")


def _export_suggestions(model: str, format: str, file: str, texts: Texts, device: str) -> None:
    sentences = _worded(texts)  # bad input is noticed before a model is loaded
    from retainer.versions.version import load

    version = load(model, device=device, need_head=True)
    found = _suggestions(version, sentences)
    write_suggestions(found, file, format, _name_of(model, version))
    size = entities(sum(len(sentence.spans) for sentence in found))
    say(f"{amount(len(found), 'text')} ({texts.format}), {size} of {', '.join(version.types)} -> {file}")


def _worded(texts: Texts) -> list[Sentence]:
    """Return the texts with a word in them, and print how many have none: no format of suggestions can hold those."""
    everything = [sentence for _, sentence in texts]
    kept = [sentence for sentence in everything if sentence.words]
    notes = Counter(texts.oddities) + Counter({EMPTY_TEXTS: len(everything) - len(kept)})
    if not kept:
        passed = "".join(f", only {count} {what}" for what, count in notes.items())
        raise InputError(f"{texts.source}: found no text{passed}; there must be at least one")
    for what, count in notes.items():
        note(f"note: {count} {what}")
    return kept


def _suggestions(version: Version, sentences: list[Sentence]) -> list[Suggested]:
    from retainer.model.predict import suggested

    chunks = (sentences[at : at + _CHUNK] for at in range(0, len(sentences), _CHUNK))
    return [sentence for chunk in chunks for sentence in suggested(version.tagger, chunk)]


def _name_of(model: str, version: Version) -> str:
    """Name a model for those who meet its predictions later: the folder, and the beginning of its weights' hash."""
    name = Path(model).resolve().name if Path(model).is_dir() else model
    return f"{name} {version.lineage.weights[:12]}".strip()
