"""The standoff files of brat: what is read of them, what is refused, and folders written whole or not at all."""

import os
from pathlib import Path

import pytest

from retainer.cli.main import main
from retainer.data.corpus import Corpus
from retainer.data.formats.brat import read_brat_pair, sniff_brat, write_brat
from retainer.data.generated import generate
from retainer.data.io import read, write
from retainer.data.spans import Sentence, Span
from retainer.data.splits import read_splits
from retainer.errors import InputError

PARIS = Sentence(("In", "Paris", "."), (Span(1, 2, "LOC"),))
CODER = "\U0001f469\u200d\U0001f4bb"
TEXT = f"Sony formed a venture with Ericsson,\nbased in Upper\n  Lane 4.\n\n\U0001f600 Mu\u0308nchen {CODER}\n"


def bound(text, *pieces, type_="X", number=1, shown=None):
    """Return a line that marks pieces of a text, given as offsets or as what they hold."""
    places = [(text.index(p), text.index(p) + len(p)) if isinstance(p, str) else p for p in pieces]
    shown = " ".join(text[start:end] for start, end in places) if shown is None else shown
    return f"T{number}\t{type_} {';'.join(f'{start} {end}' for start, end in places)}\t{shown}\n"


def pair(text, *lines):
    return read_brat_pair(text, "".join(lines), "F.ann", "F.ann")


def found(corpus):
    """Return the text of every sentence and of its entities."""
    return [(s.text, [(s.text[x.start : x.end], x.type) for x in s.character_spans()]) for s in corpus]


def refused(text, *lines):
    with pytest.raises(InputError) as caught:
        pair(text, *lines)
    return str(caught.value)


# ------------------------------------------------------------------------------------------------------- reading


def test_lines_become_sentences():
    corpus = pair(TEXT, bound(TEXT, "Sony", type_="ORG"), bound(TEXT, "Ericsson", type_="ORG", number=2))
    assert found(corpus)[0] == ("Sony formed a venture with Ericsson,", [("Sony", "ORG"), ("Ericsson", "ORG")])
    assert [s.text for s in corpus] == [line for line in TEXT.split("\n") if line]
    assert (corpus.format, corpus.scheme, corpus.oddities) == ("brat", "", {})


def test_offsets_count_code_points():
    corpus = pair(TEXT, bound(TEXT, "Mu\u0308nchen", type_="CITY"), bound(TEXT, CODER))
    assert found(corpus)[-1][1] == [("Mu\u0308nchen", "CITY"), (CODER, "X")]
    assert corpus.oddities == {}


def test_an_entity_over_a_line_end_is_one_piece_or_two():
    """Brat itself writes two pieces; others write one, with a space for the line end."""
    one = pair(TEXT, bound(TEXT, "Upper\n  Lane 4", type_="STREET", shown="Upper Lane 4"))
    two = pair(TEXT, bound(TEXT, "Upper", "Lane 4", type_="STREET"))
    assert found(one) == found(two)
    assert found(two)[1] == ("based in Upper\n  Lane 4.", [("Upper\n  Lane 4", "STREET")])
    assert one.oddities == two.oddities == {}


def test_an_entity_in_pieces_is_passed_over_and_counted():
    corpus = pair(TEXT, bound(TEXT, "Sony", "Ericsson"), bound(TEXT, "venture", number=2))
    assert found(corpus)[0][1] == [("venture", "X")]
    assert corpus.oddities == {"entities in several pieces": 1}


def test_other_annotations_are_counted():
    others = (
        "R1\tPart Arg1:T1 Arg2:T2\n*\tEquiv T1 T2\nE1\tForm:T3 Who:T1\nA1\tSure T1\nM1\tNegation E1\n"
        "N1\tReference T1 Wikipedia:534366\tSony\n#1\tAnnotatorNotes T1\tis it?\n\n"
    )
    corpus = pair(TEXT, bound(TEXT, "Sony"), others)
    assert corpus.oddities == {
        "relations beside the entities": 2,
        "events beside the entities": 1,
        "attributes beside the entities": 2,
        "normalizations beside the entities": 1,
        "notes beside the entities": 1,
    }
    assert found(corpus)[0][1] == [("Sony", "X")]


