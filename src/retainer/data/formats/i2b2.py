"""The XML of the I2B2-2014 de-identification task: a record's text, and tags that count its characters."""

import re
from collections.abc import Iterable
from xml.sax.saxutils import quoteattr

from retainer.data.corpus import Corpus
from retainer.data.formats.i2b2_xml import I2B2_ROOT, parse_note
from retainer.data.formats.standoff import line_to_write, place_tags
from retainer.data.lines import write_sentences
from retainer.data.oddities import Oddities
from retainer.data.spans import Sentence, Span
from retainer.errors import InputError

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

_START = re.compile(rf"<\?xml[ \t][^>]*\?>[ \t]*(<.*)?|<{I2B2_ROOT}>[ \t]*(<.*)?|<!DOCTYPE[ \t]+{I2B2_ROOT}\b.*")
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0d\x0e-\x1f\ufffe\uffff]")
"""What XML cannot hold or, like the carriage return, does not keep."""


def sniff_i2b2(line: str) -> bool:
    """Recognise XML; the reader refuses XML of other kinds."""
    return _START.fullmatch(line) is not None


def read_i2b2(text: str, source: str = "memory") -> Corpus:
    """Read a note; every line with a visible character is a sentence, and the TYPE of a tag is its entity's type."""
    oddities = Oddities(source)
    note = parse_note(text, source)
    sentences = place_tags(note.text, note.tags, source, oddities)
    return Corpus(sentences, source, "i2b2", oddities=dict(+oddities), odd_places=oddities.places)


def write_i2b2(sentences: Iterable[Sentence]) -> str:
    """Write one note, a sentence per line; the format does not hold words, so reading cuts the text anew."""
    writer = _Writer()
    text = write_sentences(sentences, writer.line)
    return writer.document(text) if text else ""


class _Writer:
    """Collects the tags while the lines of the text are written."""

    def __init__(self) -> None:
        self._tags: list[str] = []
        self._at = 0

    def line(self, sentence: Sentence) -> str:
        """Return the line of a sentence, if reading would give it back as one."""
        text, spans = line_to_write(sentence)
        for part in (text, *(span.type for span in spans)):
            if bad := _ILLEGAL.search(part):
                raise InputError(f"{bad[0]!r} is a character that XML cannot hold; remove it")
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
        return f"{head}\n<{I2B2_ROOT}>\n<TEXT><![CDATA[{safe}]]></TEXT>\n<TAGS>\n{tags}</TAGS>\n</{I2B2_ROOT}>\n"
