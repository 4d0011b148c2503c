"""The server answers what the versions say: predict, compare, versions, docs."""

import asyncio
import dataclasses
import json
import random
import re
from html.parser import HTMLParser

import pytest
from serving import samples, serving

from retainer.comparison.compare import compare
from retainer.data.generated import generate
from retainer.serve.settings import Limits, Settings
from retainer.versions.version import load

TEXTS = [" ".join(sentence.words) for sentence in generate(40, seed=21, types=["artist", "city"])]
ODD = [
    "",
    " ",
    "\x00",
    "play \x00 boston",
    "a\u202eb\u2066c",
    "\U0001f600 boston \U0001f600",
    "<script>alert(1)</script>",
    "Zu\u0308rich",
    "x" * 3000,
    "play " * 500,
]


@pytest.fixture(scope="module")
def versions(pair):
    return {name: load(place, device="cpu") for name, place in pair.items()}


@pytest.fixture
def predict(applications):
    """Ask for the entities of texts."""
    return lambda **request: applications.ask("POST", "/v1/predict", json=request)


@pytest.fixture
def compared(applications):
    """Ask for a comparison of two versions."""
    return lambda **request: applications.ask("POST", "/v1/compare", json=request)


def ask(paths, method, path, **options):
    """Send one request to a fresh application."""

    async def run():
        async with serving(paths) as (client, _):
            return await client.request(method, path, **options)

    return asyncio.run(run())


def same(found, wanted):
    """Whether entities are the same; scores may differ in rounding, by the batch a text was in."""
    assert [[{**one, "score": None} for one in text] for text in found] == [
        [{**one, "score": None} for one in text] for text in wanted
    ]
    for ours, theirs in zip(found, wanted, strict=True):
        assert [one["score"] for one in ours] == pytest.approx([one["score"] for one in theirs], abs=1e-5)
    return True


