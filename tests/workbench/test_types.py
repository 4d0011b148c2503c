"""Types of a project: added, renamed, coloured and ordered, and every change is recorded."""

import sqlite3

import pytest

from retainer.errors import InputError
from retainer.workbench.project import Project
from retainer.workbench.types import EntityType


@pytest.fixture
def types(project):
    for name in ("artist", "city"):
        project.types.add(name, "ann")
    return project.types


def test_in_order_with_colours_of_their_own(types):
    types.add("dish", "bob", colour=7)
    assert types.all() == (EntityType("artist", 0), EntityType("city", 1), EntityType("dish", 7))


def test_changes_are_recorded_and_stay(types, project, folder):
    types.rename("city", "town", "bob")
    types.recolour("town", 5, "cem")
    types.reorder(["town", "artist"], "dan")
    project.close()
    with Project.open(folder) as again:
        assert again.types.all() == (EntityType("town", 5), EntityType("artist", 0))
        changes = [(one.type, one.kind, one.who, one.before, one.after) for one in again.types.history()]
        with pytest.raises(sqlite3.IntegrityError, match="kept"), again.database.writing() as connection:
            connection.execute("DELETE FROM type_changes")
    assert changes == [
        ("artist", "add", "ann", None, "artist"),
        ("town", "add", "ann", None, "city"),
        ("town", "rename", "bob", "city", "town"),
        ("town", "recolour", "cem", 1, 5),
        ("town", "move", "dan", 1, 0),
        ("artist", "move", "dan", 0, 1),
    ]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda types: types.add("city", "ann"), "there is a type 'city' already"),
        (lambda types: types.add("O", "ann"), "no type can be called 'O'"),
        (lambda types: types.add("\ud800", "ann"), "half a character"),
        (lambda types: types.rename("city", "artist", "ann"), "there is a type 'artist' already"),
        (lambda types: types.rename("city", " x", "ann"), "spaces at the edges"),
        (lambda types: types.rename("cty", "x", "ann"), "there is no type 'cty' .did you mean 'city'"),
        (lambda types: types.recolour("city", -1, "ann"), "from 0, not -1"),
        (lambda types: types.reorder(["city"], "ann"), "names every type once; there are artist, city"),
    ],
)
def test_what_cannot_be_changes_nothing(types, change, says):
    with pytest.raises(InputError, match=says):
        change(types)
    assert types.names() == ("artist", "city") and len(types.history()) == 2


def test_an_old_name_says_what_became_of_it(types):
    types.rename("city", "town", "bob")
    types.rename("town", "place", "cem")
    with pytest.raises(InputError, match="the type 'city' is called 'place' now: bob renamed it"):
        types.recolour("city", 1, "ann")
    types.rename("place", "place", "ann")
    assert types.history()[-1].who == "cem", "the same name is no change"


def test_only_what_is_missing_is_added(types):
    assert types.ensure(["dish", "city", "dish", "bar"], "ann") == ("dish", "bar")
    assert types.names() == ("artist", "city", "dish", "bar")
