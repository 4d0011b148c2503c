"""What a project teaches from: decided texts that are not held back; nothing else, and each text in one place."""

import pytest

from retainer.data.spans import Span
from retainer.training.request import LearnRequest
from retainer.workbench.annotation import Annotation
from retainer.workbench.training_data import training_data


@pytest.fixture
def project(project):
    """Forty texts: those with an even number are decided, the others not, and one is a draft."""
    project.types.ensure(["city", "dish"], "ann")
    project.texts.add([f"take {number} to rome" for number in range(1, 41)], "a")
    for text in range(2, 41, 2):
        start = len(f"take {text} to ")
        complete = ("city", "dish") if text % 4 else ("city",)
        said = Annotation((Span(start, start + 4, "city"),), True, complete)
        project.annotations.write(text, said, seen=0, who="ann")
    project.annotations.write(1, Annotation((Span(0, 4, "dish"),)), seen=0, who="ann")
    return project


def texts(corpus):
    return {sentence.text for sentence in corpus}


def test_every_text_is_in_one_place(project):
    data = training_data(project)
    held_back = {text.text for text in project.texts.all() if text.held_back}
    decided = {text.text for text in project.texts.all() if text.id % 2 == 0}
    everything = {text.text for text in project.texts.all()}
    assert texts(data.train) == decided - held_back and texts(data.held_back) == decided & held_back
    assert texts(data.text) == everything - decided - held_back
    assert texts(data.held_back_text) == held_back - decided
    assert all(texts(corpus) for corpus in (data.train, data.text, data.held_back, data.held_back_text))


def test_sentences_say_what_is_complete(project):
    data = training_data(project)
    assert {one.complete for one in data.train} == {("city",), ("city", "dish")}
    assert all(one.spans == (Span(3, 4, "city"),) for one in (*data.train, *data.held_back))
    assert all(one.spans == () for one in (*data.text, *data.held_back_text)), "a draft is text without annotation"


def test_what_can_be_scored(project):
    data = training_data(project)
    assert texts(data.comparable(["city"])) == texts(data.held_back)
    both = data.comparable(["city", "dish"])
    assert set() < texts(both) < texts(data.held_back) and {one.complete for one in both} == {("city", "dish")}


def test_learn_takes_it(project, encoder):
    data = training_data(project)
    task = LearnRequest(data.train, encoder, device="cpu").resolve()
    assert task.data.taught == ("city",) and len(task.data.slice) == len(data.train)
    assert {one.complete for one in task.data.slice} == {("city",)}, "no entity of the other type is marked anywhere"


def test_one_moment(project, monkeypatch):
    """A change between reading the texts and reading the annotations is not seen."""
    read = project.texts.all

    def meanwhile():
        found = read()
        project.texts.add(["one more"], "b")
        project.annotations.write(3, Annotation(decided=True), seen=0, who="bob")
        return found

    before = texts(training_data(project).text)
    monkeypatch.setattr(project.texts, "all", meanwhile)
    assert texts(training_data(project).text) == before
    monkeypatch.undo()
    assert texts(training_data(project).text) != before
