"""A new version takes over between two requests; a broken one does not."""

import asyncio
import os
import shutil

import pytest
from serving import loaded, samples, serving, soon, total

from retainer.errors import InputError
from retainer.serve import registry as registry_module
from retainer.serve.model_paths import folder_state, paths_by_name, public_path
from retainer.serve.settings import Settings
from retainer.versions.version import load

TOKEN = "a-token-of-some-length"
TEXT = "play songs by boston on the drive to paris"


@pytest.fixture
def current(pair, tmp_path):
    """A link to the first version, as in a deployment."""
    link = tmp_path / "current"
    link.symlink_to(pair["v1"])
    return link


def repoint(link, target):
    beside = link.with_name("beside")
    beside.symlink_to(target)
    os.replace(beside, link)


def hash_of(folder):
    return load(folder, device="cpu").lineage.own_hash


async def many_clients(client, answers, over, count=8):
    """Ask over and over from several sides until it is over, and collect the answers."""

    async def one():
        while not over.is_set():
            answers.append(await client.post("/v1/predict", json={"texts": [TEXT, "boston"]}))

    await asyncio.gather(*(one() for _ in range(count)))


def test_a_swap_under_load_loses_no_request(current, pair):
    async def run():
        async with serving({"current": current}) as (client, registry):
            old, over, answers = registry.get(), asyncio.Event(), []
            asking = asyncio.create_task(many_clients(client, answers, over))

            async def more_answers(count):
                enough = len(answers) + count
                await soon(lambda: len(answers) >= enough)

            for target in ("v2", "v1", "v2"):
                await more_answers(20)
                repoint(current, pair[target])
                assert await registry.reload() == {"current": "swapped"}
            await more_answers(40)
            over.set()
            await asking
            old.batches.join(10)
            return answers, old, samples((await client.get("/metrics")).text), registry.lines

    answers, old, metrics, lines = asyncio.run(run())
    assert {answer.status_code for answer in answers} == {200}
    bodies = [answer.json() for answer in answers]
    hashes = [body["version"]["hash"] for body in bodies]
    one, two = hash_of(pair["v1"]), hash_of(pair["v2"])
    assert set(hashes) == {one, two} and hashes[0] == one and hashes[-1] == two
    wanted = {hash_of(pair[name]): load(pair[name], device="cpu").predict([TEXT, "boston"]) for name in pair}
    for body in bodies:
        types = [[e["entity_group"] for e in result["entities"]] for result in body["results"]]
        assert types == [[e["entity_group"] for e in text] for text in wanted[body["version"]["hash"]]]
    assert not old.batches._thread.is_alive(), "the thread of the old version has ended"
    assert total(metrics, "retainer_reloads_total", outcome="swapped") == 3
    assert total(metrics, "retainer_batch_texts_sum") >= 2 * len(answers)
    assert total(metrics, "retainer_version_info", hash=two) == 1 and len(lines) == 3


@pytest.mark.parametrize("damage", ["weights", "missing", "labels", "empty"])
def test_a_broken_version_leaves_the_old_one_in_place_and_is_logged(current, pair, tmp_path, damage):
    broken = tmp_path / "broken"
    shutil.copytree(pair["v2"], broken)
    if damage == "weights":
        (broken / "model.safetensors").write_bytes((broken / "model.safetensors").read_bytes()[:-1000])
    elif damage == "missing":
        (broken / "config.json").unlink()
    elif damage == "labels":
        (broken / "retainer.json").write_text("{")
    else:
        shutil.rmtree(broken)

    async def run():
        async with serving({"current": current}) as (client, registry):
            repoint(current, broken)
            assert await registry.reload() == {"current": "failed"}
            answer = await client.post("/v1/predict", json={"texts": TEXT})
            stale = [await client.get(path) for path in ("/readyz", "/v1/versions", "/metrics")]
            lines = list(registry.lines)
            watched = await registry.reload(["current"])
            assert watched == {"current": "unchanged"}, "a watch does not retry what failed again and again"
            repoint(current, pair["v2"])
            assert await registry.reload() == {"current": "swapped"}
            return answer, stale, lines, [await client.get("/readyz"), await client.get("/metrics")]

    answer, (ready, versions, metrics), lines, (ready_again, metrics_again) = asyncio.run(run())
    assert answer.status_code == 200 and answer.json()["version"]["hash"] == hash_of(pair["v1"])
    assert ready.status_code == 200 and ready.json()["versions"][0]["state"] == "stale"
    assert versions.json()["versions"][0]["reload_failed"]
    assert total(samples(metrics.text), "retainer_version_stale") == 1
    assert total(samples(metrics.text), "retainer_reloads_total", outcome="failed") == 1
    assert "the old one is still served" in lines[0]
    assert ready_again.json()["versions"][0]["state"] == "ready"
    assert total(samples(metrics_again.text), "retainer_version_stale") == 0


