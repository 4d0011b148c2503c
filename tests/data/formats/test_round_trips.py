"""Every format gives back what it was given, or refuses it in a sentence: thousands of generated documents."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from retainer.data.corpus import Corpus
from retainer.data.documents import join_documents
from retainer.data.formats.brat import read_brat_pair
from retainer.data.formats.standoff import trim_span
from retainer.data.formats.table import FORMATS
from retainer.data.io import read, write
from retainer.data.spans import Sentence, Span
from retainer.errors import InputError

WORDED = {"conll", "jsonl", "conll2012", "enamex"}
"""Formats that hold words and no text; prodigy holds both, the others a text that is cut into words anew."""

PLAIN = "abcdefgHIJKÄßé0123456789.,;:!?'\"-+%€&<>()[]{}*\\#|~=@$_"
FOREIGN = "e\u0301a\u0308\u0915\u093f👩\u200d💻🏽🇫🇷😀אשלוםمرحبا\u200f\u202e漢字かな\U00020000ﬁ\u2028\u200b"
ODD = " \t\n\r\x00\x01\x0b\x0c\x1c\x1f\x7f\x85\xa0\u2029\u3000\ufeff\ufffe\uffff\U0010ffff"
SPECIAL = """-LRB- -RSB- /. /? -DOCSTART- ]]> &amp; &lt; <DOC> </DOC> </ENAMEX> <deIdi2b2> <!DOCTYPE <?xml T1 R1 #1 * O
B-X I-X (ORG* *) \\n \\u0000 {"text": [{ [ ] { } {} null -X- #begin #end""".split()
SPECIAL += [
    "a b",
    "a\r\nb",
    "\ufeffa",
    " ",
    "\n",
    " \u3000",
    "[{",
    '{"a":',
    '{"text": "a", "spans": []}',
    "T1\tX 0 1\ta",
]
SPECIAL += ["#begin document (x); part 000", "<!DOCTYPE deIdi2b2 a", "<?xml a?><b", "<deIdi2b2><", "<DOC >"]


@st.composite
def spans_among(draw, size, types):
    cuts = sorted(draw(st.sets(st.integers(0, size), max_size=6)))
    pairs = zip(cuts, cuts[1:], strict=False)
    return tuple(Span(start, end, draw(types)) for start, end in pairs if draw(st.booleans()))


def complete(types):
    """The types that are complete in a sentence, if it says so."""
    return st.none() | st.lists(types, max_size=2, unique=True).map(tuple)


@st.composite
def worded(draw, words, types):
    chosen = tuple(draw(st.lists(words, min_size=1, max_size=6)))
    return Sentence(chosen, draw(spans_among(len(chosen), types)), complete=draw(complete(types)))


@st.composite
def running(draw, texts, types):
    text = draw(texts)
    spans = draw(spans_among(len(text), types))
    sentence = Sentence.from_text(text, [span for span in spans if text[span.start : span.end].strip()])
    return replace(sentence, complete=draw(complete(types)))


def sentences(characters, special, types):
    words = st.text(characters, min_size=1, max_size=5) | st.sampled_from(special)
    texts = st.lists(words, min_size=1, max_size=8).map(" ".join) | st.text(characters, min_size=1, max_size=30)
    return st.lists(worded(words, types) | running(texts, types), min_size=1, max_size=12)


WILD = st.sampled_from(PLAIN + FOREIGN + ODD) | st.characters(exclude_categories=["Cs"])
WILD_TYPES = st.sampled_from(["PER", "LOC", "B-X", "O", "a b", "X ", " X", "X\t"]) | st.text(
    WILD, min_size=1, max_size=4
)
TAME = st.sampled_from(PLAIN + FOREIGN.replace("\u2028", ""))
TAME_TYPES = st.sampled_from(["PER", "LOC", "creative-work", "Größe", "地名", "_"])


def kept(sentence, format):
    """Return what a format holds of a sentence; white space at the edge of an entity counts in words alone."""
    said = sentence.complete if FORMATS[format].holds_complete else None
    if format in WORDED:
        return sentence.words, sentence.spans, said
    text, offsets = sentence.located()
    if format == "prodigy":
        return text, offsets, sentence.spans, said
    return text, [trim_span(span, text) for span in sentence.character_spans()], said


def reread(made, format, turned=lambda text: text):
    """Read what was written, without a file."""
    if isinstance(made, str):
        return FORMATS[format].read(turned(made), "F")
    names = sorted(name.removesuffix(".txt") for name in made if name.endswith(".txt"))
    pairs = [[turned(made[f"{name}{ending}"]) for ending in (".txt", ".ann")] for name in names]
    return join_documents([read_brat_pair(text, notes, "F.ann", "F") for text, notes in pairs], "F")


def holds(sentence, format):
    """Say whether a format takes a sentence; if not, it must say why."""
    try:
        FORMATS[format].write([sentence])
    except InputError as error:
        assert str(error).startswith("sentence 1: ") and len(str(error).split()) > 6
        return False
    return True


def test_what_is_taken_comes_back():
    """Each sentence is refused, or comes back as it is among all others that were taken."""
    tried, taken = 0, Counter()

    @settings(max_examples=700, deadline=None)
    @given(sentences(WILD, SPECIAL, WILD_TYPES))
    def check(made):
        nonlocal tried
        tried += len(made)
        for format in FORMATS:
            fine = [sentence for sentence in made if holds(sentence, format)]
            taken[format] += len(fine)
            reread_corpus = reread(FORMATS[format].write(fine), format) if fine else Corpus(())
            assert [kept(s, format) for s in reread_corpus] == [kept(s, format) for s in fine], format

    check()
    assert tried > 2000
    assert min(taken[format] for format in FORMATS) > 1000, taken


@settings(max_examples=200, deadline=None)
@given(made=sentences(TAME, ["New", "\U0001f600"], TAME_TYPES))
def test_ordinary_sentences_are_never_refused(made):
    """Letters, emoji, marks and scripts of any direction; and the line ends of Windows change nothing."""
    for format in FORMATS:
        written = FORMATS[format].write(made)
        for turned in (str, lambda text: text.replace("\n", "\r\n")):
            assert [kept(s, format) for s in reread(written, format, turned)] == [kept(s, format) for s in made], format


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("trips")


@pytest.mark.parametrize("format", FORMATS)
def test_files_are_known_by_what_they_hold(folder, format):
    """The same through real files, whose format is not named; the first word may look like any other format."""
    numbers = iter(range(10**6))

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.sampled_from(SPECIAL) | st.text(WILD, min_size=1, max_size=3), min_size=1, max_size=3))
    @example(["\ufeffa"])
    def check(words):
        sentence = Sentence(tuple(words), (Span(0, 1, "PER"),))
        if holds(sentence, format):
            path = folder / f"{format}{next(numbers)}"
            write([sentence], path, format)
            corpus = read(path)
            assert corpus.format == format
            assert [kept(s, format) for s in corpus] == [kept(sentence, format)]

    check()
    assert next(numbers) > 10
