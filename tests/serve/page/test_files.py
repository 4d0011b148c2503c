"""The files that the page opens: their texts are those of `predict --input`, or one sentence says what to do."""

import json
from pathlib import Path

import pytest
from browsing import TEXT, drawn, found, plain, put
from playwright.sync_api import Error, expect

import retainer
from retainer.cli.main import main
from retainer.data.formats.table import FORMATS
from retainer.data.spans import Sentence
from retainer.data.texts import read_texts

EXAMPLES = Path(__file__).parents[3] / "examples"
READ = """
async ([bytes, annotated]) => {
  const { readFile } = await import('/page/files.js');
  const records = await readFile(new File([new Uint8Array(bytes)], 'some.file'), annotated);
  return records.map(({ plain, given, complete }) =>
    [plain, given.map(({ start, end, type }) => [start, end, type]), complete]);
}
"""

SENTENCES = [
    Sentence.from_text("😀 Mira Vell left Oslo", [retainer.Span(2, 11, "person"), retainer.Span(17, 21, "city")]),
    Sentence.from_text("cafe\u0301 in Oslo", [retainer.Span(9, 13, "city")]),
    Sentence.from_text("nothing here"),
]


def opened(page, content, annotated=False):
    """What the page reads in a file."""
    return page.evaluate(READ, [list(content if isinstance(content, bytes) else content.encode()), annotated])


def written(name):
    """Some sentences in a format; of several files the one with the annotation."""
    content = FORMATS[name].write(SENTENCES)
    if isinstance(content, str):
        return content
    return next(text for file, text in content.items() if file.endswith(".ann"))


LINES = {
    "empty lines": "one\n\n  \ntwo\n\n",
    "no line end": "one\ntwo",
    "windows": "\ufeffone\r\n\r\ntwo\r\n\r\n",
    "other line ends": "one\u2028still one\x0bstill\x85one\rone\n \u00a0 \ntwo",
    "json": '\n{"text": "one"}\n \n{"text": "two", "spans": 7}\n',
    "words": '{"tokens": ["one", "😀"], "ner_tags": [1, 2]}\n{"text": "", "tokens": []}\n{"tokens": []}\n',
    "classes": '{"text": "one", "label": ["sports"]}\n',
    "a brace": "{ it is a text\nand another }\n",
    "tabs": "one\tO\ntwo\tB-city\nthree\tI-city\n\n\nfour\tO\n",
    "spaces": "EU NNP B-NP I-ORG\nrejects VBZ B-VP O\n\n-DOCSTART- -X- O O\n\nGerman JJ B-NP I-MISC\n",
    "header": "# token\tner_tag\none\tU-city\ntwo\tO\n",
    "odd words": '{"a":\tO\n[\tB-x\n<DOC>\tI-x\nT1\tO\n',
    "one row": "one\tB-city\n",
    "a bomber": "this is the B-52\n",
    "half of them": "vitamin O\nplain text\n",
    "spaces in words": "New York\tB-city \nis\tO\nbig\tO\r\r\n",
    "bilou": "a\tB-x\nb\tI-x\nc\tL-x\nd\tU-x\ne\tI-y\nf\tI-x\n",
}


def test_texts_are_those_of_predict(page, tmp_path):
    for name, content in LINES.items():
        wanted = [sentence.located()[0] for _, sentence in read_texts(put(tmp_path, content, "some.file"))]
        assert [text for text, *_ in opened(page, content)] == wanted, name


def test_columns_are_recognised_by_a_hundred_lines(page, tmp_path):
    """Of which more than half are rows, whatever comes later."""
    for rows, others in ((51, 49), (50, 50), (50, 51)):
        content = "".join(["a\n"] * others + ["vitamin O\n"] * rows + ["more O\n"] * 60)
        try:
            wanted = [sentence.located()[0] for _, sentence in read_texts(put(tmp_path, content))]
        except retainer.InputError:  # columns, in which a line has only one
            with pytest.raises(Error, match="some.file, line 1: found 1 column;"):
                opened(page, content)
        else:
            assert [text for text, *_ in opened(page, content)] == wanted


