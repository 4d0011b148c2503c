"""The formats of OntoNotes 5 and I2B2-2014, and their folders. All texts are invented."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from property_examples import examples

from retainer.bench.cell import Cell
from retainer.bench.preset import preset
from retainer.bench.run import Bench
from retainer.cli.main import main
from retainer.data.documents import hold_out_documents
from retainer.data.formats.conll2012 import read_conll2012, sniff_conll2012, write_conll2012
from retainer.data.formats.enamex import read_enamex, sniff_enamex, write_enamex
from retainer.data.formats.i2b2 import read_i2b2, sniff_i2b2, write_i2b2
from retainer.data.formats.ptb_escapes import unescape_word
from retainer.data.generated import generate
from retainer.data.io import read, write
from retainer.data.spans import Sentence, Span
from retainer.data.splits import read_splits
from retainer.data.words import word_offsets
from retainer.errors import InputError
from retainer.methods import METHODS
from retainer.training.recipe import Recipe

PARIS = Sentence(("In", "Paris", "."), (Span(1, 2, "LOC"),))


def refused(read, text):
    """Return what the reader says about a bad text in the file F."""
    with pytest.raises(InputError) as caught:
        read(text, "F")
    return str(caught.value)


def found(corpus):
    """Return words and entities, without the running text."""
    return [(" ".join(s.words), [(" ".join(s.words[x.start : x.end]), x.type) for x in s.spans]) for s in corpus]


# ----------------------------------------------------------------------------------------------------------- I2B2

NOTE = "\n\nRecord date: 2093-01-13\n\n  Seen by Dr. Anna Quill, 62yo baker.\nQuill\n"


def note(text=NOTE, tags=(), head='<?xml version="1.0" encoding="UTF-8" ?>\n', end="</TAGS>\n</deIdi2b2>\n"):
    """Return a file; a tag is element, the words it covers (or start and end) and TYPE."""
    rows = [tag if isinstance(tag, str) else tagged(number, text, *tag) for number, tag in enumerate(tags)]
    return f"{head}<deIdi2b2>\n<TEXT><![CDATA[{text}]]></TEXT>\n<TAGS>\n{''.join(rows)}{end}"


def tagged(number, text, element, covers, type_):
    start, end = covers if isinstance(covers, tuple) else (text.index(covers), text.index(covers) + len(covers))
    shown = text[start:end].replace("\n", " ")
    return f'<{element} id="P{number}" start="{start}" end="{end}" text="{shown}" TYPE="{type_}" comment="" />\n'


ALL = [("DATE", "2093-01-13", "DATE"), ("NAME", "Anna Quill", "DOCTOR"), ("PROFESSION", "baker", "PROFESSION")]


def test_a_note_becomes_a_sentence_per_line():
    corpus = read_i2b2(note(tags=ALL))
    assert found(corpus) == [
        ("Record date : 2093 - 01 - 13", [("2093 - 01 - 13", "DATE")]),
        ("Seen by Dr . Anna Quill , 62yo baker .", [("Anna Quill", "DOCTOR"), ("baker", "PROFESSION")]),
        ("Quill", []),
    ]
    assert (corpus.format, corpus.scheme, corpus.oddities) == ("i2b2", "", {})
    assert corpus[1].text == "  Seen by Dr. Anna Quill, 62yo baker."
    assert corpus[1].text[slice(*corpus[1].offsets[4])] == "Anna"


def test_the_example_of_the_page_is_right():
    page = (Path(__file__).parents[3] / "docs" / "i2b2.md").read_text("utf-8")
    corpus = read_i2b2(page.split("```xml\n")[1].split("```")[0])
    assert found(corpus)[0][1] == [("Quill", "DOCTOR")]


def test_an_age_inside_a_word_cuts_it_and_is_counted():
    corpus = read_i2b2(note(tags=[*ALL, ("AGE", "62", "AGE")]))
    assert corpus[1].words[7:9] == ("62", "yo")
    assert (Span(7, 8, "AGE") in corpus[1].spans, corpus.oddities) == (True, {"edge inside a word": 1})


def test_an_entity_over_a_line_end_keeps_its_lines_together():
    text = "Moved to Upper\n  Bridge Lane 4\nlast week.\n"
    corpus = read_i2b2(note(text, [("LOCATION", "Upper\n  Bridge Lane 4", "STREET")]))
    street = "Upper Bridge Lane 4"
    assert found(corpus) == [(f"Moved to {street}", [(street, "STREET")]), ("last week .", [])]
    assert corpus.oddities == {}


def test_white_space_at_the_edge_joins_no_lines():
    corpus = read_i2b2(note("by Quill \nat noon", [("NAME", " Quill \n", "DOCTOR")]))
    assert found(corpus) == [("by Quill", [("Quill", "DOCTOR")]), ("at noon", [])]
    assert corpus.oddities == {"white space at the edge of a span": 1}


@pytest.mark.parametrize(
    ("spans", "kept"),
    [
        ([(0, 3, "A"), (0, 7, "B")], [("aaa bbb", "B")]),
        ([(0, 7, "B"), (4, 11, "C")], [("aaa bbb", "B")]),
        ([(0, 3, "A"), (0, 3, "B")], [("aaa", "A")]),
        ([(0, 6, "A"), (4, 11, "B"), (0, 3, "C")], [("aaa", "C"), ("bbb ccc", "B")]),
    ],
)
def test_of_overlapping_tags_the_longer_stays_and_the_others_are_counted(spans, kept):
    corpus = read_i2b2(note("aaa bbb ccc", [("OTHER", (a, b), type_) for a, b, type_ in spans]))
    assert found(corpus)[0][1] == kept
    assert corpus.oddities == {"tags that overlap another": len(spans) - len(kept)}


def test_what_xml_does_to_line_ends_and_characters_changes_no_offset():
    text = "Née: Ünal & Söhne <Köln>\n\U0001f600 Quill\n"
    tags = [("LOCATION", "Köln", "CITY"), ("NAME", "Quill", "DOCTOR")]
    plain = read_i2b2(note(text, tags))
    windows = note(text, tags, head='<?xml version="1.0" encoding="ISO-8859-1"?>\n').replace("\n", "\r\n")
    assert found(plain) == found(read_i2b2(windows)) == found(read_i2b2(note(text, tags, head="")))
    assert found(plain)[1] == ("\U0001f600 Quill", [("Quill", "DOCTOR")])
    escaped = note("A &amp; B", ['<NAME id="P0" start="4" end="5" text="B" TYPE="DOCTOR"/>'])
    assert found(read_i2b2(escaped.replace("<![CDATA[", "").replace("]]>", ""))) == [("A & B", [("B", "DOCTOR")])]


def bare(**attributes):
    return "<NAME " + " ".join(f'{name}="{value}"' for name, value in attributes.items()) + "/>\n"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (note(tags=ALL)[:-30], ["F:13: this is not whole XML (unclosed token); is the file damaged?"]),
        (note()[:80], ["F:5: this is not whole XML (unclosed CDATA section)"]),
        (note(end="</TAGS>"), ["not whole XML (no element found)"]),
        (note("a").replace("<TAGS>", "<TAGS a=b>"), ["F:4: this is not whole XML (not well-formed"]),
        (note("a\x01b"), ["F:3: this is not whole XML"]),
        (note("a", head="<!DOCTYPE deIdi2b2>\n"), ["F:1: the file has a DOCTYPE"]),
        (
            note("&x;", head='<!DOCTYPE deIdi2b2 [<!ENTITY x SYSTEM "file:///etc/hostname">]>\n'),
            ["F:1: the file has a DOCTYPE", "remove it"],
        ),
        (note("a").replace("<![CDATA[a]]>", "&x;"), ["F:3: this is not whole XML (undefined entity)"]),
        ("<root><TEXT/></root>", ["F:1: found <root> where <deIdi2b2> must stand"]),
        ("<deIdi2b2><TEXT>a</TEXT></deIdi2b2>", ["F: found 0 elements TAGS in deIdi2b2; there must be one"]),
        ("<deIdi2b2><TAGS/></deIdi2b2>", ["F: found 0 elements TEXT"]),
        ("<deIdi2b2><TEXT/><TEXT/><TAGS/></deIdi2b2>", ["F: found 2 elements TEXT"]),
        ("<deIdi2b2><TEXT>a<b/></TEXT><TAGS/></deIdi2b2>", ["F:1: found <b> in TEXT"]),
        (
            note("abc", [bare(id="P7", start=1, end=9, TYPE="X")]),
            ["F:5: tag P7: 1-9 is empty or lies outside the text of 3"],
        ),
        (note("abc", [bare(id="P7", start=2, end=1, TYPE="X")]), ["tag P7: 2-1 is empty or lies outside"]),
        (note("abc", [bare(id="P7", start=-1, end=1, TYPE="X")]), ["tag P7: the attribute start is '-1'"]),
        (note("abc", [bare(id="P7", start="1.0", end=1, TYPE="X")]), ["F:5: tag P7: the attribute start is '1.0'"]),
        (note("abc", [bare(id="P7", start="٣", end=1, TYPE="X")]), ["the attribute start is '٣'"]),
        (note("abc", [bare(id="P7", start=0, TYPE="X")]), ["tag P7: the attribute end is missing or empty"]),
        (note("abc", [bare(start=0, end=1)]), ["tag NAME: the attribute TYPE is missing or empty"]),
        (note("abc", [bare(id="P7", start=0, end=1, TYPE="")]), ["tag P7: the attribute TYPE is missing or empty"]),
        (note("a b", [bare(id="P7", start=1, end=2, TYPE="X")]), ["F:5: tag P7: 1-2 covers no word, only ' '"]),
        (
            note("abc def", [bare(id="P7", start=1, end=4, text="abc", TYPE="X")]),
            ["F:5: tag P7: its text is 'abc', but the text has 'bc ' at 1-4; correct one of them"],
        ),
    ],
)
def test_i2b2_refuses(text, parts):
    message = refused(read_i2b2, text)
    assert message.startswith("F:") and all(part in message for part in parts), message


def test_nothing_outside_the_file_is_read(tmp_path):
    """The entity would hold a secret; the file is refused before it is read."""
    secret = tmp_path / "secret"
    secret.write_text("secret")
    text = note("a", head=f'<!DOCTYPE deIdi2b2 [<!ENTITY x SYSTEM "{secret.as_uri()}">]>\n').replace(
        "<TAGS>", "<TAGS>&x;"
    )
    assert "secret" not in refused(read_i2b2, text)
    bomb = "".join(f'<!ENTITY x{i} "{f"&x{i - 1};" * 10}">' for i in range(1, 12))
    assert "DOCTYPE" in refused(read_i2b2, note(head=f'<!DOCTYPE deIdi2b2 [<!ENTITY x0 "x">{bomb}]>\n'))


def test_i2b2_is_written_as_a_note():
    text = write_i2b2([Sentence(("Anna", "]]>", "<b>"), (Span(0, 1, "DOCTOR"), Span(2, 3, "X&Y")))])
    assert '<NAME id="P0" start="0" end="4" text="Anna" TYPE="DOCTOR" comment="" />' in text
    assert '<OTHER id="P1" start="9" end="12" text="&lt;b&gt;" TYPE="X&amp;Y" comment="" />' in text
    assert read_i2b2(text)[0].text == "Anna ]]> <b>"


def test_an_entity_over_a_line_end_is_written_back():
    text = "Moved to Upper\nLane\n"
    corpus = read_i2b2(note(text, [("LOCATION", "Upper\nLane", "STREET")]))
    assert read_i2b2(write_i2b2(corpus)).sentences == corpus.sentences


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        (Sentence(("a\rb",)), r"sentence 2: '\\r' is a character that XML cannot hold"),
        (Sentence(("\x00",)), r"sentence 2: '\\x00' is a character"),
        (Sentence(("a",), (Span(0, 1, "X\x1fY"),)), r"sentence 2: '\\x1f' is a character"),
        (Sentence.from_text("a\nb"), "sentence 2: it has a line break outside an entity"),
        (Sentence(("a", "\nb"), (Span(1, 2, "X"),)), "sentence 2: it has a line break outside an entity"),
        (Sentence(("a", " "), (Span(1, 2, "X"),)), r"sentence 2: span 2-3 \(X\) covers white space only"),
        (Sentence((" ",)), "sentence 2: it has white space only"),
    ],
)
def test_i2b2_writer_refuses_what_would_not_come_back(sentence, message):
    with pytest.raises(InputError, match=message):
        write_i2b2([PARIS, sentence])


# ---------------------------------------------------------------------------------------------------- CoNLL-2012


def rows(*pairs, extra=("-",), document="bc/xyz/00/xyz_0001", separator="   "):
    """Return the lines of a sentence; a pair is a word and its entity."""
    before = (document, "0")
    return "".join(
        separator.join((*before, str(at), word, "NN", "(TOP(S*", "-", "-", "-", "Speaker#1", name, *extra)) + "\n"
        for at, (word, name) in enumerate(pairs)
    )


def document(*sentences, name="bc/xyz/00/xyz_0001", end="#end document\n"):
    return f"#begin document ({name}); part 000\n" + "\n".join(sentences) + "\n" + end


FIRST = rows(("Mira", "(PERSON*"), ("Vell", "*)"), ("left", "*"), ("Oslo", "(GPE)"), (".", "*"))
SECOND = rows(
    ("Good", "*"), ("-LRB-", "*"), ("two", "(CARDINAL)"), ("-RRB-", "*"), ("/.", "*"), extra=("(ARG1*", "*", "-")
)
READ = [
    ("Mira Vell left Oslo .", [("Mira Vell", "PERSON"), ("Oslo", "GPE")]),
    ("Good ( two ) .", [("two", "CARDINAL")]),
]


@pytest.mark.parametrize(
    "text",
    [
        document(FIRST, SECOND),
        document(FIRST, SECOND).replace("\n", "\r\n"),
        document(FIRST) + "\n" + document(SECOND, name="bc/xyz/00/xyz_0002"),
        document(FIRST, SECOND).replace("   ", "\t"),
        document(FIRST, "\n\n" + SECOND + "\n  \n").replace("bc/xyz/00/xyz_0001   ", "  bc/xyz/00/xyz_0001 "),
        document(FIRST, SECOND).replace("(GPE)", "(GPE*)"),
    ],
)
def test_conll2012_columns(text):
    corpus = read_conll2012(text)
    assert found(corpus) == READ
    assert (corpus.format, corpus.oddities) == ("conll2012", {})


def test_a_file_without_its_end_is_counted():
    assert read_conll2012(document(FIRST, end="")).oddities == {"documents without #end document": 1}


def test_of_nested_entities_the_outer_stays():
    corpus = read_conll2012(document(rows(("Bank", "(ORG*"), ("of", "*"), ("Oslo", "(GPE))"), ("x", "(A(B*))"))))
    assert found(corpus) == [("Bank of Oslo x", [("Bank of Oslo", "ORG"), ("x", "A")])]
    assert corpus.oddities == {"entities inside another": 2}


def test_the_unannotated_genre_is_passed_over_and_counted():
    unmarked = rows(("And", "*"), ("so", "*"))
    text = document(unmarked, unmarked, name="pt/xy/40/xy_4001") + document(FIRST)
    corpus = read_conll2012(text)
    assert found(corpus) == READ[:1]
    assert corpus.oddities == {"sentences of the genre pt, in which names are not annotated": 2}
    assert len(read_conll2012(document(unmarked, FIRST, name="pt/xy/40/xy_4001"))) == 2, "here they are annotated"
    assert len(read_conll2012(document(unmarked))) == 1, "another genre may have no names"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (document(rows(("a", "(ORG*"), ("b", "*"))), ["F:3: the sentence ends, but its ORG that began at word 1"]),
        (document(rows(("a", "(ORG*"), ("b", "(GPE)"))), ["F:3: the sentence ends, but its ORG"]),
        (document(rows(("a", "*"), ("b", "*)"))), ["F:3: an entity ends here, but none has begun"]),
        (document(rows(("a", "(ORG))"))), ["F:2: an entity ends here"]),
        (
            document(rows(("a", "(ORG"))),
            ["F:2: column 11 holds '(ORG'; expected an entity such as (ORG*, *, *) or (ORG)"],
        ),
        (document(rows(("a", "-"))), ["F:2: column 11 holds '-'"]),
        (document(rows(("a", "()"))), ["F:2: column 11 holds '()'"]),
        (document(rows(("a", "B-ORG"))), ["F:2: column 11 holds 'B-ORG'"]),
        (document("x 0 0 word NN\n"), ["F:2: found 5 columns; the named entity is column 11"]),
        (document(FIRST + rows(("a", "*"), extra=())), ["F:7: found 11 columns where the lines before have 12"]),
    ],
)
def test_conll2012_refuses(text, parts):
    message = refused(read_conll2012, text)
    assert all(part in message for part in parts), message


def test_conll2012_is_written_with_its_columns():
    sentence = Sentence(("In", "(", "New", "York"), (Span(0, 1, "A"), Span(2, 4, "B")))
    assert write_conll2012([sentence]).splitlines() == [
        "#begin document (retainer); part 000",
        "retainer 0 0 In - * - - - - (A*) -",
        "retainer 0 1 -LRB- - * - - - - * -",
        "retainer 0 2 New - * - - - - (B* -",
        "retainer 0 3 York - * - - - - *) -",
        "",
        "#end document",
    ]


REFUSED_WORDS = [
    (Sentence(("a b",)), "sentence 2: the word 'a b' has a space"),
    (Sentence(("a\n",)), "sentence 2: the word .* line break"),
    (Sentence(("-LRB-",)), r"sentence 2: the word '-LRB-' would read back as '\('; write that instead"),
    (Sentence(("/.",)), r"sentence 2: the word '/\.' would read back as '\.'"),
]


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        *REFUSED_WORDS,
        (Sentence(("a",), (Span(0, 1, "X Y"),)), "the type 'X Y' has a space, a bracket or a star"),
        (Sentence(("a",), (Span(0, 1, "X*"),)), r"the type 'X\*' has a space"),
    ],
)
def test_conll2012_writer_refuses_what_would_not_come_back(sentence, message):
    with pytest.raises(InputError, match=message):
        write_conll2012([PARIS, sentence])


# --------------------------------------------------------------------------------------------------------- .name


def names(*lines, end="</DOC>\n"):
    return '<DOC DOCNO="bc/xyz/00/xyz_0001@0001@xyz@bc@en@on">\n' + "".join(f"{line}\n" for line in lines) + end


MIRA = '<ENAMEX TYPE="PERSON">Mira Vell</ENAMEX> left <ENAMEX TYPE="GPE">Oslo</ENAMEX> .'
GOOD = 'Good -LRB- <ENAMEX TYPE="CARDINAL">two</ENAMEX> -RRB- /.'


@pytest.mark.parametrize(
    "text",
    [
        names(MIRA, GOOD),
        names(MIRA, GOOD).replace("\n", "\r\n"),
        names(MIRA) + "\n" + names(f"  {GOOD}\t "),
        names(MIRA, "", GOOD).replace(' DOCNO="bc/xyz/00/xyz_0001@0001@xyz@bc@en@on"', ""),
        f"{MIRA}\n{GOOD}",
    ],
)
def test_name_files(text):
    corpus = read_enamex(text)
    assert found(corpus) == READ
    assert (corpus.format, corpus.oddities) == ("enamex", {})


def test_escapes_are_undone():
    corpus = read_enamex(names('<ENAMEX TYPE="ORG">A&amp;B</ENAMEX> &lt;3 x &quot; &amp;lt; &copy;'))
    assert found(corpus) == [('A&B <3 x " &lt; &copy;', [("A&B", "ORG")])]


def test_parts_of_words_are_counted():
    """Offsets widen the entity to the word, as the columns of the same text do; a tag inside a word cuts it."""
    born = '<ENAMEX TYPE="NORP" E_OFF="5">Oslo-born</ENAMEX>'
    pro = '<ENAMEX TYPE="GPE" S_OFF="4" E_OFF="1">pro-Oslo.</ENAMEX>'
    cut = '<ENAMEX TYPE="GPE">Oslo</ENAMEX>\'s pre<ENAMEX TYPE="ORG">UN</ENAMEX>'
    corpus = read_enamex(names(f"{born} and {pro}", cut))
    assert found(corpus) == [
        ("Oslo-born and pro-Oslo.", [("Oslo-born", "NORP"), ("pro-Oslo.", "GPE")]),
        ("Oslo 's pre UN", [("Oslo", "GPE"), ("UN", "ORG")]),
    ]
    assert corpus.oddities == {"edge inside a word": 5}


def test_name_files_have_odd_things_too():
    nested = '<ENAMEX TYPE="ORG">Bank of <ENAMEX TYPE="GPE">Oslo</ENAMEX></ENAMEX> < 3'
    corpus = read_enamex(names(nested, end=""))
    assert found(corpus) == [("Bank of Oslo < 3", [("Bank of Oslo", "ORG")])]
    assert corpus.oddities == {"entities inside another": 1, "documents without </DOC>": 1}


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ('<ENAMEX TYPE="GPE">Oslo', "F:3: the sentence ends, but its GPE that began at word 1 does not"),
        ("Oslo</ENAMEX>", "F:3: an entity ends here, but none has begun"),
        ("<ENAMEX>Oslo</ENAMEX>", "F:3: <ENAMEX> names no type"),
        ('<ENAMEX TYPE="">Oslo</ENAMEX>', 'F:3: <ENAMEX TYPE=""> names no type'),
        ('a <ENAMEX TYPE="GPE"> </ENAMEX>', "F:3: an entity of type GPE holds no word"),
    ],
)
def test_name_files_refuse(line, part):
    assert refused(read_enamex, names("x", line)).startswith(part)


def test_name_files_are_written():
    sentence = Sentence(("AT&T", "(", "New", "York"), (Span(0, 1, "A"), Span(2, 4, 'B"')))
    assert write_enamex([sentence]).splitlines() == [
        '<DOC DOCNO="retainer">',
        '<ENAMEX TYPE="A">AT&amp;T</ENAMEX> -LRB- <ENAMEX TYPE="B&quot;">New York</ENAMEX>',
        "</DOC>",
    ]


@pytest.mark.parametrize(
    ("sentence", "message"), [*REFUSED_WORDS, (Sentence(("a",), (Span(0, 1, "X\nY"),)), "has a line break")]
)
def test_name_writer_refuses_what_would_not_come_back(sentence, message):
    with pytest.raises(InputError, match=message):
        write_enamex([PARIS, sentence])


# ------------------------------------------------------------------------------------------------ content and trips


@pytest.mark.parametrize(
    ("text", "format"),
    [(note(), "i2b2"), (note(head=""), "i2b2"), (document(FIRST), "conll2012"), (names(MIRA), "enamex")],
)
def test_the_content_tells_the_format(tmp_path, text, format):
    path = tmp_path / "data.txt"
    path.write_text("\ufeff" + text, "utf-8")
    assert read(path).format == format


@pytest.mark.parametrize(
    "line", ["<?xml O", "<deIdi2b2> O", "<DOC> O", "<DOC O", "#begin O", "#begin document (\tO", "# O", "<!DOCTYPE O"]
)
def test_marks_can_be_words(line):
    assert not (sniff_i2b2(line) or sniff_enamex(line) or sniff_conll2012(line))


def test_foreign_xml_is_named(tmp_path):
    (tmp_path / "x").write_text('<?xml version="1.0"?>\n<html/>')
    with pytest.raises(InputError, match=r"x:2: found <html> where <deIdi2b2> must stand"):
        read(tmp_path / "x")


CHARACTERS = st.characters(exclude_categories=["Cs"]) | st.sampled_from(
    "ab 1.-\x85\u2028\xa0\x0b\ufeff\u0301👩漢&<>\"']()*/#"
)
WORDS = st.text(CHARACTERS, min_size=1, max_size=6) | st.sampled_from(
    ["(", "[", "}", ".", "]]>", "&amp;", "<DOC>", "#"]
)


def named(name):
    """Say whether a type can have this name."""
    return name == name.strip() and name not in ("", "O")


TYPES = (st.text(CHARACTERS, min_size=1, max_size=4) | st.sampled_from(["PERSON", "GPE"])).filter(named)
MANY = settings(max_examples=examples(100), deadline=None)


def without(text, characters):
    return text.filter(lambda cell: not set(cell) & set(characters))


@st.composite
def spans_among(draw, size, types):
    cuts = sorted(draw(st.sets(st.integers(0, size))))
    pairs = zip(cuts, cuts[1:], strict=False)
    return tuple(Span(start, end, draw(types)) for start, end in pairs if draw(st.booleans()))


@st.composite
def worded(draw, types):
    words = without(WORDS, " \t\r\n").filter(lambda word: unescape_word(word) == word)
    chosen = tuple(draw(st.lists(words, min_size=1, max_size=6)))
    return Sentence(chosen, draw(spans_among(len(chosen), types)))


XML = without(st.text(CHARACTERS, min_size=1, max_size=20), [*map(chr, range(32)), *"\ufffe\uffff"])


@st.composite
def running(draw):
    """Return a sentence of running text that XML can hold; some line ends lie inside entities."""
    text = draw(XML.filter(word_offsets))
    spans = [x for x in draw(spans_among(len(text), XML.filter(named))) if text[x.start : x.end].strip()]
    broken = {
        at
        for x in spans
        for at in range(x.start, x.end)
        if text[at] == " " and text[x.start : at].strip() and text[at : x.end].strip()
    }
    return Sentence.from_text("".join("\n" if at in broken else c for at, c in enumerate(text)), spans)


def trip(path, sentences, format):
    write(sentences, path, format)
    assert read(path).format == format
    return read(path, format)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("round") / "trip"


@MANY
@given(sentences=st.lists(worded(without(TYPES, "()* \t\r\n")), min_size=1, max_size=3))
def test_conll2012_round_trip(path, sentences):
    assert trip(path, sentences, "conll2012").sentences == tuple(sentences)


@MANY
@given(sentences=st.lists(worded(without(TYPES, "\r\n")), min_size=1, max_size=3))
def test_enamex_round_trip(path, sentences):
    corpus = trip(path, sentences, "enamex")
    assert (corpus.sentences, corpus.oddities) == (tuple(sentences), {})


@MANY
@given(sentences=st.lists(running(), min_size=1, max_size=3))
def test_i2b2_round_trip(path, sentences):
    corpus = trip(path, sentences, "i2b2")
    assert corpus.sentences == tuple(sentences)


# -------------------------------------------------------------------------------------------------------- folders


def files(folder, contents):
    """Write files by path."""
    for name, text in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def words(corpus):
    return [sentence.words[0] for sentence in corpus]


def one(word, **options):
    """Return a document of one sentence that begins with a word."""
    return document(rows((word, "(GPE)")), **options)


CONLL = {
    "train/data/english/annotations/bc/xyz/00/xyz_0002.v4_gold_conll": one("b"),
    "train/data/english/annotations/bc/xyz/00/xyz_0001.v4_gold_conll": one("a"),
    "train/data/english/annotations/bc/xyz/00/xyz_0001.v4_auto_conll": "no format at all",
    "train/data/english/annotations/bc/xyz/00/xyz_0001.name": names("other"),
    "train/data/english/annotations/pt/xyz/00/xyz_0001.v4_gold_conll": document(rows(("p", "*")), name="pt/x"),
    "train/.hidden/xyz_0009.gold_conll": "broken",
    "train/__MACOSX/bc/._xyz_0001.v4_gold_conll": "broken",
    "development/bn/xyz_0003.gold_conll": one("c"),
    "test.v4_gold_conll": one("d") + one("e"),
}


def test_folders_are_searched_and_sorted(tmp_path):
    train, dev, test = read_splits(files(tmp_path, CONLL))
    assert (words(train), words(dev), words(test)) == (["a", "b"], ["c"], ["d", "e"])
    assert train.oddities == {"sentences of the genre pt, in which names are not annotated": 1}
    assert (train.format, train.source) == ("conll2012", str(tmp_path / "train"))


def test_a_folder_is_a_corpus_of_its_own(tmp_path):
    files(tmp_path, CONLL)
    assert words(read(tmp_path / "train")) == ["a", "b"]
    assert words(read(tmp_path / "train", "enamex")) == ["other"]
    with pytest.raises(InputError, match="this is a folder; name a file in it, or a folder with documents"):
        read(tmp_path / "train", "i2b2")
    with pytest.raises(InputError, match="did you mean 'i2b2'"):
        read(tmp_path / "train", "i2b3")


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (
            {"train/readme.txt": "a O"},
            r"train: this is a folder; .* \(files whose names end in gold_conll, .name, .xml, .ann, .conll, .par",
        ),
        ({"other/a.xml": note()}, "has no file named train.* and no folder named train"),
        ({"train/a.xml": note(" ")}, "a.xml: found no sentence"),
        ({"train/a.xml": note(" "), "train/b.xml": note(""), "dev/a.xml": note()}, "train: found no sentence"),
        ({"train/a.xml": note(), "train/b.xml": note()[:70]}, "train/b.xml:5: this is not whole XML"),
        ({"train/a.xml": note().encode("latin-1") + b"\xe9"}, "train/a.xml:13: the byte 0xe9 is not UTF-8"),
        ({"train/a.gold_conll": one("a"), "dev/a.xml": note(), "valid/a.xml": note()}, "has both dev and valid"),
        ({"train.txt": "a O", "train.conll": "a O"}, "has both train.conll and train.txt"),
    ],
)
def test_folders_that_are_refused(tmp_path, contents, message):
    with pytest.raises(InputError, match=message):
        read_splits(files(tmp_path, contents))


def test_links_are_followed_once(tmp_path):
    files(tmp_path / "elsewhere", {"a.xml": note("a"), "deep/b.xml": note("b")})
    (tmp_path / "elsewhere" / "deep" / "round").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "set").symlink_to(tmp_path / "elsewhere")
    assert words(read(tmp_path / "train")) == ["a", "b"]


def test_an_empty_folder_is_refused(tmp_path):
    (tmp_path / "train").mkdir()
    with pytest.raises(InputError, match="train: this is a folder; name a file in it"):
        read_splits(tmp_path)


def test_plain_files_go_before_folders(tmp_path):
    train, dev, test = read_splits(files(tmp_path, {"train.txt": "a B-X\n", "train/a.xml": note(), "test.txt": "b O"}))
    assert (train.format, train.scheme, dev, test.format) == ("conll", "IOB2", None, "conll")


# ---------------------------------------------------------------------------------------------- no dev part: I2B2


def notes(folder, numbers, text="Dr. Quill {}\n"):
    made = {f"{number:03}-01.xml": text.format(number) for number in numbers}
    return files(folder, {name: note(text, [("NAME", "Quill", "DOCTOR")]) for name, text in made.items()})


def test_a_tenth_of_the_notes_is_set_aside(tmp_path):
    notes(tmp_path / "train" / "set1", range(30))
    notes(tmp_path / "train" / "set2", range(30, 55), "Dr. Quill {}\nsecond line\n")
    notes(tmp_path / "test", range(60, 65))
    train, dev, test = read_splits(tmp_path)
    notes_of = [{s.words[-1] for s in part if s.words[0] == "Dr"} for part in (train, dev, test)]
    assert [len(part) for part in notes_of] == [50, 5, 5]
    assert not notes_of[0] & notes_of[1]
    assert sum(map(len, (train, dev))) == 30 + 2 * 25, "notes stay whole"
    assert notes_of[1] == {"3", "7", "28", "35", "53"}, "the same on every machine"


def test_the_same_notes_are_set_aside_wherever_they_lie(tmp_path):
    for place in ("a/train", "b/train/one/two"):
        notes(tmp_path / place, range(20))
    parts = [read_splits(tmp_path / place) for place in "ab"]
    assert [s.words for s in parts[0][1]] == [s.words for s in parts[1][1]] and len(parts[0][1]) == 2


def test_a_dev_part_that_is_there_is_used(tmp_path):
    notes(tmp_path / "train", range(20))
    notes(tmp_path / "dev", range(20, 22))
    train, dev, test = read_splits(tmp_path)
    assert (len(train), len(dev), test) == (20, 2, None)


def test_one_note_alone_stays(tmp_path):
    notes(tmp_path / "train", range(1))
    assert read_splits(tmp_path)[1] is None
    assert [len(part) for part in hold_out_documents([read_i2b2(note(), str(at)) for at in range(2)])] == [1, 1]


# ---------------------------------------------------------------------------------------------------------- lists

LISTED_DOCUMENTS = {
    "annotations/bc/cnn/00/cnn_0001.name": names("a"),
    "annotations/bc/cnn/00/cnn_0001.parse": "(TOP",
    "annotations/bn/cnn/00/cnn_0001.name": names("b"),
    "annotations/bn/cnn/00/cnn_0002.name": names("c"),
    "annotations/bn/cnn/00/cnn_0003.parse": "(TOP",
    "annotations/bn/cnn/00/cnn_0004.name": names("unlisted"),
}


def test_lists_name_the_documents(tmp_path):
    lists = {
        "train.id": "bn/cnn/00/cnn_0002\n\nbc/cnn/00/cnn_0001.parse\r\nbn/cnn/00/cnn_0003\n",
        "development.list": "data/english/annotations/bn/cnn/00/cnn_0001\n",
    }
    train, dev, test = read_splits(files(tmp_path, LISTED_DOCUMENTS | lists))
    assert (words(train), words(dev), test) == (["c", "a"], ["b"], None)
    assert train.oddities == {"listed documents without a file of entities": 1}


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ({"train.id": "bn/cnn/00/cnn_0002\nbn/cnn/00/cnn_0009\n"}, "train.id:2: 'bn/cnn/00/cnn_0009' fits no document"),
        ({"train.id": "mz/cnn/00/cnn_0002\n"}, "train.id:1: 'mz/cnn/00/cnn_0002' fits no document"),
        (
            {"train.id": "cnn_0001\n"},
            "'cnn_0001' fits both annotations/bc/cnn/00/cnn_0001 and annotations/bn/cnn/00/cnn_0001",
        ),
        (
            {"train.id": "cnn_0002\n", "test.id": "bn/cnn/00/cnn_0002\n"},
            "test.id:1: .* is listed already, in train.id:1",
        ),
        ({"train.id": "\n"}, "train.id: the list names no document with entities"),
        ({"train.id": "cnn_0003\n"}, "train.id: the list names no document with entities"),
        ({"train.id": b"\xff\n"}, "train.id:1: the byte 0xff is not UTF-8"),
        ({"train.id": "cnn_0002\n", "train.list": "cnn_0002\n"}, "has both train.id and train.list"),
        ({"dev.id": "cnn_0002\n"}, "no file named train"),
    ],
)
def test_lists_that_are_refused(tmp_path, lists, message):
    with pytest.raises(InputError, match=message):
        read_splits(files(tmp_path, LISTED_DOCUMENTS | lists))


def test_lists_without_documents(tmp_path):
    with pytest.raises(InputError, match="has lists but no document"):
        read_splits(files(tmp_path, {"train.id": "a\n", "a.txt": "a O"}))


# ---------------------------------------------------------------------------------------------------- commands


def corpus_of(types, count, seed):
    """Return generated requests whose types are renamed."""
    made = generate(count, seed=seed)
    known = dict(zip(made.types, types, strict=False))
    return [s.with_spans([Span(x.start, x.end, known[x.type]) for x in s.spans if x.type in known]) for s in made]


@pytest.mark.parametrize(("format", "ending"), [("conll2012", ".v4_gold_conll"), ("enamex", ".name"), ("i2b2", ".xml")])
def test_convert_there_and_back(tmp_path, monkeypatch, format, ending):
    monkeypatch.chdir(tmp_path)
    write(generate(20, seed=1), "a.conll", "conll")
    assert main(["convert", "a.conll", f"b{ending}"]) == 0
    assert main(["convert", f"b{ending}", "c.conll", "--from", format, "--to", "conll"]) == 0
    assert Path("a.conll").read_text() == Path("c.conll").read_text()
    Path("folder").mkdir()
    shutil.copy(f"b{ending}", f"folder/b{ending}")
    assert main(["convert", "folder", "d.conll"]) == 0
    assert Path("a.conll").read_text() == Path("d.conll").read_text()


def test_check_counts_the_oddities(tmp_path, capsys):
    notes(tmp_path, range(2), "Dr. Quill{}\n")
    assert main(["check", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["format"] == "i2b2" and found["entities"] == {"DOCTOR": 2}
    (cut,) = [finding for finding in found["findings"] if "inside a word" in finding["what"]]
    assert cut["count"] == 2 and [place["sentences"] for place in cut["examples"]] == [[1], [2]]


@pytest.mark.parametrize(
    ("name", "format", "ending"), [("ontonotes5", "conll2012", ".gold_conll"), ("i2b2", "i2b2", ".xml")]
)
def test_the_bench_plans_its_tasks(tmp_path, name, format, ending):
    """The folder of a licence holder is all that `retainer bench` needs."""
    chosen = preset(name)
    for part, count, size in (("train", 20, 200), ("test", 2, 50), *([("dev", 2, 50)] if name == "ontonotes5" else [])):
        for at in range(count):
            path = tmp_path / part / f"{at}{ending}"
            path.parent.mkdir(exist_ok=True)
            write(corpus_of((*chosen.types, "OTHER"), size, at), path, format)
    setting = chosen.setting("FG-1-PG-1")
    plans = [
        Bench(tmp_path, tmp_path / "out", chosen.types[:6]).plan(
            Cell(name, setting, "rdp", METHODS["rdp"], seed, "builtin", Recipe())
        )
        for seed in (1, 2)
    ]
    assert len(plans[0]) == 6 and plans[0].slices != plans[1].slices
    assert plans[0].dev == plans[1].dev and plans[0].train == plans[1].train, "the seed sets no other notes aside"
    assert len(plans[0].dev) == (400 if name == "i2b2" else 100)