class TestPredict:
    def test_one_text_and_many_are_answered_like_predict_does(self, predict, versions):
        for texts in (TEXTS[0], TEXTS, ODD, []):
            answer = predict(texts=texts, version="v2").json()
            wanted = versions["v2"].predict([texts] if isinstance(texts, str) else texts)
            assert same([one["entities"] for one in answer["results"]], wanted)
            assert answer["version"] == {"name": "v2", "hash": versions["v2"].lineage.own_hash}
        assert any(versions["v2"].predict(TEXTS)), "there is something to find"

    def test_many_clients_at_once_get_their_own_answers(self, pair, versions):
        """Whichever texts are computed together: every text has the entities it has alone."""
        alone = {text: versions["v2"].predict(text) for text in [*TEXTS, *ODD]}

        async def run():
            async with serving(pair) as (client, _):

                async def one(number):
                    texts = random.Random(number).sample([*TEXTS, *ODD], k=1 + number % 7)
                    answer = await client.post("/v1/predict", json={"texts": texts, "version": "v2"})
                    return same([one["entities"] for one in answer.json()["results"]], [alone[text] for text in texts])

                return await asyncio.gather(*(one(number) for number in range(60)))

        assert all(asyncio.run(run()))

    def test_the_first_version_is_the_default(self, predict):
        assert predict(texts=TEXTS[0]).json()["version"]["name"] == "v1"

    def test_types_and_thresholds(self, predict, versions):
        found = versions["v2"].predict(TEXTS)
        scores = sorted(one["score"] for text in found for one in text)
        middle = scores[len(scores) // 2] + 1e-4

        def entities(**options):
            response = predict(texts=TEXTS, version="v2", **options)
            return [one["entities"] for one in response.json()["results"]]

        assert same(entities(threshold=middle), [[e for e in one if e["score"] >= middle] for one in found])
        by_type = {"city": middle, "all": 1.0}
        assert same(
            entities(threshold=by_type),
            [[e for e in one if e["score"] >= by_type.get(e["entity_group"], 1)] for one in found],
        )
        assert same(entities(types=["city"]), [[e for e in one if e["entity_group"] == "city"] for one in found])
        assert {e["entity_group"] for one in entities(types=["artist"]) for e in one} == {"artist"}

    def test_calibrated_scores(self, tmp_path, pair):
        version = load(pair["v2"], device="cpu")
        curve = {"city": {"slope": 0.5, "shift": -1.0, "entities": 30.0}}
        version.lineage = dataclasses.replace(version.lineage, calibration=curve)
        version.save(tmp_path / "v3")
        request = {"texts": TEXTS, "calibrated": True}
        answer = ask({"v3": tmp_path / "v3"}, "POST", "/v1/predict", json=request).json()
        third = load(tmp_path / "v3", device="cpu")
        wanted = third.predict(TEXTS, calibrated=True)
        assert same([one["entities"] for one in answer["results"]], wanted) and wanted != third.predict(TEXTS)

    def test_scores_of_a_version_without_calibration_are_not_made_up(self, predict):
        response = predict(texts="a", calibrated=True)
        assert response.status_code == 422 and response.json()["error"]["code"] == "not_calibrated"

    @pytest.mark.parametrize(
        ("request_", "code", "says"),
        [
            ({"texts": "a", "version": "v9"}, "unknown_version", "there are v1, v2"),
            ({"texts": "a", "version": "V2x"}, "unknown_version", "did you mean 'v2'"),
            ({"texts": "a", "types": ["artis"]}, "unknown_type", "did you mean 'artist'"),
            ({"texts": "a", "threshold": {"town": 0.5}}, "unknown_type", "'town'"),
            ({"texts": "a", "threshold": 1.5}, "invalid_request", "threshold: Input should be less than or equal to 1"),
            ({"texts": "a", "treshold": 0.5}, "invalid_request", "treshold: Extra inputs are not permitted"),
            (
                {"texts": 5},
                "invalid_request",
                "texts: Input should be a valid string; or texts: Input should be a valid list",
            ),
            ({"texts": ["a", None]}, "invalid_request", "texts[1]: Input should be a valid string"),
            ({"texts": "a", "types": []}, "invalid_request", "types"),
            ({"texts": "a", "calibrated": "yes"}, "invalid_request", "calibrated"),
            ({}, "invalid_request", "texts: Field required"),
            ([], "invalid_request", "the body"),
            ("text", "invalid_request", "the body"),
        ],
    )
    def test_an_error_says_in_a_sentence_what_is_wrong(self, applications, request_, code, says):
        response = applications.ask("POST", "/v1/predict", json=request_)
        assert response.status_code == 422
        error = response.json()["error"]
        assert error["code"] == code and says in error["message"] and "\n" not in error["message"]


class TestCompare:
    def test_it_says_what_compare_says(self, compared, versions):
        answer = compared(texts=TEXTS, old="v1", new="v2").json()
        wanted = compare(versions["v1"], versions["v2"], TEXTS)
        assert answer["changes"] == dict(wanted.kinds) and sum(answer["changes"].values())
        assert answer["agreement"] == json.loads(json.dumps(wanted.as_dict()["agreement"]))
        assert answer["types"] == {"old": ["artist"], "gained": ["city"], "dropped": []}
        assert [answer[side]["name"] for side in ("old", "new")] == ["v1", "v2"]
        cases = {case.number: case.as_dict() for case in wanted.cases}
        for number, result in enumerate(answer["results"], 1):
            found = [(one["kind"], place(one["old"]), place(one["new"])) for one in result["changes"]]
            shown = cases.get(number, {"changes": []})["changes"]
            assert found == [(one["kind"], place(one["old"], "type"), place(one["new"], "type")) for one in shown]
        assert len(answer["results"]) == len(TEXTS)

    def test_entities_of_both_sides_have_their_scores(self, compared, versions):
        answer = compared(texts=TEXTS, old="v1", new="v2").json()
        for name, side in (("v1", "old"), ("v2", "new")):
            found = [[one[side] for one in result["changes"] if one[side]] for result in answer["results"]]
            assert same([sorted(one, key=lambda e: e["start"]) for one in found], versions[name].predict(TEXTS))

    def test_a_version_and_itself_agree(self, compared):
        answer = compared(texts=TEXTS, old="v2", new="v2").json()
        assert set(kind for kind, count in answer["changes"].items() if count) == {"kept"}
        assert answer["agreement"]["all"]["agreement"] == 100

    def test_both_must_be_served(self, compared):
        response = compared(texts="a", old="v0", new="v2")
        assert response.status_code == 422 and response.json()["error"]["code"] == "unknown_version"


def place(entity, type_="entity_group"):
    return entity and (entity["start"], entity["end"], entity[type_], entity["word"])


class TestVersions:
    def test_lineage_types_scores_and_card(self, pair, applications, versions):
        infos = applications.ask("GET", "/v1/versions").json()["versions"]
        assert [one["name"] for one in infos] == ["v1", "v2"] and [one["default"] for one in infos] == [True, False]
        second = infos[1]
        assert second["types"] == ["artist", "city"] and second["new_types"] == ["city"]
        assert [step["served_as"] for step in second["lineage"]] == ["v2", "v1"], "newest first"
        assert [step["hash"] for step in second["lineage"]] == [
            versions[name].lineage.own_hash for name in ("v2", "v1")
        ]
        assert [step["what"] for step in second["lineage"]] == ["learned city", "learned artist"]
        assert second["scores"]["city"]["learned_in"] == 2 and second["scores"]["city"]["now"]["support"] > 0
        assert second["card"] == (pair["v2"] / "README.md").read_text() and second["reload_failed"] is None

    def test_no_path_of_the_machine_is_revealed(self, pair, applications):
        for path in ("/v1/versions", "/readyz", "/metrics", "/openapi.json", "/docs"):
            assert str(pair["v1"].parent) not in applications.ask("GET", path).text

    def test_a_foreign_checkpoint_has_no_history(self, checkpoint):
        [info] = ask({"foreign": checkpoint("O", "B-x", "I-x")}, "GET", "/v1/versions").json()["versions"]
        assert info["types"] == ["x"] and info["lineage"] == [] and info["scores"] == {} and info["card"] == ""
        assert re.fullmatch("[0-9a-f]{64}", info["hash"])

    def test_names_of_types_cannot_become_markup_or_break_the_metrics(self, checkpoint):
        nasty = '<img src=x onerror=alert(1)>"\\\n}'
        folder = checkpoint("O", f"B-{nasty}", f"I-{nasty}")

        async def run():
            async with serving({"<b>v</b>": folder}) as (client, _):
                await client.post("/v1/predict", json={"texts": TEXTS})
                return [await client.get(path) for path in ("/v1/versions", "/metrics", "/docs", "/readyz")]

        infos, metrics, docs, ready = asyncio.run(run())
        assert infos.json()["versions"][0]["types"] == [nasty] and infos.headers["content-type"] == "application/json"
        found = {
            dict(labels).get("type") for (name, labels) in samples(metrics.text) if name == "retainer_entities_total"
        }
        assert found == {nasty}
        assert "<img" not in docs.text and "<b>v" not in docs.text
        assert ready.json()["versions"][0]["name"] == "<b>v</b>"

    def test_nor_write_lines_of_their_own_into_the_log(self, checkpoint, tmp_path):
        nasty = "x\x1b[2Jy\nretainer: all is well"
        link = tmp_path / "current"
        link.symlink_to(checkpoint("O", "B-x"))

        async def run():
            async with serving({"v\n": link}) as (_, registry):
                link.unlink()
                link.symlink_to(checkpoint("O", f"B-{nasty}"))
                return await registry.reload(), registry.lines

        outcomes, lines = asyncio.run(run())
        assert list(outcomes.values()) == ["swapped"] and len(lines) == 1
        assert lines[0].isprintable() and "x [2Jy retainer: all is well" in lines[0]


class Tags(HTMLParser):
    """Collects what a page loads and runs."""

    def __init__(self):
        super().__init__()
        self.tags, self.links = set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]
        assert not [name for name, _ in attrs if name.startswith("on") or name == "style"]


