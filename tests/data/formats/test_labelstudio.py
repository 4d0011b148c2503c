"""The JSON of Label Studio: exports of several releases, JSON-MIN, and files of predictions."""

import json

import pytest

from retainer.cli.main import main
from retainer.data.formats.labelstudio import (
    FURTHER_ANNOTATIONS,
    read_labelstudio,
    sniff_labelstudio,
    suggest_labelstudio,
    write_labelstudio,
)
from retainer.data.generated import generate
from retainer.data.io import read, write
from retainer.data.spans import Sentence, Span
from retainer.data.suggested import Suggested
from retainer.errors import InputError

MARKED = Sentence.from_text("In Paris.", [Span(3, 8, "LOC")])
BARE = Sentence.from_text("In Paris.")


def region(start=3, end=8, text="Paris", labels=("LOC",), **more):
    value = {"start": start, "end": end, "labels": list(labels), **({} if text is None else {"text": text})}
    return {"value": value, "id": "x1", "from_name": "label", "to_name": "text", "type": "labels", **more}


def annotation(*results, **more):
    return {"id": 7, "completed_by": 1, "was_cancelled": False, "lead_time": 1.5, "result": list(results), **more}


def task(*annotations, text="In Paris.", **more):
    return {"id": 1, "data": {"text": text}, "annotations": list(annotations), "predictions": [], **more}


def prediction(*results):
    return {"model_version": "m", "score": 0.5, "result": list(results)}


def tasks(*items, indent=None):
    return json.dumps(items, indent=indent)


def refused(text):
    with pytest.raises(InputError) as caught:
        read_labelstudio(text, "F")
    return str(caught.value)


# ------------------------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize("indent", [None, 2])
def test_an_export(indent):
    text = tasks(task(annotation(region())), task(annotation()), indent=indent)
    corpus = read_labelstudio(text)
    assert corpus.sentences == (MARKED, BARE)
    assert (corpus.format, corpus.scheme, corpus.oddities) == ("labelstudio", "", {})
    assert sniff_labelstudio(text.split("\n")[0])


def test_an_export_of_an_old_release():
    old = {"id": 1, "data": {"text": "In Paris."}, "completions": [{"id": 1001, "result": [region()]}]}
    assert read_labelstudio(tasks(old)).sentences == (MARKED,)


def test_the_first_annotation_that_was_not_cancelled_counts():
    cancelled = annotation(region(0, 2, "In"), was_cancelled=True)
    corpus = read_labelstudio(tasks(task(cancelled, annotation(region()), annotation(), annotation()), task(cancelled)))
    assert corpus.sentences == (MARKED,)
    assert corpus.oddities == {
        "further annotations of a task, of which the first counts": 2,
        "tasks whose annotation was cancelled": 1,
    }


def test_predictions_count_where_no_task_is_annotated():
    guessed = task(predictions=[prediction(region()), prediction()])
    corpus = read_labelstudio(tasks(guessed, task()))
    assert corpus.sentences == (MARKED,)
    assert corpus.oddities == {
        "tasks with predictions only, taken as they are": 1,
        "further annotations of a task, of which the first counts": 1,
        "tasks without annotation": 1,
    }


def test_predictions_do_not_count_among_corrected_tasks():
    corpus = read_labelstudio(tasks(task(predictions=[prediction(region())]), task(annotation())))
    assert corpus.sentences == (BARE,)
    assert corpus.oddities == {"tasks without annotation": 1}


def test_json_min():
    row = {"id": 4, "text": "In Paris.", "label": [region()["value"]], "annotator": 1, "annotation_id": 2}
    empty = {"id": 5, "text": "In Paris.", "annotator": 1, "annotation_id": 3, "lead_time": 2.0}
    second = {"id": 4, "text": "In Paris.", "annotator": 2, "annotation_id": 4, "topic": "travel"}
    corpus = read_labelstudio(tasks(row, empty, second))
    assert corpus.sentences == (MARKED, BARE)
    assert corpus.oddities == {"further annotations of a task, of which the first counts": 1}


def test_results_that_are_no_entities_are_counted():
    others = [
        {"type": "choices", "value": {"choices": ["good"]}},
        {"type": "relation", "from_id": "a", "to_id": "b"},
        region(0, 2, "In", labels=()),
    ]
    corpus = read_labelstudio(tasks(task(annotation(*others, region()))))
    assert corpus.sentences == (MARKED,)
    assert corpus.oddities == {"results that mark no entity": 3}


