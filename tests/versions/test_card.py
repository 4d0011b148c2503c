"""The model card: what the hub reads, what people read, and names of types that try to break both."""

import re
from dataclasses import replace

import pytest
import yaml
from huggingface_hub import ModelCard
from markdown_it import MarkdownIt

from retainer.data.generated import generate
from retainer.data.spans import Span
from retainer.training.learn import learn
from retainer.versions import retype
from retainer.versions.card import card, on_one_line
from retainer.versions.lineage import Lineage
from retainer.versions.version import load

NASTY = (
    "a|b",
    "*bold*",
    "_it_",
    "`code`",
    "<script>alert(1)</script>",
    "[link](http://x.y)",
    "key: value",
    "- item",
    "# title",
    "'\"",
    "---",
    "yes",
    "null",
    "{x}",
    "&amp;",
    "new\nline",
    "tab\there",
    "ünïcode ☃ 日本",
    "$x$",
    "back\\slash",
    "%TAG",
    "@me",
    "!!python/object:os.system",
    "a\u2028b",
    "~~gone~~",
    "1. one",
    "==marked==",
)


def front(text):
    return yaml.safe_load(text.split("---\n")[1])


def cells(text):
    """The text of every cell of every table, as a reader of Markdown shows it."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text.split("\n---\n", 1)[1])
    return ["".join(child.content for child in token.children) for token in tokens if token.type == "inline"]


@pytest.fixture(scope="module")
def version(first, city, quick):
    """A second version, with scores of old and new types."""
    dev = generate(40, seed=9, types=["artist", "city"])
    return learn(city, first, recipe=replace(quick, epochs=10), dev=dev, device="cpu")


def test_what_the_hub_reads(version, tmp_path):
    version.lineage = replace(version.lineage, base_model="bert-base-cased")
    folder = version.save(tmp_path / "v2")
    data = ModelCard.load(folder / "README.md").data
    assert data.library_name == "transformers" and data.pipeline_tag == "token-classification"
    assert {"token-classification", "ner", "retainer"} <= set(data.tags) and data.base_model == "bert-base-cased"
    assert data.model_name == "v2"
    found = {(one.metric_type, one.metric_name): one.metric_value for one in data.eval_results}
    scores = version.lineage.scores["per_type"]
    assert found["f1", "f1 of city"] == pytest.approx(scores["city"]["f1"] / 100, abs=1e-4)
    assert {name for _, name in found} == {
        f"{kind} of {type_}" for kind in ("precision", "recall", "f1") for type_ in ("artist", "city")
    }
    assert all(one.task_type == "token-classification" and one.dataset_name for one in data.eval_results)


def test_what_people_read(version, tmp_path):
    text = (version.save(tmp_path / "v2") / "README.md").read_text()
    scores = version.lineage.scores
    now, before = scores["per_type"]["artist"]["f1"], scores["before"]["artist"]["f1"]
    for part in (
        f"**gain** (new types, mean F1 on dev): {scores['per_type']['city']['f1']:.2f}",
        f"**keep** (old types, mean F1 on the same sentences): {now:.2f}",
        "F1 now is that on dev, in which",
        f"**forget** (what the old types lost by it): {before - now:.2f} points",
        "60 sentences",
        "retain (",
        'pipeline("token-classification"',
        version.lineage.hash[:12],
        "## Limits",
    ):
        assert part in text
    assert str(tmp_path) not in text
    assert all(cell in cells(text) for cell in ("artist", "city", f"{now:.2f}", f"{before:.2f}", "learned city"))


def test_what_was_not_measured_is_said(first, checkpoint, city, quick, tmp_path):
    text = (first.save(tmp_path / "v1") / "README.md").read_text()
    assert "No score was measured." in text and "This version was not measured on artist" in text
    assert "model-index" not in front(text)
    second = learn(generate(200, seed=5, types=["city"]), first, recipe=quick, device="cpu")
    text = (second.save(tmp_path / "v2") / "README.md").read_text()
    assert "**keep** and **forget**: not measured" in text and "This version was not measured on artist:" in text
    [results] = front(text)["model-index"][0]["results"]
    assert "mean F1 on what was set aside" in text and "set aside, SHA-256" in results["dataset"]["name"]
    assert " dev" not in text.split("## Types")[1].split("## Use")[0], "there was no dev file"
    renamed = retype.rename_types(second, {"city": "town"})
    text = (renamed.save(tmp_path / "v3") / "README.md").read_text()
    assert "f1 of town" in str(front(text)), "a new name changes no score"
    made = retype.split_type(load(checkpoint("O", "B-x", "I-x"), device="cpu"), "x", ["y", "z"])
    text = (made.save(tmp_path / "v4") / "README.md").read_text()
    assert "not learned yet: y, z." in text and "base_model" not in front(text)


def test_a_head_that_a_pipeline_reads_in_pieces(checkpoint, city, quick, tmp_path):
    labels = ("O", "B-artist", "I-artist", "E-artist", "S-artist")
    whole = learn(city, checkpoint(*labels), recipe=replace(quick, epochs=1), device="cpu").save(tmp_path / "bioes")
    pairs = learn(city, checkpoint(*labels[:3]), recipe=replace(quick, epochs=1), device="cpu").save(tmp_path / "iob2")
    texts = [(folder / "README.md").read_text() for folder in (whole, pairs)]
    assert ["export PATH/TO/THIS/FOLDER --plain" in text for text in texts] == [True, False]
    assert ['pipeline("token-classification"' in text for text in texts] == [False, True]


def test_language_models_are_mentioned(encoder, artist, quick, tmp_path):
    version = learn(artist, encoder, recipe=quick, method="learn_and_review", device="cpu", out=tmp_path / "v")
    assert version.generators and "Treat it like the data" in (tmp_path / "v" / "README.md").read_text()


def test_the_built_in_encoder_has_a_name_on_the_hub():
    assert load("builtin", device="cpu").lineage.base_model == "sentence-transformers/all-MiniLM-L6-v2"


@pytest.mark.parametrize("name", NASTY)
def test_no_name_breaks_it(name):
    scores = {"precision": 50.0, "recall": 50.0, "f1": 50.0, "support": 2}
    lineage = Lineage(
        tasks=(("old",), (name,)),
        encoder=name,
        base_model=name,
        method="rdp",
        created="2026-01-01T00:00:00+00:00",
        data={"sha256": "0", "dev_sha256": "0", "sentences": 3, "entities": {name: 4}},
        scores={"per_type": {name: scores, "old": scores}, "before": {"old": scores}},
    )
    dropped = {"verb": "drop", "became": {name: []}, "types": ["old", name]}
    for one in (lineage, replace(lineage, pending=(name,)), replace(lineage, change=dropped)):
        text = card(one, name)
        data = ModelCard(text).data
        assert data.pipeline_tag == "token-classification" and front(text)["base_model"] == on_one_line(name)
        tables = cells(text)
        assert ("old" in tables) and len([cell for cell in tables if cell == "Types"]) == 1
        titles = re.findall(r"^#+ .*", text, flags=re.MULTILINE)
        assert len(titles) == 5, "a title, and a section each for types, use, history and limits"
        if not one.change:
            assert (
                on_one_line(name) in tables
                and f"learned {on_one_line(name)}" in tables
                and f"4 {on_one_line(name)}" in tables
            )
            assert f"f1 of {on_one_line(name)}" in [result.metric_name for result in data.eval_results]
        body = text.split("\n---\n", 1)[1]
        tokens = MarkdownIt("commonmark").enable("table").parse(body)
        assert [token.type for token in tokens].count("list_item_open") == body.count("\n- "), "no list in a list"
        kinds = {child.type for token in tokens for child in token.children or ()}
        assert kinds <= {"text", "code_inline", "softbreak", "strong_open", "strong_close", "text_special"}
        assert not any(token.type == "html_block" for token in tokens)


def test_a_name_in_a_real_model(encoder, artist, quick, tmp_path):
    names = NASTY[:6]
    sentences = [
        sentence.with_spans(Span(x.start, x.end, names[at % len(names)]) for x in sentence.spans)
        for at, sentence in enumerate(artist)
    ]
    version = learn(
        replace(artist, sentences=tuple(sentences)), encoder, recipe=quick, device="cpu", out=tmp_path / "v"
    )
    assert set(cells((tmp_path / "v" / "README.md").read_text())) >= set(version.types)
