"""`retainer project`: what it holds, data in, data out, and one sentence where that cannot be."""

import json
import os
import re
import sys

import pytest

from retainer.cli.main import main
from retainer.data.io import read
from retainer.workbench.annotation import Annotation
from retainer.workbench.project import Project


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.txt").write_text("play boston, now\n\ngo to rome\n")
    (tmp_path / "city.jsonl").write_text('{"text": "go to rome", "label": [[6, 10, "city"]]}\n')

    def call(*argv):
        status = main(["project", *argv])
        return (status, *capsys.readouterr())

    return call


@pytest.fixture
def refused(run, tmp_path):
    """Run a command that must be refused: status 2, one sentence, nothing written."""

    def call(*argv, says):
        before = sorted(tmp_path.rglob("*"))
        status, out, err = run(*argv)
        assert (status, out, err.count("\n")) == (2, "", 1) and re.search(says, err), err
        assert sorted(tmp_path.rglob("*")) == before

    return call


def test_in_and_out(run, tmp_path):
    assert run("import", "p", "texts.txt")[:2] == (0, "2 texts, 2 new, 0 with annotation\n")
    status, out, err = run("import", "p", "city.jsonl")
    assert (status, out, err) == (0, "1 text, 0 new, 1 with annotation\n", "note: new in the project: city\n")
    assert run("export", "p", "--out", "all.jsonl") == (0, "2 texts, 1 entity -> prodigy\n", "")
    records = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert [(one["text"], one["complete"]) for one in records] == [("play boston, now", []), ("go to rome", ["city"])]
    status, out, err = run("export", "p", "--out", "some", "--to", "conll")
    assert out == "1 text, 1 entity -> conll\n" and "1 text without a decision left out: in conll" in err
    assert len(read("some")) == 1


def test_what_it_holds(run):
    run("import", "p", "city.jsonl")
    with Project.open("p") as project:
        project.jobs.add("teach", {}, "ann")
        project.versions.add("v1", "hash")
        project.versions.use("v1", "ann")
        [held_back] = [int(text.held_back) for text in project.texts.all()]
    status, out, _ = run("p")
    assert out.splitlines() == [
        f"texts     1: 1 with a decision, {held_back} held back",
        "type      city: 1 entity, complete in 1",
        "version   v1, in use",
        "job       1: teach, queued",
    ]
    facts = json.loads(run("p", "--json")[1])
    assert facts["types"] == {"city": {"entities": 1, "complete": 1}} and facts["in_use"] == "v1"


def test_while_a_server_has_it_open(run, tmp_path):
    run("import", "p", "texts.txt")
    with Project.open("p") as project, project.served():
        project.types.add("city", "ann")
        project.annotations.write(1, Annotation(complete=("city",)), seen=0, who="ann")
        assert run("import", "p", "city.jsonl")[0] == 0 == run("export", "p", "--out", "all.jsonl")[0]
        assert project.annotations.get(2).annotation.decided


def test_notes(run):
    run("import", "p", "city.jsonl")
    with Project.open("p") as project:
        project.annotations.write(1, Annotation((), True, ("city",)), seen=1, who="ann")
        project.texts.add(["no rome"], "ann")
    assert "1 text annotated otherwise in the project, and kept so" in run("import", "p", "city.jsonl")[2]
    assert "1 text without a decision left out" in run("export", "p", "--out", "a.conll")[2]


def test_from_stdin(run, monkeypatch, tmp_path):
    reader, writer = os.pipe()
    os.write(writer, b"call Ann\n")
    os.close(writer)
    monkeypatch.setattr(sys, "stdin", os.fdopen(reader))
    assert run("import", "p", "-")[1] == "1 text, 1 new, 0 with annotation\n"


def test_wrong_calls(run, refused, tmp_path):
    refused("nowhere", says="nowhere is not a project: there is no project.sqlite in it")
    refused("export", "nowhere", "--out", "a.jsonl", says="nowhere is not a project")
    refused("import", "p", "nothing.txt", says="nothing.txt: there is no such file")
    refused("import", "p", "city.jsonl", "--from", "docano", says="did you mean 'doccano'")
    refused("improt", "p", "texts.txt", says="there is no `project improt` .did you mean 'import'")
    (tmp_path / "long.txt").write_text("x" * 10_000_000)
    refused("import", "p", "long.txt", says="long.txt: text 1 has 10000000 characters, and a text may have 50000; cut")
    (tmp_path / "empty.txt").write_text("\n \n")
    refused("import", "p", "empty.txt", says="empty.txt: there is no word in it")
    run("import", "p", "texts.txt")
    refused("export", "p", "--out", "texts.txt", says="texts.txt exists already")
    refused("export", "p", "--out", "a.b", says="which format should a.b have")
    refused("import", "texts.txt", "city.jsonl", says="texts.txt cannot be written: File exists")
    (tmp_path / "p" / "project.sqlite").write_bytes(b"x" * 5000)
    refused("export", "p", "--out", "a.jsonl", says="project.sqlite is damaged")


def test_texts_are_removed_by_their_numbers(run, refused, tmp_path):
    run("import", "project", "texts.txt")
    refused("remove", "project", says="missing: numbers")
    refused("remove", "project", "9", says="there is no text 9 in this project")
    refused("remove", "project", "first", says="first")
    status, out, _ = run("remove", "project", "2", "--who", "ann")
    assert (status, out) == (0, "1 text removed\n")
    with Project.open(tmp_path / "project") as project:
        assert [text.id for text in project.texts.all()] == [1]
    assert b"go to rome" not in (tmp_path / "project" / "project.sqlite").read_bytes()
