"""The whole way of a practitioner, on checkpoints retainer has never seen: check, learn, compare, verify, export, use.

What comes out is used by transformers' pipeline in a process that has no retainer, and finds what `predict` finds.
"""

import json
from itertools import combinations, product

import pytest
from foreign import checkpoint, texts
from transformers import AutoModel, AutoTokenizer

from retainer.cli.main import main

WAYS = [
    ("wordpiece", "IO", "shuffled", "uncased"),
    ("wordpiece", "IOB1", "last", "uncased"),
    ("wordpiece", "IOB2", "shuffled", "cased"),
    ("wordpiece", "BIOES", "first", "uncased"),
    ("bytelevel", "bare", "first", "uncased"),
    ("bytelevel", "IOB1", "shuffled", "cased"),
    ("bytelevel", "IOB2", "last", "uncased"),
    ("bytelevel", "BIOES", "last", "cased"),
    ("unigram", "IO", "last", "cased"),
    ("unigram", "IOB1", "first", "cased"),
    ("unigram", "IOB2", "first", "uncased"),
    ("unigram", "BIOES", "shuffled", "cased"),
]
"""Tokenizer, tag scheme, where O stands, case. Bare names of types are the other way to write IO."""


def test_every_pair_of_any_two_occurs():
    ways = [tuple({"bare": "IO"}.get(one, one) for one in way) for way in WAYS]
    for left, right in combinations(range(4), 2):
        seen = {(way[left], way[right]) for way in ways}
        assert seen == set(product({way[left] for way in ways}, {way[right] for way in ways}))


ALSO_ONNX = {("unigram", "IO")}
"""The graph depends on the network alone, and takes longer than all the rest; tests/model/test_onnx.py has more."""

TRAINING = ("--epochs", 5, "--set.lr", "5e-3", "--set.batch", 16, "--seed", 1, "--device", "cpu")


@pytest.fixture(scope="module")
def plain(pipeline):
    """What transformers alone finds: type, start and end of every entity."""

    def found(folder, texts):
        answers = pipeline(folder, texts, "simple")
        return [[[one["entity_group"], one["start"], one["end"]] for one in entities] for entities in answers]

    return found


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def call(*argv):
        status = main([str(one) for one in argv])
        out, err = capsys.readouterr()
        assert status == 0, err
        return out

    return call


def records(file, data):
    """Write a file as doccano exports it."""
    lines = [json.dumps({"text": text, "label": [list(span) for span in spans]}) for text, spans in data]
    file.write_text("\n".join(lines) + "\n")


def predicted(run, model, file):
    found = [json.loads(line) for line in run("predict", model, "--input", file, "--device", "cpu").splitlines()]
    for line in found:
        assert all(line["text"][one["start"] : one["end"]] == one["word"] for one in line["entities"])
    return [[[one["entity_group"], one["start"], one["end"]] for one in line["entities"]] for line in found]


def neighbours(found):
    """Count the entities that begin one blank after another of their type: only a scheme with B- or E- tells them."""
    pairs = [pair for line in found for pair in zip(line, line[1:], strict=False)]
    return sum(one[0] == other[0] and one[2] + 1 == other[1] for one, other in pairs)


PAIR = ("old", "new")


def grown(labels):
    """The labels of a type in the order in which a head of that style gets new ones."""
    return sorted((label for label in labels if label != "O"), key=lambda label: "BIES".find(label[0]))


