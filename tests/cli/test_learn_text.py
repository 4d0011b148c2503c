"""`learn --text`, and what its record, its history and its card say of text and of a corrected prior."""

import json
from dataclasses import replace

import pytest

from retainer.cli.main import main
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.versions.history import describe_prior
from retainer.versions.version import load

CALL = ("learn", "city.conll", "--from", "v1", "--out", "v2", "--epochs", "1", "--device", "cpu")
WITH_TEXT = (*CALL, "--text", "text.txt")
AGAIN = ("learn", "city.conll", "--config", "v2", "--out", "v3", "--device", "cpu")


@pytest.fixture
def here(first, city, tmp_path, monkeypatch):
    """A first version, data of a new type, and 40 lines of text."""
    monkeypatch.chdir(tmp_path)
    first.save("v1")
    write(city, "city.conll", "conll")
    lines = [" ".join(sentence.words) for sentence in generate(40, seed=8, types=["artist", "city"])]
    (tmp_path / "text.txt").write_text("".join(f"{line}\n" for line in lines))
    return tmp_path


def record(folder):
    return json.loads((folder / "retainer.json").read_text())


class TestLearning:
    def test_recorded_and_told(self, here, capsys):
        assert main(WITH_TEXT) == 0
        assert "\ntext      40 sentences without annotation\n" in capsys.readouterr().out
        assert main(["log", "v2"]) == 0 and ", 40 sentences of text, seed 0" in capsys.readouterr().out
        made = record(here / "v2")["data"]["text"]
        assert set(made) == {"sha256", "sentences"} and made["sentences"] == 40
        card = (here / "v2" / "README.md").read_text()
        assert f"| text | 40 sentences without annotation, SHA-256 {made['sha256'][:12]} |" in card
        for line in (here / "text.txt").read_text().splitlines():
            assert line not in card + (here / "v2" / "retainer.json").read_text(), "counts and hashes, no text"
        assert main(["log", "v2", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["versions"][0]["data"]["text"] == made

    def test_without_text_nothing_is_said(self, here, capsys):
        assert main(CALL) == 0 and "\ntext " not in capsys.readouterr().out
        assert "| text |" not in (here / "v2" / "README.md").read_text() and "text" not in record(here / "v2")["data"]
        assert main(["log", "v2"]) == 0 and "of text" not in capsys.readouterr().out

    def test_a_share_of_0(self, here, capsys):
        assert main([*WITH_TEXT, "--set.text_share", "0"]) == 0 and "\ntext " not in capsys.readouterr().out
        assert "text" not in record(here / "v2")["data"]

    def test_a_dry_run(self, here, capsys):
        assert main([*WITH_TEXT, "--dry-run"]) == 0
        out = capsys.readouterr().out
        assert " sentences and 40 sentences of text: " in out and " of 8 sentences and 8 of text\n" in out
        write(generate(12, seed=6, types=["artist"]), "kept.conll", "conll")
        assert main([*WITH_TEXT, "--exemplars", "kept.conll", "--dry-run"]) == 0
        assert " sentences, 12 exemplars and 40 sentences of text: " in capsys.readouterr().out
        assert main([*WITH_TEXT, "--dry-run", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["text"]
        assert found["sentences"] == 40 and found["batch"] == 8
        assert main([*CALL, "--dry-run", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["text"] is None


class TestRefusing:
    @pytest.fixture
    def refused(self, here, capsys):
        def call(*argv, says):
            before = sorted(here.rglob("*"))
            assert main([*CALL, *argv]) == 2
            out, err = capsys.readouterr()
            assert out == "" and says in err and len(err.splitlines()) == 1
            assert sorted(here.rglob("*")) == before, "something was written"

        return call

    @pytest.mark.parametrize("content", [b"", b"\n\n \n"])
    def test_no_word(self, here, refused, content):
        (here / "empty.txt").write_bytes(content)
        for more in ((), ("--dry-run",), ("--set.text_share", "0")):
            refused("--text", "empty.txt", *more, says="empty.txt has no word, so there is no text to learn from")

    def test_no_file(self, refused):
        refused("--text", "nowhere.txt", says="nowhere.txt: there is no such file")

    def test_bytes_that_are_no_text(self, here, refused):
        (here / "latin.txt").write_bytes(b"to Oslo\nto Troms\xf8\n")
        refused("--text", "latin.txt", says="latin.txt:2: ")

    @pytest.mark.parametrize("method", ["finetune", "frozen", "joint"])
    def test_a_method_without_a_teacher(self, refused, method):
        refused("--text", "text.txt", "--method", method, says=f"method {method} does not learn from what the old")

    def test_a_bare_encoder(self, encoder, refused):
        refused("--text", "text.txt", "--from", str(encoder), says="the model knows no type yet")


class TestRepeating:
    def test_bit_for_bit_with_the_same_text(self, here, capsys):
        assert main([*WITH_TEXT, "--epochs", "2"]) == 0
        assert main([*AGAIN, "--text", "text.txt"]) == 0 and "bit for bit" in capsys.readouterr().out
        assert (here / "v2" / "model.safetensors").read_bytes() == (here / "v3" / "model.safetensors").read_bytes()
        assert record(here / "v2")["data"] == record(here / "v3")["data"]

    def test_other_text_or_none(self, here, capsys):
        assert main(WITH_TEXT) == 0
        capsys.readouterr()
        assert main(AGAIN) == 2 and "it had 40 sentences of text (--text)" in capsys.readouterr().err
        (here / "other.txt").write_text("to Oslo\n" * 40)
        assert main([*AGAIN, "--text", "other.txt"]) == 2 and "the text differs" in capsys.readouterr().err
        assert main([*AGAIN, "--text", "other.txt", "--dry-run"]) == 2 and "the text differs" in capsys.readouterr().err
        assert main([*AGAIN, "--text", "other.txt", "--anyway"]) == 0
        out, err = capsys.readouterr()
        assert "the text differs" in err and "other weights" in out

    def test_a_prior_without_the_dev_file_it_was_corrected_on(self, here, capsys):
        write(generate(40, seed=9, types=["city"]), "dev.conll", "conll")
        assert main([*CALL, "--method", "retain", "--dev", "dev.conll"]) == 0
        capsys.readouterr()
        for more in ([], ["--dry-run"]):
            assert main([*AGAIN, *more]) == 2
            assert "it had a dev set of 40 sentences (--dev)" in capsys.readouterr().err

    def test_text_where_there_was_none(self, here, capsys):
        assert main(CALL) == 0
        assert main([*AGAIN, "--text", "text.txt"]) == 2 and "it had no --text" in capsys.readouterr().err

    def test_another_draw_of_the_same_text_is_no_other_text(self, here, capsys):
        """The command line wins, and what it changes is told; --dev, for the seed chooses what is set aside too."""
        write(generate(40, seed=9, types=["city"]), "dev.conll", "conll")
        assert main([*WITH_TEXT, "--dev", "dev.conll", "--set.text_limit", "20"]) == 0
        capsys.readouterr()
        assert main([*AGAIN, "--text", "text.txt", "--dev", "dev.conll", "--seed", "5"]) == 0
        err = capsys.readouterr().err
        assert "seed 5 instead of 0" in err and "text differs" not in err
        assert main([*AGAIN, "--dev", "dev.conll", "--seed", "5", "--out", "v4"]) == 2, "but it must be there"
        assert "it had 20 sentences of text (--text)" in capsys.readouterr().err


class TestThePrior:
    @pytest.mark.parametrize(
        ("offsets", "said"),
        [
            ({}, ""),
            ({"person": 0.0}, "none gains more than chance"),
            ({"person": -1.25, "city": 0.5, "movie": 0.0}, "person −1.25, city +0.50"),
        ],
    )
    def test_in_words(self, offsets, said):
        assert describe_prior(offsets) == said
        assert describe_prior({"city": 0.0}, blend=0.3) == "encoder 30% of the way back to its parent"

    def test_in_the_history_and_on_the_card(self, first, tmp_path, capsys):
        for name, offsets in {"a": {"artist": -1.25, "a|b": 0.5}, "b": {"artist": 0.0}, "c": {}}.items():
            version = load(first.save(tmp_path / f"plain-{name}"), device="cpu")
            version.lineage = replace(version.lineage, prior=offsets)
            version.save(tmp_path / name)
        said = []
        for name in "abc":
            assert main(["log", str(tmp_path / name)]) == 0
            card = (tmp_path / name / "README.md").read_text()
            rows = [line for line in card.splitlines() if line.startswith("| prior correction |")]
            said.append((capsys.readouterr().out, *rows))
        assert "│   prior correction: artist −1.25, a|b +0.50\n" in said[0][0]
        assert said[0][1] == r"| prior correction | artist −1.25, a\|b +0.50 |"
        assert "prior correction: none gains more than chance\n" in said[1][0]
        assert said[1][1] == "| prior correction | none gains more than chance |"
        assert "prior" not in said[2][0] and len(said[2]) == 1

    def test_in_the_summary(self, here, capsys):
        write(generate(60, seed=9, types=["artist", "city"]), "dev.conll", "conll")
        assert main([*CALL, "--method", "retain", "--dev", "dev.conll"]) == 0
        expected = describe_prior(record(here / "v2")["prior"])
        assert expected and f"\nprior     {expected}\n" in capsys.readouterr().out

    def test_in_the_summary_where_no_correction_gains(self, here, capsys, monkeypatch):
        monkeypatch.setattr("retainer.cli.verbs.learn.describe_prior", lambda *_: describe_prior({"city": 0.0}))
        assert main([*CALL, "--method", "retain"]) == 0
        assert "\nprior     as it is: no correction gains more than chance\n" in capsys.readouterr().out
