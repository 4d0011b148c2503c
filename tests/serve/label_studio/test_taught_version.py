"""From what Label Studio 1.23 sent to a version taught from it: by HTTP, with a job in a process of its own."""

import pytest
from serving import until

from retainer.data.generated import generate

SENTENCES = generate(60, seed=41, types=["artist", "city"]).sentences
OSLO = "\U0001f3b5 play songs by Ribbon Saints on the drive to oslo \U0001f697"
TEXTS = [OSLO, *(" ".join(one.words) for one in SENTENCES[:20])]


def annotations(sentences):
    """What the webhook says about tasks in which a person marked all artists and cities."""
    for number, sentence in enumerate(sentences, 101):
        text = " ".join(sentence.words)
        values = [
            {"start": span.start, "end": span.end, "text": text[span.start : span.end], "labels": [span.type.title()]}
            for span in sentence.character_spans()
        ]
        names = {"from_name": "label", "to_name": "text", "type": "labels"}
        result = [{"id": f"r{at}", **names, "value": value} for at, value in enumerate(values)]
        said = {"id": number, "task": number, "result": result, "completed_by": 1}
        yield {"annotation": said, "task": {"id": number, "data": {"text": text}}}


def predicted(backend):
    """The version that a prediction names, and which labels it has."""
    answer = backend.replay("predict", tasks=[{"id": one, "data": {"text": text}} for one, text in enumerate(TEXTS)])
    [version] = {one["model_version"] for one in answer["results"]}
    assert len(answer["results"]) == len(TEXTS)
    return version, {region["value"]["labels"][0] for one in answer["results"] for region in one["result"]}


@pytest.mark.long
def test_a_new_type_is_taught_and_answers_once_a_person_says_so(listening):
    first = listening.replay("setup")["model_version"]
    assert first.startswith("v1-") and predicted(listening) == (first, {"Artist"})
    listening.replay("annotation_created")
    listening.replay("annotation_with_relation")
    for said in annotations(SENTENCES):
        assert listening.replay("annotation_created", **said)["result"] == "1 annotation kept"
    assert listening.replay("start_training")["result"].startswith("job 1 teaches")
    until(lambda: listening.workbench("GET", "/jobs")["jobs"][0]["state"] not in ("queued", "running"), 60)

    [job] = listening.workbench("GET", "/jobs")["jobs"]
    assert (job["state"], job["version"], job["who"]) == ("done", "v2", "Label Studio, project 2.1714557600"), job
    made = listening.workbench("GET", "")["versions"][-1]
    assert (made["name"], made["parent"], made["types"]) == ("v2", "v1", ["artist", "City"]) and not made["in_use"]
    answer = listening.replay("versions")
    assert answer["in_use"] == answer["versions"][0] == first and answer["versions"][1].startswith("v2-")
    assert predicted(listening) == (first, {"Artist"}), "nobody has put the new one into use"

    assert listening.workbench("POST", "/use", version="v2", who="ann") == {"in_use": "v2"}
    second = listening.replay("setup")["model_version"]
    assert second == listening.replay("versions")["in_use"] == answer["versions"][1]
    assert predicted(listening) == (second, {"Artist", "City"})
