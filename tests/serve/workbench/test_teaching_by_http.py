"""Teaching over HTTP: check, a job in a process of its own, its events, cancelling, and what outlives a server."""

import asyncio
import contextlib
import json
import os
import signal

import pytest
from serving import client_of, soon

from retainer.data.generated import generate
from retainer.data.tasks import hide
from retainer.serve.workbench import job_runner
from retainer.workbench.exchange import ImportableData, import_data
from retainer.workbench.job_lock import working_on

CITIES = hide(generate(60, seed=5, types=["artist", "city"]), ["city"])


@pytest.fixture
def taught(bench):
    import_data(bench.project, ImportableData.of(CITIES))
    return bench


@contextlib.asynccontextmanager
async def running(bench):
    """Run jobs beside requests, as the server does."""
    task = asyncio.ensure_future(bench.served.runner.run())
    try:
        async with client_of(bench.app) as client:
            yield client
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def stand_in(monkeypatch, tmp_path, code):
    """Let jobs run some code instead of teaching, which would load torch."""
    (tmp_path / "stand_in.py").write_text(f"import sys, time\nfolder, job = sys.argv[1], int(sys.argv[2])\n{code}\n")
    monkeypatch.setattr(job_runner, "MODULE", "stand_in")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_check_says_what_would_be_taught(taught):
    found = taught.post("/check")
    assert found["ready"] and found["why_not"] is None and set(found["train"]["entities"]) == {"city"}
    assert found["train"]["texts"] + found["held_back"] == len({" ".join(one.words) for one in CITIES})
    assert all(set(one) == {"kind", "message", "count", "advice", "places"} for one in found["findings"])
    assert taught.refused("/teach", "did you mean 'retain'", method="retian", who="ann") == "refused"


def test_where_there_is_nothing_to_teach_it_says_so(empty):
    nothing = empty.post("/check")
    assert not nothing["ready"] and "has a decision yet" in nothing["why_not"] and nothing["findings"] == []
    assert empty.refused("/teach", "has a decision yet", who="ann") == "refused"


def test_a_job_makes_a_version_in_a_process_of_its_own(taught):
    async def run():
        async with running(taught) as client:
            began = (await client.post("/v1/project/teach", json={"epochs": 2, "who": "ann"})).json()["job"]
            assert began["state"] == "queued" and began["progress"] is None
            stream = await client.get(f"/v1/project/jobs/{began['id']}/events?follow=true")
            assert stream.headers["content-type"].startswith("application/x-ndjson")
            await soon(lambda: taught.project.jobs.get(began["id"]).state != "running")
            return lines(stream.text)

    events = asyncio.run(run())
    assert [one["seq"] for one in events if "seq" in one] == list(range(1, len(events) + 1))
    kinds = [one["kind"] for one in events]
    assert kinds[0] == "start" and kinds[-1] == "done" and kinds.count("epoch") == 2, events
    [job] = taught.get("/jobs")["jobs"]
    assert (job["state"], job["version"], job["last_event"]) == ("done", "v3", len(events))
    assert job["progress"]["epoch"] == job["progress"]["epochs"] == 2 and job["progress"]["losses"]
    assert lines(taught.respond("GET", "/v1/project/jobs/1/events?after=2").text) == events[2:]
    made = taught.get("")["versions"][-1]
    assert (made["name"], made["parent"], made["types"]) == ("v3", "v1", ["artist", "city"]) and not made["in_use"]


def test_a_queue_of_which_one_runs_and_any_can_be_cancelled(taught, monkeypatch, tmp_path):
    stand_in(monkeypatch, tmp_path, "time.sleep(60)")
    first, second = (taught.post("/teach", who="ann")["job"]["id"] for _ in range(2))

    async def run():
        async with running(taught) as client:
            await soon(lambda: taught.served.runner._process is not None)
            facts = (await client.get("/v1/project")).json()
            assert facts["job"]["id"] == first and facts["job"]["state"] == "running" and facts["queue"] == 1
            gone = (await client.post(f"/v1/project/jobs/{second}/cancel", json={"who": "bob"})).json()["job"]
            assert gone["state"] == "cancelled"
            await client.post(f"/v1/project/jobs/{first}/cancel", json={"who": "bob"})
            stream = await client.get(f"/v1/project/jobs/{first}/events?follow=true")
            assert [one["kind"] for one in lines(stream.text)] == ["note", "cancelled"]

    asyncio.run(run())
    assert [job["state"] for job in taught.get("/jobs")["jobs"]] == ["cancelled", "cancelled"]
    assert taught.refused(f"/jobs/{first}/cancel", "is cancelled", who="ann") == "refused"
    assert taught.refused("/jobs/99/cancel", "there is no job 99", who="ann") == "refused"


