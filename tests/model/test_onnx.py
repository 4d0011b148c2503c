"""ONNX: what was exported finds what the model finds, without its network."""

import asyncio
import json
import shutil
from dataclasses import replace

import pytest
import torch
from foreign import checkpoint, texts
from serving import serving

from retainer.cli.main import main
from retainer.comparison.compare import compare
from retainer.data.generated import generate
from retainer.data.tasks import hide
from retainer.errors import InputError
from retainer.model import onnx
from retainer.training.learn import learn
from retainer.training.recipe import Recipe
from retainer.versions.version import Version, load

pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module", autouse=True)
def traced_once():
    """Trace a network once for all tests that export it: the same weights give the same graph, after seconds."""
    trace, graphs = onnx._write_graph, {}

    def write(tagger, file):
        key = tuple((name, tensor.numpy().tobytes()) for name, tensor in tagger.state_dict().items())
        if key not in graphs:
            trace(tagger, file)
            graphs[key] = file.read_bytes()
        file.write_bytes(graphs[key])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onnx, "_write_graph", write)
        yield


@pytest.fixture(scope="module")
def sentences():
    return generate(40, seed=21, types=["artist", "city"]).sentences


@pytest.fixture(scope="module")
def taught(encoder):
    """A version that was trained long enough to find things: where nothing is found, nothing is compared."""
    data = hide(generate(200, seed=6, types=["artist", "city"]), ["artist"])
    return learn(data, encoder, recipe=Recipe(epochs=12, base_lr=1e-3), seed=1, device="cpu")


def number(found):
    return sum(map(len, found))


def agreement(version, other, sentences):
    """The share of the entities either finds that both find."""
    one, two = ({(at, span) for at, spans in enumerate(v.tag(sentences)) for span in spans} for v in (version, other))
    assert len(two) > 20
    return len(one & two) / len(one | two)


@pytest.fixture(scope="module")
def exported(taught, tmp_path_factory):
    return taught.export(tmp_path_factory.mktemp("onnx") / "full")


@pytest.fixture(scope="module")
def small(taught, tmp_path_factory):
    return taught.export(tmp_path_factory.mktemp("onnx") / "int8", int8=True)


def test_same_entities_and_scores(taught, exported, sentences):
    other = load(exported)
    assert other.types == taught.types
    assert other.tag(sentences) == taught.tag(sentences)
    assert number(taught.tag(sentences)) > 20
    texts = [sentence.located()[0] for sentence in sentences]
    for ours, theirs in zip(taught.predict(texts), other.predict(texts), strict=True):
        assert [e | {"score": 0} for e in ours] == [e | {"score": 0} for e in theirs]
        assert [e["score"] for e in ours] == pytest.approx([e["score"] for e in theirs], abs=1e-4)


def test_an_export_is_served_like_any_version(exported, sentences):
    texts = [sentence.located()[0] for sentence in sentences]

    async def ask():
        async with serving({"onnx": exported}) as (client, _):
            return await client.post("/v1/predict", json={"texts": texts})

    results = asyncio.run(ask()).json()["results"]
    wanted = load(exported).predict(texts)
    for ours, theirs in zip([result["entities"] for result in results], wanted, strict=True):
        assert [e | {"score": 0} for e in ours] == [e | {"score": 0} for e in theirs]
        assert [e["score"] for e in ours] == pytest.approx([e["score"] for e in theirs], abs=1e-5)
    assert number(wanted) > 20


def test_calibration_comes_along(taught, tmp_path):
    curve = {type_: {"slope": 0.5, "shift": -0.3, "entities": 20.0} for type_ in taught.types}
    taught = Version(taught.tagger, replace(taught.lineage, calibration=curve))
    assert load(taught.export(tmp_path / "out")).lineage.calibration == curve != {}


def test_any_length_and_number_of_texts(taught, exported):
    long = " ".join(sentence.located()[0] for sentence in generate(80, seed=3, types=["artist"]).sentences)
    other = load(exported)
    starts = [e["start"] for e in other.predict(long)]
    assert starts == [e["start"] for e in taught.predict(long)] and len(starts) > 20
    assert other.predict(["", "play"])[0] == []


def test_int8_is_smaller_and_nearly_the_same(taught, exported, small, sentences):
    size = [(folder / "model.onnx").stat().st_size for folder in (exported, small)]
    assert size[1] < size[0]
    assert agreement(load(small), taught, sentences) > 0.8
    assert not list(small.glob("*whole*"))


def test_a_cosine_head_too_and_keep_and_gain_survive(encoder, artist, city, quick, tmp_path, sentences):
    start = learn(artist, encoder, recipe=Recipe(epochs=12, base_lr=3e-3, head="cosine"), device="cpu")
    version = learn(city, start, recipe=quick, device="cpu")
    other = load(version.export(tmp_path / "v"))
    assert version.tagger.head.kind == "cosine" and other.tag(sentences) == version.tag(sentences)
    assert number(version.tag(sentences)) > 20
    assert (other.old_types, other.new_types) == (version.old_types, version.new_types) == (("artist",), ("city",))


