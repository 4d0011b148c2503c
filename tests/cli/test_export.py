"""Predictions go out to an annotation tool, corrections come back in."""

import json

import pytest

from retainer.cli.main import main
from retainer.data.generated import generate
from retainer.data.io import read, read_texts, write
from retainer.data.spans import Span
from retainer.errors import InputError
from retainer.versions.version import load

TEXTS = ["play songs by boston", "  on the drive to \U0001f600 Mu\u0308nchen\u2028", "שלום boston"]


@pytest.fixture(scope="module")
def folder(checkpoint):
    """A model that finds something in most texts."""
    return checkpoint("B-per", "O", "I-per")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS), "utf-8")
    return tmp_path


@pytest.fixture
def export(folder, here, capsys):
    """Write suggestions; return the file."""

    def call(tool, texts="texts.txt", out="out", model=folder):
        assert main(["export", str(model), f"--{tool}", out, "--input", str(texts), "--device", "cpu"]) == 0
        return here / out

    return call


# -------------------------------------------------------------------------------------------------- what is written


def test_label_studio_gets_what_the_model_predicts(export, folder):
    found = load(folder, device="cpu").predict(TEXTS)
    assert sum(map(len, found)) > 3, "a model that finds nothing shows nothing"
    for task, text, entities in zip(json.loads(export("labelstudio").read_text("utf-8")), TEXTS, found, strict=True):
        [prediction] = task["predictions"]
        assert task["data"] == {"text": text} and prediction["model_version"] == folder.name
        assert [
            (r["value"]["start"], r["value"]["end"], r["value"]["text"], r["value"]["labels"], r["score"])
            for r in prediction["result"]
        ] == [(e["start"], e["end"], e["word"], [e["entity_group"]], pytest.approx(e["score"])) for e in entities]
        assert prediction["score"] == pytest.approx(min(e["score"] for e in entities))


def test_prodigy_gets_what_the_model_predicts(export, folder):
    found = load(folder, device="cpu").predict(TEXTS)
    lines = export("prodigy").read_text("utf-8").split("\n")[:-1]
    for line, text, entities in zip(lines, TEXTS, found, strict=True):
        record = json.loads(line)
        assert record["text"] == text and record["meta"]["model"] == folder.name and "answer" not in record
        assert [(s["start"], s["end"], s["label"], s["score"], s["source"]) for s in record["spans"]] == [
            (e["start"], e["end"], e["entity_group"], pytest.approx(e["score"]), folder.name) for e in entities
        ]
        for span in record["spans"]:
            tokens = record["tokens"][span["token_start"] : span["token_end"] + 1]
            assert (tokens[0]["start"], tokens[-1]["end"]) == (span["start"], span["end"])


def test_a_version_is_named_by_its_folder_and_its_weights(export, first, here):
    first.save(here / "v1")
    weights = json.loads((here / "v1" / "retainer.json").read_text())["weights"]
    [task, *_] = json.loads(export("labelstudio", model=here / "v1").read_text("utf-8"))
    assert task["predictions"][0]["model_version"] == f"v1 {weights[:12]}"


def test_the_words_of_a_corpus_are_kept(export, folder, here):
    corpus = generate(300, seed=9)
    write(corpus, "corpus.conll", "conll")
    made = read(export("prodigy", "corpus.conll"))
    assert [s.words for s in made] == [s.words for s in corpus]
    assert [s.spans for s in made] == load(folder, device="cpu").tag(corpus.sentences), "its own annotation is gone"


