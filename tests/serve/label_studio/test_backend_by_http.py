"""What Label Studio 1.23 sent once is answered as its protocol says, and so is what it should not send."""

import base64

import pytest

from retainer.data.spans import Span
from retainer.serve.credentials import webhook_secret
from retainer.serve.settings import Limits, Settings
from retainer.workbench.annotation import Annotation
from retainer.workbench.label_studio import LabelStudioLinks

TOKEN = "a-token-of-some-length"
SECRET = webhook_secret(TOKEN)
PAULA = "ok when does Paula & the Machines go on tour"
OSLO = "\U0001f3b5 play songs by Ribbon Saints on the drive to oslo \U0001f697"
BOTH = ("artist", "city")


def region(start, end, label, **more):
    value = {"start": start, "end": end, "labels": [label], **more}
    return {"id": "r", "from_name": "label", "to_name": "text", "type": "labels", "value": value}


def annotation(*result, id=3, **more):
    return {"annotation": {"id": id, "task": 3, "result": list(result), "completed_by": 1, **more}}


class TestState:
    def test_health_setup_and_versions(self, announced, registry):
        assert announced.replay("health") == {"status": "UP", "model_class": "retainer"}
        answer = announced.replay("setup")
        assert answer["model_version"] == f"v1-{registry.get('v1').hash[:8]}" and len(answer["messages"]) == 1
        versions = announced.replay("versions")
        assert [one.partition("-")[0] for one in versions["versions"]] == ["v1", "v2"]
        assert versions["in_use"] == answer["model_version"]

    def test_an_access_token_is_kept_nowhere(self, announced):
        secret = "5ec4e7" * 6
        announced.replay("setup", access_token=secret, hostname="http://secret.example")
        with announced.project.database.reading() as connection:
            dump = "\n".join(connection.iterdump())
        assert secret not in dump and "secret.example" not in dump and not announced.lines

    @pytest.mark.parametrize("schema", ["<View/>", "<!DOCTYPE a [<!ENTITY b 'c'>]><View>&b;</View>", "no xml"])
    def test_a_config_that_cannot_be_used_announces_nothing(self, kept, schema):
        assert kept.refused("setup", 422, "label config", schema=schema) == "label_config"
        assert kept.refused("annotation_created", 403, "no /setup announced") == "unknown_project"


class TestPredict:
    def test_tasks_get_regions_with_scores(self, alone):
        answer = alone.replay("predict_interactive")
        [one] = answer["results"]
        assert one["result"]
        for entity in one["result"]:
            value = entity["value"]
            assert OSLO[value["start"] : value["end"]] == value["text"] and value["labels"][0] in ("City", "Artist")
            assert (entity["from_name"], entity["to_name"], entity["type"]) == ("label", "text", "labels")
        assert one["score"] == min(entity["score"] for entity in one["result"])
        assert one["model_version"].startswith("v1-")
        assert len(alone.replay("predict")["results"]) == 2

    def test_what_has_no_label_or_no_text_is_left_out_with_a_word(self, alone):
        config = '<View><Labels name="l" toName="t"><Label value="Date"/></Labels><Text name="t" value="$t"/></View>'
        tasks = [{"id": 1, "data": {"t": OSLO}}, {"id": 2, "data": {"x": 1}}, {"id": 3, "data": {"t": ["no"]}}]
        answer = alone.replay("predict", tasks=tasks, label_config=config)
        assert [one["result"] for one in answer["results"]] == [[], [], []]
        assert [one["score"] for one in answer["results"]] == [None] * 3
        assert answer["messages"][0] == "no text under 't': task 2, task 3"
        assert "left out, because no label of the config means the type" in answer["messages"][1]

    def test_without_a_config_the_announced_one_counts(self, alone):
        assert alone.refused("predict", 422, "no label_config", label_config=None) == "no_label_config"
        alone.replay("setup")
        assert alone.replay("predict", label_config=None) == alone.replay("predict")

    def test_the_limits_of_the_server_hold(self, registry, alone):
        alone.settings = Settings(Limits(texts=1), TOKEN, label_studio=True)
        alone.restart(registry)
        assert alone.refused("predict", 422, "a request may hold 1 texts") == "too_many_texts"

    def test_a_type_that_was_renamed_finds_its_label(self, announced):
        announced.project.types.rename("artist", "band", "ann")
        config = '<View><Labels name="l" toName="t"><Label value="Band"/></Labels><Text name="t" value="$text"/></View>'
        before = announced.replay("predict_interactive")["results"][0]["result"]
        after = announced.replay("predict_interactive", label_config=config)["results"][0]["result"]
        assert [one["value"]["text"] for one in before if one["value"]["labels"] == ["Artist"]] == []
        assert after and {one["value"]["labels"][0] for one in after} == {"Band"}


