"""The `.spacy` files of spaCy: a DocBin, which holds words, the spaces between them, and entities (needs spaCy).

A document is one text. Words of white space alone, which spaCy makes of line ends and double spaces, are part of the
text and not words here. What else a document holds (sentences, parts of speech, groups of spans) is not read.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

from retainer.data.corpus import Corpus
from retainer.data.formats.char_spans import text_to_write
from retainer.data.formats.records import EMPTY_TEXTS
from retainer.data.labels import require_names
from retainer.data.lines import error_location, require_whole_words
from retainer.data.oddities import Oddities
from retainer.data.spans import Sentence, Span
from retainer.errors import InputError, quoted

FORMAT = "spacy"
MISSING = "the format spacy needs spaCy, which is not installed; run: pip install 'retainer[spacy]'"
WHITE_ENTITIES = "entities of white space alone"
MOST_BYTES = 2**31
"""What a file may unpack to: a few bytes can be made to unpack to any size."""

_HEAD = 64
_KEYS = (b"\xa7version", b"\xa5attrs")
"""What the map in a DocBin begins with, of today's spaCy and of spaCy 3.0."""
_MAP = range(0x80, 0x90)
_INSIDE, _BEGIN = 1, 3
"""What spaCy writes for tokens of an entity; 2 is O and 0 is not annotated, which O means here as well."""


def sniff_docbin(data: bytes) -> bool:
    """Recognise a DocBin by how it unpacks."""
    try:
        head = zlib.decompressobj().decompress(data[: 2 * _HEAD], _HEAD)
    except zlib.error:
        return False
    return len(head) > 1 and head[0] in _MAP and head[1:].startswith(_KEYS)


def read_docbin(data: bytes, source: str = "memory") -> Corpus:
    """Read every document as one text."""
    _require_spacy()
    oddities, sentences = Oddities(source), []
    for number, (words, spaces, tags) in enumerate(_documents(data, source), 1):
        oddities.where = f"{source}: document {number}"
        with error_location(oddities.where):
            sentence = _sentence(words, spaces, tags, oddities)
        if sentence is not None:
            sentences.append(sentence)
    return Corpus(tuple(sentences), source, FORMAT, oddities=dict(+oddities), odd_places=oddities.places)


def write_docbin(sentences: Iterable[Sentence]) -> bytes:
    """Write every sentence as one document; one that would not come back as it is, is refused."""
    _require_spacy()
    from spacy.tokens import Doc, DocBin
    from spacy.vocab import Vocab

    vocab, made = Vocab(), DocBin(attrs=["ENT_IOB", "ENT_TYPE"])
    for number, sentence in enumerate(sentences, 1):
        with error_location(f"sentence {number}"):
            require_whole_words(sentence)
            words, spaces, tags = _tokens(sentence)
            _require_encodable(words)
            made.add(Doc(vocab, words=words, spaces=spaces, ents=tags))
    return bytes(made.to_bytes()) if len(made) else b""


def _require_spacy() -> None:
    if find_spec("spacy") is None:
        raise InputError(MISSING)


Document = tuple[list[str], list[bool] | None, list[tuple[int, str]]]
"""The words of a document, whether a space follows each (if that is known), and what spaCy says of its entity."""


def _documents(data: bytes, source: str) -> Iterator[Document]:
    """Take the documents out of a DocBin; its other columns, which may hold anything, are not looked at."""
    from spacy.strings import StringStore
    from spacy.tokens import DocBin

    try:
        packed = DocBin().from_bytes(_whole(data))
        store = StringStore(sorted(packed.strings))
        columns = _columns(packed.attrs)
        pairs = zip(packed.tokens, packed.spaces, packed.flags, strict=True)
        found = [_document(tokens[:, columns].tolist(), spaces, flags, store) for tokens, spaces, flags in pairs]
    except Exception as error:  # msgpack, numpy and spaCy have errors of many kinds for broken bytes
        raise InputError(f"{source}: this is not a whole .spacy file ({_reason(error)}); write it again") from error
    yield from found


def _whole(data: bytes) -> bytes:
    unpacking = zlib.decompressobj()
    size, rest = 0, data
    while rest and size <= MOST_BYTES:
        size += len(unpacking.decompress(rest, 2**24))
        rest = unpacking.unconsumed_tail
    if size > MOST_BYTES:
        raise ValueError(f"it unpacks to more than {MOST_BYTES >> 30} GiB")
    return data


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__