def count(found, type_):
    return sum(one[0] == type_ for line in found for one in line)


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_from_a_foreign_checkpoint_to_a_pipeline(way, run, tmp_path, plain):
    kind, scheme, order, case = way
    checkpoint(tmp_path / "old", kind, scheme, order, case == "cased")
    records(tmp_path / "cities.jsonl", texts(150, 21, ["city"]))
    records(tmp_path / "both.jsonl", texts(80, 22))
    unseen = [text for text, _ in texts(60, 23)]
    gold = [[[type_, start, end] for start, end, type_ in spans] for _, spans in texts(60, 23, ["artist"])]
    (tmp_path / "unseen.txt").write_text("\n".join(unseen) + "\n")

    before = predicted(run, "old", "unseen.txt")
    assert count(before, "artist") > 20
    assert neighbours(before) == (0 if scheme in ("IO", "bare") else pytest.approx(neighbours(gold), abs=4))
    if scheme != "BIOES":
        assert plain(tmp_path / "old", unseen) == before

    told = json.loads(run("check", "cities.jsonl", "--model", "old", "--json"))
    assert told["new_types"] == ["city"] and told["old_types"] == []
    steady = ["--method", "rdp"] if scheme == "BIOES" else []  # with few steps a head contradicts its scheme more often
    run("learn", "cities.jsonl", "--from", "old", "--out", "new", *steady, *TRAINING)
    told = json.loads(run("compare", "old", "new", "both.jsonl", "--max-drop", 20, "--json", "--device", "cpu"))
    assert told["gates"][0]["passed"] and told["scores"]["gain"] > 50, told["scores"]
    run("verify", "new")
    record = json.loads((tmp_path / "new" / "retainer.json").read_text())
    assert record["scores"]["changed_by_growing"] == 0

    labels = [list(json.loads((tmp_path / one / "config.json").read_text())["id2label"].values()) for one in PAIR]
    assert labels[1] == labels[0] + [label.replace("artist", "city") for label in grown(labels[0])]

    if scheme == "BIOES":  # among neighbours a weak head contradicts its scheme, which B- and I- cannot express
        unseen = [text for text in unseen if not text.startswith(("Mix", "Drive"))]
        (tmp_path / "unseen.txt").write_text("\n".join(unseen) + "\n")
    found = predicted(run, "new", "unseen.txt")
    assert count(found, "artist") > 20 and count(found, "city") > 10
    run("export", "new", "--plain", "plain")
    assert predicted(run, "plain", "unseen.txt") == found
    assert plain(tmp_path / "plain", unseen) == found
    if scheme != "BIOES":
        assert plain(tmp_path / "new", unseen) == found
    if (kind, scheme) in ALSO_ONNX:
        run("export", "new", "--onnx", "onnx")
        assert predicted(run, "onnx", "unseen.txt") == found


def test_what_a_pipeline_reads_of_a_cosine_head(run, tmp_path, plain):
    """It is folded into a plain linear one, and nothing of retainer is left in the folder."""
    checkpoint(tmp_path / "old", "wordpiece", "BIOES", "first", True)
    base = AutoModel.from_pretrained("old")
    base.save_pretrained("bare")
    AutoTokenizer.from_pretrained("old").save_pretrained("bare")
    records(tmp_path / "cities.jsonl", texts(150, 21, ["city"]))
    more = ("--set.base_lr", "3e-3", "--set.head", "cosine")
    run("learn", "cities.jsonl", "--from", "bare", "--out", "new", *TRAINING, *more)
    run("export", "new", "--plain", "plain")
    unseen = [text for text, _ in texts(60, 23)]
    (tmp_path / "unseen.txt").write_text("\n".join(unseen) + "\n")
    found = predicted(run, "new", "unseen.txt")
    assert plain(tmp_path / "plain", unseen) == predicted(run, "plain", "unseen.txt") == found
    assert count(found, "city") > 20
    names = {path.name for path in (tmp_path / "plain").iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= names
    assert not names & {"retainer.json", "cosine_head.safetensors", "README.md"}


def test_old_types_annotated_too_in_an_iob1_head(run, tmp_path):
    """Gold begins with B- where this head says I-; both are read alike, so nothing of the old type is lost."""
    checkpoint(tmp_path / "old", "wordpiece", "IOB1", "last", True)
    records(tmp_path / "both.jsonl", texts(150, 21))
    records(tmp_path / "test.jsonl", texts(80, 22))
    run("learn", "both.jsonl", "--from", "old", "--out", "new", *TRAINING)
    told = json.loads(run("compare", "old", "new", "test.jsonl", "--max-drop", 3, "--json", "--device", "cpu"))
    assert told["scores"]["keep"] > 90 and told["scores"]["gain"] > 60
