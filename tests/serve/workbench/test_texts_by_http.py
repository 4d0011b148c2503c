"""Looking and correcting over HTTP: texts, annotations, conflicts, undo, types."""

import asyncio

import pytest
from serving import client_of

from retainer.data.generated import generate

TEXT = "play songs by boston on the drive to paris"
TEXTS = [" ".join(sentence.words) for sentence in generate(40, seed=21, types=["artist", "city"])]
PARIS = {"start": 37, "end": 42, "type": "city"}


def said(*entities, decided=True, complete=()):
    return {"entities": list(entities), "decided": decided, "complete": list(complete)}


@pytest.fixture
def one(empty):
    """A workbench with a text and a type."""
    empty.post("/texts", texts=[TEXT], source="notes.txt")
    empty.post("/types", action="add", name="city", who="ann")
    return empty


def test_a_project_says_what_it_holds(bench):
    bench.post("/texts", texts=TEXTS)
    found = bench.get("")
    assert found["folder"] == "project" and found["texts"]["all"] == len(set(TEXTS)) and found["texts"]["decided"] == 0
    assert [one["name"] for one in found["types"]] == ["artist", "city"], "what the versions know"
    assert found["in_use"] == "v1" and [one["in_use"] for one in found["versions"]] == [True, False]
    assert found["job"] is None and found["queue"] == found["change"] == 0


def test_texts_are_added_once(empty):
    assert empty.post("/texts", texts=["a b", "a b", "c"]) == {"new": 2, "known": 1, "ids": [1, 1, 2]}
    assert empty.refused("/texts", "text 2 has no word", texts=["x", " "]) == "refused"
    assert empty.refused("/texts", "text 1 has 50001", texts=["x" * 50_001]) == "text_too_long"
    assert empty.refused("/texts", "a request may hold 256", texts=["x"] * 257) == "too_many_texts"
    assert empty.refused("/texts", "half a character", texts=["\ud800"]) == "invalid_text"
    assert empty.get("")["texts"]["all"] == 2, "nothing of what was refused"


def test_an_item_has_all_that_is_known(one):
    item = one.get("/texts/1")
    assert (item["text"], item["source"], item["revision"], item["who"]) == (TEXT, "notes.txt", 0, None)
    assert item["words"][-1] == [37, 42] and item["found"] == [] and item["why"] is None
    after = one.post("/annotate", id=1, revision=0, annotation=said(PARIS, complete=["city"]), who="ann")
    assert after["revision"] == 1 and after["who"] == "ann" and after["annotation"] == said(PARIS, complete=["city"])
    assert one.get("")["types"] == [{"name": "city", "colour": 0, "entities": 1, "complete": 1}]
    [change] = one.get("/texts/1/history")["changes"]
    assert change["before"] == said(decided=False) and change["after"] == after["annotation"]
    assert one.get("/changes?after=0") == {
        "changes": [{"id": 1, "text": 1, "who": "ann", "when": change["when"], "kind": "write", "revision": 1}],
        "last": 1,
    }
    assert one.get("/changes?after=1") == {"changes": [], "last": 1}


def test_the_later_of_two_sees_the_earlier_and_decides(one):
    one.post("/annotate", id=1, revision=0, annotation=said(PARIS), who="ann")
    answer = one.post("/annotate", 409, id=1, revision=0, annotation=said(), who="bob")
    assert answer["error"]["code"] == "conflict" and "ann changed text 1 meanwhile" in answer["error"]["message"]
    assert answer["current"]["annotation"] == said(PARIS) and answer["current"]["revision"] == 1
    one.post("/annotate", id=1, revision=1, annotation=said(), who="bob")
    answer = one.post("/undo", 409, who="ann")
    assert answer["change"] == 1 and answer["current"]["who"] == "bob"
    assert one.post("/undo", who="ann", before=answer["change"]) == {"item": None}


def test_a_text_is_removed(one):
    one.post("/annotate", id=1, revision=0, annotation=said(PARIS), who="ann")
    assert one.post("/remove", ids=[1], who="bob") == {"ids": [1], "jobs": [], "versions": []}
    assert one.respond("GET", "/v1/project/texts/1/history").status_code == 422
    assert one.get("")["types"][0]["entities"] == 0 and one.post("/undo", who="ann") == {"item": None}
    one.refused("/remove", "there is no text 2", ids=[2], who="bob")
    assert one.refused("/remove", "ids", ids=[], who="bob") == "invalid_request"


def test_undo_and_redo(one):
    one.post("/annotate", id=1, revision=0, annotation=said(PARIS), who="ann")
    assert one.post("/undo", who="ann")["item"]["annotation"] == said(decided=False)
    assert one.post("/redo", who="ann")["item"]["annotation"] == said(PARIS)
    assert one.post("/redo", who="ann") == {"item": None}


@pytest.mark.parametrize(
    ("entity", "says"),
    [
        ({"start": 37, "end": 43, "type": "city"}, ""),
        ({"start": 37, "end": 37, "type": "city"}, ""),
        ({"start": 37, "end": 42, "type": "town"}, "there is no type 'town'"),
    ],
)
def test_what_cannot_be_marked_is_refused(one, entity, says):
    one.refused("/annotate", says, id=1, revision=0, annotation=said(entity), who="ann")
    overlapping = said(PARIS, {**PARIS, "start": 33})
    one.refused("/annotate", "overlap", id=1, revision=0, annotation=overlapping, who="ann")
    assert one.get("")["change"] == 0