class TestAccess:
    @pytest.mark.parametrize("path", ["/health", "/setup", "/predict", "/versions"])
    def test_the_password_is_the_token(self, alone, path):
        method, body = ("GET", None) if path in ("/health", "/versions") else ("POST", {})
        for user in ("retainer", ""):
            assert alone.ask(method, path, body, auth=(user, TOKEN)).status_code in (200, 422)
        assert alone.ask(method, path, body, headers={"Authorization": f"Bearer {TOKEN}"}).status_code in (200, 422)
        wrong = ["", "Basic", "Basic !", "Basic " + base64.b64encode(TOKEN.encode()).decode(), f"Basic {TOKEN}"]
        wrong += ["Basic " + base64.b64encode(b"u:" + TOKEN.encode() + b"x").decode(), "Bearer wrong"]
        for shown in wrong:
            response = alone.ask(method, path, body, headers={"Authorization": shown})
            assert response.status_code == 401 and "Basic" in response.headers["www-authenticate"], shown

    def test_other_paths_take_no_password(self, alone):
        assert alone.ask("GET", "/v1/versions", auth=("retainer", TOKEN)).status_code == 401

    def test_a_webhook_needs_an_announced_project_or_a_secret(self, kept):
        assert kept.refused("annotation_created", 403, "no /setup announced") == "unknown_project"
        assert kept.refused("annotation_created", 403, "no /setup", path="/webhook?secret=wrong") == "unknown_project"
        assert not kept.project.texts.count()
        kept.replay("annotation_created", path=f"/webhook?secret={SECRET}")
        assert kept.said(PAULA)[0] == [("Paula & the Machines", "artist")]

    def test_another_project_of_the_same_number_is_another_one(self, announced):
        other = {"id": 2, "created_at": "2020-01-01T00:00:00Z"}
        assert announced.refused("annotation_created", 403, "no /setup", project=other) == "unknown_project"
        announced.replay("annotation_created", project={"id": 2})

    def test_a_project_is_known_after_a_restart(self, announced, registry):
        announced.restart(registry)
        announced.replay("annotation_created")

    def test_without_a_token_there_is_no_secret(self, registry, alone):
        alone.settings = Settings(label_studio=True)
        alone.restart(registry)
        assert alone.refused("annotation_created", 403, "no /setup", path="/webhook?secret=") == "unknown_project"