def test_of_nested_entities_the_longer_stays():
    corpus = pair(TEXT, bound(TEXT, "Sony"), bound(TEXT, "Sony formed", number=2, type_="Y"))
    assert found(corpus)[0][1] == [("Sony formed", "Y")]
    assert corpus.oddities == {"tags that overlap another": 1}


def test_white_space_and_edges_inside_words_are_counted():
    corpus = pair(TEXT, bound(TEXT, " formed "), bound(TEXT, "vent", number=2))
    assert found(corpus)[0][1] == [("formed", "X"), ("vent", "X")]
    assert corpus.oddities == {"white space at the edge of a span": 1, "edge inside a word": 1}


def test_what_stands_after_the_text_is_a_comment():
    line = bound(TEXT, "Sony").replace("\n", "\tsaid Ann\n")
    assert found(pair(TEXT, line)) == found(pair(TEXT, bound(TEXT, "Sony")))
    assert found(pair(TEXT, "T1\tX 0 4\n")) == found(pair(TEXT, line)), "a text may be missing"


def test_no_annotation_at_all():
    assert [s.spans for s in pair("a\nb\n")] == [(), ()]


# --------------------------------------------------------------------------------------------- other ways to count


def test_utf16_units_are_understood():
    """Tools in Java and in browsers count every emoji twice."""
    text = "\U0001f600 in Oslo \U0001f600 and Bonn"
    corpus = pair(text, "T1\tCITY 6 10\tOslo\n", "T2\tCITY 18 22\tBonn\n")
    assert found(corpus)[0][1] == [("Oslo", "CITY"), ("Bonn", "CITY")]
    assert corpus.oddities == {"texts whose offsets count UTF-16 units": 1}


def test_an_offset_inside_a_character_is_refused():
    assert "F.ann:1: tag T1: its text is 'Oslo', but the text has 'slo' at 2-5" in refused(
        "\U0001f600Oslo", "T1\tX 2 5\tOslo\n"
    )


def test_line_ends_of_windows_may_count_once():
    text = TEXT.replace("\n", "\r\n")
    lines = [bound(TEXT, "Sony"), bound(TEXT, "based", number=2), bound(TEXT, "Upper", "Lane 4", number=3)]
    corpus = pair(text, *(line.replace("\n", "\r\n") for line in lines))
    assert corpus.oddities == {"texts whose offsets count the line ends of Windows as one character": 1}
    assert [[words for words, _ in spans] for _, spans in found(corpus)][:2] == [
        ["Sony"],
        ["based", "Upper\r\n  Lane 4"],
    ]
    assert [s.words for s in corpus] == [s.words for s in pair(TEXT, *lines)]
    exact = pair(text, bound(text, "Sony"), bound(text, "based", number=2))
    assert (exact[0].text, exact.oddities) == ("Sony formed a venture with Ericsson,", {}), "others count both"


def test_where_both_ways_fit_brats_own_is_taken():
    corpus = pair("0\r\n0\r\n0\r\n0", "T1\tX 6 7\t0\n")
    assert [len(s.spans) for s in corpus] == [0, 0, 0, 1]