class TestDocs:
    def test_the_page_lists_every_operation_and_loads_nothing_from_elsewhere(self, applications):
        page = applications.ask("GET", "/docs")
        document = applications.ask("GET", "/openapi.json").json()
        assert set(document["paths"]) == {
            "/v1/predict", "/v1/compare", "/v1/versions", "/v1/reload", "/healthz", "/readyz", "/metrics",
        }  # fmt: skip
        for path in document["paths"]:
            assert path in page.text
        seen = Tags()
        seen.feed(page.text)
        assert not seen.tags & {"script", "style", "iframe", "img", "object", "form"}
        assert all(link.startswith("#") or link in ("docs.css", "openapi.json") for link in seen.links)
        style = applications.ask("GET", "/docs.css")
        assert style.headers["content-type"] == "text/css; charset=utf-8" and "url(" not in style.text

    def test_the_limits_are_in_the_document(self, applications):
        settings = Settings(Limits(texts=3, characters=77), token="a" * 16)
        document = applications.ask("GET", "/openapi.json", settings).json()
        one, many = document["components"]["schemas"]["PredictRequest"]["properties"]["texts"]["anyOf"]
        assert (one["maxLength"], many["maxItems"], many["items"]["maxLength"]) == (77, 3, 77)
        assert document["paths"]["/v1/predict"]["post"]["security"] == [{"token": []}]
        assert "security" not in document["paths"]["/healthz"]["get"]
