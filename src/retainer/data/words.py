"""Cutting running text into words, the same way when reading, training and predicting."""

import re
import unicodedata
from collections.abc import Collection, Iterable

Offset = tuple[int, int]

_CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
_PLAIN = re.compile(rf"[^\W_{_CJK}]+|\S")
_ASCII = re.compile(r"[A-Za-z0-9]+|\S")


def word_offsets(text: str, cuts: Collection[int] = ()) -> tuple[Offset, ...]:
    """Return the character offsets of the words of ``text``.

    A word is a run of letters, digits and the marks that sit on them; every other visible character stands alone,
    and so does every Han character. BERT's tokenizers cut the same way, so a version gives the same entities with us
    and in a plain ``transformers`` pipeline. ``cuts`` are positions where a word must end, whatever stands there: an
    annotation that begins or ends inside a word is kept to the character.
    """
    pattern = _ASCII if text.isascii() else _PLAIN
    offsets = [match.span() for match in pattern.finditer(text)]
    if not text.isascii():
        offsets = _join_marks(text, offsets)
    return cut_words(offsets, cuts)


def _join_marks(text: str, offsets: list[Offset]) -> list[Offset]:
    """Glue combining marks to the letters around them: an accent is not a word."""
    joined: list[Offset] = []
    open_word = False
    for start, end in offsets:
        mark = unicodedata.category(text[start]).startswith("M")
        touches = bool(joined) and joined[-1][1] == start
        letter = mark or (text[start].isalnum() and not _is_han(text[start]))
        if touches and open_word and letter:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
        open_word = letter
    return joined


def _is_han(character: str) -> bool:
    return re.match(f"[{_CJK}]", character) is not None


def cut_words(offsets: Iterable[Offset], cuts: Collection[int]) -> tuple[Offset, ...]:
    """Cut words at some positions, as far as these lie inside a word."""
    if not cuts:
        return tuple(offsets)
    pieces, wanted = list[Offset](), set(cuts)
    for start, end in offsets:
        edges = [start, *(at for at in range(start + 1, end) if at in wanted), end]
        pieces.extend(zip(edges, edges[1:], strict=False))
    return tuple(pieces)
