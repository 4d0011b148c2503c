"""A job that teaches: from texts with a decision to a version, interrupted, failed, or done."""

import dataclasses

import pytest

from retainer.data.generated import generate
from retainer.data.spans import Span
from retainer.data.tasks import hide
from retainer.errors import InputError
from retainer.training import learn as learning
from retainer.versions.version import load
from retainer.workbench.annotation import Annotation
from retainer.workbench.exchange import ImportableData, import_data
from retainer.workbench.job_lock import is_worked_on, working_on
from retainer.workbench.readiness import readiness
from retainer.workbench.teach import teach
from retainer.workbench.teach_plan import taught_texts
from retainer.workbench.teach_request import TeachRequest

CITIES = hide(generate(60, seed=5, types=["artist", "city"]), ["city"])
PLAIN = [" ".join(sentence.words) for sentence in generate(30, seed=77)]


@pytest.fixture
def taught(project, pair):
    """A project with a version that knows artists, and texts in which cities are marked."""
    import_data(project, ImportableData.of(CITIES))
    project.texts.add(PLAIN, "more")
    first = load(pair["v1"], device="cpu")
    project.versions.add("first", first.lineage.own_hash, types=first.types, elsewhere=pair["v1"])
    project.versions.use("first", "ann")
    return project


def started(project, **request):
    project.jobs.add("teach", TeachRequest(**{"epochs": 1, **request}).as_dict(), "ann")
    return project.jobs.start_next(1)


def kinds(project, job):
    return [one.event["kind"] for one in project.jobs.events(job.id)]


def test_a_version_comes_out_and_says_where_it_comes_from(taught):
    job = started(taught, epochs=2)
    teach(taught, job, "cpu")
    version = taught.versions.get("v1")
    data = readiness(taught)
    assert (version.parent, version.job, version.texts) == ("first", job.id, data.texts)
    decided = [text for text in taught.texts.page(limit=1000, decided=True) if not text.held_back]
    assert taught_texts(taught, "v1") == tuple(text.id for text in decided) and taught_texts(taught, "first") == ()
    assert version.types == ("artist", "city") and version.hash == load(taught.versions.place("v1")).lineage.own_hash
    assert taught.jobs.get(job.id).state == "done" and taught.versions.in_use().name == "first"
    seen = kinds(taught, job)
    assert seen[0] == "start" and seen[-1] == "done" and seen.count("epoch") == 2
    epoch = taught.jobs.latest(job.id, "epoch").event
    assert epoch["epoch"] == epoch["epochs"] == 2 and epoch["losses"] and epoch["seconds_left"] == 0
    assert sorted(path.name for path in taught.job_folder(job.id).iterdir()) == [
        "plan.json",
        "text.jsonl",
        "train.jsonl",
    ]


def test_corrections_of_what_a_version_knows_are_taught_too(project, pair):
    """Nobody need say that a text is complete, and no type need be new."""
    second = load(pair["v2"], device="cpu")
    project.versions.add("second", second.lineage.own_hash, types=second.types, elsewhere=pair["v2"])
    project.versions.use("second", "ann")
    project.types.ensure(second.types, "ann")
    for text, sentence in zip(project.texts.add(dict.fromkeys(CITIES), "x").ids, dict.fromkeys(CITIES), strict=True):
        project.annotations.write(text, Annotation(sentence.character_spans(), True), seen=0, who="ann")
    job = started(project)
    teach(project, job, "cpu")
    assert project.jobs.get(job.id).state == "done", project.jobs.get(job.id).message
    assert project.versions.get("v1").types == ("artist", "city")


def test_a_process_that_was_killed_goes_on_with_the_same_texts(taught, monkeypatch):
    job = started(taught)

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(learning, "learn_version", killed)
        with pytest.raises(KeyboardInterrupt):
            teach(taught, job, "cpu")
    assert taught.jobs.get(job.id).state == "running"
    import_data(taught, ImportableData.of(hide(generate(20, seed=8, types=["artist", "city"]), ["city"])))
    before = (taught.job_folder(job.id) / "train.jsonl").read_bytes()
    teach(taught, job, "cpu")
    assert (taught.job_folder(job.id) / "train.jsonl").read_bytes() == before
    assert taught.versions.get("v1").texts == len(before.splitlines()) < readiness(taught).texts


