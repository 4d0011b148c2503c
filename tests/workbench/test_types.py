"""Types of a project: added, renamed, coloured and ordered, and every change is recorded."""

import sqlite3

import pytest

from retainer.data.corpus import Corpus
from retainer.data.spans import Sentence, Span
from retainer.errors import InputError
from retainer.workbench.annotation import Annotation
from retainer.workbench.exchange import ImportableData, import_data
from retainer.workbench.project import Project
from retainer.workbench.type_removal import remove_type
from retainer.workbench.types import EntityType

TEXTS = ["aspirin helps", "aspirin and insulin", "nothing here"]
ASPIRIN, INSULIN = (0, 7), (12, 19)


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
        (lambda types: types.add("City", "ann"), "'City': there is 'city' already, which differs only by case"),
        (lambda types: types.rename("artist", "c-i ty", "ann"), "there is 'city' already"),
        (lambda types: types.merge("city", "city", "ann"), "into another one, and 'city' is the same"),
        (lambda types: types.merge("city", "town", "ann"), "there is no type 'town'"),
        (lambda types: types.remove("cty", "ann"), "there is no type 'cty' .did you mean 'city'"),
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


@pytest.fixture
def drugs(project):
    """Three texts: `drug` written in two ways, and one text that is complete for one of them."""
    project.texts.add(TEXTS, "page")
    project.types.add("drug", "ann")
    project.types.add("Drug", "ann", confirmed=True)
    for text, spans, complete in (
        (1, [Span(*ASPIRIN, "drug")], ["drug"]),
        (2, [Span(*ASPIRIN, "drug"), Span(*INSULIN, "Drug")], ["drug", "Drug"]),
        (3, [], ["Drug"]),
    ):
        project.annotations.write(text, Annotation(tuple(spans), True, tuple(complete)), seen=0, who="ann")
    return project


def said(project, text):
    one = project.annotations.get(text).annotation
    return {span.type for span in one.entities}, set(one.complete)


def test_a_type_written_twice_becomes_one(drugs):
    assert drugs.types.merge("Drug", "drug", "bob") == 2, "texts 2 and 3 speak of it"
    assert drugs.types.names() == ("drug",) and drugs.types.renamed() == {"Drug": "drug"}
    assert [said(drugs, text) for text in (1, 2, 3)] == [({"drug"}, {"drug"}), ({"drug"}, {"drug"}), (set(), {"drug"})]
    assert (drugs.annotations.counts()["drug"].entities, drugs.annotations.counts()["drug"].complete) == (3, 3)
    [first, last] = drugs.annotations.history(2)
    assert last.who == "bob" and {span.type for span in first.after.entities} == {"drug", "Drug"}
    [*_, change] = drugs.types.history()
    assert (change.type, change.kind, change.who, change.after) == ("Drug", "merge", "bob", "drug")
    with pytest.raises(InputError, match="the type 'Drug' is part of 'drug' now: bob merged it"):
        drugs.annotations.write(1, Annotation((Span(*ASPIRIN, "Drug"),)), seen=1, who="ann")
    import_data(drugs, ImportableData.of(corpus("Drug")))
    assert drugs.types.names() == ("drug",) and said(drugs, 4) == ({"drug"}, {"drug"})


def corpus(type_):
    return Corpus((Sentence.from_text("take insulin", [Span(5, 12, type_)]),))


def test_what_is_complete_for_one_of_two_types_is_not_complete_for_both(drugs):
    drugs.types.rename("Drug", "remedy", "ann")
    drugs.types.merge("remedy", "drug", "bob")
    assert [said(drugs, text)[1] for text in (1, 2, 3)] == [set(), {"drug"}, set()]
    assert drugs.types.renamed() == {"Drug": "drug", "remedy": "drug"}


def test_an_undone_merge_brings_the_type_back_in_that_text(drugs):
    drugs.types.merge("Drug", "drug", "bob")
    drugs.annotations.undo("bob")  # text 3, where nothing is marked
    assert drugs.types.names() == ("drug",)
    drugs.annotations.undo("bob")
    assert drugs.types.names() == ("drug", "Drug") and said(drugs, 2)[0] == {"drug", "Drug"}
    drugs.types.merge("Drug", "drug", "bob")
    assert drugs.types.names() == ("drug",)


def test_only_what_nothing_needs_is_removed(drugs):
    with pytest.raises(
        InputError, match="1 text has entities of 'Drug', so it cannot be removed; merge it into another"
    ):
        remove_type(drugs, "Drug", "bob")
    drugs.types.add("dose", "ann")
    drugs.annotations.write(3, Annotation((), True, ("dose", "drug")), seen=1, who="ann")
    drugs.versions.add("v1", "hash", types=["dose"])
    drugs.versions.use("v1", "ann")
    with pytest.raises(InputError, match="v1, which is in use, finds 'dose'"):
        remove_type(drugs, "dose", "bob")
    assert "dose" in drugs.types.names(), "all or nothing"
    drugs.versions.add("v2", "hash")
    drugs.versions.use("v2", "ann")
    remove_type(drugs, "dose", "bob")
    assert (
        "dose" not in drugs.types.names() and said(drugs, 3)[1] == {"drug"} and "dose" not in drugs.annotations.counts()
    )
    with pytest.raises(InputError, match="there is no type 'dose' any more: bob removed it"):
        drugs.types.recolour("dose", 1, "ann")
    drugs.types.add("dose", "ann")
    assert said(drugs, 3)[1] == {"drug", "dose"}, "as it was"
    assert [change.kind for change in drugs.types.history()[-2:]] == ["remove", "return"]


def test_what_a_version_finds_is_there_under_its_name_of_today(drugs):
    drugs.types.merge("Drug", "drug", "bob")
    assert drugs.types.ensure_found(["Drug", "dose"], "ann") == ("dose",)
