"""The .name files of OntoNotes: a sentence per line, its words separated by spaces, its entities in ENAMEX tags."""

import re
from collections import Counter
from collections.abc import Iterable
from xml.sax.saxutils import escape, unescape

from retainer.data.corpus import Corpus
from retainer.data.formats.brackets import Brackets
from retainer.data.formats.char_spans import EDGE_INSIDE_WORD
from retainer.data.formats.ptb_escapes import escape_word, unescape_word
from retainer.data.lines import error_location, is_blank, numbered_lines, write_sentences
from retainer.data.oddities import Oddities
from retainer.data.spans import Sentence, Span
from retainer.errors import InputError, quoted, shortened

_UNENDED = "documents without </DOC>"

_QUOTES = {'"': "&quot;", "'": "&apos;"}
_MARKS = {mark: quote for quote, mark in _QUOTES.items()}
_OPENING = re.compile(r'<DOC(?:[ \t]+DOCNO="[^"]*")?[ \t]*>[ \t]*')
_EDGE = re.compile(r"[ \t]*(<DOC(?:[ \t][^>]*)?>|</DOC>)[ \t]*")
_TAG = re.compile(r"(<ENAMEX(?:[ \t][^<>]*+)?>|</ENAMEX[ \t]*+>)")
_TYPE = re.compile(r'[ \t]TYPE="([^"]+)"')
_INSIDE = re.compile(r'[ \t][SE]_OFF="|</ENAMEX[ \t]*+>(?=[^ \t<])|(?<=[^ \t>])<ENAMEX[ \t>]')
"""Where an entity begins or ends inside a word: the offsets of OntoNotes, or a tag without a space beside it."""


def sniff_enamex(line: str) -> bool:
    """Recognise a file by the tag that begins its first document."""
    return _OPENING.fullmatch(line) is not None


def read_enamex(text: str, source: str = "memory") -> Corpus:
    """Read ``<ENAMEX TYPE="ORG">…</ENAMEX>`` around words between spaces, one sentence per line.

    Where ``S_OFF`` or ``E_OFF`` say that only a part of a word is meant, the entity is the whole word, as in the
    CoNLL-2012 columns of the same text; a tag inside a word cuts it. Both are counted.
    """
    oddities = Oddities(source)
    sentences, edges = [], Counter[bool]()
    for number, line in numbered_lines(text):
        if edge := _EDGE.fullmatch(line):
            edges[edge[1] == "</DOC>"] += 1
        elif not is_blank(line):
            oddities.where = f"{source}:{number}"
            with error_location(oddities.where):
                sentences.append(_sentence(line, oddities))
    oddities.where = source
    oddities[_UNENDED] = max(0, edges[False] - edges[True])
    return Corpus(tuple(sentences), source, "enamex", oddities=dict(+oddities), odd_places=oddities.places)


def write_enamex(sentences: Iterable[Sentence]) -> str:
    """Write one document; what reading would change is refused."""
    text = write_sentences(sentences, _line)
    return f'<DOC DOCNO="retainer">\n{text}</DOC>\n' if text else ""


def _sentence(line: str, oddities: Counter[str]) -> Sentence:
    words, brackets = list[str](), Brackets(oddities)
    if "<" not in line:
        return Sentence(tuple(_words(line)))
    for at, piece in enumerate(_TAG.split(line)):
        if at % 2 == 0:
            words += _words(piece)
        elif piece.startswith("</"):
            brackets.close(len(words))
        else:
            brackets.open(_type(piece), len(words))
    oddities[EDGE_INSIDE_WORD] += len(_INSIDE.findall(line))
    if not words:
        raise InputError("found tags but no word between them; remove the line")
    return Sentence(tuple(words), brackets.spans())


def _words(piece: str) -> list[str]:
    words = [word for word in piece.replace("\t", " ").split(" ") if word]
    return [unescape_word(unescape(word, _MARKS) if "&" in word else word) for word in words]


def _type(tag: str) -> str:
    match = _TYPE.search(tag)
    if match is None:
        raise InputError(f'{shortened(tag)} names no type; write <ENAMEX TYPE="ORG">, say')
    return unescape(match[1], _MARKS)


def _line(sentence: Sentence) -> str:
    words = [escape(escape_word(word)) for word in sentence.words]
    for span in sentence.spans:
        words[span.start] = f'<ENAMEX TYPE="{_attribute(span)}">{words[span.start]}'
        words[span.end - 1] += "</ENAMEX>"
    return " ".join(words) + "\n"


def _attribute(span: Span) -> str:
    if "\n" in span.type or "\r" in span.type:
        raise InputError(f"the type {quoted(span.type)} has a line break, which would end the sentence; rename it")
    return escape(span.type, _QUOTES)
