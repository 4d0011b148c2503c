"""Comparing versions over HTTP, putting one into use without a lost request, and going back."""

import asyncio

import pytest
from serving import client_of

from retainer.data.generated import generate
from retainer.errors import InputError
from retainer.serve.workbench.opening import served_project
from retainer.workbench.exchange import ImportableData, import_data
from retainer.workbench.project import Project

BOTH = generate(120, seed=31, types=["artist", "city"])


@pytest.fixture
def decided(bench):
    import_data(bench.project, ImportableData.of(BOTH))
    return bench


def test_a_comparison_says_yes_or_no_and_why(decided):
    found = decided.get("/compare?old=v1&new=v2")
    assert (found["old"], found["new"]) == ("v1", "v2")
    assert found["gold"]["texts"] == decided.get("")["texts"]["held_back"] > 10
    scores = {one["type"]: one for one in found["gold"]["types"]}
    assert set(scores) == {"artist", "city"} and scores["city"]["before"] is None and scores["artist"]["gold"] > 0
    assert all(0 < one["texts"] <= found["gold"]["texts"] for one in scores.values())
    verdict, begins = found["verdict"], {"yes": "Yes: ", "no": "No: ", "unknown": "Not enough evidence: "}
    assert verdict["use"] == (verdict["answer"] == "yes") and verdict["sentence"].startswith(begins[verdict["answer"]])
    kinds = {change["kind"] for one in found["sentences"] for change in one["changes"]}
    assert "gained" in kinds and found["texts"]["gained"] > 0 and found["texts"]["agreement"] > 0
    assert decided.get("/compare?old=v1&new=v2") == found and len(decided.served.comparisons) == 1
    assert decided.get("/compare?old=v1&new=v1")["texts"]["lost"] == 0
    assert "there is no version 'v9'" in decided.respond("GET", "/v1/project/compare?old=v1&new=v9").text


def test_a_first_version_is_scored_alone(decided):
    alone, beside = decided.get("/compare?new=v2"), decided.get("/compare?old=v1&new=v2")
    scores = lambda found: {one["type"]: one["after"] for one in found["gold"]["types"]}  # noqa: E731
    assert scores(alone) == scores(beside) and {one["before"] for one in alone["gold"]["types"]} == {None}
    assert alone["old"] == "" and alone["texts"]["lost"] == alone["texts"]["kept"] == 0 < alone["texts"]["gained"]
    assert "which is new, is found with F1" in alone["verdict"]["sentence"]


def test_without_a_decision_it_does_not_pretend(bench):
    bench.post("/texts", texts=["hello there"])
    verdict = bench.get("/compare?old=v1&new=v2")["verdict"]
    assert not verdict["use"] and "not known yet" in verdict["sentence"]


def test_use_and_back(bench):
    predicted = lambda: bench.respond("POST", "/v1/predict", texts="a").json()["version"]["name"]  # noqa: E731
    assert predicted() == "v1"
    assert bench.post("/use", version="v2", who="ann") == {"in_use": "v2"} and predicted() == "v2"
    assert bench.get("")["in_use"] == "v2"
    assert bench.post("/back", who="bob") == {"in_use": "v1"} and predicted() == "v1"
    uses = bench.get("/history")["uses"]
    assert [(one["version"], one["who"]) for one in uses] == [("v1", "bob"), ("v2", "ann"), ("v1", "start")]
    assert bench.refused("/back", "no version to go back to", who="ann") == "refused"
    assert bench.refused("/use", "there is no version 'v9'", version="v9", who="ann") == "refused"


def test_no_request_is_lost_while_versions_change(bench):
    async def run():
        async with client_of(bench.app) as client:

            async def ask():
                return await client.post("/v1/predict", json={"texts": "play songs by boston"})

            async def change():
                for version in ("v2", "v1") * 5:
                    await client.post("/v1/project/use", json={"version": version, "who": "ann"})

            return await asyncio.gather(change(), *(ask() for _ in range(100)))

    _, *answers = asyncio.run(run())
    assert {answer.status_code for answer in answers} == {200}


def test_few_versions_are_in_memory(bench, pair):
    for at in range(3, 8):
        bench.project.versions.add(f"v{at}", "hash", elsewhere=pair["v2"])
        bench.get(f"/compare?old=v1&new=v{at}")
    assert len(bench.registry.paths) <= 4 and {"v1", "v7"} <= set(bench.registry.paths)
    bench.post("/use", version="v2", who="ann")
    assert next(iter(bench.registry)).name == "v2"


class TestOpening:
    def served(self, folder, models=None, lines=None):
        log = [].append if lines is None else lines.append
        paths = {name: str(path) for name, path in (models or {}).items()}
        return served_project(str(folder), paths, log, device="cpu")

    def test_a_model_joins_once_and_is_in_use(self, folder, pair):
        for _ in range(2):
            with self.served(folder, {"mine": pair["v2"]}) as one:
                one.registry.close(seconds=5)
                [version] = one.project.versions.all()
                assert version.name == "mine" and version.types == ("artist", "city") and one.current == "mine"
                assert version.hash == one.registry.get().hash and one.project.types.names() == ("artist", "city")
        with pytest.raises(InputError, match="another version 'mine' already; give this one a name: NAME="):
            self.served(folder, {"mine": pair["v1"]}).__enter__()

    def test_a_second_server_is_refused(self, folder):
        with self.served(folder), pytest.raises(InputError, match="serves .* now; stop it first"):
            self.served(folder).__enter__()

    def test_a_version_that_is_gone_leaves_a_project_to_look_at(self, folder, tmp_path):
        with Project.open(folder, create=True) as project:
            project.versions.add("gone", "hash", elsewhere=tmp_path / "gone")
            project.versions.use("gone", "ann")
        lines = []
        with self.served(folder, lines=lines) as one:
            assert one.current is None and one.in_use() is None
        assert "gone is in use and cannot be loaded, so no version answers" in lines[-1]
