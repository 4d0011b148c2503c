"""A version in a pipeline of spaCy, with spaCy itself."""

import json
import os
import pickle
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.tokens import DocBin, Span
from spacy.training import Example

import retainer
import retainer.versions.spacy_factory  # the entry point does this where retainer is installed
from retainer.data.generated import generate
from retainer.errors import InputError

ROOT = Path(__file__).parents[2]
TEXTS = [" ".join(sentence.words) for sentence in generate(40, seed=9, types=["artist", "city"])]


@pytest.fixture(scope="module")
def nlp(pair):
    return with_model(pair["v2"])


def with_model(model, **config):
    made = spacy.blank("en")
    made.add_pipe("retainer", config={"model": str(model), "device": "cpu", **config})
    return made


def found(doc):
    return [(entity.start_char, entity.end_char, entity.label_) for entity in doc.ents]


def expected(version):
    return [[(e["start"], e["end"], e["entity_group"]) for e in one] for one in version.predict(TEXTS)]


def test_it_finds_what_the_version_finds(nlp, pair):
    """In batches and one by one, with scores; the tagger runs once per batch, not once per document."""
    version = retainer.load(pair["v2"], device="cpu")
    component, calls = nlp.get_pipe("retainer"), []
    predict = component.version.predict
    component.version.predict = lambda texts, **how: calls.append(len(texts)) or predict(texts, **how)
    docs = list(nlp.pipe(TEXTS, batch_size=16))
    component.version.predict = predict
    assert [found(doc) for doc in docs] == expected(version) == [found(nlp(text)) for text in TEXTS]
    assert calls == [16, 16, 8]
    assert sum(map(len, expected(version))) > 20
    for doc, entities in zip(docs, version.predict(TEXTS), strict=True):
        group = doc.spans["retainer"]
        assert list(group) == list(doc.ents)
        assert group.attrs["scores"] == pytest.approx([entity["score"] for entity in entities], abs=1e-4)
        assert (group.attrs["moved"], group.attrs["dropped"], group.attrs["overlapping"]) == (0, 0, 0)