def test_a_process_that_dies_is_tried_again_once(taught, monkeypatch, tmp_path):
    stand_in(monkeypatch, tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    job = taught.post("/teach", who="ann")["job"]["id"]

    async def run():
        async with running(taught):
            await soon(lambda: taught.project.jobs.get(job).state == "failed")

    asyncio.run(run())
    [failed] = taught.get("/jobs")["jobs"]
    assert "was ended twice (status -9)" in failed["message"] and failed["version"] is None


def test_a_job_that_cannot_be_begun_does_not_stop_those_behind_it(taught, monkeypatch, tmp_path):
    stand_in(monkeypatch, tmp_path, "")
    first, second = (taught.post("/teach", who="ann")["job"]["id"] for _ in range(2))
    taught.project.job_folder(first).parent.mkdir()
    taught.project.job_folder(first).write_text("a file is in the way")

    async def run():
        async with running(taught):
            await soon(lambda: taught.project.jobs.get(second).state == "failed")

    asyncio.run(run())
    assert "cannot be run: [Errno 17]" in taught.project.jobs.get(first).message


def test_a_server_that_stops_leaves_the_job_to_the_next(taught, monkeypatch, tmp_path):
    stand_in(monkeypatch, tmp_path, "time.sleep(60)")
    job = taught.post("/teach", who="ann")["job"]["id"]

    async def stop():
        async with running(taught):
            await soon(lambda: taught.served.runner._process is not None)

    asyncio.run(stop())
    assert taught.project.jobs.get(job).state == "running"
    stand_in(monkeypatch, tmp_path, "")

    async def go_on():
        async with running(taught):
            await soon(lambda: taught.project.jobs.get(job).state == "failed")

    asyncio.run(go_on())
    notes = [one.event.get("message") for one in taught.project.jobs.events(job)]
    assert notes[0] == "going on after an interruption"


def test_a_process_that_outlived_its_server_is_waited_for(taught, monkeypatch):
    job = taught.post("/teach", who="ann")["job"]["id"]
    taught.project.jobs.start_next(os.getpid())
    signalled = []
    monkeypatch.setattr(job_runner.os, "kill", lambda *arguments: signalled.append(arguments))

    async def run():
        async with running(taught) as client:
            with working_on(taught.project.job_folder(job)):
                await asyncio.sleep(0.05)
                assert taught.project.jobs.get(job).state == "running"
                await client.post(f"/v1/project/jobs/{job}/cancel", json={"who": "ann"})
                await soon(lambda: signalled)
            await soon(lambda: taught.project.jobs.get(job).state == "cancelled")

    asyncio.run(run())
    assert signalled[0] == (os.getpid(), signal.SIGTERM)


def test_a_server_that_stops_does_not_wait_for_who_follows(taught):
    job = taught.post("/teach", who="ann")["job"]["id"]

    async def run():
        async with client_of(taught.app) as client:
            stream = asyncio.ensure_future(client.get(f"/v1/project/jobs/{job}/events?follow=true"))
            await soon(lambda: taught.served.followers == 1)
            taught.registry.draining = True
            return await stream

    try:
        assert asyncio.run(run()).text == "" and taught.served.followers == 0
    finally:
        taught.registry.draining = False


def test_findings_name_texts_of_the_project(taught):
    """A text with a decision is the n-th sentence of a job, and that number says nothing to a person."""
    added = taught.post("/texts", texts=[f"go to oslo , {at}" for at in range(9)])["ids"]
    odd = next(id_ for id_ in reversed(added) if not taught.project.texts.get(id_).held_back)
    entity = {"start": 6, "end": 12, "type": "city"}
    said = {"entities": [entity], "decided": True, "complete": ["city"]}
    taught.post("/annotate", id=odd, revision=0, annotation=said, who="ann")
    findings = taught.post("/check")["findings"]
    [places] = [one["places"] for one in findings if "punctuation mark" in one["message"]]
    assert places == [{"texts": [odd], "more": 0, "quote": "oslo ,", "remark": ""}]
    known = {one.id for one in taught.project.texts.all() if not one.held_back}
    assert all(set(place["texts"]) <= known for one in findings for place in one["places"])