# ------------------------------------------------------------------------------------------------------ what is read


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.mark.parametrize(
    ("content", "format"),
    [
        ("one text\r\n\n \nno tag O\nanother one", "plain text"),
        ('{"text": "one text"}\n{"text": " "}\n\n{"text": ""}\n{"text": "no tag O"}\n{"text": "another one"}', "jsonl"),
        (
            lines(*({"text": t, "label": []} for t in ("one text", "", " ", "no tag O")))
            + lines({"text": "another one", "answer": "reject"}),
            "jsonl",
        ),
        (json.dumps([{"data": {"text": t}} for t in ("one text", " ", "", "no tag O", "another one")]), "labelstudio"),
    ],
)
def test_texts_in_many_shapes(here, content, format):
    (here / "in").write_text(content, newline="")
    corpus = read_texts("in")
    assert [s.text for s in corpus] == ["one text", "no tag O", "another one"]
    assert (corpus.format, corpus.oddities) == (format, {"empty texts": 2})


@pytest.mark.parametrize("format", ["conll", "jsonl", "prodigy", "doccano", "labelstudio", "brat", "i2b2", "enamex"])
def test_the_texts_of_every_format(here, format):
    corpus = generate(30, seed=9)
    write(corpus, "in", format)
    texts = read_texts("in")
    assert [s.located()[0] for s in texts] == [s.located()[0] for s in corpus]
    assert not any(s.spans for s in texts)


