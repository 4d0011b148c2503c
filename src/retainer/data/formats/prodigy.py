"""The records of Prodigy: a text, spans of characters and, most often, the tokens."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from retainer.data.corpus import Corpus
from retainer.data.formats.char_spans import marked, read_marked, running, span_of
from retainer.data.formats.records import Record, checked, dump, each, field, keys_of
from retainer.data.lines import written
from retainer.data.spans import Sentence
from retainer.data.suggested import Suggested
from retainer.data.words import Offset
from retainer.errors import InputError

REFUSED = "rejected or ignored answers"


ANSWER_KEYS = ("spans", "answer")
"""The keys by which a record of Prodigy is known: a text in which nothing was marked may lack spans."""


def sniff_prodigy(line: str) -> bool:
    """Recognise a record by its text and its spans or answer."""
    keys = keys_of(line)
    return "text" in keys and not keys.isdisjoint(ANSWER_KEYS)


def read_prodigy(text: str, source: str = "memory") -> Corpus:
    """Read the records that were accepted; where they hold tokens, these are the words."""
    return read_marked(text, source, "prodigy", _sentence)


def write_prodigy(sentences: Iterable[Sentence]) -> str:
    """Write text, tokens and spans, so that the words come back as they are."""
    return written(sentences, lambda sentence: dump(_record(sentence)))


def suggest_prodigy(sentences: Iterable[Suggested], model: str) -> str:
    """Write what a model found as unanswered tasks: Prodigy shows the spans, and ``meta`` in a corner."""
    return written(sentences, lambda sentence: dump(_suggestion(sentence, model)))


def _sentence(record: Record, seen: Counter[str]) -> Sentence | None:
    if record.get("answer") in ("reject", "ignore"):
        seen[REFUSED] += 1
        return None
    text = field(record, "text", str)
    bare = "answer" in record and "spans" not in record
    spans = [] if bare else each(record, "spans", lambda item: span_of(checked(item, dict)))
    return marked(text, spans, seen, offsets_of(record, text) if record.get("tokens") else None)


def offsets_of(record: Record, text: str) -> list[Offset]:
    """Return the places of the tokens of a record in its text."""
    offsets = each(record, "tokens", lambda item: _offset(checked(item, dict), text))
    ends = [0, *(end for _, end in offsets)]
    for number, (start, _) in enumerate(offsets):
        if start < ends[number]:
            raise InputError(f"tokens[{number}]: begins at {start}, before the end of the token before it")
    return offsets


def _offset(token: Record, text: str) -> Offset:
    start, end = field(token, "start", int), field(token, "end", int)
    if not 0 <= start < end <= len(text):
        raise InputError(f"token {start}-{end} is empty or lies outside the text of {len(text)} characters")
    if token.get("text", text[start:end]) != text[start:end]:
        raise InputError(f"token {start}-{end} is {token['text']!r}, but the text has {text[start:end]!r} there")
    return start, end


def _record(sentence: Sentence) -> Record:
    text, offsets = running(sentence)
    tokens = [
        {"text": word, "start": start, "end": end, "id": number}
        for number, (word, (start, end)) in enumerate(zip(sentence.words, offsets, strict=True))
    ]
    return {"text": text, "tokens": tokens, "spans": _spans(sentence)}


def _spans(sentence: Sentence) -> list[dict[str, Any]]:
    return [
        {
            "start": place.start,
            "end": place.end,
            "token_start": span.start,
            "token_end": span.end - 1,
            "label": span.type,
        }
        for span, place in zip(sentence.spans, sentence.character_spans(), strict=True)
    ]


def _suggestion(sentence: Suggested, model: str) -> Record:
    record = _record(sentence)
    for span, score in zip(record["spans"], sentence.scores, strict=True):
        span.update(score=score, source=model)
    least = {"score": min(sentence.scores)} if sentence.scores else {}
    return {**record, "meta": {"model": model, **least}}
