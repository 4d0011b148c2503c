"""Projects of earlier layouts open, with all that is in them; and one of today will under the next layout."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from retainer.data.spans import Span
from retainer.workbench import schema
from retainer.workbench.exchange import export_data
from retainer.workbench.project import DATABASE_FILE, Project

FIXTURES = Path(__file__).parents[1] / "fixtures"
NEXT = """
ALTER TABLE texts ADD COLUMN note TEXT NOT NULL DEFAULT '';
CREATE TABLE people (name TEXT PRIMARY KEY);
INSERT INTO people SELECT DISTINCT who FROM changes;
"""
"""What a next layout may do: a column more, and a table out of what there is."""


@pytest.fixture
def first(tmp_path):
    """A copy of a project that was made with layout 1."""
    return Path(shutil.copytree(FIXTURES / "project-layout-1", tmp_path / "old"))


def layout(folder):
    with sqlite3.connect(folder / DATABASE_FILE) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def test_there_is_a_project_of_every_earlier_layout():
    found = {layout(folder) for folder in FIXTURES.glob("project-layout-*")}
    assert found == set(range(1, len(schema.LAYOUTS)))


def test_a_project_of_the_first_layout_opens_with_all_that_is_in_it(first, tmp_path):
    assert layout(first) == 1
    with Project.open(first) as project:
        assert project.texts.count() == 4 and project.texts.count(search="PARIS") == 1
        assert [one.name for one in project.types.all()] == ["town", "artist"]
        said = project.annotations.get(1)
        assert (said.revision, said.who, said.annotation.complete) == (3, "ann", ("town", "artist"))
        assert said.annotation.entities == (Span(14, 20, "artist"),)
        assert [one.kind for one in project.annotations.history(1)] == ["write", "write", "undo"]
        assert project.jobs.get(1).state == "done" and project.jobs.latest(1).event["version"] == "v1"
        assert project.versions.in_use().name == "v1" and project.versions.before().name == "v0"
        assert project.types.renamed() == {"city": "town"}
        assert {text.id for text in project.texts.draw(10)} == {3, 4}
        assert project.annotations.redo("ann").annotation.entities == ()
        assert project.texts.add(["one more"], "page").ids == (5,)
        assert export_data(project, tmp_path / "out.jsonl", "prodigy").texts == 5
    assert layout(first) == len(schema.LAYOUTS)


def test_the_next_layout_takes_projects_of_all_earlier_ones_along(first, tmp_path, monkeypatch):
    now = tmp_path / "now"
    with Project.open(now, create=True) as project:
        project.texts.add(["play songs by boston"], "page")
    assert (layout(first), layout(now)) == (1, len(schema.LAYOUTS))
    monkeypatch.setattr(schema, "LAYOUTS", (*schema.LAYOUTS, NEXT))
    for folder, people in ((first, ["ann", "bob"]), (now, [])):
        with Project.open(folder) as project, project.database.reading() as connection:
            assert [row[0] for row in connection.execute("SELECT name FROM people ORDER BY name")] == people
            assert {row[0] for row in connection.execute("SELECT note FROM texts")} == {""}
            assert project.texts.get(1).text == "play songs by boston"
        assert layout(folder) == len(schema.LAYOUTS)


def test_a_next_layout_that_fails_leaves_the_old_one(first, monkeypatch):
    layouts = schema.LAYOUTS
    monkeypatch.setattr(schema, "LAYOUTS", (*layouts, NEXT + "INSERT INTO nowhere VALUES (1);\n"))
    with pytest.raises(sqlite3.OperationalError):
        Project.open(first)
    monkeypatch.setattr(schema, "LAYOUTS", layouts)
    assert layout(first) == 1
    with Project.open(first) as project:
        assert project.texts.count() == 4