def test_one_that_was_killed_after_the_version_was_written_registers_it(taught, monkeypatch):
    job = started(taught)
    with monkeypatch.context() as patch:
        patch.setattr(type(taught.versions), "add", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            teach(taught, job, "cpu")
    assert [one.name for one in taught.versions.all()] == ["first"]
    monkeypatch.setattr(learning, "learn_version", None)
    teach(taught, job, "cpu")
    assert taught.versions.get("v1").job == job.id


def test_a_renamed_type_is_the_same_type(taught):
    taught.types.ensure(["artist"], "ann")
    taught.types.rename("artist", "musician", "ann")
    teach(taught, started(taught), "cpu")
    assert taught.versions.get("v1").types == ("musician", "city")
    assert readiness(taught).new_types == ("city",)


def test_types_that_became_one_are_one_in_the_next_version(taught, pair):
    both = load(pair["v2"], device="cpu")
    taught.versions.add("both", both.lineage.own_hash, types=both.types, elsewhere=pair["v2"])
    taught.versions.use("both", "ann")
    taught.types.ensure_found(both.types, "ann")
    taught.types.merge("artist", "city", "ann")
    teach(taught, started(taught), "cpu")
    assert taught.versions.get("v1").types == ("city",) and readiness(taught).new_types == ()
    assert taught.types.names() == ("city",), "what the version was taught earlier does not come back"


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (InputError("v1 cannot be written: No space left on device"), "v1 cannot be written: No space left"),
        (OSError(28, "No space left on device"), "a file cannot be written: No space left on device"),
        (MemoryError(), "there is not enough memory"),
    ],
)
def test_what_fails_says_why_and_leaves_no_half_version(taught, monkeypatch, broken, says):
    job = started(taught)

    def failing(*_):
        raise broken

    monkeypatch.setattr(learning, "learn_version", failing)
    if isinstance(broken, InputError):
        teach(taught, job, "cpu")
    else:
        with pytest.raises(type(broken)):
            teach(taught, job, "cpu")
    failed = taught.jobs.get(job.id)
    assert failed.state == "failed" and failed.message.startswith(says)
    assert taught.jobs.latest(job.id).event == {"kind": "failed", "message": failed.message}
    assert not taught.versions.folder("v1").exists() and taught.jobs.running() is None


def test_decisions_that_are_all_held_back_are_said_to_be(project):
    ids = project.texts.add([f"text {at}" for at in range(40)], "page").ids
    held_back = next(id_ for id_ in ids if project.texts.get(id_).held_back)
    project.annotations.write(held_back, Annotation(decided=True), seen=0, who="ann")
    said = "1 text with a decision is held back to compare versions on, and no other has a decision yet; look at more"
    assert readiness(project).why_not == f"{said} texts"


def test_a_finding_names_a_text_once(project):
    project.types.add("city", "ann")
    text = next(
        id_
        for id_ in project.texts.add([f"{at} oslo and rome" for at in range(9)], "page").ids
        if not project.texts.get(id_).held_back
    )
    spans = tuple(Span(start, start + 4, "city") for start in (2, 11))
    project.annotations.write(text, Annotation(spans, True), seen=0, who="ann")
    [rare] = [one for one in readiness(project).findings if one.what == "few entities of type city"]
    assert [(place.sentences, place.text) for place in rare.examples] == [((text,), "oslo … rome")]


def test_nothing_to_teach_is_said_in_a_sentence(project):
    assert readiness(project).why_not.startswith("no text to teach from has a decision yet; look")
    project.types.add("city", "ann")
    job = started(project)
    teach(project, job, "cpu")
    assert "has a decision yet" in project.jobs.get(job.id).message


def test_what_is_ready_is_counted(taught):
    found = readiness(taught)
    assert found.ready and found.texts + found.held_back == len({" ".join(s.words) for s in CITIES})
    assert found.new_types == ("city",) and found.pool > 10 and set(found.entities) == {"city"}


@pytest.mark.parametrize(
    ("request_", "says"),
    [({"method": "retian"}, "did you mean 'retain'"), ({"epochs": 0}, "1 to 1000 epochs"), ({"seed": -1}, "a seed is")],
)
def test_a_wrong_request_is_refused_before_it_waits(request_, says):
    with pytest.raises(InputError, match=says):
        TeachRequest(**request_)


def test_a_lock_says_that_the_process_lives(tmp_path):
    assert not is_worked_on(tmp_path)
    with working_on(tmp_path):
        assert is_worked_on(tmp_path)
        with pytest.raises(InputError, match="another process works"), working_on(tmp_path):
            pass
    assert not is_worked_on(tmp_path)
    assert dataclasses.asdict(TeachRequest()) == {"method": "retain", "epochs": 10, "text": True, "seed": 0}