def test_a_watched_folder_is_reloaded_by_itself_once_it_has_settled(pair, tmp_path):
    """The folder is replaced file by file, as cp does it: half of it is never loaded."""
    folder = tmp_path / "served"
    shutil.copytree(pair["v1"], folder)

    async def run():
        async with serving({"v": folder}) as (client, registry):
            watching = asyncio.create_task(registry.watch(0.1))
            for file in sorted(pair["v2"].iterdir()):
                shutil.copy(file, folder / file.name)
                await asyncio.sleep(0.06)
                assert (await client.post("/v1/predict", json={"texts": TEXT})).status_code == 200
            await soon(lambda: registry.get().hash == hash_of(pair["v2"]))
            watching.cancel()
            return samples((await client.get("/metrics")).text)

    assert total(asyncio.run(run()), "retainer_reloads_total", outcome="failed") == 0


def test_a_folder_that_is_written_on_while_it_loads_is_no_failure_of_a_watch(pair, tmp_path, monkeypatch):
    folder = tmp_path / "served"
    shutil.copytree(pair["v1"], folder)
    real = registry_module._copy_weights

    def meanwhile(version):
        shutil.copytree(pair["v2"], folder, dirs_exist_ok=True)
        monkeypatch.setattr(registry_module, "_copy_weights", real)

    async def run():
        (folder / "README.md").write_text("the first file of the new version")
        monkeypatch.setattr(registry_module, "_copy_weights", meanwhile)
        return [await registry.reload(["v"]), await registry.reload(["v"])], set(registry.failed)

    registry = loaded({"v": folder})
    try:
        outcomes, failed = asyncio.run(run())
    finally:
        registry.close()
    assert outcomes == [{"v": "unchanged"}, {"v": "swapped"}] and not failed
    assert registry.get().hash == hash_of(pair["v2"])


def test_loaded_weights_do_not_depend_on_their_file(pair, tmp_path):
    """Truncating a file that is mapped into memory would crash the process."""
    folder = tmp_path / "served"
    shutil.copytree(pair["v2"], folder)
    wanted = load(folder, device="cpu").predict(TEXT)

    async def run():
        async with serving({"v": folder}) as (client, _):
            with (folder / "model.safetensors").open("r+b") as file:
                file.truncate(100)
            return await client.post("/v1/predict", json={"texts": TEXT})

    found = asyncio.run(run()).json()["results"][0]["entities"]
    assert [e["word"] for e in found] == [e["word"] for e in wanted]
    assert [e["score"] for e in found] == pytest.approx([e["score"] for e in wanted], abs=1e-5)


def test_a_version_with_other_labels_is_not_served(pair, tmp_path):
    """Its hash would be the true one, and its answers would not."""
    folder = tmp_path / "served"
    shutil.copytree(pair["v2"], folder)
    text = (folder / "config.json").read_text()
    swapped = text.replace("-artist", "-x").replace("-city", "-artist").replace("-x", "-city")
    assert swapped != text
    (folder / "config.json").write_text(swapped)
    with pytest.raises(InputError, match=r"config\.json is truncated or was changed"):
        loaded({"v": folder})


