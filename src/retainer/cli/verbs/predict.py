"""`retainer predict`."""

from __future__ import annotations

import json
import os
import shlex
from itertools import chain
from typing import TYPE_CHECKING

from retainer.cli.output import note, say
from retainer.cli.streams import reader_left
from retainer.data.line_stream import STDIN
from retainer.data.texts import Texts, read_texts
from retainer.errors import InputError
from retainer.metrics.thresholds import above_threshold, require_thresholds

if TYPE_CHECKING:
    from retainer.versions.version import Version

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
) -> None:
    """Find the entities of a text, or of every line of a file; one JSON object per line.

    An empty line is an empty text, so the n-th object is that of the n-th line. Texts may be of any length and any
    number: they are read as they arrive, and what has arrived is answered before waiting for more.

    :param model: a version's folder, any token-classification checkpoint, or a hub name
    :param text: the text, or - for texts from stdin
    :param input: a file with one text per line, JSON lines with a "text", or an annotated file or folder, whose
        annotation is ignored; or - for stdin
    :param calibrated: scores that say how probably an entity is right (default: the mean probability of its words)
    :param threshold: leave out what scores less, by type: --threshold.person 0.8; --threshold.all for the other types
    :param device: auto, cpu or cuda
    """
    if (text is None) == (input is None):
        raise InputError("give either a TEXT or --input FILE")
    if text and os.path.isfile(text):
        note(f"{text} is a file; to read it say --input {shlex.quote(text)}")
    texts = _texts(text, input)
    chunks = texts.chunks(_CHUNK, CHARACTERS)
    first = next(chunks, None)  # a missing file is noticed before a model is loaded
    for what, count in texts.oddities.items():
        note(f"note: {count} {what}")
    from retainer.model.predict import find_entities
    from retainer.versions.version import load

    version = load(model, device=device, need_head=True)
    require_thresholds(threshold, version.types)
    if calibrated:
        _require_curves(model, version)
    for chunk in chain([] if first is None else [first], chunks):
        for sentence, plain in zip(chunk, find_entities(version.tagger, chunk), strict=True):
            found = version.calibrated(plain) if calibrated else plain
            document = {"text": sentence.located()[0], "entities": above_threshold(found, threshold)}
            say(json.dumps(document, ensure_ascii=False))
        if reader_left():
            return


def _require_curves(model: str, version: Version) -> None:
    """Refuse a model without any curve, and name the types without one: their scores look calibrated, and are not."""
    curves = version.lineage.calibration
    if not curves:
        raise InputError(f"{model} was never calibrated: it was not learned by retainer, or without a dev set")
    if bare := [type_ for type_ in version.types if type_ not in curves]:
        note(f"not calibrated, so their scores are those without --calibrated: {', '.join(bare)}")


def _texts(text: str | None, input: str | None) -> Texts:
    """Return the one text there is, or the texts of a file or of stdin."""
    if text is not None and text != STDIN:
        return Texts.of([text], "TEXT")
    return read_texts(STDIN if input is None else input)