def test_it_runs_without_torch_or_retainer(exported, taught, tmp_path):
    """What docs/onnx.md shows, in a process that may import neither."""
    import re
    import subprocess
    import sys
    from pathlib import Path

    text = (Path(__file__).parents[2] / "docs" / "onnx.md").read_text()
    script = re.search(r"```python\n(.*?)```", text, re.S)[1].replace("models/v2-onnx", str(exported))
    guard = "import sys\nsys.modules['torch'] = sys.modules['transformers'] = sys.modules['retainer'] = None\n"
    done = subprocess.run([sys.executable, "-c", guard + script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    words = "play songs by boston on the drive to paris".split()
    assert [line.split()[0] for line in done.stdout.splitlines()] == words
    labels = [line.split()[1] for line in done.stdout.splitlines()]
    assert set(labels) > {"O"}, "a script that finds nothing shows nothing"
    from retainer.data.spans import Sentence
    from retainer.model.predict import tag

    ids = tag(taught.tagger, taught.tagger.tokenize([Sentence(tuple(words), ())])).ids
    assert labels == [taught.tagger.labels.names[i] for i in ids]


def test_the_verb(taught, tmp_path, capsys):
    taught.save(tmp_path / "v")
    assert main(["export", str(tmp_path / "v"), "--onnx", str(tmp_path / "x")]) == 0
    facts = json.loads((tmp_path / "x" / "config.json").read_text())
    assert facts["retainer"]["weights"] == taught.lineage.weights and facts["retainer"]["bits"] == 32
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "x"), "play songs by queen"]) == 0
    assert json.loads(capsys.readouterr().out)["text"] == "play songs by queen"
    assert main(["export", str(tmp_path / "v"), "--onnx", str(tmp_path / "x")]) == 2
    assert main(["export", str(tmp_path / "x"), "--onnx", str(tmp_path / "y")]) == 2
    assert main(["export", str(tmp_path / "x"), "--plain", str(tmp_path / "y")]) == 2 and not (tmp_path / "y").exists()
    assert main(["learn", "examples/cities.jsonl", "--from", str(tmp_path / "x"), "--out", str(tmp_path / "z")]) == 2
    errors = capsys.readouterr().err
    assert "exists already" in errors and "export already" in errors and "cannot learn" in errors


def replace_in(file, old, new):
    file.write_text(file.read_text().replace(old, new))


def test_an_export_without_hashes_still_loads(exported, taught, tmp_path):
    """An older retainer wrote that of the network alone; then a damaged tokenizer is one sentence."""
    folder = shutil.copytree(exported, tmp_path / "older")
    config = json.loads((folder / "config.json").read_text())
    for name in ("files", "hash"):
        config["retainer"].pop(name)
    (folder / "config.json").write_text(json.dumps(config))
    assert load(folder).types == taught.types
    (folder / "tokenizer.json").write_text("{")
    with pytest.raises(InputError, match="its tokenizer may be damaged"):
        load(folder)


def test_what_is_not_whole_is_refused(exported, small, tmp_path):
    def broken(name, change):
        folder = tmp_path / name
        shutil.copytree(exported, folder)
        change(folder)
        return folder

    bad = {
        "no whole config.json": broken("a", lambda f: (f / "config.json").write_text("{")),
        "no whole config.json of": broken("b", lambda f: (f / "config.json").write_text("{}")),
        "truncated or was changed": broken("c", lambda f: (f / "model.onnx").write_bytes(b"x")),
        "was changed after": broken("d", lambda f: shutil.copy(small / "model.onnx", f / "model.onnx")),
        r"config\.json is truncated": broken("f", lambda f: replace_in(f / "config.json", "B-artist", "B-city")),
        r"tokenizer\.json is truncated": broken("g", lambda f: replace_in(f / "tokenizer.json", "[UNK]", "[NOT]")),
        "has no tokenizer": broken("e", lambda f: (f / "tokenizer.json").unlink()),
    }
    for says, folder in bad.items():
        with pytest.raises(InputError, match=says):
            load(folder)
    with pytest.raises(InputError, match="cannot be saved"):
        load(exported).save(tmp_path / "v")
    with pytest.raises(InputError, match="runs on the CPU"):
        load(exported, device="cuda")


def test_a_missing_package_is_named():
    with pytest.raises(InputError, match=r"nowhere; install it: pip install 'retainer\[onnx\]'$"):
        onnx._need("nowhere")


def test_on_seven_bits_too(taught, tmp_path, sentences, monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"architecture": "x86_64"}, raising=False)
    folder = taught.export(tmp_path / "v", int8=True)
    assert json.loads((folder / "config.json").read_text())["retainer"]["bits"] == 7
    assert agreement(load(folder), taught, sentences) > 0.7


def test_compared_with_where_it_came_from(taught, exported):
    difference = compare(taught, exported, generate(60, seed=3, types=["artist"]))
    assert difference.agreement == 100 and difference.scored.forget == 0 and difference.kinds["kept"] > 20


def test_another_family(tmp_path):
    """RoBERTa's kind: positions counted from the padding, a byte-level tokenizer, a head in another order of labels."""
    version = load(checkpoint(tmp_path / "roberta", "bytelevel", "IOB1", "shuffled", True), device="cpu")
    other = load(version.export(tmp_path / "v"))
    said = [text for text, _ in texts(60, 3)]
    found = [[entity | {"score": 0} for entity in one] for one in version.predict(said)]
    assert [[entity | {"score": 0} for entity in one] for one in other.predict(said)] == found and number(found) > 20
