"""What a reader notices has a place: the line of the file, in every format, and `check` shows it."""

import json

import pytest

from retainer.cli.main import main
from retainer.data.formats.brat import read_brat_pair
from retainer.data.formats.conll import HEADER_ROWS, read_conll
from retainer.data.formats.conll2012 import read_conll2012
from retainer.data.formats.doccano import read_doccano
from retainer.data.formats.enamex import read_enamex
from retainer.data.formats.i2b2 import read_i2b2
from retainer.data.formats.labelstudio import read_labelstudio
from retainer.data.formats.prodigy import read_prodigy
from retainer.data.formats.tokens import read_tokens
from retainer.data.io import read
from retainer.data.oddities import Oddities
from retainer.data.tags import bare_insides, detect_scheme


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


def row(word, entity):
    return f"x 0 0 {word} - * - - - - {entity} -\n"


TASKS = [{"data": {"text": "in Paris"}, "annotations": [{"result": []}] * number} for number in (1, 3)]
TAG = '<LOCATION id="P0" start="2" end="8" TYPE="CITY" />'
NOTE = f"<deIdi2b2>\n<TEXT>in Paris now</TEXT>\n<TAGS>\n{TAG}\n</TAGS></deIdi2b2>"
COLUMNS = "word\ttag\na\tO\nb\tB-x\n\nc\tI-x\nd\tO\ne\tI-x\nf\tI-x\n"

READ = {
    "columns": (lambda: read_conll(COLUMNS, "f"), {HEADER_ROWS: ["f:1"], "I- without B-": ["f:5", "f:7"]}),
    "two schemes": (
        lambda: read_conll("a\tS-x\n\nb\tB-x\nc\tO\n", "f"),
        {"entities that do not end as the rest of the file ends them (two tag schemes)": ["f:3"]},
    ),
    "tokens": (
        lambda: read_tokens(
            "\n"
            + lines(
                {"tokens": [], "tags": []},
                {"tokens": ["a", "b"], "tags": ["B-x", "O"]},
                {"tokens": ["a", "b", "c"], "tags": ["O", "I-x", "I-y"]},
            ),
            "f",
        ),
        {"empty texts": ["f:2"], "I- without B-": ["f:4"]},
    ),
    "prodigy": (
        lambda: read_prodigy(
            lines({"text": "a", "answer": "accept"}, {"text": "b", "answer": "reject"}, {"text": " ", "spans": []}), "f"
        ),
        {"rejected or ignored answers": ["f:2"], "empty texts": ["f:3"]},
    ),
    "doccano": (
        lambda: read_doccano(lines({"text": "a b", "label": []}, {"text": "in Parisian", "label": [[3, 8, "x"]]}), "f"),
        {"edge inside a word": ["f:2"]},
    ),
    "labelstudio": (
        lambda: read_labelstudio(json.dumps(TASKS, indent=1), "f"),
        {"further annotations of a task, of which the first counts": ["f:12: task 2"]},
    ),
    "brat": (
        lambda: read_brat_pair("in Paris now", "T1\tCity 3 8\tParis\n#1\tNote T1\tsure\n", "f.ann", "f.txt"),
        {"notes beside the entities": ["f.ann:2"]},
    ),
    "conll2012": (
        lambda: read_conll2012(
            f"#begin document (a); part 000\n{row('a', '(x(y)')}{row('b', '*)')}\n#end document\n", "f"
        ),
        {"entities inside another": ["f:2"]},
    ),
    "enamex": (
        lambda: read_enamex('<DOC>\na b\n<ENAMEX TYPE="x">a <ENAMEX TYPE="y">b</ENAMEX></ENAMEX>\n', "f"),
        {"entities inside another": ["f:3"], "documents without </DOC>": ["f"]},
    ),
    "i2b2": (lambda: read_i2b2(NOTE, "f"), {"white space at the edge of a span": ["f:4"]}),
}


@pytest.mark.parametrize("name", READ)
def test_every_format_names_the_line(name):
    read_it, places = READ[name]
    corpus = read_it()
    assert dict(corpus.odd_places) == places and corpus.oddities.keys() == places.keys()


def test_a_line_is_named_once():
    noticed = Oddities("f")
    for where in ("f:1", "f:1", "f:2"):
        noticed.where = where
        noticed["odd"] += 2
        noticed["never"] += 0
    assert noticed["odd"] == 6 and noticed.places == {"odd": ["f:1", "f:2"]}


@pytest.mark.parametrize(
    "tags", [["I-x", "I-x", "B-x"], ["O", "I-x", "O", "E-y"], ["B-x", "E-x", "I-x"], ["S-x", "I-x"]]
)
def test_places_are_as_many_as_were_counted(tags):
    assert len(list(bare_insides(tags))) == detect_scheme([["B-z"], tags])[1]


def test_check_shows_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.conll").write_text(COLUMNS)
    assert main(["check", "f.conll", "--show", "1"]) == 0
    out = capsys.readouterr().out
    assert "2 × I- without B-" in out and "\n    f.conll:5\n" in out and "f.conll:7" not in out
    assert main(["check", "f.conll", "--json"]) == 0
    found = {one["what"]: one["examples"] for one in json.loads(capsys.readouterr().out)["findings"]}
    assert [one["where"] for one in found["I- without B-"]] == ["f.conll:5", "f.conll:7"]
    assert found["few sentences in all"] == [] and found["few entities of type x"][0]["sentences"] == [1]


def test_of_a_folder_the_file_is_named(tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.txt").write_text("in Paris now")
        (tmp_path / f"{name}.ann").write_text("T1\tCity 3 8\tParis\n\n#1\tNote T1\tsure\n")
    places = read(tmp_path).odd_places
    assert places == {"notes beside the entities": [f"{tmp_path / name}.ann:3" for name in ("one", "two")]}
