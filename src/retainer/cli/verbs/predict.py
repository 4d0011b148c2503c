"""`retainer predict`."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from retainer.cli.bulk import tag_in_bulk
from retainer.cli.columns import Columns
from retainer.cli.output import note, say
from retainer.cli.streams import reader_left
from retainer.data.line_stream import STDIN
from retainer.data.texts import Texts, read_texts
from retainer.errors import InputError
from retainer.metrics.calibration import require_curves
from retainer.metrics.thresholds import above_threshold, require_thresholds
from retainer.workers.tagging.run import Crew, local_crew, ray_crew
from retainer.workers.tagging.tagger_setup import TaggerSetup

_CHUNK = 256
"""Texts predicted at once at most, so that a file of any length takes constant memory."""

CHARACTERS = 1 << 17
"""Characters predicted at once, if no single text has more: so do long documents."""


def predict(
    model: str,
    text: str | None = None,
    /,
    *,
    input: str | None = None,
    calibrated: bool = False,
    threshold: dict[str, float] = {},  # noqa: B006 (the parser needs the kind; it is never changed)
    device: str = "auto",
    columns: Columns = {},  # noqa: B006 (never changed)
    out: str | None = None,
    jobs: int | None = None,
    ray: str | None = None,
    format: Literal["jsonl", "parquet"] | None = None,
    int8: bool = False,
) -> None:
    """Find the entities of a text, or of every line of a file; one JSON object per line.

    An empty line is an empty text, so the n-th object is that of the n-th line. Texts may be of any length and any
    number: they are read as they arrive, and what has arrived is answered before waiting for more. With --out, many
    files are tagged by several workers, each text exactly once; a call that was stopped continues where it was.

    :param model: a version's folder, any token-classification checkpoint, or a hub name
    :param text: the text, or - for texts from stdin
    :param input: a file with one text per line, JSON lines or a table with a "text", or an annotated file or
        folder, whose annotation is ignored; or - for stdin
    :param calibrated: scores that say how probably an entity is right (default: the mean probability of its words)
    :param threshold: leave out what scores less, by type: --threshold.person 0.8; --threshold.all for the other types
    :param device: auto, cpu or cuda
    :param columns: {columns}
    :param out: folder for the results, in shards; --input then also takes a folder of files, or a pattern in quotes
        such as 'texts/*.jsonl.gz'
    :param jobs: processes that tag, with --out, one core each (default: 1)
    :param ray: tag on a Ray cluster, with --out: HOST:PORT of its head, auto, or local for one on this machine
    :param format: jsonl or parquet, with --out (default: jsonl)
    :param int8: round the weights to 8 bits, with --out: faster on a CPU (needs the extra onnx)
    """
    if (text is None) == (input is None):
        raise InputError("give either a TEXT or --input FILE")
    if text and os.path.isfile(text):
        raise InputError(f"{text} is a file; to read it say --input {shlex.quote(text)}")
    if text and os.path.isdir(text) and not os.path.isdir(model) and " " in model:
        raise InputError(f"the model comes first: retainer predict {shlex.quote(text)} {shlex.quote(model)}")
    if out is not None:
        setup = TaggerSetup(model, format or "jsonl", device, calibrated, threshold)
        return tag_in_bulk(_required_input(input), out, setup, columns, int8, _crew(jobs, ray))
    if jobs is not None or ray is not None or format is not None or int8:
        raise InputError("--jobs, --ray, --format and --int8 are for many texts, whose results go to --out DIR")
    _print_entities(_texts(text, input, columns), _Scores(model, device, calibrated, threshold))


@dataclass(frozen=True)
class _Scores:
    """The model to load, and which of its finds count with which score."""

    model: str
    device: str
    calibrated: bool
    threshold: dict[str, float]


def _print_entities(texts: Texts, wanted: _Scores) -> None:
    """Print an object per text as texts arrive."""
    chunks = texts.chunks(_CHUNK, CHARACTERS)
    first = next(chunks, None)  # a missing file is noticed before a model is loaded
    for what, count in texts.oddities.items():
        note(f"note: {count} {what}")
    from retainer.model.predict import find_entities
    from retainer.versions.version import load

    version = load(wanted.model, device=wanted.device, need_head=True)
    require_thresholds(wanted.threshold, version.types)
    if wanted.calibrated and (bare := require_curves(wanted.model, version.lineage.calibration, version.types)):
        note(f"not calibrated, so their scores are those without --calibrated: {', '.join(bare)}")
    for chunk in chain([] if first is None else [first], chunks):
        for sentence, plain in zip(chunk, find_entities(version.tagger, chunk), strict=True):
            found = version.calibrated(plain) if wanted.calibrated else plain
            document = {"text": sentence.located()[0], "entities": above_threshold(found, wanted.threshold)}
            say(json.dumps(document, ensure_ascii=False))
        if reader_left():
            return


def _required_input(input: str | None) -> str:
    if input is None:
        raise InputError("--out DIR takes the results of --input FILES, not of one TEXT")
    return input


def _crew(jobs: int | None, ray: str | None) -> Crew:
    """Return what makes the workers a call asks for."""
    if jobs is not None and ray is not None:
        raise InputError("give either --jobs or --ray: processes of this machine, or workers of a cluster")
    if jobs is not None and jobs < 1:
        raise InputError(f"--jobs must be at least 1, not {jobs}")
    return local_crew(jobs or 1) if ray is None else ray_crew(ray)


def _texts(text: str | None, input: str | None, columns: Columns) -> Texts:
    """Return the one text there is, or the texts of a file or of stdin."""
    if text is not None and text != STDIN:
        return Texts.of([text], "TEXT")
    return read_texts(STDIN if input is None else input, columns)