def test_tokens_of_prodigy_are_the_words(here):
    tokens = [{"text": "one text", "start": 0, "end": 8, "id": 0}]
    (here / "in").write_text(lines({"text": "one text", "tokens": tokens}))
    assert read_texts("in")[0].words == ("one text",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "in: found no sentence"),
        ("\n \n", "in: found no sentence, only 2 empty texts"),
        ('{"text": "a"}\n{"txt": "b"}\n', "in:2: the key 'text' is missing; found 'txt'"),
        ('{"txt": "a"}\n', "in:1: found the keys txt; expected"),
        ('{"text": 7}\n', "in:1: text: must be a string, found 7"),
        ('{"text": "a"}\nb\n', "in:2: this is not JSON"),
        ('[{"data": {"image": 3}}]', "in:1: task 1: data: the key 'text' is missing"),
        ("a O\nb B-X\nc\n", "in:3: found 1 column where the lines before have 2"),
        ("[{", "in:1: this is not JSON"),
    ],
)
def test_texts_that_are_refused(here, content, message):
    (here / "in").write_text(content)
    with pytest.raises(InputError) as caught:
        read_texts("in")
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ([], "exactly one of --onnx"),
        (["--labelstudio", "a", "--prodigy", "b", "--input", "texts.txt"], "exactly one of --onnx"),
        (["--onnx", "a", "--prodigy", "b"], "exactly one of --onnx"),
        (["--onnx", "a", "--plain", "b"], "exactly one of --onnx"),
        (["--plain", "a", "--int8"], "--int8 belongs to --onnx"),
        (["--plain", "a", "--input", "texts.txt"], "--input belongs to"),
        (["--labelstudio", "a"], "which texts? give --input FILE"),
        (["--onnx", "a", "--input", "texts.txt"], "--input belongs to --labelstudio and --prodigy"),
        (["--prodigy", "a", "--input", "texts.txt", "--int8"], "--int8 belongs to --onnx"),
        (["--prodigy", "a", "--input", "nowhere"], "nowhere: there is no such file"),
        (["--prodigy", "texts.txt", "--input", "texts.txt"], "texts.txt exists already"),
        (["--prodigy", "a", "--input", "."], "this is a folder; name a file in it"),
        (["--prodigy", "a", "--input", "latin"], "latin:1: the byte 0xe9 is not UTF-8 here"),
    ],
)
def test_wrong_calls(here, capsys, argv, says):
    (here / "latin").write_bytes(b"caf\xe9")
    before = sorted(here.rglob("*"))
    assert main(["export", "somewhere", *argv]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("retainer: ") and says in err and err.count("\n") == 1
    assert sorted(here.rglob("*")) == before


def test_a_model_without_a_head_is_refused(here, encoder, capsys):
    assert main(["export", str(encoder), "--prodigy", "out", "--input", "texts.txt"]) == 2
    assert "no token-classification head" in capsys.readouterr().err and not (here / "out").exists()


def test_empty_texts_are_left_out_and_told(export, here, capsys):
    (here / "gaps.txt").write_text("one\n\n\ntwo\n")
    assert len(json.loads(export("labelstudio", "gaps.txt").read_text())) == 2
    assert "note: 2 empty texts" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------------ round trips


def correct(spans, text):
    """Correct as a person does: drop the first entity, rename the others, and mark the last word."""
    last = Span(len(text.rstrip()) - 1, len(text.rstrip()), "city")
    kept = [Span(span.start, span.end, "person") for span in spans[1:] if span.end <= last.start]
    return [*kept, last]


def corrected_in_label_studio(file):
    """Do what Label Studio does with imported predictions: an annotation comes to stand beside each."""
    tasks = json.loads(file.read_text("utf-8"))
    for number, task in enumerate(tasks, 1):
        text, [guess] = task["data"]["text"], task["predictions"]
        spans = [Span(r["value"]["start"], r["value"]["end"], "") for r in guess["result"]]
        result = [
            {
                "id": f"new{at}",
                "from_name": "label",
                "to_name": "text",
                "type": "labels",
                "origin": "manual",
                "value": {"start": s.start, "end": s.end, "text": text[s.start : s.end], "labels": [s.type]},
            }
            for at, s in enumerate(correct(spans, text))
        ]
        task.update(id=number, annotations=[{"id": number, "was_cancelled": False, "result": result}])
    file.write_text(json.dumps(tasks), "utf-8")


def corrected_in_prodigy(file):
    """Do what Prodigy does: spans are changed, those of a person have no score, and the task is answered."""
    records = [json.loads(line) for line in file.read_text("utf-8").split("\n")[:-1]]
    for record in records:
        spans = [Span(s["start"], s["end"], "") for s in record["spans"]]
        ends = {token["end"]: token["start"] for token in record["tokens"]}
        record["spans"] = [
            {"start": s.start if s.type == "person" else ends[s.end], "end": s.end, "label": s.type}
            for s in correct(spans, record["text"])
        ]
        record.update(answer="accept", _input_hash=1, _task_hash=2)
    file.write_text(lines(*records), "utf-8")


TOOLS = {"labelstudio": corrected_in_label_studio, "prodigy": corrected_in_prodigy}


@pytest.mark.parametrize("tool", TOOLS)
def test_suggestions_are_a_corpus_already(export, folder, tool):
    corpus = read(export(tool))
    assert corpus.format == tool and [s.text for s in corpus] == TEXTS
    found = load(folder, device="cpu").predict(TEXTS)
    assert [[(x.start, x.end, x.type) for x in s.character_spans()] for s in corpus] == [
        [(e["start"], e["end"], e["entity_group"]) for e in entities] for entities in found
    ]
    guessed = {"tasks with predictions only, taken as they are": 3}
    assert corpus.oddities == (guessed if tool == "labelstudio" else {})


@pytest.mark.parametrize("tool", TOOLS)
def test_corrections_come_back(export, folder, first, here, capsys, tool):
    """The whole way: predictions out, corrections in, and a version that has learned from them."""
    write(generate(60, seed=8), "texts.conll", "conll")
    file = export(tool, "texts.conll", out="tasks")
    before = read(file)
    TOOLS[tool](file)
    after = read(file)
    assert [s.text for s in after] == [s.text for s in before] and set(after.types) <= {"city", "person"}
    assert all(s.spans[-1].type == "city" and s.spans[-1].end == len(s.words) for s in after)
    first.save(here / "v1")
    capsys.readouterr()
    assert main(["check", "tasks", "--json", "--model", "v1", "--device", "cpu"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["format"] == tool and told["entities"] == dict(sorted(after.counts.items()))
    assert main(["convert", "tasks", "corrected.conll"]) == 0
    assert read("corrected.conll").counts == after.counts
    learn = ["learn", "tasks", "--from", "v1", "--out", "v2", "--types", "city", "--epochs", "1", "--device", "cpu"]
    assert main(learn) == 0
    assert load(here / "v2", device="cpu").types == ("artist", "city")
