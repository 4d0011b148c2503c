"""Too little to learn from is said by `learn`, by its dry run and by `check` alike, and only where it is so."""

import json

import pytest

from retainer.cli.main import main
from retainer.data.checks import findings
from retainer.data.corpus import Corpus
from retainer.data.io import write
from retainer.data.scarcity import FEW_SENTENCES, FEW_TO_LEARN_FROM, scarcity
from retainer.data.spans import Sentence, Span


def corpus(number, each=1, source="data"):
    """So many sentences with so many cities each."""
    spans = tuple(Span(at, at + 1, "city") for at in range(1, 2 * each, 2))
    return Corpus(tuple(Sentence((f"to{i}", *["paris", "or"] * each), spans) for i in range(number)), source)


def test_the_sentence_has_the_counts_and_what_to_do():
    said = scarcity(corpus(1, 3), ["city"])
    assert said.startswith("data has 1 sentence and only 3 entities of city: expect much of it to be missed")
    assert said.endswith("annotate more; 20 entities of a type are few, 200 are comfortable")
    assert "0 entities of river" in scarcity(corpus(30), ["city", "river"]), "a type that only dev has, say"


@pytest.mark.parametrize(
    ("number", "each", "little"),
    [(FEW_TO_LEARN_FROM - 1, 1, True), (FEW_TO_LEARN_FROM, 1, False), (FEW_SENTENCES - 1, 30, True), (10, 2, False)],
)
def test_only_where_it_is_little(number, each, little):
    data = corpus(number, each)
    assert bool(scarcity(data, ["city"])) == little and not scarcity(corpus(FEW_SENTENCES), [])
    weighty = [one.what for one in findings(data) if one.weight == "mend" and one.what.startswith("few ")]
    assert bool(weighty) == little, "check says the same"


class TestTheVerbs:
    @pytest.fixture
    def call(self, tmp_path, encoder, monkeypatch):
        monkeypatch.chdir(tmp_path)
        write(corpus(1), "one.conll", "conll")
        return ["learn", "one.conll", "--from", str(encoder), "--out", "v1", "--epochs", "1", "--device", "cpu"]

    WARNING = "warning: one.conll has 1 sentence and only 1 entity of city: expect"

    @pytest.mark.parametrize("quiet", [(), ("--quiet",)])
    def test_learn(self, call, capsys, quiet):
        assert main([*call, *quiet]) == 0
        said = capsys.readouterr()
        assert said.err.count(self.WARNING) == 1 and "of 1 city" in said.out and "%" not in said.out
        assert quiet or ": 1 text gives too few steps per epoch" in said.err

    def test_dry_run(self, call, capsys):
        assert main([*call, "--dry-run"]) == 0 and self.WARNING in capsys.readouterr().out
        assert main([*call, "--dry-run", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["warnings"][0].startswith(self.WARNING)

    def test_check(self, call, capsys):
        assert main(["check", "one.conll"]) == 0
        out = capsys.readouterr().out
        assert "fix this first: 1 × few sentences in all" in out and "1 × few entities of type city" in out
        assert "expect much of it to be missed" in out

    def test_check_of_data_without_entities(self, call, capsys):
        """What is missing altogether is not counted."""
        write(corpus(12, 0), "none.conll", "conll")
        assert main(["check", "none.conll"]) == 0
        out = capsys.readouterr().out
        assert "fix this first: no entity at all\n" in out and "0 ×" not in out
