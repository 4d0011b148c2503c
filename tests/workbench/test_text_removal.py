"""Texts that are removed for good: nothing of them is left in any file, and the rest is as it was."""

import pytest

from retainer.data.generated import generate
from retainer.data.spans import Span
from retainer.errors import InputError
from retainer.versions.version import load
from retainer.workbench.annotation import Annotation
from retainer.workbench.exchange import ImportableData, import_data
from retainer.workbench.project import Project
from retainer.workbench.teach import teach
from retainer.workbench.teach_plan import DATA_FILES, planned, taught_texts
from retainer.workbench.teach_request import TeachRequest
from retainer.workbench.text_removal import remove_texts
from retainer.workbench.versions import VersionOrigin

SECRET = "xylophonequartz"
TEXTS = [f"the patient {SECRET} was seen in rome", "go to rome", "go to oslo", "go to bern", f"{SECRET} again"]


@pytest.fixture
def filled(project):
    """A project in which a text was changed, undone and taught, and has been searched for."""
    project.types.add("city", "ann")
    project.texts.add([*TEXTS, *(f"text {at} of many" * 9 for at in range(200))], "page")
    for text in range(1, 6):
        project.annotations.write(text, Annotation((Span(6, 10, "city"),)[: text % 5 > 1], True), seen=0, who="ann")
    project.annotations.write(1, Annotation((Span(12, 27, "city"),), True), seen=1, who="ann")
    project.annotations.undo("ann")
    return project


def holding(folder):
    """The files that have the bytes, or three letters in a row that nothing else has."""
    return [path.name for path in folder.rglob("*") if path.is_file() and b"xyl" in path.read_bytes().lower()]


def test_nothing_is_left_in_any_file_while_it_is_open(filled, folder):
    job = filled.jobs.add("teach", {}, "ann")
    planned(filled, job)
    filled.versions.add("v1", "hash")
    assert holding(folder)
    before = {text.id for text in filled.texts.all()}
    done = remove_texts(filled, [1, 5], "bob")
    assert done.ids == (1, 5) and holding(folder) == []
    assert {text.id for text in filled.texts.all()} == before - {1, 5} and filled.texts.count(search=SECRET) == 0
    assert filled.texts.count(search="go to") == 3 and filled.annotations.counts()["city"].entities == 3
    assert filled.annotations.history(1) == () and len(filled.annotations.history(2)) == 1
    with pytest.raises(InputError, match="there is no text 1 in this project"):
        filled.texts.get(1)
    assert remove_texts(filled, [1], "bob").ids == (1,), "again is no mistake: it may have been interrupted"


def test_past_jobs_have_it_no_more(filled, folder):
    job = filled.jobs.add("teach", {}, "ann")
    planned(filled, job)
    held_back = {text.id for text in filled.texts.all() if text.held_back}
    filled.versions.add("v1", "hash", origin=VersionOrigin(job=job.id))
    taught = taught_texts(filled, "v1")
    done = remove_texts(filled, [taught[0]], "bob")
    assert done.jobs == (1,) and done.versions == ("v1",) and taught_texts(filled, "v1") == taught[1:]
    remove_texts(filled, taught[1:], "bob")
    assert taught_texts(filled, "v1") == () and set(taught).isdisjoint(held_back)
    assert (filled.job_folder(job.id) / DATA_FILES[0]).read_bytes() == b""


def test_the_history_is_guarded_again_and_numbers_are_not_given_twice(filled, folder):
    last = filled.texts.count()
    remove_texts(filled, [last], "bob")
    added = filled.texts.add(["one more"], "page")
    assert added.ids == (last + 1,) and added.new == 1
    with pytest.raises(Exception, match="a change is kept"), filled.database.writing() as connection:
        connection.execute("DELETE FROM changes")
    with Project.open(folder) as again:
        assert again.texts.get(2).text == "go to rome" and again.texts.count(search="one more") == 1


def test_all_or_nothing_and_not_while_a_job_runs(filled):
    with pytest.raises(InputError, match="there is no text 999"):
        remove_texts(filled, [1, 999], "bob")
    filled.jobs.add("teach", {}, "ann")
    filled.jobs.start_next(1)
    with pytest.raises(InputError, match="job 1 teaches now"):
        remove_texts(filled, [1], "bob")
    assert filled.texts.get(1).text == TEXTS[0]


def test_a_version_that_learned_from_it_does_not_quote_it(project, folder, pair):
    import_data(project, ImportableData.of(generate(60, seed=5, types=["artist", "city"])))
    first = load(pair["v1"], device="cpu")
    project.versions.add("first", first.lineage.own_hash, types=first.types, elsewhere=pair["v1"])
    project.versions.use("first", "ann")
    project.jobs.add("teach", TeachRequest(epochs=1).as_dict(), "ann")
    teach(project, project.jobs.start_next(1), "cpu")
    taught = taught_texts(project, "v1")[:20]
    texts = [project.texts.get(id_).text.encode() for id_ in taught]
    assert remove_texts(project, taught, "bob").versions == ("v1",)
    assert [text for path in folder.rglob("*") if path.is_file() for text in texts if text in path.read_bytes()] == []