class TestAnnotations:
    def test_are_kept_changed_and_taken_back(self, announced):
        announced.replay("annotation_created")
        assert announced.said(PAULA) == ([("Paula & the Machines", "artist")], True, BOTH, "Label Studio user 1")
        announced.replay("annotation_updated")
        assert announced.said(PAULA) == ([], True, BOTH, "Label Studio user 1"), "no entity, and that is decided"
        announced.replay("annotations_deleted", annotations=[{"id": 3}])
        assert announced.said(PAULA)[:3] == ([], False, ())
        assert announced.project.texts.count() == 1 and len(announced.project.annotations.history(1)) == 3
        assert announced.project.texts.get(1).source == "Label Studio, project 2.1714557600, task 3"

    def test_offsets_count_characters_and_older_ones_utf16(self, announced):
        announced.replay("annotation_created_emoji")
        assert announced.said(OSLO)[0] == [("oslo", "city")]
        answer = announced.replay("annotation_with_relation")
        assert announced.said(OSLO)[0] == [("Ribbon Saints", "artist"), ("oslo", "city")]
        assert answer["messages"] == ["1 result ignored, because no entity is marked: 'relation'"]

    def test_of_two_people_the_last_counts_and_the_other_is_not_lost(self, announced):
        announced.replay("annotation_created_emoji")
        announced.replay("annotation_with_relation")
        announced.replay("annotations_deleted")
        assert announced.said(OSLO)[:2] == ([("oslo", "city")], True), "what the other one said"
        announced.replay("annotations_deleted", annotations=[{"id": 85}])
        assert announced.said(OSLO)[:2] == ([], False)

    def test_several_at_once(self, announced):
        assert announced.replay("annotations_created")["result"] == "1 annotation kept"
        said = [annotation(id=n, task=n)["annotation"] for n in range(1001, 1501)]
        said[250]["result"] = [region(0, 999, "City")]
        tasks = [{"id": n, "data": {"text": f"text {n}"}} for n in range(1001, 1501)]
        answer = announced.replay("annotations_created", annotation=said, task=tasks)
        assert answer["result"] == "499 annotations kept" and len(answer["messages"]) == 1
        assert answer["messages"][0].startswith("annotation 1251: result 1 (City, 0-999) lies outside")
        assert announced.project.texts.count(decided=True) == 500 and not announced.project.texts.count("text 1251")
        body = announced.replay("annotations_created", annotation=[], status=422)
        assert "no annotation with its task" in body["error"]["message"]

    def test_messages_have_an_end(self, announced):
        answer = announced.replay("annotations_deleted", annotations=[{"id": n} for n in range(900, 1000)])
        assert answer["result"] == "100 annotations deleted in Label Studio" and len(answer["messages"]) == 11
        assert answer["messages"][-1] == "and 90 more of the kind"

    def test_one_text_that_cannot_be_kept_keeps_no_other_out(self, announced):
        texts = ("a whole", " ", "x" * 50_001, None)
        answer = announced.replay("tasks_created", tasks=[{"data": {"text": text}} for text in texts])
        assert answer["result"] == "1 text added" and answer["messages"][0].startswith("3 tasks left out")

    def test_a_skipped_task_is_no_decision(self, announced):
        answer = announced.replay("annotation_skipped")
        assert answer["result"] == "0 annotations kept" and not announced.project.texts.count()
        announced.replay("annotation_created")
        announced.replay("annotation_updated", **annotation(was_cancelled=True))
        assert announced.said(PAULA)[:2] == ([], False)

    def test_a_text_that_changed(self, announced):
        announced.replay("annotation_created")
        says = "lies outside the text of the task; did the text change?"
        assert announced.refused("annotation_updated_other_text", 422, says) == "refused"
        assert announced.project.texts.count() == 1 and announced.said(PAULA)[1], "nothing is lost"
        answer = announced.replay("annotation_updated_other_text", **annotation(region(0, 7, "City")))
        assert "another text now" in answer["messages"][0]
        assert announced.said("another text now")[0] == [("another", "city")] and announced.said(PAULA)[1]

    @pytest.mark.parametrize(
        ("result", "says"),
        [
            ([region(3, 7, "City", text="what")], "shows other words"),
            ([region(3, 3, "City")], "lies outside"),
            ([region(3, 7, "City"), region(5, 12, "Artist")], "overlaps"),
            ([region("3", 7, "City")], "no start and end"),
            ([region(True, 7, "City")], "no start and end"),
            ([{**region(3, 7, "City"), "value": {"start": 3, "end": 7, "labels": ["City", "Artist"]}}], "one type"),
        ],
    )
    def test_what_cannot_be_kept_leaves_nothing_behind(self, announced, result, says):
        assert announced.refused("annotation_created", 422, says, **annotation(*result)) == "refused"
        assert not announced.project.texts.count() and not announced.project.annotations.last_change()

    def test_what_is_not_understood_is_left_out_with_a_word(self, announced):
        odd = [{"type": "choices"}, {"value": 7}, region(3, 7, "Date"), {**region(3, 7, "City"), "from_name": "x"}]
        answer = announced.replay("annotation_created", **annotation(*odd))
        assert answer["messages"] == [
            "3 results ignored, because no entity is marked: 'choices', 'without a type', 'labels'",
            "1 region left out, because the label is not in the config: 'Date'",
        ]
        answer = announced.replay("annotations_deleted", annotations=[{"id": 99}])
        assert answer["messages"] == ["annotation 99 was never kept"]

    def test_what_a_person_decided_here_stays(self, announced):
        announced.replay("annotation_created")
        said = Annotation((Span(0, 2, "city"),), True, BOTH)
        announced.project.annotations.write(1, said, seen=1, who="ann")
        assert announced.refused("annotation_updated", 422, "ann said something else about text 1") == "refused"
        answer = announced.replay("annotations_deleted", annotations=[{"id": 3}])
        assert answer["messages"] == ["text 1 was changed in the workbench, and stays so"]
        announced.replay("annotation_created", **annotation(region(0, 2, "City"), id=4))
        announced.replay("annotations_deleted", annotations=[{"id": 4}])
        assert announced.said(PAULA) == ([("ok", "city")], True, BOTH, "ann"), "they said the same, and it is theirs"

    def test_other_types_of_the_text_stay(self, announced):
        announced.project.types.add("verb", "ann")
        announced.project.texts.add([PAULA], "page")
        said = Annotation((Span(34, 36, "verb"),), True, ("verb",))
        announced.project.annotations.write(1, said, seen=0, who="ann")
        announced.replay("annotation_created")
        assert announced.said(PAULA)[:2] == ([("Paula & the Machines", "artist"), ("go", "verb")], True)
        announced.replay("annotations_deleted", annotations=[{"id": 3}])
        assert announced.said(PAULA)[:3] == ([("go", "verb")], True, ("verb",))

    def test_texts_of_new_tasks_join_without_a_decision(self, announced):
        assert announced.replay("tasks_created")["result"] == "2 texts added"
        assert announced.project.texts.count(decided=False) == 2
        odd = [{"data": {"text": " "}}, {"data": 7}, {"data": {"text": "a" * 60_000}}, {}]
        assert announced.replay("tasks_created", tasks=odd)["result"] == "0 texts added"