def test_a_format_is_read_with_its_entities_or_refused(page, tmp_path):
    """As `retainer.read` does it; what the page does not read is named, and so is the way out."""
    refused = set()
    for name in FORMATS:
        content = written(name)
        try:
            got = [(text, [tuple(one) for one in given]) for text, given, _ in opened(page, content, annotated=True)]
        except Error as error:
            assert "which the page does not read. “retainer convert FILE OUT.jsonl --to prodigy”" in error.message
            refused.add(name)
            continue
        corpus = retainer.read(put(tmp_path, content))
        assert got == [
            (one.located()[0], [(span.start, span.end, span.type) for span in one.character_spans()]) for one in corpus
        ], name
    assert refused == {"labelstudio", "i2b2", "conll2012", "enamex", "brat"}


TABLES = {
    "columns of others": "id,Text,source\n1,in Oslo,a\n\n2,,b\n3,more,c\n",
    "semicolons, quotes": 'text;n\n"a ""quoted"" one; with\nlines, and 😀";1\r\nb;2',
    "tabs": 'label\tsentence\n[]\t"one, two"\n[]\t three \n',
    "a mark first": "\ufefftext,label\none,[]\n",
    "blank lines first": "\n \ntext,label\none,[]\n",
}


def test_the_texts_of_a_table_are_those_of_predict(page, tmp_path):
    for name, content in TABLES.items():
        wanted = [sentence.located()[0] for _, sentence in read_texts(put(tmp_path, content, "some.file"))]
        assert [text for text, *_ in opened(page, content)] == wanted, name


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            "text,n\na,1\nb,c,2\n",
            "line 3: found 3 cells where the header names 2 columns; quote cells that hold a comma",
        ),
        ('text,n\n"a,1\n', "line 2: a quote that opens here is never closed; write a quote inside a cell twice"),
        ('text,n\n"a"b,1\n', "line 2: text follows a closing quote"),
        ("text,entities\na,\"[(0, 1, 'x')]\"\n", "line 2: the entities are not a list in JSON"),
        ("text,entities\na,{}\n", "line 2: the entities are not a list in JSON"),
    ],
)
def test_a_table_that_is_not_one(page, content, says):
    with pytest.raises(Error, match=says):
        opened(page, content, annotated=True)


def test_a_table_of_one_column_goes_by_its_name(page, server, tmp_path):
    page.click("nav a[href='#find']")
    page.set_input_files("#file", put(tmp_path, "text\nin Oslo\nin Bergen\n", "one.csv"))
    page.wait_for_selector("#find-results .card >> nth=1")
    assert plain(page, "find") == ["in Oslo", "in Bergen"]
    page.set_input_files("#file", put(tmp_path, "nr;body\n1;in Oslo\n", "odd.csv"))
    page.wait_for_selector("#find-alert:has-text('odd.csv is a table without a column of texts: found nr, body.')")


@pytest.mark.parametrize("header", ["word,tag", "text;tags", "Sentence #,Word,POS,Tag", '"tokens"\t"labels"'])
def test_a_table_is_refused_by_its_header(page, header):
    with pytest.raises(Error, match="a table .CSV., which the page does not read"):
        opened(page, f"{header}\nOslo,B-city\n", annotated=True)


def test_words_with_commas_are_no_table(page):
    for line in ("text, and more of it", "one,two", "words", "a text; a word", "the text"):
        assert [text for text, *_ in opened(page, f"{line}\nmore\n")] == [line, "more"]


def test_the_way_out_works(page, tmp_path):
    """`retainer convert` makes a file that the page reads."""
    for name in ("labelstudio", "i2b2", "conll2012", "enamex", "csv"):
        out = tmp_path / f"{name}.jsonl"
        assert main(["convert", put(tmp_path, written(name), name), str(out), "--to", "prodigy"]) == 0
        assert [text for text, *_ in opened(page, out.read_bytes())] == [one.located()[0] for one in retainer.read(out)]