def test_types_are_added_renamed_and_coloured(one):
    one.post("/annotate", id=1, revision=0, annotation=said(PARIS), who="ann")
    [town] = one.post("/types", action="rename", name="city", new_name="town", who="ann")["types"]
    assert town["name"] == "town" and town["entities"] == 1
    assert one.post("/types", action="recolour", name="town", colour=7, who="ann")["types"][0]["colour"] == 7
    one.refused("/types", "is called 'town' now: ann renamed it", action="rename", name="city", new_name="x", who="bob")
    one.refused("/types", "give one", action="rename", name="town", who="ann")
    one.refused("/types", "give one", action="recolour", name="town", who="ann")
    assert one.refused("/types", "who", action="add", name="x", who=" ") == "invalid_request"


def test_types_are_merged_and_removed(one):
    one.post("/annotate", id=1, revision=0, annotation=said(PARIS), who="ann")
    one.refused("/types", "there is 'city' already", action="add", name="City", who="ann")
    one.post("/types", action="add", name="City", who="ann", confirmed=True)
    one.refused("/types", "name it as into", action="merge", name="city", who="ann")
    [only] = one.post("/types", action="merge", name="city", into="City", who="bob")["types"]
    assert (only["name"], only["entities"]) == ("City", 1)
    assert one.get("/texts/1/history")["changes"][-1]["who"] == "bob"
    one.refused("/types", "1 text has entities of 'City'", action="remove", name="City", who="ann")
    one.post("/undo", who="bob")
    assert [type_["name"] for type_ in one.get("")["types"]] == ["city", "City"], "undo brings it back"
    [only] = one.post("/types", action="remove", name="City", who="ann")["types"]
    assert only["name"] == "city"


def test_pages_search_and_decisions(empty):
    empty.post("/texts", texts=[f"text number {at}" for at in range(1, 31)])
    page = empty.get("/texts?limit=10&after=10")
    assert [one["id"] for one in page["items"]] == list(range(11, 21)) and page["more"] and page["count"] == 30
    assert [one["text"] for one in empty.get("/texts?search=number%203")["items"]] == [
        "text number 3",
        "text number 30",
    ]
    empty.post("/annotate", id=5, revision=0, annotation=said(), who="ann")
    assert [one["id"] for one in empty.get("/texts?decided=true")["items"]] == [5]
    assert empty.get("/texts?decided=false")["count"] == 29
    assert (
        empty.respond("GET", "/v1/project/texts/99").json()["error"]["message"] == "there is no text 99 in this project"
    )


def test_decided_texts_that_are_not_complete_for_a_type_are_found(empty):
    empty.post("/texts", texts=[f"text number {at}" for at in range(1, 6)])
    for name in ("city", "dish"):
        empty.post("/types", action="add", name=name, who="ann")
    for text, complete in ((1, ["city"]), (2, []), (3, ["city", "dish"])):
        empty.post("/annotate", id=text, revision=0, annotation={**said(), "complete": complete}, who="ann")
    empty.post("/annotate", id=4, revision=0, annotation=said(decided=False), who="ann")
    found = empty.get("/texts?incomplete=dish")
    assert [one["id"] for one in found["items"]] == [1, 2] and found["count"] == 2
    assert [one["id"] for one in empty.get("/texts?incomplete=city")["items"]] == [2]
    assert [one["id"] for one in empty.get("/texts?incomplete=dish&search=number%201")["items"]] == [1]
    assert "there is no type 'town'" in empty.respond("GET", "/v1/project/texts?incomplete=town").text
    assert empty.post("/check")["incomplete"] == {"city": 1, "dish": 2}


def test_a_page_begins_anywhere(empty):
    empty.post("/texts", texts=[f"text {at} {'even' if at % 2 == 0 else 'odd'}" for at in range(10)])
    ids = lambda query: [one["id"] for one in empty.get(f"/texts?{query}")["items"]]  # noqa: E731
    assert ids("at=7") == [8, 9, 10] and ids("at=3&search=odd") == [8, 10] and ids("at=10") == []
    assert ids("at=2&limit=2&decided=false") == [3, 4]


class TestNext:
    def test_what_differs_comes_first_and_says_why(self, bench):
        bench.post("/texts", texts=TEXTS)
        assert bench.project.versions.get("v2").parent is None
        items = bench.get("/next?limit=20")["items"]
        assert all(one["why"].endswith(".") for one in items) and any(one["found"] for one in items)
        first = items[0]
        bench.post("/annotate", id=first["id"], revision=0, annotation=said(), who="ann")
        again = [one["id"] for one in bench.get(f"/next?limit=20&skip={items[1]['id']}")["items"]]
        assert first["id"] not in again and items[1]["id"] not in again and items[2]["id"] in again

    def test_what_is_found_has_the_names_of_now(self, bench):
        bench.post("/texts", texts=TEXTS)
        bench.post("/types", action="rename", name="artist", new_name="musician", who="ann")
        found = {one["type"] for item in bench.get("/next?limit=20")["items"] for one in item["found"]}
        assert found == {"musician"}

    def test_predictions_are_not_made_twice(self, bench, monkeypatch):
        bench.post("/texts", texts=TEXTS)
        asked = []
        batches = bench.registry.get("v1").batches
        monkeypatch.setattr(batches, "submit", lambda texts, ask=batches.submit: asked.extend(texts) or ask(texts))

        async def run():
            async with client_of(bench.app) as client:
                await client.get("/v1/project/next")
                await bench.served.looking_ahead
                assert sorted(asked) == sorted(set(TEXTS)), "all are looked at before anybody asks"
                await client.get("/v1/project/next")

        asyncio.run(run())
        assert len(asked) == len(set(TEXTS))