def test_a_byte_order_mark_may_count(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfIn Oslo")
    (tmp_path / "a.ann").write_text("T1\tCITY 4 8\tOslo\n")
    corpus = read(tmp_path)
    assert found(corpus) == [("In Oslo", [("Oslo", "CITY")])]
    assert corpus.oddities == {"texts whose offsets count a byte order mark": 1}


# ------------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("lines", "part"),
    [
        ("T1\tX 0 4\tSonx\n", "F.ann:1: tag T1: its text is 'Sonx', but the text has 'Sony' at 0-4; correct one"),
        (
            "\n\nT7\tX 1 4;5 9\tony forn\n",
            "F.ann:3: tag T7: its text is 'ony forn', but the text has 'ony form' at 1-4",
        ),
        ("T1\tX 0 400\tSony\n", "F.ann:1: tag T1: 0-400 is empty or lies outside the text of"),
        ("T1\tX 4 4\t\n", "F.ann:1: tag T1: 4-4 is empty or lies outside"),
        ("T1\tX 4 0\tSony\n", "F.ann:1: tag T1: 4-0 is empty or lies outside"),
        ("T1\tX 4 5\t \n", "F.ann:1: tag T1: 4-5 covers no word, only ' '; remove the tag"),
        ("T1\tX -1 4\tSony\n", "F.ann:1: found 'T1\\tX -1 4\\tSony'; expected a name such as T1, a tab, TYPE START"),
        ("T1\tX 0 4,6 9\tSony\n", "F.ann:1: found 'T1\\tX 0 4,6 9"),
        ("T1\tX 0\tSony\n", "F.ann:1: found 'T1\\tX 0\\tSony'"),
        ("T1 X 0 4 Sony\n", "F.ann:1: found 'T1 X 0 4 Sony'; expected"),
        ("T1\tX \u0663 4\tSony\n", "F.ann:1: found"),
        ("R1\n", "F.ann:1: found 'R1'; expected a name such as T1, R1, E1, A1, N1 or #1, a tab and more"),
        ("Sony\tB-ORG\n", "F.ann:1: found 'Sony\\tB-ORG'; expected a name"),
        ("T1\tX 0 4\tSony\n<xml/>\n", "F.ann:2: found '<xml/>'"),
    ],
)
def test_brat_refuses(lines, part):
    message = refused(TEXT, lines)
    assert message.startswith(part), message


@pytest.mark.parametrize(
    "line", ["T1\tB-X", "T1\tO", "T1 B-X", "T1\tx 0 5 y\tO", "T1\tx 0 5", "a\tb 0 5\tO", "T1\tx 0 5"]
)
def test_words_can_look_like_brat(line):
    assert not sniff_brat(line)


# ------------------------------------------------------------------------------------------------- files and folders


def test_either_file_leads_to_the_other(tmp_path):
    write([PARIS], tmp_path / "made", "brat")
    text, notes = tmp_path / "made" / "0001.txt", tmp_path / "made" / "0001.ann"
    assert read(notes).sentences == read(text, "brat").sentences == read(tmp_path / "made").sentences
    assert read(notes).source == str(notes)
    os.rename(text, tmp_path / "elsewhere.txt")
    with pytest.raises(InputError, match=r"0001.ann: there is no 0001.txt beside it; brat keeps text and annotations"):
        read(tmp_path / "made")
    with pytest.raises(InputError, match=r"elsewhere.txt: there is no elsewhere.ann beside it"):
        read(tmp_path / "elsewhere.txt", "brat")


def test_a_bad_line_is_named_by_its_file(tmp_path):
    write([PARIS], tmp_path / "made", "brat")
    (tmp_path / "made" / "0001.ann").write_text("T1\tX 0 2\tIn\nT2\tX 3 8\tRome\n")
    for path in (tmp_path / "made", tmp_path / "made" / "0001.ann"):
        with pytest.raises(InputError, match=r"made/0001\.ann:2: tag T2: its text is 'Rome', but the text has 'Paris'"):
            read(path)
    with pytest.raises(InputError, match=r"made/0001\.ann:2: "):
        read(tmp_path / "made" / "0001.txt", "brat")