def test_the_text_may_have_another_name():
    one = {"data": {"ner": "In Paris.", "number": 3}, "annotations": [annotation(region())]}
    assert read_labelstudio(tasks(one)).sentences == (MARKED,)


def test_oddities_of_running_text_are_counted_too():
    corpus = read_labelstudio(tasks(task(annotation(), text=" "), task(annotation(region(2, 6, " Par")))))
    assert corpus.oddities == {
        "empty texts": 1,
        "white space at the edge of a span": 1,
        "edge inside a word": 1,
    }


# ---------------------------------------------------------------------------------------- how Label Studio counts

WAVE = "\U0001f44b\U0001f3fd Hola, soy Roberto Jr"
JR = WAVE.index("Jr")


@pytest.mark.parametrize(("start", "units"), [(JR, False), (JR + 2, True)])
def test_code_points_and_utf16_units_are_told_apart_by_the_text(start, units):
    """Old releases (1.3 still did) count as JavaScript does; newer ones count code points."""
    corpus = read_labelstudio(tasks(task(annotation(region(start, start + 2, "Jr")), text=WAVE)))
    assert corpus[0].character_spans() == (Span(JR, JR + 2, "LOC"),)
    assert corpus.oddities == ({"texts whose offsets count UTF-16 units": 1} if units else {})


def test_without_a_text_offsets_are_code_points():
    corpus = read_labelstudio(tasks(task(annotation(region(JR, JR + 2, None)), text=WAVE)))
    assert corpus[0].character_spans() == (Span(JR, JR + 2, "LOC"),)


def test_a_region_without_text_is_counted_like_its_neighbours():
    soy = WAVE.index("soy") + 2
    regions = region(soy, soy + 3, None), region(JR + 2, JR + 4, "Jr")
    corpus = read_labelstudio(tasks(task(annotation(*regions), text=WAVE)))
    text = corpus[0].text
    assert [text[span.start : span.end] for span in corpus[0].character_spans()] == ["soy", "Jr"]


@pytest.mark.parametrize("shown", ["Berlin, Germany", "Berlin,\\n Germany", "Berlin,\n  Germany", "Berlin,Germany"])
def test_the_shown_text_may_lack_white_space(shown):
    """It is what the browser displayed: spaces are collapsed, a line end is a backslash and an n."""
    corpus = read_labelstudio(tasks(task(annotation(region(3, 20, shown)), text="To Berlin,\n  Germany.")))
    assert corpus[0].character_spans() == (Span(3, 20, "LOC"),)


def test_line_ends_of_windows_count_twice():
    corpus = read_labelstudio(tasks(task(annotation(region(7, 11, "Bonn")), text="Hello\r\nBonn\r\n")))
    assert (corpus[0].character_spans(), corpus.oddities) == ((Span(7, 11, "LOC"),), {})


# ------------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("bad", "part"),
    [
        (task(annotation(region(3, 8, "Rome"))), "the text of a region is 'Rome', but the task has 'Paris' at 3-8"),
        (task(annotation(region(3, 99))), "span 3-99 (LOC) is empty or lies outside the text of 9 characters"),
        (task(annotation(region(-1, 2, None))), "span -1-2 (LOC) is empty or lies outside"),
        (task(annotation(region(3, 3, None))), "span 3-3 (LOC) is empty"),
        (task(annotation(region("3", 8))), "result[0]: value: start: must be a whole number, found '3'"),
        (task(annotation(region(), region(0, 8, "In Paris"))), "span 3-8 (LOC) overlaps 0-8 (LOC); keep one of them"),
        (task(annotation(region(labels=("A", "B")))), "found the labels A, B on one region; an entity has one type"),
        (task(annotation(region(labels=(7,)))), "result[0]: value: must be a string, found 7"),
        (task(annotation(region(type="hypertextlabels"))), "result[0]: the type is 'hypertextlabels'; only labels of"),
        (task(annotation({"type": "labels"})), "result[0]: the key 'value' is missing"),
        (task(annotation(7)), "result[0]: must be an object, found 7"),
        (task({"id": 1}), "the key 'result' is missing"),
        (task(7), "annotations[0]: must be an object, found 7"),
        (task(annotation(), text=7), "data: text: must be a string, found 7"),
        ({"data": {"a": "x", "b": "y"}, "annotations": [annotation()]}, "data: the key 'text' is missing; found 'a'"),
        ({"data": "In", "annotations": [annotation()]}, "data: must be an object, found 'In'"),
        ({"text": "a", "spans": []}, "found the keys text, spans; a list must hold tasks of Label Studio"),
        ({"id": 1, "annotator": 1, "ner": "a"}, "the key 'text' is missing"),
    ],
)
def test_labelstudio_refuses(bad, part):
    message = refused(tasks(task(annotation(region())), bad))
    assert message.startswith("F:1: task 2: ") and part in message, message
    pretty = refused(tasks(bad, indent=1))
    assert pretty.startswith("F:2: task 1: ") and part in pretty, pretty


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[{]", "F:1: this is not JSON (Expecting property name"),
        ("[\n{}\n{}]", "F:3: this is not JSON (Expecting ',' delimiter at column 1)"),
        ('[\n{"data": ', "F:2: this is not JSON (Expecting value at column 10); is the file damaged?"),
        ("[7]", "F:1: must be an object, found 7"),
        ("7", "F:1: found 7 where a list must stand"),
        ('[{"data": {"text": "\\ud83d"}, "annotations": [{"result": []}]}]', "F:1: found half a surrogate pair"),
        ("[" * 100_000, "F:1: this is not JSON"),
    ],
)
def test_lists_that_cannot_be_read(text, message):
    assert refused(text).startswith(message)


