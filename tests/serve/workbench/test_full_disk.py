"""A disk that is really full, while people annotate and while a job teaches: a sentence, and nothing is lost."""

import asyncio

import pytest
from serving import client_of, soon
from small_disk import small_disk

from retainer.data.generated import generate
from retainer.data.tasks import hide
from retainer.serve.workbench import job_runner
from retainer.workbench.exchange import ImportableData, import_data
from retainer.workbench.project import Project

FULL = "the disk is full; nothing was changed, make room and try again"
CITIES = hide(generate(60, seed=5, types=["artist", "city"]), ["city"])


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path / "disk", 8) as made:
        yield made


def written(bench, text, revision):
    """Change a text; return the answer."""
    annotation = {"entities": [], "decided": revision % 2 == 0, "complete": []}
    body = {"id": text, "revision": revision, "annotation": annotation, "who": "ann"}
    return bench.respond("POST", "/v1/project/annotate", **body)


def test_in_the_middle_of_annotating(disk, empty_bench):
    with empty_bench.over(disk.folder / "project") as bench:
        bench.post("/texts", texts=["play songs by boston"])
        disk.fill(leave=100_000)
        confirmed = 0
        while (answer := written(bench, 1, confirmed)).status_code == 200 and confirmed < 2000:
            confirmed += 1
        assert 0 < confirmed < 2000 and answer.status_code == 422 and FULL in answer.json()["error"]["message"]
        assert bench.get("/texts/1")["revision"] == confirmed, "what was shown as saved is there, and can be looked at"
        assert FULL in bench.post("/texts", 422, texts=["x" * 40_000])["error"]["message"]
        disk.make_room()
        assert written(bench, 1, confirmed).json()["revision"] == confirmed + 1
    with Project.open(disk.folder / "project") as project:
        assert project.annotations.get(1).revision == confirmed + 1 and project.texts.count() == 1


@pytest.mark.long
def test_in_the_middle_of_teaching(disk, full_bench, pair, monkeypatch):
    monkeypatch.setattr(job_runner, "RECORD_SECONDS", 0.2)
    with full_bench.over(disk.folder / "project", **pair) as bench:
        import_data(bench.project, ImportableData.of(CITIES))
        jobs, decided = bench.project.jobs, bench.project.texts.count(decided=True)
        first = bench.post("/teach", epochs=1000, who="ann")["job"]["id"]

        async def run():
            runner = asyncio.ensure_future(bench.served.runner.run())
            try:
                async with client_of(bench.app) as client:
                    await soon(lambda: jobs.latest(first, "epoch") is not None, 60)
                    disk.fill()
                    await soon(lambda: bench.served.runner._process is None, 60)
                    disk.make_room()
                    await soon(lambda: jobs.get(first).state == "failed", 60)
                    second = (await client.post("/v1/project/teach", json={"epochs": 1, "who": "ann"})).json()["job"]
                    await soon(lambda: jobs.get(second["id"]).state in ("failed", "done"), 60)
                    return jobs.get(second["id"])
            finally:
                runner.cancel()
                await asyncio.gather(runner, return_exceptions=True)

        second, failed = asyncio.run(run()), jobs.get(first)
        said = failed.message.lower()
        assert ("full" in said or "no space" in said) and "\n" not in said, failed
        assert second.state == "done" and bench.project.texts.count(decided=True) == decided, second
        names = {one.name for one in bench.project.versions.all()}
        assert {path.name for path in (bench.project.folder / "versions").iterdir()} <= names
        assert jobs.running() is None
