"""`retainer predict`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import islice

from retainer.commands.output import say
from retainer.errors import InputError
from retainer.thresholds import above, require_thresholds

CHUNK = 256
"""Lines predicted at once, so that a file of any length takes constant memory."""


def predict(
    model: str,
    text: str | None = None,
    /,
    *,
    input: str | None = None,
    calibrated: bool = False,
    threshold: dict[str, float] = {},  # noqa: B006 (the parser needs the kind, and nobody changes it)
    device: str = "auto",
) -> None:
    """Find the entities of a text, or of every line of a file; one JSON object per line.

    :param model: a version's folder, any token-classification checkpoint, or a hub name
    :param text: the text
    :param input: a file with one text per line, or - for stdin; of a .jsonl file the field "text" is taken
    :param calibrated: scores that say how probably an entity is right (default: the mean probability of its words)
    :param threshold: leave out what scores less, by type: --threshold.person 0.8; --threshold.all for the other types
    :param device: auto, cpu or cuda
    """
    if (text is None) == (input is None):
        raise InputError("give either a TEXT or --input FILE")
    lines = iter([text]) if text is not None else _lines(str(input))
    first = next(lines, None)  # a missing file is noticed before a model is loaded
    from retainer.version import load

    version = load(model, device=device, need_head=True)
    require_thresholds(threshold, version.types)
    if calibrated and not version.lineage.calibration:
        raise InputError(f"{model} was never calibrated: it was not learned by retainer, or without a dev set")
    chunk = [] if first is None else [first, *islice(lines, CHUNK - 1)]
    while chunk:
        for line, entities in zip(chunk, version.predict(chunk, calibrated=calibrated), strict=True):
            say(json.dumps({"text": line, "entities": above(entities, threshold)}, ensure_ascii=False))
        chunk = list(islice(lines, CHUNK))


def _lines(path: str) -> Iterator[str]:
    """Yield the texts of a file, one per line; only a line feed ends a line."""
    try:
        stream = sys.stdin if path == "-" else open(path, encoding="utf-8-sig", newline="\n")
        with stream:
            for number, line in enumerate(stream, 1):
                yield _text(line.rstrip("\n").removesuffix("\r"), path, number)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text") from None


def _text(line: str, path: str, number: int) -> str:
    if not path.endswith(".jsonl"):
        return line
    try:
        text = json.loads(line)["text"]
    except (ValueError, KeyError, TypeError):
        text = None
    if not isinstance(text, str):
        raise InputError(f'{path}:{number}: expected a JSON object with a "text", found {line[:60]!r}')
    return text
