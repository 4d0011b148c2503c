"""Jobs of a project: one runs at a time, readers go on where they were, and a dead one is found again."""

import sqlite3
import threading

import pytest

from retainer.errors import InputError
from retainer.workbench.project import Project


@pytest.fixture
def jobs(project):
    for number in (1, 2, 3):
        project.jobs.add("teach", {"epochs": number}, "ann")
    return project.jobs


def states(jobs):
    return [job.state for job in jobs.all()]


def test_one_after_the_other(jobs):
    first = jobs.start_next(77)
    assert (first.id, first.request, first.process, first.who) == (1, {"epochs": 1}, 77, "ann") and first.started
    assert jobs.start_next(78) is None and jobs.running() == first
    done = jobs.finish(1, "done")
    assert done.ended and jobs.running() is None
    assert jobs.start_next(78).id == 2
    assert jobs.finish(2, "failed", "the disk is full").message == "the disk is full"
    assert jobs.start_next(79).id == 3 and states(jobs) == ["done", "failed", "running"]
    jobs.finish(3, "done")
    assert jobs.start_next(80) is None


def test_never_two_at_once(jobs, project):
    started = []
    threads = [threading.Thread(target=lambda: started.append(jobs.start_next(1))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sum(job is not None for job in started) == 1
    with pytest.raises(sqlite3.IntegrityError), project.database.writing() as connection:
        connection.execute("UPDATE jobs SET state = 'running'")


def test_a_job_whose_process_died_is_found_and_comes_first(jobs, project, folder):
    started = jobs.start_next(77).started
    project.close()
    with Project.open(folder) as again:
        left = again.jobs.running()
        assert (left.id, left.process) == (1, 77)
        assert again.jobs.requeue(1).state == "queued"
        job = again.jobs.start_next(78)
        assert (job.id, job.process, job.started) == (1, 78, started)


def test_cancel(jobs):
    jobs.start_next(77)
    assert jobs.cancel(2).state == "cancelled"
    asked = jobs.cancel(1)
    assert asked.state == "running" and asked.cancelling
    assert jobs.requeue(1).state == "cancelled", "its process died before it could say so"
    assert jobs.start_next(78).id == 3


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda jobs: jobs.get(9), "there is no job 9"),
        (lambda jobs: jobs.finish(1, "done"), "job 1 is queued, not running"),
        (lambda jobs: jobs.requeue(2), "job 2 is queued, not running"),
        (lambda jobs: (jobs.cancel(3), jobs.cancel(3)), "job 3 is cancelled, not queued"),
        (lambda jobs: jobs.report(9, {}), "there is no job 9"),
        (lambda jobs: jobs.events(9), "there is no job 9"),
        (lambda jobs: jobs.events(1, 0, 0), "1 to 1000 events"),
    ],
)
def test_what_cannot_be(jobs, change, says):
    with pytest.raises(InputError, match=says):
        change(jobs)


def test_events_go_on_where_a_reader_was(jobs, project, folder):
    for epoch in (1, 2, 3):
        jobs.report(1, {"epoch": epoch, "loss": 0.5})
    jobs.report(2, {"epoch": 1})
    assert [(one.number, one.event["epoch"]) for one in jobs.events(1)] == [(1, 1), (2, 2), (3, 3)]
    with Project.open(folder) as other:
        assert other.jobs.report(1, {"epoch": 4}).number == 4
    assert [one.event for one in jobs.events(1, after=3)] == [{"epoch": 4}]
    assert [one.number for one in jobs.events(1, 1, 2)] == [2, 3] and jobs.events(1, 4) == ()
