"""`--columns` means the same to every verb that reads data or texts."""

import csv
import inspect
import json

import pytest

from retainer.cli.arguments import build, find_command
from retainer.cli.columns import ABOUT_COLUMNS
from retainer.cli.main import main
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.data.splits import read_splits

TEXT = ("--columns.text", "body")
BOTH = (*TEXT, "--columns.entities", "marks")
READING = ("bench", "check", "compare", "convert", "evaluate", "export", "learn", "predict", "report", "split")


@pytest.fixture
def here(first, city, tmp_path, monkeypatch):
    """A version, and tables whose columns nobody would guess: annotated, and of texts alone."""
    monkeypatch.chdir(tmp_path)
    first.save("v1")
    write(city, "city.jsonl", "jsonl")
    rows = [table_row(one) for one in generate(60, seed=3, types=["artist", "city"])]
    for name, kept in (("odd.csv", slice(None)), ("odd.dat", slice(None)), ("texts.csv", slice(2))):
        with open(name, "w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter=";").writerows([["id", "body", "marks"][kept], *(row[kept] for row in rows)])
    return tmp_path


def table_row(sentence):
    text, _ = sentence.located()
    return ["1", text, json.dumps([[span.start, span.end, span.type] for span in sentence.character_spans()])]


@pytest.mark.parametrize("verb", READING)
def test_every_verb_that_reads_has_it(verb):
    command = find_command(verb, verb)
    assert "columns" in inspect.signature(command).parameters
    about = next(one.help for one in build(verb, command)._actions if one.dest == "columns")
    assert about == ABOUT_COLUMNS


@pytest.mark.parametrize("data", ["odd.csv", "odd.dat"])
@pytest.mark.parametrize(
    "call",
    [
        ("check", "DATA", *BOTH),
        ("compare", "v1", "v1", "DATA", *BOTH, "--device", "cpu"),
        ("convert", "DATA", "out.jsonl", *BOTH),
        ("evaluate", "v1", "DATA", *BOTH, "--device", "cpu"),
        ("export", "v1", "--prodigy", "out.jsonl", "--input", "DATA", *TEXT, "--device", "cpu"),
        ("predict", "v1", "--input", "DATA", *TEXT, "--device", "cpu"),
        ("project", "import", "project", "DATA", *BOTH),
        ("report", "v1", "--data", "DATA", *BOTH),
        ("split", "DATA", "--fg", "1", "--pg", "1", "--out", "tasks", *BOTH),
    ],
    ids=lambda call: call[0],
)
def test_a_table_of_other_names(here, capsys, call, data):
    wrong = ["bdy" if word == "body" else word for word in call]
    assert main([data if word == "DATA" else word for word in wrong]) == 2
    assert "there is no column 'bdy' (did you mean 'body'?); found id, body, marks" in capsys.readouterr().err
    assert main([data if word == "DATA" else word for word in call]) == 0, capsys.readouterr().err


def test_texts_alone_are_compared(here, capsys):
    assert main(["compare", "v1", "v1", "texts.csv", *TEXT, "--device", "cpu", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["texts"] == 60


def test_a_table_of_text_beside_data_of_another_format(here, capsys):
    call = ["learn", "city.jsonl", "--from", "v1", "--out", "v2", "--epochs", "1", "--device", "cpu"]
    assert main([*call, "--dev", "odd.csv", "--text", "texts.csv", *BOTH, "--dry-run"]) == 0
    assert "and 60 sentences of text" in capsys.readouterr().out
    assert main([*call, *BOTH]) == 2
    assert "there is no such table: city.jsonl" in capsys.readouterr().err
    assert main([*call, "--text", "texts.csv", "--columns.text", "bdy"]) == 2
    assert "there is no column 'bdy'" in capsys.readouterr().err


def test_a_folder_of_splits(here):
    for name in ("train", "dev", "test"):
        (here / "data").mkdir(exist_ok=True)
        (here / "data" / f"{name}.csv").write_text((here / "odd.csv").read_text())
    found = read_splits(here / "data", {"text": "body", "entities": "marks"})
    assert len(found.train) == len(found.test) == 60 and found.train.types == ("artist", "city")


def test_it_belongs_to_texts(here, capsys):
    assert main(["export", "v1", "--plain", "out", *TEXT]) == 2
    assert "--columns belongs to --input" in capsys.readouterr().err