@pytest.fixture
def installed(tmp_path):
    """A folder that says what pyproject.toml says to those who install retainer: where spaCy finds the component."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["spacy_factories"]
    about = tmp_path / "retainer_here-1.dist-info"
    about.mkdir()
    lines = [f"{name} = {place}" for name, place in table.items()]
    (about / "entry_points.txt").write_text("\n".join(["[spacy_factories]", *lines]))
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: retainer-here\nVersion: 1\n")
    return tmp_path


@pytest.mark.long
def test_processes_and_entry_point(pair, installed, tmp_path):
    """Without any variable set or import of retainer, in a process of its own: one that hangs holds up the suite."""
    code = (
        "import sys, json, spacy\n"
        "texts = json.load(open(sys.argv[2]))\n"
        "nlp = spacy.blank('en'); nlp.add_pipe('retainer', config={'model': sys.argv[1], 'device': 'cpu'})\n"
        "one = [[(e.start, e.end, e.label_) for e in d.ents] for d in nlp.pipe(texts)]\n"
        "docs = list(nlp.pipe(texts, n_process=2, batch_size=8))\n"
        "two = [[(e.start, e.end, e.label_) for e in d.ents] for d in docs]\n"
        "assert one == two and any(one), (one, two)\n"
        "assert all(len(d.spans['retainer'].attrs['scores']) == len(d.ents) for d in docs)\n"
    )
    (tmp_path / "texts.json").write_text(json.dumps(TEXTS))
    free = {k: v for k, v in os.environ.items() if k not in ("TOKENIZERS_PARALLELISM", "OMP_NUM_THREADS")}
    path = os.pathsep.join([str(installed), str(ROOT / "src")])
    call = [sys.executable, "-c", code, str(pair["v2"]), str(tmp_path / "texts.json")]
    done = subprocess.run(call, env={**free, "PYTHONPATH": path}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_a_saved_pipeline_carries_its_version(nlp, pair, tmp_path):
    """It loads after it was moved, and when the model is gone; and can be saved again, also onto itself."""
    shutil.copytree(pair["v2"], tmp_path / "model")
    saved = with_model(tmp_path / "model")
    saved.to_disk(tmp_path / "one")
    shutil.rmtree(tmp_path / "model")
    shutil.move(tmp_path / "one", tmp_path / "two")
    loaded = spacy.load(tmp_path / "two")
    assert [found(doc) for doc in loaded.pipe(TEXTS)] == [found(doc) for doc in nlp.pipe(TEXTS)]
    assert (
        retainer.load(tmp_path / "two" / "retainer" / "version").lineage.hash == retainer.load(pair["v2"]).lineage.hash
    )
    loaded.to_disk(tmp_path / "two")
    loaded.to_disk(tmp_path / "three")
    with_model(pair["v1"]).to_disk(tmp_path / "two")
    assert found(spacy.load(tmp_path / "three")(TEXTS[0])) == found(nlp(TEXTS[0]))
    again = spacy.load(tmp_path / "two")
    again.initialize()
    assert again.pipe_labels["retainer"] == ["artist"]
    assert sorted(os.listdir(tmp_path / "two" / "retainer")) == ["version"]


def test_bytes_carry_it_too(nlp):
    data = nlp.to_bytes()
    other = spacy.blank("en")
    other.add_pipe("retainer")
    other.from_bytes(data)
    assert [found(doc) for doc in other.pipe(TEXTS)] == [found(doc) for doc in nlp.pipe(TEXTS)]
    for broken in (b"", b"\x80", data[:100], spacy.util.to_bytes({"retainer": lambda: b"\x81\xa4../x\xc4\x01a"}, [])):
        with pytest.raises(InputError, match=r"hold|inside"):
            other.get_pipe("retainer").from_bytes(broken)
    for files in ({"x" * 300: b""}, {"config.json": b"", "config.json/x": b""}):
        with pytest.raises(InputError, match=r"in these bytes cannot be unpacked \((File name too long|File exists)\)"):
            other.get_pipe("retainer").from_bytes(srsly.msgpack_dumps(files))
    other.get_pipe("retainer")._version = None
    assert found(other(TEXTS[0])) == found(nlp(TEXTS[0])), "what was refused replaces nothing"


def test_a_process_that_starts_anew_loads_it_again(nlp):
    component = nlp.get_pipe("retainer")
    assert pickle.loads(pickle.dumps(component)).version.types == component.version.types


def test_a_foreign_checkpoint_is_carried(checkpoint, tmp_path):
    folder = checkpoint("O", "B-artist", "I-artist")
    with_model(folder).to_disk(tmp_path / "saved")
    assert found(spacy.load(tmp_path / "saved")(TEXTS[0])) == found(with_model(folder)(TEXTS[0]))


class Scripted:
    """A version that finds what it is told."""

    def __init__(self, *entities):
        self.entities = [{"start": s, "end": e, "entity_group": t, "score": 0.5} for s, e, t in entities]

    def predict(self, texts, calibrated=False):
        return [self.entities for _ in texts]


def scripted(*entities, **config):
    made = with_model("nowhere", **config)
    made.get_pipe("retainer")._version = Scripted(*entities)
    return made


@pytest.mark.parametrize(
    ("alignment", "there", "moved", "dropped"),
    [("expand", [(0, 6)], 1, 1), ("contract", [(5, 6)], 1, 1), ("strict", [], 0, 2)],
)
def test_what_does_not_align(alignment, there, moved, dropped):
    """spaCy cuts "ab-cd."" otherwise; the second entity is inside a token that the first has taken."""
    doc = scripted((1, 6, "X"), (2, 4, "Y"), alignment=alignment)("abcde. f")
    assert [(s, e) for s, e, _ in found(doc)] == there
    assert (doc.spans["retainer"].attrs["moved"], doc.spans["retainer"].attrs["dropped"]) == (moved, dropped)


