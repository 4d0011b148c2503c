"""The records of Prodigy: a text, spans of characters and, most often, the tokens."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from retainer.data.corpus import Corpus
from retainer.data.formats.char_spans import place_spans, read_span_records, span_of_record, text_to_write
from retainer.data.formats.completeness import complete_field, with_complete
from retainer.data.formats.records import JsonRecord, each_member, keys_of, record_line, require_field, require_kind
from retainer.data.lines import write_sentences
from retainer.data.spans import Sentence
from retainer.data.suggested import Suggested
from retainer.data.words import Offset
from retainer.errors import InputError, quoted

REJECTED_ANSWERS = "rejected or ignored answers"

ANSWER_KEYS = ("spans", "answer")
"""The keys by which a record of Prodigy is known: a text in which nothing was marked may lack spans."""


def sniff_prodigy(line: str) -> bool:
    """Recognise a record by its text and its spans or answer."""
    keys = keys_of(line)
    return "text" in keys and not keys.isdisjoint(ANSWER_KEYS)


def read_prodigy(text: str, source: str = "memory") -> Corpus:
    """Read the records that were accepted; where they hold tokens, these are the words."""
    return read_span_records(text, source, "prodigy", _sentence)


def write_prodigy(sentences: Iterable[Sentence]) -> str:
    """Write text, tokens and spans, so that the words come back as they are."""
    return write_sentences(sentences, lambda sentence: record_line(_record(sentence)))


def suggest_prodigy(sentences: Iterable[Suggested], model: str) -> str:
    """Write what a model found as unanswered tasks: Prodigy shows the spans, and ``meta`` in a corner."""
    return write_sentences(sentences, lambda sentence: record_line(_suggestion(sentence, model)))


def _sentence(record: JsonRecord, oddities: Counter[str]) -> Sentence | None:
    if record.get("answer") in ("reject", "ignore"):
        oddities[REJECTED_ANSWERS] += 1
        return None
    text = require_field(record, "text", str)
    unmarked = "answer" in record and "spans" not in record
    spans = [] if unmarked else each_member(record, "spans", lambda item: span_of_record(require_kind(item, dict)))
    offsets = token_offsets(record, text) if record.get("tokens") else None
    return with_complete(place_spans(text, spans, oddities, offsets), record)


def token_offsets(record: JsonRecord, text: str) -> list[Offset]:
    """Return the places of the tokens of a record in its text."""
    offsets = each_member(record, "tokens", lambda item: _offset(require_kind(item, dict), text))
    ends = [0, *(end for _, end in offsets)]
    for number, (start, _) in enumerate(offsets):
        if start < ends[number]:
            raise InputError(f"tokens[{number}]: begins at {start}, before the end of the previous token")
    return offsets


def _offset(token: JsonRecord, text: str) -> Offset:
    start, end = require_field(token, "start", int), require_field(token, "end", int)
    if not 0 <= start < end <= len(text):
        raise InputError(f"token {start}-{end} is empty or lies outside the text of {len(text)} characters")
    if token.get("text", text[start:end]) != text[start:end]:
        raise InputError(
            f"token {start}-{end} is {quoted(str(token['text']))}, but the text has {quoted(text[start:end])} there"
        )
    return start, end


def _record(sentence: Sentence) -> JsonRecord:
    text, offsets = text_to_write(sentence)
    tokens = [
        {"text": word, "start": start, "end": end, "id": number}
        for number, (word, (start, end)) in enumerate(zip(sentence.words, offsets, strict=True))
    ]
    return {"text": text, "tokens": tokens, "spans": _spans(sentence), **complete_field(sentence)}


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


def _suggestion(sentence: Suggested, model: str) -> JsonRecord:
    record = _record(sentence)
    for span, score in zip(record["spans"], sentence.scores, strict=True):
        span.update(score=score, source=model)
    least = {"score": min(sentence.scores)} if sentence.scores else {}
    return {**record, "meta": {"model": model, **least}}