def test_an_empty_export_holds_no_sentence(tmp_path):
    (tmp_path / "x.json").write_text("[]")
    with pytest.raises(InputError, match=r"x\.json: found no sentence"):
        read(tmp_path / "x.json")
    (tmp_path / "x.json").write_text(tasks(task(), task()))
    with pytest.raises(InputError, match="found no sentence, only 2 tasks without annotation"):
        read(tmp_path / "x.json")


# ------------------------------------------------------------------------------------------------------- writing


def test_tasks_are_written_with_annotations():
    text = write_labelstudio([MARKED, BARE])
    assert json.loads(text)[0] == {
        "data": {"text": "In Paris."},
        "annotations": [
            {
                "result": [
                    {
                        "id": "e1",
                        "from_name": "label",
                        "to_name": "text",
                        "type": "labels",
                        "value": {"start": 3, "end": 8, "text": "Paris", "labels": ["LOC"]},
                    }
                ]
            }
        ],
    }
    assert [len(json.loads(line.removesuffix(","))) for line in text.split("\n")[1:-2]] == [2, 2], "a task a line"
    assert read_labelstudio(text).sentences == (MARKED, BARE)


def test_predictions_are_written_with_scores_and_the_model():
    sentences = [Suggested(*_parts(MARKED), scores=(0.75,)), Suggested(*_parts(BARE))]
    made = json.loads(suggest_labelstudio(sentences, "v2"))
    assert made[0]["predictions"][0]["model_version"] == made[1]["predictions"][0]["model_version"] == "v2"
    assert made[0]["predictions"][0]["score"] == made[0]["predictions"][0]["result"][0]["score"] == 0.75
    assert "score" not in made[1]["predictions"][0] and "annotations" not in made[0]


def _parts(sentence):
    return sentence.words, sentence.spans, sentence.text, sentence.offsets


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        (Sentence((" ",)), "sentence 1: it has white space only"),
        (Sentence(("a", " "), (Span(1, 2, "X"),)), r"sentence 1: span 2-3 \(X\) covers white space only"),
    ],
)
def test_the_writer_refuses_what_would_not_come_back(sentence, message):
    with pytest.raises(InputError, match=message):
        write_labelstudio([sentence])


def test_convert_there_and_back(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(generate(30, seed=2), "a.conll", "conll")
    assert main(["convert", "a.conll", "b.json"]) == 0
    assert main(["convert", "b.json", "c.conll"]) == 0
    assert (tmp_path / "a.conll").read_text() == (tmp_path / "c.conll").read_text()
    (tmp_path / "d.json").write_text(tasks(task(annotation(region()), annotation())))
    assert main(["convert", "d.json", "d.conll"]) == 0
    assert "note: 1 further annotations of a task, of which the first counts" in capsys.readouterr().err


def test_a_row_whose_number_is_not_one():
    row = {"id": [1], "annotator": 1, "text": "a b", "label": [{"start": 0, "end": 1, "labels": ["x"]}]}
    corpus = read_labelstudio(json.dumps([row, row]))
    assert len(corpus) == 1 and corpus.oddities == {FURTHER_ANNOTATIONS: 1}
