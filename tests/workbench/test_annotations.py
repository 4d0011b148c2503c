"""Annotations of a project: nobody overwrites anybody, every change is kept, and undo outlives the server."""

import random
import sqlite3
import subprocess
import sys
import threading

import pytest

from retainer.data.spans import Span
from retainer.errors import InputError
from retainer.workbench.annotation import NOTHING_SAID, AnnotatedText, Annotation, Conflict, encoded
from retainer.workbench.annotations import TypeCounts
from retainer.workbench.project import Project

TEXT = "play boston on the way to paris"
BAND = Annotation((Span(5, 11, "artist"),))
BOTH = Annotation((Span(5, 11, "artist"), Span(26, 31, "city")), True, ("artist", "city"))


@pytest.fixture
def project(project):
    project.types.ensure(["artist", "city"], "ann")
    project.texts.add([TEXT, "go to rome", "call Ann"], "a.txt")
    return project


@pytest.fixture
def annotations(project):
    return project.annotations


class TestWrite:
    def test_what_is_said_stays(self, annotations, project, folder):
        assert annotations.get(1) == AnnotatedText(1)
        said = annotations.write(1, BOTH, seen=0, who="ann")
        assert (said.revision, said.annotation, said.who) == (1, BOTH, "ann") and said.when
        project.close()
        with Project.open(folder) as again:
            assert again.annotations.get(1) == said
            assert again.annotations.many([2, 1]) == {2: AnnotatedText(2), 1: said}
            assert again.annotations.all() == {1: said} and again.annotations.all(decided=False) == {}

    def test_a_stale_change_is_a_conflict(self, annotations):
        annotations.write(1, BAND, seen=0, who="ann")
        with pytest.raises(Conflict, match="ann changed text 1 meanwhile; nothing was overwritten") as raised:
            annotations.write(1, BOTH, seen=0, who="bob")
        assert raised.value.current == annotations.get(1) and raised.value.current.annotation == BAND
        annotations.write(1, BOTH, seen=raised.value.current.revision, who="bob")
        assert annotations.get(1).annotation == BOTH

    def test_asking_again_is_no_conflict_and_no_change(self, annotations):
        first = annotations.write(1, BAND, seen=0, who="ann")
        assert annotations.write(1, BAND, seen=0, who="ann") == first == annotations.write(1, BAND, seen=0, who="bob")
        assert len(annotations.history(1)) == 1

    def test_of_many_at_once_one_wins(self, annotations):
        def write(number):
            try:
                annotations.write(1, Annotation((Span(number, 11, "artist"),)), seen=0, who=f"person {number}")
            except Conflict as conflict:
                lost.append(conflict.current.who)

        lost = []
        threads = [threading.Thread(target=write, args=(number,)) for number in range(5, 11)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert lost == [annotations.get(1).who] * 5 and annotations.get(1).revision == 1

    @pytest.mark.parametrize(
        ("annotation", "says"),
        [
            (Annotation((Span(5, 99, "artist"),)), "lies outside the text of 31 characters"),
            (Annotation((Span(5, 5, "artist"),)), "is empty"),
            (Annotation((Span(4, 5, "artist"),)), "covers no word"),
            (Annotation((Span(5, 11, "artist"), Span(8, 14, "city"))), "overlaps"),
            (Annotation((Span(5, 11, "artits"),)), "there is no type 'artits' .did you mean 'artist'"),
            (Annotation(complete=("dish",)), "there is no type 'dish'"),
        ],
    )
    def test_what_cannot_be_is_refused(self, annotations, annotation, says):
        with pytest.raises(InputError, match=says):
            annotations.write(1, annotation, seen=0, who="ann")
        assert annotations.history(1) == ()

    def test_there_is_no_such_text(self, annotations):
        with pytest.raises(InputError, match="there is no text 9"):
            annotations.write(9, BAND, seen=0, who="ann")

    def test_the_same_has_one_form(self, annotations):
        annotations.write(1, BOTH, seen=0, who="ann")
        other = Annotation((Span(25, 31, "city"), Span(5, 12, "artist")), True, ("city", "artist", "city"))
        assert annotations.write(1, other, seen=1, who="ann").revision == 1
        assert encoded(Annotation(), annotations._texts.get(1), {}) == NOTHING_SAID


class TestTypes:
    def test_a_new_name_carries_annotations_along(self, annotations, project):
        annotations.write(1, BOTH, seen=0, who="ann")
        project.types.rename("city", "town", "bob")
        found = annotations.get(1)
        assert found.annotation.entities[1].type == "town" and found.annotation.complete == ("artist", "town")
        assert found.revision == 1 and annotations.history(1)[0].after == found.annotation
        with pytest.raises(InputError, match="'city' is called 'town' now: bob renamed it"):
            annotations.write(1, BOTH, seen=1, who="ann")

    def test_a_later_type_is_not_complete(self, annotations, project):
        annotations.write(1, BOTH, seen=0, who="ann")
        project.types.add("dish", "bob")
        assert annotations.get(1).annotation.complete == ("artist", "city")

    def test_counts(self, annotations, project):
        annotations.write(1, BOTH, seen=0, who="ann")
        annotations.write(2, Annotation((Span(6, 10, "city"),), True), seen=0, who="ann")
        annotations.write(3, Annotation((Span(5, 8, "artist"),)), seen=0, who="ann")
        project.types.add("dish", "ann")
        assert annotations.counts() == {"artist": TypeCounts(1, 1), "city": TypeCounts(2, 1), "dish": TypeCounts()}
        assert project.texts.count(decided=True) == 2 and [one.id for one in project.texts.page(decided=False)] == [3]
        assert [one.id for one in project.texts.page(search="rome", decided=True)] == [2]
        assert project.texts.count("rome", decided=False) == 0

    def test_counts_of_what_is_taken_back_are_not_remembered(self, annotations, project):
        with pytest.raises(ZeroDivisionError), project.database.writing():
            annotations.write(1, BOTH, seen=0, who="ann")
            assert annotations.counts()["city"].entities == 1
            raise ZeroDivisionError
        annotations.write(1, Annotation((Span(5, 11, "artist"),), True), seen=0, who="ann")
        for _ in range(2):
            assert annotations.counts() == {"artist": TypeCounts(1, 0), "city": TypeCounts()}


class TestLog:
    def test_every_change_is_kept(self, annotations, project):
        annotations.write(1, BAND, seen=0, who="ann")
        annotations.write(1, BOTH, seen=1, who="bob")
        annotations.write(2, Annotation(decided=True), seen=0, who="ann")
        log = [(one.id, one.text, one.revision, one.who, one.before, one.after) for one in annotations.since(0)]
        assert log == [
            (1, 1, 1, "ann", Annotation(), BAND),
            (2, 1, 2, "bob", BAND, BOTH),
            (3, 2, 1, "ann", Annotation(), Annotation(decided=True)),
        ]
        assert [one.id for one in annotations.history(1)] == [1, 2]
        assert [one.id for one in annotations.since(1, 1)] == [2]
        for change in ("DELETE FROM changes", "UPDATE changes SET who = 'eve'"):
            with pytest.raises(sqlite3.IntegrityError, match="kept"), project.database.writing() as connection:
                connection.execute(change)

    def test_a_limit(self, annotations):
        with pytest.raises(InputError, match="1 to 1000 changes"):
            annotations.since(0, 0)


class TestUndo:
    def write(self, annotations, text, number, who="ann"):
        marked = Annotation((Span(0, number, "artist"),))
        annotations.write(text, marked, seen=annotations.get(text).revision, who=who)

    def length(self, annotations, text=1):
        return max((span.end for span in annotations.get(text).annotation.entities), default=0)

    def test_step_by_step_over_restarts(self, annotations, project, folder):
        for number in (1, 2, 3):
            self.write(annotations, 1, number)
        assert annotations.undo("ann").annotation.entities == (Span(0, 2, "artist"),)
        project.close()
        with Project.open(folder) as again:
            annotations = again.annotations
            lengths = [annotations.undo("ann") and self.length(annotations) for _ in range(4)]
            assert lengths == [1, 0, None, None]
            assert [annotations.redo("ann") and self.length(annotations) for _ in range(4)] == [1, 2, 3, None]
            assert [annotations.undo("ann") and self.length(annotations) for _ in range(2)] == [2, 1]
            self.write(annotations, 1, 4)
            assert annotations.redo("ann") is None, "another change ends what can be brought back"
            assert [annotations.undo("ann") and self.length(annotations) for _ in range(3)] == [1, 0, None]
            assert [one.kind for one in annotations.history(1)].count("undo") == 7
            assert annotations.get(1).revision == len(annotations.history(1)) == 14

    @pytest.mark.parametrize("seed", range(3))
    def test_as_two_stacks_would(self, annotations, project, seed):
        """Whatever is done in whatever order, it goes as in any editor."""
        now = dict.fromkeys(project.texts.add(["a" * 50, "b" * 50], "here").ids, 0)
        draw, done, undone = random.Random(seed), [], []
        for step in range(1, 40):
            action = draw.choice(["write", "undo", "undo", "redo"])
            if action == "write":
                text = draw.choice([*now])
                self.write(annotations, text, step)
                done, undone = [*done, (text, now[text], step)], []
                now[text] = step
                continue
            taken, given = (done, undone) if action == "undo" else (undone, done)
            found = getattr(annotations, action)("ann")
            assert (found is None) == (not taken)
            if taken:
                given.append(taken.pop())
                text, *lengths = given[-1]
                now[text] = lengths[action == "redo"]
            assert {text: self.length(annotations, text) for text in now} == now

    def test_everybody_undoes_their_own(self, annotations):
        self.write(annotations, 1, 1, "ann")
        self.write(annotations, 2, 2, "bob")
        assert annotations.undo("ann").text == 1 and annotations.undo("cem") is None
        assert (self.length(annotations, 1), self.length(annotations, 2)) == (0, 2)
        assert annotations.redo("bob") is None and annotations.redo("ann").text == 1

    def test_not_under_the_hands_of_somebody_else(self, annotations):
        self.write(annotations, 2, 1, "ann")
        self.write(annotations, 1, 1, "ann")
        self.write(annotations, 1, 2, "bob")
        with pytest.raises(Conflict, match="bob changed text 1") as raised:
            annotations.undo("ann")
        assert self.length(annotations, 1) == 2
        assert annotations.undo("ann", raised.value.change).text == 2, "what was done earlier can still be undone"
        annotations.undo("bob")
        assert annotations.undo("ann").text == 1, "bob took his change back"

    def test_what_was_undone_and_changed_is_not_redone(self, annotations):
        self.write(annotations, 1, 1, "ann")
        annotations.undo("ann")
        self.write(annotations, 1, 2, "bob")
        with pytest.raises(Conflict):
            annotations.redo("ann")
        assert self.length(annotations) == 2

    def test_an_import_is_not_undone(self, annotations):
        annotations.write(1, BAND, seen=0, who="ann", kind="import")
        assert annotations.undo("ann") is None

    def test_a_renamed_type_is_no_hindrance(self, annotations, project):
        annotations.write(1, BOTH, seen=0, who="ann")
        annotations.write(1, Annotation(), seen=1, who="ann")
        project.types.rename("city", "town", "bob")
        assert annotations.undo("ann").annotation.complete == ("artist", "town")


WRITER = """
import sys
from retainer.data.spans import Span
from retainer.workbench.annotation import Annotation
from retainer.workbench.project import Project
with Project.open(sys.argv[1]) as project:
    for revision in range(10**9):
        wanted = Annotation((Span(0, revision % 4 + 1, "artist"),), True, ("city",))
        print(project.annotations.write(1, wanted, seen=revision, who="ann").revision, flush=True)
"""


def test_nothing_that_was_answered_is_lost_to_kill_9(project, folder):
    writer = subprocess.Popen([sys.executable, "-c", WRITER, folder], stdout=subprocess.PIPE, text=True)
    answered = [int(writer.stdout.readline()) for _ in range(20)]
    writer.kill()
    answered += [int(line) for line in writer.stdout.read().splitlines()]
    writer.wait()
    with Project.open(folder) as again:
        now, log = again.annotations.get(1), again.annotations.history(1)
    assert now.revision - answered[-1] in (0, 1) and len(log) == now.revision
    assert all(one.before == before.after for before, one in zip(log, log[1:], strict=False))