def test_documents_are_read_in_order_and_other_files_passed_over(tmp_path):
    for name, text in {"b/2.txt": "two", "b/2.ann": "", "a.txt": "one\n", "a.ann": "", "README.txt": "no"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert [s.words for s in read(tmp_path)] == [("one",), ("two",)]


def test_parts_may_be_folders_of_brat(tmp_path):
    for part in ("train", "dev"):
        write([PARIS], tmp_path / part, "brat")
    train, dev, test = read_splits(tmp_path)
    assert train.format == "brat" and train.counts == dev.counts == {"LOC": 1} and test is None


def test_a_folder_of_documents_is_written():
    files = write_brat([*[PARIS] * 150, Sentence.from_text("to New\n  York.", [Span(3, 13, "x_y")])])
    assert sorted(files) == ["0001.ann", "0001.txt", "0002.ann", "0002.txt", "annotation.conf"]
    assert files["0001.txt"] == "In Paris .\n" * 100
    assert files["0001.ann"].splitlines()[:2] == ["T1\tLOC 3 8\tParis", "T2\tLOC 14 19\tParis"]
    assert files["0002.ann"].splitlines()[-1] == "T51\tx_y 553 556;559 563\tNew York"
    assert files["annotation.conf"].split("\n\n") == [
        "[entities]\nLOC\nx_y",
        "[relations]",
        "[events]",
        "[attributes]\n",
    ]


def test_thousands_of_sentences_come_back_in_order(tmp_path):
    corpus = generate(1234, seed=3)
    write(corpus, tmp_path / "out", "brat")
    reread = read(tmp_path / "out")
    assert [s.located()[0] for s in reread] == [s.located()[0] for s in corpus]
    assert [s.character_spans() for s in reread] == [s.character_spans() for s in corpus]


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        (Sentence.from_text("a\nb"), "sentence 2: it has a line break outside an entity"),
        (Sentence.from_text("\na"), "sentence 2: it has a line break outside an entity"),
        (Sentence.from_text("a\r"), "sentence 2: it has a line break outside an entity"),
        (Sentence.from_text("a\rb"), "sentence 2: it has a carriage return, which brat takes for a line end"),
        (Sentence(("a",), (Span(0, 1, "X Y"),)), "sentence 2: the type 'X Y' has a space, a tab or a line break"),
        (Sentence(("a",), (Span(0, 1, "X\tY"),)), "sentence 2: the type"),
        (Sentence(("a", " "), (Span(1, 2, "X"),)), r"sentence 2: span 2-3 \(X\) covers white space only"),
        (Sentence((" ",)), "sentence 2: it has white space only"),
    ],
)
def test_the_writer_refuses_what_would_not_come_back(tmp_path, sentence, message):
    with pytest.raises(InputError, match=message):
        write([PARIS, sentence], tmp_path / "out", "brat")
    assert not list(tmp_path.iterdir())


def test_a_folder_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    write([PARIS], tmp_path / "out", "brat")
    with pytest.raises(InputError, match="out exists already; nothing was written"):
        write([PARIS], tmp_path / "out", "brat")
    monkeypatch.setattr(Path, "write_bytes", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(InputError, match="other: the file cannot be written .No space left"):
        write([PARIS], tmp_path / "other", "brat")
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


# ------------------------------------------------------------------------------------------------------ commands


def test_convert_and_check(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(generate(20, seed=1), "a.conll", "conll")
    assert main(["convert", "a.conll", "folder", "--to", "brat"]) == 0
    assert main(["convert", "folder", "b.conll"]) == 0
    assert Path("a.conll").read_text() == Path("b.conll").read_text()
    assert main(["convert", "a.conll", "folder", "--to", "brat"]) == 2
    assert "folder exists already" in capsys.readouterr().err
    with Path("folder/0001.ann").open("a") as file:
        file.write("R1\tPart Arg1:T1 Arg2:T2\n")
    assert main(["check", "folder"]) == 0
    assert "1 × relations beside the entities" in capsys.readouterr().out
    assert main(["convert", "folder", "c.conll"]) == 0
    assert "1 relations beside the entities" in capsys.readouterr().err


def test_a_corpus_of_brat_equals_itself(tmp_path):
    corpus = Corpus((PARIS, PARIS))
    write(corpus, tmp_path / "one", "brat")
    write(read(tmp_path / "one"), tmp_path / "two", "brat")
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "two").iterdir())
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
