"""The XML of the I2B2-2014 de-identification task: a record's text, and tags that count its characters."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from xml.sax.saxutils import quoteattr

from retainer.corpora.corpus import Corpus
from retainer.corpora.lines import blamed, written
from retainer.corpora.marked import LOOSE, marked, running
from retainer.corpora.note import ROOT, Note, Tag, parse
from retainer.errors import InputError
from retainer.spans import Sentence, Span

OVERLAP = "tags that overlap another"
"""The oddity of a tag that shares characters with a longer one, or with one of its length; it is passed over."""

_ELEMENTS = {
    "NAME": "PATIENT DOCTOR USERNAME",
    "PROFESSION": "PROFESSION",
    "LOCATION": "ROOM DEPARTMENT HOSPITAL ORGANIZATION STREET CITY STATE COUNTRY ZIP LOCATION-OTHER",
    "AGE": "AGE",
    "DATE": "DATE",
    "CONTACT": "PHONE FAX EMAIL URL IPADDR",
    "ID": "SSN MEDICALRECORD HEALTHPLAN ACCOUNT LICENSE VEHICLE DEVICE BIOID IDNUM",
}
_ELEMENT = {type_: element for element, types in _ELEMENTS.items() for type_ in types.split()}

_START = re.compile(rf"<\?xml[ \t][^>]*\?>[ \t]*(<.*)?|<{ROOT}>[ \t]*(<.*)?|<!DOCTYPE[ \t]+{ROOT}\b.*")
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0d\x0e-\x1f\ufffe\uffff]")
"""What XML cannot hold or, the carriage return, does not give back."""


def sniff_i2b2(line: str) -> bool:
    """Recognise XML; whether it is the right one is for the reader to say."""
    return _START.fullmatch(line) is not None


def read_i2b2(text: str, source: str = "memory") -> Corpus:
    """Read a note; every line with a visible character is a sentence, and the TYPE of a tag is its entity's type.

    An entity that goes over a line end keeps its lines together in one sentence. Words are cut where a tag begins or
    ends, so that it is kept to the character.
    """
    seen: Counter[str] = Counter()
    note = parse(text, source)
    spans = _flat([_placed(tag, note, source, seen) for tag in note.tags], seen)
    sentences = [_sentence(line, inside, seen) for line, inside in _cut(note.text, spans)]
    return Corpus(tuple(sentences), source, "i2b2", oddities=dict(+seen))


def write_i2b2(sentences: Iterable[Sentence]) -> str:
    """Write one note, a sentence a line; there is no place for words, so reading cuts the text anew."""
    writer = _Writer()
    text = written(sentences, writer.line)
    return writer.document(text) if text else ""


# ------------------------------------------------------------------------------------------------------- reading


def _placed(tag: Tag, note: Note, source: str, seen: Counter[str]) -> Span:
    """Check a tag against the text, and leave the white space at its edges out."""
    with blamed(f"{source}:{tag.line}: tag {tag.id}"):
        where = f"{tag.span.start}-{tag.span.end}"
        if not tag.span.start < tag.span.end <= len(note.text):
            raise InputError(f"{where} is empty or lies outside the text of {len(note.text)} characters")
        found = note.text[tag.span.start : tag.span.end]
        if tag.text is not None and tag.text.split() != found.split():
            raise InputError(f"its text is {tag.text!r}, but TEXT has {found!r} at {where}; correct one of them")
        if not found.strip():
            raise InputError(f"{where} covers no word, only {found!r}; remove the tag")
        span = _trimmed(tag.span, note.text)
        seen[LOOSE] += span != tag.span
        return span


def _trimmed(span: Span, text: str) -> Span:
    found = text[span.start : span.end]
    start = span.start + len(found) - len(found.lstrip())
    return Span(start, start + len(found.strip()), span.type)


def _flat(spans: Sequence[Span], seen: Counter[str]) -> list[Span]:
    """Return the spans in order; of those that overlap the longest stay, of equally long ones the first."""
    heaps, reach = list[list[Span]](), 0
    for span in sorted(spans, key=lambda span: span.start):
        if span.start < reach:
            heaps[-1].append(span)
        else:
            heaps.append([span])
        reach = max(reach, span.end)
    kept = [span for heap in heaps for span in _longest(heap)]
    seen[OVERLAP] += len(spans) - len(kept)
    return kept


def _longest(heap: list[Span]) -> list[Span]:
    kept: list[Span] = []
    for span in sorted(heap, key=lambda span: span.start - span.end):
        if all(other.end <= span.start or span.end <= other.start for other in kept):
            kept.append(span)
    return sorted(kept)


def _cut(text: str, spans: Sequence[Span]) -> Iterator[tuple[str, list[Span]]]:
    """Yield the lines that hold a word, and the spans in each; a span over a line end joins its lines."""
    at, number = 0, 0
    while at < len(text):
        end, inside = _line_end(text, at), list[Span]()
        while number < len(spans) and spans[number].start < end:
            span = spans[number]
            inside.append(Span(span.start - at, span.end - at, span.type))
            end, number = max(end, _line_end(text, span.end)), number + 1
        line = text[at:end]
        if line.strip():
            yield line, inside
        at = end + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _sentence(line: str, spans: list[Span], seen: Counter[str]) -> Sentence:
    sentence = marked(line, spans, seen) if spans else None
    return sentence or Sentence.from_text(line)


# ------------------------------------------------------------------------------------------------------- writing


class _Writer:
    """Collects the tags while the lines of the text are written."""

    def __init__(self) -> None:
        self._tags: list[str] = []
        self._at = 0

    def line(self, sentence: Sentence) -> str:
        """Return the line of a sentence, if it would come back as one."""
        text, _ = running(sentence)
        spans = sentence.character_spans()
        for part in (text, *(span.type for span in spans)):
            if bad := _ILLEGAL.search(part):
                raise InputError(f"{bad[0]!r} is a character that XML cannot hold; remove it")
        for span in spans:
            if not text[span.start : span.end].strip():
                raise InputError(f"span {span.start}-{span.end} ({span.type}) covers white space only; leave it out")
        if len(list(_cut(text, [_trimmed(span, text) for span in spans]))) > 1:
            raise InputError("it has a line break outside an entity, where reading would end it; cut it in two there")
        self._tags += [self._tag(len(self._tags) + at, span, text) for at, span in enumerate(spans)]
        self._at += len(text) + 1
        return text + "\n"

    def _tag(self, number: int, span: Span, text: str) -> str:
        element, covered = _ELEMENT.get(span.type, "OTHER"), text[span.start : span.end]
        place = f'start="{self._at + span.start}" end="{self._at + span.end}"'
        texts = f"text={quoteattr(covered)} TYPE={quoteattr(span.type)}"
        return f'<{element} id="P{number}" {place} {texts} comment="" />\n'

    def document(self, text: str) -> str:
        """Return the whole file."""
        safe = text.replace("]]>", "]]]]><![CDATA[>")
        head, tags = '<?xml version="1.0" encoding="UTF-8" ?>', "".join(self._tags)
        return f"{head}\n<{ROOT}>\n<TEXT><![CDATA[{safe}]]></TEXT>\n<TAGS>\n{tags}</TAGS>\n</{ROOT}>\n"
