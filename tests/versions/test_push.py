"""`retainer push` against a stand-in of the hub that checks what is sent; huggingface_hub itself is real."""

import hashlib
import shutil

import pytest
from hub import TOKEN, standing_in

from retainer.cli.main import main
from retainer.cli.verbs.push import push
from retainer.versions.lineage import Lineage


@pytest.fixture
def version(pair, tmp_path):
    """A version with a stored parent's place, a lock and other things that are not its own beside it."""
    folder = tmp_path / "v2"
    shutil.copytree(pair["v2"], folder)
    (folder / ".lock").write_text("")
    (folder / "NOTES.md").write_text("mine")
    return folder


@pytest.fixture
def hub(monkeypatch, tmp_path):
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "nowhere"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # between tries
    with standing_in() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        yield hub


@pytest.fixture
def token(tmp_path):
    (tmp_path / "token").write_text(TOKEN + "\n")
    return str(tmp_path / "token")


def own_files(folder):
    return {*Lineage.read(folder).checked_files, "retainer.json", "README.md"}


def test_everything_that_belongs_to_the_version_is_sent_and_nothing_else(version, hub, token, capsys):
    assert main(["push", str(version), "me/model", "--token-file", token, "--private"]) == 0
    said = capsys.readouterr()
    assert "commit/1" in said.out and "not published: .lock, NOTES.md" in said.err and TOKEN not in said.out + said.err
    assert {name: data for name, data in hub.files.items()} == {
        name: (version / name).read_bytes() for name in own_files(version)
    }
    assert hashlib.sha256((version / "model.safetensors").read_bytes()).hexdigest() in hub.stored
    assert hub.created == [{"name": "model", "organization": "me", "visibility": "private"}] and hub.private


def test_without_private_the_hub_decides(version, hub, token):
    """An organisation may make repositories private unless told otherwise, so nothing is said."""
    assert main(["push", str(version), "me/model", "--token-file", token]) == 0
    assert hub.created == [{"name": "model", "organization": "me"}] and not hub.private


def test_a_dry_run_asks_nothing(version, hub, capsys):
    assert main(["push", str(version), "me/model", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in own_files(version)) and "NOTES" not in said
    assert (version / "README.md").read_text() in said
    assert not hub.asked


def test_a_public_repository_is_not_taken_for_a_private_one(version, hub, token, capsys):
    hub.exists, hub.private = True, False
    assert main(["push", str(version), "me/model", "--token-file", token, "--private"]) == 2
    assert "me/model is there already and public, so nothing was sent" in capsys.readouterr().err
    assert not hub.files and not hub.stored
    assert main(["push", str(version), "me/model", "--token-file", token]) == 0 and hub.files


@pytest.mark.parametrize(
    ("part", "status", "complaint"),
    [
        ("repos/create", 401, "the hub does not know the token; log in"),
        ("repos/create", 403, "the token may not write there"),
        ("repos/create", 500, "the hub has trouble of its own"),
        ("preupload", 404, "the hub has no such place"),
        ("lfs/objects/batch", 403, "the token may not write there"),
        ("store", 500, "the hub has trouble of its own"),
        ("commit", 409, "the repository was changed"),
        ("commit", 503, "the hub has trouble of its own"),
        ("commit", 418, "the hub refused it"),
    ],
)
def test_refusals_of_the_hub(version, hub, token, capsys, part, status, complaint):
    hub.fails = {part: status}
    assert main(["push", str(version), "me/model", "--token-file", token]) == 2
    said = capsys.readouterr().err
    assert f"me/model was not published: {complaint}" in said and f"(status {status}" in said
    assert TOKEN not in said and not hub.files


@pytest.mark.parametrize("part", ["repos/create", "store", "commit"])
def test_a_dropped_connection(version, hub, token, capsys, part):
    hub.drops = part
    assert main(["push", str(version), "me/model", "--token-file", token]) == 2
    assert "was not published: the hub could not be reached" in capsys.readouterr().err and not hub.files


def test_without_a_token(version, hub, capsys):
    assert main(["push", str(version), "me/model"]) == 2
    assert "log in (hf auth login) or give --token-file FILE" in capsys.readouterr().err


def test_what_is_refused_before_anything_is_asked(version, hub, token, capsys):
    for name in ("a/b/c", "https://example.org/x", "../x", "a b", ""):
        assert main(["push", str(version), name, "--dry-run"]) == 2
        assert "is not a name on the hub; expected NAME or OWNER/NAME" in capsys.readouterr().err
    assert main(["push", str(version), "me/model", "--token", "x"]) == 2
    (version / "config.json").write_text("{}")
    assert main(["push", str(version), "me/model", "--token-file", token]) == 2
    assert "is not as it was saved (config.json was changed); nothing was sent" in " ".join(
        capsys.readouterr().err.split()
    )
    assert not hub.asked


def test_language_models_of_sentences_are_published_only_if_asked(version, monkeypatch, capsys):
    monkeypatch.setattr(Lineage, "checked_files", property(lambda self: {**self.files, "generators/city.json": "0"}))
    monkeypatch.setattr("retainer.versions.push.verify_folder", lambda folder: type("Fine", (), {"sentences": []}))
    assert main(["push", str(version), "me/model", "--dry-run"]) == 2
    assert "if these may be published, say --with-generators" in capsys.readouterr().err


def test_no_other_verb_uploads_to_the_hub():
    from pathlib import Path

    source = Path(push.__code__.co_filename).parents[2]
    calls = ("create_commit", "upload_folder", "upload_file", "push_to_hub", "create_repo")
    users = [path.name for path in source.rglob("*.py") if any(call in path.read_text() for call in calls)]
    assert users == ["push.py"]