def test_files_that_are_replaced_while_a_version_warms_up(current, pair, tmp_path, monkeypatch):
    folder = tmp_path / "served"
    shutil.copytree(pair["v1"], folder)
    real = registry_module._copy_weights

    def meanwhile(version):
        shutil.copy(pair["v2"] / "retainer.json", folder / "retainer.json")
        real(version)

    monkeypatch.setattr(registry_module, "_copy_weights", meanwhile)
    with pytest.raises(InputError, match="was changed while it was loaded"):
        loaded({"v": folder})


def test_a_card_that_is_a_link_is_not_served(pair, tmp_path):
    folder = tmp_path / "served"
    shutil.copytree(pair["v2"], folder)
    (tmp_path / "secret").write_text("private")
    (folder / "README.md").unlink()
    (folder / "README.md").symlink_to(tmp_path / "secret")
    registry = loaded({"v": folder, "whole": pair["v2"]})
    registry.close()
    assert registry.get("v").card == "" and "city" in registry.get("whole").card


class TestOnRequest:
    def ask(self, paths, settings, headers, change):
        async def run():
            async with serving(paths, settings) as (client, _):
                change()
                return await client.post("/v1/reload", headers=headers)

        return asyncio.run(run())

    def test_only_with_a_token(self, current):
        answer = self.ask({"current": current}, None, {}, lambda: None)
        assert answer.status_code == 403 and answer.json()["error"]["code"] == "reload_needs_token"

    def test_with_the_token_it_swaps(self, current, pair):
        right = {"Authorization": f"Bearer {TOKEN}"}
        paths = {"current": current, "v1": pair["v1"]}
        answer = self.ask(paths, Settings(token=TOKEN), right, lambda: repoint(current, pair["v2"]))
        assert answer.json() == {"versions": {"current": "swapped", "v1": "unchanged"}}

    def test_a_failure_is_reported_without_the_path(self, current, tmp_path):
        right = {"Authorization": f"Bearer {TOKEN}"}
        answer = self.ask({"current": current}, Settings(token=TOKEN), right, lambda: repoint(current, tmp_path / "no"))
        assert answer.status_code == 409 and answer.json()["error"]["code"] == "reload_failed"
        assert str(tmp_path) not in answer.text

    def test_what_failed_is_retried_on_request(self, current, tmp_path, pair):
        async def twice():
            repoint(current, tmp_path / "no")
            first, second = await registry.reload(), await registry.reload()
            watched = await registry.reload(["current"])
            repoint(current, pair["v2"])
            return first, second, watched, await registry.reload()

        registry = loaded({"current": current})
        try:
            outcomes = asyncio.run(twice())
        finally:
            registry.close()
        assert [one["current"] for one in outcomes] == ["failed", "failed", "unchanged", "swapped"]


class TestPaths:
    def test_names(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "a=b").mkdir()
        assert paths_by_name(["models/v1/", "old=models/v2", "org/name", "a=b"]) == {
            "v1": "models/v1/",
            "old": "models/v2",
            "name": "org/name",
            "a=b": "a=b",
        }
        assert paths_by_name(["."]) == {tmp_path.name: "."}

    def test_a_client_sees_the_folder_but_not_the_way_to_it(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        given = [
            "models/v2",
            "org/name",
            "/srv/secret/v2",
            "../elsewhere/v2",
            "~/secret/v2",
            ".",
            "/srv/v2/",
            "a/../v2",
        ]
        seen = ["models/v2", "org/name", "v2", "v2", "v2", tmp_path.name, "v2", "v2"]
        assert [public_path(path) for path in given] == seen

    @pytest.mark.parametrize("specs", [["x/v1", "y/v1"], ["=x"], ["x="], [" =x"]])
    def test_names_that_are_empty_or_not_unique(self, specs):
        with pytest.raises(InputError):
            paths_by_name(specs)

    def test_the_state_of_a_folder_changes_with_the_files_and_with_the_link(self, current, pair):
        before = folder_state(current)
        assert before == folder_state(current) != folder_state(pair["v2"])
        repoint(current, pair["v2"])
        assert folder_state(current) != before
        assert folder_state("no/such/folder") == ()

    def test_a_version_that_cannot_be_loaded_is_an_error_at_the_start(self, tmp_path, encoder):
        for path in (tmp_path / "nothing", encoder):
            with pytest.raises(InputError):
                loaded({"v": path})