def test_annotation_counts_only_where_it_is_shown(page):
    rejected = {"text": "a b", "spans": [{"start": 0, "end": 1, "label": "x"}], "complete": ["x"], "answer": "reject"}
    accepted = {**rejected, "answer": "accept"}
    content = f"{json.dumps(rejected)}\n{json.dumps(accepted)}\n"
    assert opened(page, content, annotated=True) == [["a b", [], []], ["a b", [[0, 1, "x"]], ["x"]]]
    assert opened(page, content) == [["a b", [], []]] * 2


@pytest.mark.parametrize("view", ["find", "compare", "travel"])
def test_a_file_of_columns_is_shown_sentence_by_sentence(page, server, view):
    path = str(EXAMPLES / "artists.conll")
    texts = [sentence.located()[0] for _, sentence in read_texts(path)]
    page.click(f"nav a[href='#{view}']")
    page.set_input_files("#file", path)
    page.wait_for_selector(f"#{view}-results .card >> nth=39")
    assert page.inner_text("#file-shown").startswith(f"artists.conll: {len(texts)} texts ")
    shown = plain(page, view)
    assert shown[: 80 if view == "compare" else 40] == [
        text for text in texts[:40] for _ in range(2 if view == "compare" else 1)
    ]
    if view == "find":
        assert drawn(page, "find") == found(server, "v1", texts[0])


def test_a_file_of_columns_is_reviewed_with_its_entities(page, tmp_path):
    corpus = retainer.read(EXAMPLES / "both.conll")
    page.click("nav a[href='#review']")
    page.set_input_files("#review-file", str(EXAMPLES / "both.conll"))
    page.wait_for_selector("#review-item:not([hidden])")
    assert page.inner_text("#review-file-shown") == f"both.conll: {len(corpus)} texts"
    for _ in range(len(corpus)):
        page.keyboard.press("p")
    first = next(iter(corpus))
    given = page.locator("#review-text .given .words").all_text_contents()
    assert given == [" ".join(first.words[span.start : span.end]) for span in first.spans]


@pytest.mark.parametrize("view", ["find", "review"])
def test_a_refused_file_leaves_the_one_before_and_says_so(page, tmp_path, view):
    field = {"find": "#file", "review": "#review-file"}[view]
    page.click(f"nav a[href='#{view}']")
    page.set_input_files(field, put(tmp_path, " ", "empty.txt"))
    expect(page.locator(f"#{view}-alert")).to_have_text("empty.txt holds no text.")
    page.set_input_files(field, put(tmp_path, TEXT, "good.txt"))
    expect(page.locator(f"#{field[1:]}-shown")).to_contain_text("good.txt: 1 text")
    page.wait_for_selector(f"#{view}-{'results .card' if view == 'find' else 'item:not([hidden])'}")
    page.set_input_files(field, put(tmp_path, " ", "empty.txt"))
    expect(page.locator(f"#{view}-alert")).to_have_text("empty.txt holds no text. good.txt is still shown.")


def test_an_empty_line_is_an_empty_text(page, server, tmp_path, specs, capsys):
    """So the n-th text is that of the n-th line, as with `predict`; nothing is to be decided about it."""
    path = put(tmp_path, f"\n{TEXT}\n \n\n{TEXT} .\n\n", "gaps.txt")
    page.select_option("#find-version", "v2")
    page.set_input_files("#file", path)
    page.wait_for_selector("#find-results .card >> nth=5")
    assert main(["predict", specs[1], "--input", path, "--device", "cpu"]) == 0
    lines = [json.loads(line)["entities"] for line in capsys.readouterr().out.splitlines()]
    assert [drawn(page, "find", nth) for nth in range(6)] == [
        [[one["word"], one["entity_group"]] for one in entities] for entities in lines
    ]
    assert plain(page, "find") == ["(empty)", TEXT, "(empty)", "(empty)", f"{TEXT} .", "(empty)"]
    assert page.inner_text("#file-shown").startswith("gaps.txt: 6 texts, 4 of them empty ")
    page.click("nav a[href='#review']")
    page.set_input_files("#review-file", path)
    page.wait_for_selector("#review-item:not([hidden])")
    seen = []
    for key in "pppnnp":
        page.keyboard.press(key)
        seen.append("text 2 of 6" in page.inner_text("#review-facts"))
    assert seen == [True, True, True, False, False, True]