class TestTraining:
    def test_is_queued_once_from_what_was_annotated(self, announced):
        assert announced.refused("start_training", 422, "no text to teach from has a decision yet") == "refused"
        texts = [f"a table in oslo for {number}" for number in range(4)]  # of which not all are held back
        for number, text in enumerate(texts):
            task = {"id": number, "data": {"text": text}}
            announced.replay("annotation_created", task=task, **annotation(region(11, 15, "City"), id=number))
        answer = announced.replay("start_training")
        assert answer["result"] == "job 1 teaches from the annotations as soon as no other job runs"
        assert announced.replay("start_training") == answer, "a second one would teach the same"
        [job] = announced.project.jobs.all()
        assert (job.kind, job.state, job.who) == ("teach", "queued", "Label Studio, project 2.1714557600")

    def test_without_a_workbench_nothing_is_kept_or_taught(self, alone):
        alone.replay("setup")
        assert "not kept" in alone.replay("annotation_created")["result"]
        assert alone.refused("start_training", 409, "start it with --workbench FOLDER") == "no_workbench"

    def test_other_events_are_acknowledged(self, announced):
        answer = announced.replay("start_training", action="PROJECT_UPDATED")
        assert answer == {"status": "ok", "result": "nothing to do", "messages": []}


def test_the_tables_are_made_where_they_are_missing(announced):
    links = LabelStudioLinks(announced.project.database)
    assert list(links.projects()) == ["2.1714557600"] and links.get("2.1714557600", 3) is None
