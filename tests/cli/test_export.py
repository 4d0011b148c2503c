"""Predictions go out to an annotation tool, corrections come back in."""

import io
import json

import pytest
from text_cases import CASES, REFUSED, records

from retainer.cli.main import main
from retainer.data.generated import generate
from retainer.data.io import read, write
from retainer.data.spans import Span
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


@pytest.fixture(scope="module")
def version(folder):
    return load(folder, device="cpu")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_texts_of_every_shape(here, folder, version, capsys, monkeypatch, case):
    monkeypatch.setattr("retainer.versions.version.load", lambda *_, **__: version)
    (here / "in").write_bytes(case.bytes)
    status = main(["export", str(folder), "--prodigy", "out", "--input", "in", "--device", "cpu"])
    out, err = capsys.readouterr()
    empty = len(case.texts) - len(case.worded)
    if not case.worded:
        passed = f", only {empty} empty texts" if empty else ""
        assert status == 2 and err == f"retainer: in: found no text{passed}; there must be at least one\n"
        assert not (here / "out").exists()
        return
    written = [json.loads(line)["text"] for line in (here / "out").read_text("utf-8").split("\n")[:-1]]
    assert status == 0 and written == list(case.worded.values()) and f" ({case.format}), " in out
    assert err == (f"note: {empty} empty texts\n" if empty else "")


@pytest.mark.parametrize(("content", "message"), REFUSED.values(), ids=REFUSED)
def test_texts_that_are_refused(here, folder, capsys, content, message):
    (here / "in").write_bytes(content)
    assert main(["export", str(folder), "--prodigy", "out", "--input", "in", "--device", "cpu"]) == 2
    assert capsys.readouterr().err.startswith(f"retainer: {message}") and not (here / "out").exists()


def test_texts_from_stdin(export, here, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((here / "texts.txt").read_bytes())))
    assert [task["data"]["text"] for task in json.loads(export("labelstudio", "-").read_text("utf-8"))] == TEXTS
    assert capsys.readouterr().out.startswith("3 texts (stream), ")


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


def test_empty_texts_are_left_out_and_counted(export, here, capsys):
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
    answered = [json.loads(line) for line in file.read_text("utf-8").split("\n")[:-1]]
    for record in answered:
        spans = [Span(s["start"], s["end"], "") for s in record["spans"]]
        ends = {token["end"]: token["start"] for token in record["tokens"]}
        record["spans"] = [
            {"start": s.start if s.type == "person" else ends[s.end], "end": s.end, "label": s.type}
            for s in correct(spans, record["text"])
        ]
        record.update(answer="accept", _input_hash=1, _task_hash=2)
    file.write_text(records(*answered), "utf-8")


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