@pytest.mark.parametrize(("overwrite", "label"), [(False, "rule"), (True, "city")])
def test_entities_of_other_components(overwrite, label):
    """Those that do not overlap stay in either case, and blocked tokens stay without."""
    nlp = scripted((0, 8, "city"), (9, 10, "city"), (11, 12, "city"), overwrite=overwrite)
    doc = nlp.make_doc("New York a b c")
    doc.set_ents([Span(doc, 0, 1, "rule"), Span(doc, 4, 5, "rule")], blocked=[doc[3:4]])
    doc = nlp.get_pipe("retainer")(doc)
    assert found(doc) == [(0, 8 if overwrite else 3, label), (9, 10, "city"), (13, 14, "rule")]
    assert doc.spans["retainer"].attrs["overlapping"] == (1 if overwrite else 2)


def test_spacy_scores_it(nlp):
    examples = []
    for doc in nlp.pipe(TEXTS[:5]):
        gold = {"entities": found(doc)}
        examples.append(Example.from_dict(nlp.make_doc(doc.text), gold))
    assert nlp.evaluate(examples)["ents_f"] == 1.0


def test_documents_and_scores_survive_a_docbin(nlp, tmp_path):
    DocBin(docs=nlp.pipe(TEXTS)).to_disk(tmp_path / "found.spacy")
    corpus = retainer.read(tmp_path / "found.spacy")
    assert [[(s.start, s.end, s.type) for s in one.character_spans()] for one in corpus] == [
        found(doc) for doc in nlp.pipe(TEXTS)
    ]
    docs = list(DocBin().from_disk(tmp_path / "found.spacy").get_docs(nlp.vocab))
    assert [len(doc.spans["retainer"].attrs["scores"]) for doc in docs] == [len(doc.ents) for doc in docs]


class TestOneSentence:
    """Bad input: an error of one sentence, when it is found out."""

    def test_no_model(self):
        made = spacy.blank("en")
        made.add_pipe("retainer")
        with pytest.raises(InputError, match="retainer has no model; add it with config"):
            made("some text")

    def test_a_model_that_is_not_there(self):
        with pytest.raises(InputError, match="nowhere"):
            with_model("/nowhere/v2").initialize()

    def test_a_bare_encoder(self, encoder):
        with pytest.raises(InputError):
            with_model(encoder)("some text")

    def test_a_pipeline_without_its_version(self, pair, tmp_path):
        with_model(pair["v2"]).to_disk(tmp_path / "saved")
        shutil.rmtree(tmp_path / "saved" / "retainer")
        with pytest.raises(InputError, match=r"retainer/version holds no version: .* save the pipeline again"):
            spacy.load(tmp_path / "saved")

    def test_a_version_that_was_changed(self, pair, tmp_path):
        with_model(pair["v2"]).to_disk(tmp_path / "saved")
        (tmp_path / "saved" / "retainer" / "version" / "config.json").write_text("{}")
        with pytest.raises(InputError, match="was changed after it was saved"):
            spacy.load(tmp_path / "saved")("some text")

    def test_an_unknown_alignment(self):
        with pytest.raises(InputError, match="alignment is expand or contract or strict"):
            with_model("x", alignment="loose")


def test_errors_go_to_the_handler_of_the_pipeline(nlp):
    seen = []
    nlp.get_pipe("retainer").set_error_handler(lambda name, component, docs, error: seen.append((name, len(docs))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nlp.get_pipe("retainer").version, "predict", lambda *a, **k: 1 / 0)
        assert list(nlp.pipe(TEXTS[:4], batch_size=2)) == []
    nlp.get_pipe("retainer").set_error_handler(retainer.versions.spacy_component._raise)
    assert seen == [("retainer", 2), ("retainer", 2)]