def _columns(attrs: Sequence[int]) -> list[int]:
    """Find the columns of the words and of their entities; a file of a tagger or parser may have no entities."""
    from spacy.attrs import ENT_IOB, ENT_TYPE, ORTH

    if missing := [name for name, attr in (("ENT_IOB", ENT_IOB), ("ENT_TYPE", ENT_TYPE)) if attr not in attrs]:
        raise ValueError(f"it holds no entities, {missing[0]} is not among its attributes")
    return [list(attrs).index(attr) for attr in (ORTH, ENT_IOB, ENT_TYPE)]


def _document(tokens: list[list[int]], spaces: Any, flags: dict[str, Any], store: Any) -> Document:
    known = None if flags.get("has_unknown_spaces") else [bool(one) for one in spaces.ravel().tolist()]
    words = [str(store[orth]) for orth, _, _ in tokens]
    return words, known, [(int(iob), str(store[type_]) if type_ else "") for _, iob, type_ in tokens]


def _sentence(
    words: list[str], spaces: list[bool] | None, tags: list[tuple[int, str]], oddities: Oddities
) -> Sentence | None:
    """Make a sentence of the words that are not white space; an entity begins and ends with one of them."""
    followed = spaces or [True] * len(words)
    text = "".join(word + " " * space for word, space in zip(words, followed, strict=True))
    starts = [0]
    for word, space in zip(words, followed, strict=True):
        starts.append(starts[-1] + len(word) + space)
    seen = [at for at, word in enumerate(words) if word.strip()]
    if not seen:
        oddities[EMPTY_TEXTS] += 1
        return None
    places = {at: number for number, at in enumerate(seen)}
    spans = []
    for start, end, type_ in _entities(tags):
        inside = [places[at] for at in range(start, end) if at in places]
        oddities[WHITE_ENTITIES] += not inside
        spans += [Span(inside[0], inside[-1] + 1, type_)] if inside else []
    chosen = tuple(words[at] for at in seen)
    if spaces is None:
        return Sentence(chosen, tuple(spans))
    return Sentence(chosen, tuple(spans), text, tuple((starts[at], starts[at] + len(words[at])) for at in seen))


def _entities(tags: list[tuple[int, str]]) -> Iterator[tuple[int, int, str]]:
    """Yield the entities; a token that spaCy calls blocked begins one without a type, which is none."""
    begin, open_type = 0, ""
    for at, (iob, type_) in enumerate([*tags, (0, "")]):
        if open_type and (iob != _INSIDE or type_ != open_type):
            yield begin, at, open_type
            open_type = ""
        if type_ and iob in (_INSIDE, _BEGIN) and not open_type:
            begin, open_type = at, type_


def _tokens(sentence: Sentence) -> tuple[list[str], list[bool], list[str]]:
    """Cut a text into spaCy's tokens: white space beyond a single space between words is a token of its own."""
    text, offsets = text_to_write(sentence)
    for number, word in enumerate(sentence.words, 1):
        if not word.strip():
            raise InputError(f"word {number} is white space only, which spaCy does not take for a word; leave it out")
    tags = _word_tags(sentence)
    words, spaces, ents = [], [], []
    edges = [(0, 0), *offsets, (len(text), len(text))]
    for number, ((_, end), (start, _)) in enumerate(pairwise(edges)):
        gap = text[end:start]
        if gap.strip():
            raise InputError(f"no word covers {quoted(gap.strip())}, and spaCy holds no text between words")
        if number:
            words.append(sentence.words[number - 1])
            spaces.append(gap.startswith(" "))
            ents.append(tags[number - 1])
            gap = gap.removeprefix(" ")
        if gap:
            words.append(gap)
            spaces.append(False)
            ents.append(_between(tags, number))
    return words, spaces, ents


def _word_tags(sentence: Sentence) -> list[str]:
    tags = ["O"] * len(sentence.words)
    for span in sentence.spans:
        require_names((span.type,))
        tags[span.start : span.end] = [f"B-{span.type}", *[f"I-{span.type}"] * (span.end - span.start - 1)]
    return tags


def _between(tags: list[str], number: int) -> str:
    """Tag white space inside of an entity as part of it."""
    return tags[number] if 0 < number < len(tags) and tags[number].startswith("I-") else "O"


def _require_encodable(words: Sequence[str]) -> None:
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise InputError(f"the word {word[:40]!a} is not valid Unicode; remove it") from None
