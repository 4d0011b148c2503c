"""`learn --dry-run`: what it foretells is what happens, and nothing is touched."""

import json

import pytest
import torch

from retainer.cli.dry_run import dry_run_lines
from retainer.cli.main import main
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.methods import METHODS, RDP
from retainer.model.quirks import NONE
from retainer.training.learn import learn
from retainer.training.preview import _apart, preview
from retainer.training.recipe import Recipe
from retainer.training.request import LearnRequest

NAMES = [name for name, method in METHODS.items() if method.quirks == NONE and not method.joint]


@pytest.mark.parametrize("name", NAMES)
def test_it_foretells_every_method(name, first, city, quick):
    before = {key: tensor.clone() for key, tensor in first.tagger.state_dict().items()}
    seen = preview(LearnRequest(city, first, method=METHODS[name], recipe=quick, device="cpu").resolve())
    assert (seen.new, seen.old, seen.method) == (("city",), ("artist",), name)
    assert seen.seconds > 0 and seen.steps == quick.epochs * -(-seen.train["sentences"] // seen.batch)
    assert all(torch.equal(tensor, before[key]) for key, tensor in first.tagger.state_dict().items())


@pytest.fixture(scope="module")
def sure(encoder, artist):
    """A first version that finds its type."""
    return learn(artist, encoder, recipe=Recipe(epochs=15, base_lr=3e-3), device="cpu")


def test_the_pseudo_labels_are_what_the_old_version_finds(sure, quick):
    """Where nothing is annotated; an annotated word may cut one in two."""
    both = generate(200, seed=9, types=["artist", "city"])
    task = LearnRequest(both, sure, types=["city"], method="rdp-no-ppl", recipe=quick, device="cpu").resolve()
    seen = preview(task)
    truth = [[s for s in spans if s.type == "artist"] for spans in sure.tag(task.data.train.sentences)]
    free = sum(
        not any(g.start < s.end and s.start < g.end for g in sentence.spans)
        for sentence, spans in zip(task.data.train, truth, strict=True)
        for s in spans
    )
    assert seen.pseudo_labels["artist"]["count"] >= free > 0
    examples = seen.as_dict()["guesses"]["artist"]["examples"]
    assert len(examples) == min(3, seen.pseudo_labels["artist"]["count"])
    for example in examples:
        (row,) = example["sentences"]
        assert example["text"] in " ".join(task.data.train[row - 1].words)


@pytest.mark.parametrize(
    ("taken", "chosen", "fewer", "apart"),
    [
        (221, 196, True, True),
        (215, 196, True, False),
        (176, 196, True, True),
        (98, 196, False, False),
        (4, 3, True, False),
    ],
)
def test_more_than_a_tenth_apart_is_too_far(taken, chosen, fewer, apart):
    assert _apart(taken, chosen, fewer=fewer) is apart


def test_what_a_method_takes_beside_what_the_old_version_would_choose(sure, quick):
    """With so low a temperature the prototypes alone decide, and many words change sides."""
    both = generate(200, seed=9, types=["artist", "city"])

    def seen(method):
        return preview(LearnRequest(both, sure, types=["city"], method=method, recipe=quick, device="cpu").resolve())

    plain, near = seen("rdp-no-ppl"), seen(RDP(temperature=0.01))
    own, moved = (one.pseudo_labels["artist"] for one in (plain, near))
    assert own["chosen"] == own["count"] == moved["chosen"] > 0 and not own["apart"] and moved["apart"]
    assert not any("warning" in line for line in dry_run_lines(plain))
    assert (
        f"would treat {moved['count']} unannotated entities as artist; the old version's own choice is {own['count']}"
        in dry_run_lines(near)
    )
    assert any("warning: on artist rdp" in line and "--set.pseudo argmax" in line for line in dry_run_lines(near))
    cautious = seen("cpfd").pseudo_labels["artist"]
    assert cautious["count"] < 0.9 * cautious["chosen"] and not cautious["apart"], "fewer are meant"


def test_a_method_without_guesses(first, city, quick):
    seen = preview(LearnRequest(city, first, method="finetune", recipe=quick, device="cpu").resolve())
    assert seen.pseudo_labels is None and seen.found is None, "it asks no teacher"


def test_what_a_method_learns_softly_is_shown(sure, quick):
    """The default takes no pseudo labels; what the old version finds is what it learns to keep."""
    both = generate(200, seed=9, types=["artist", "city"])
    soft, hard = (
        preview(LearnRequest(both, sure, types=["city"], method=name, recipe=quick, device="cpu").resolve())
        for name in ("retain", "rdp-no-ppl")
    )
    assert soft.pseudo_labels is None and soft.found == hard.found
    found = soft.found["artist"]
    assert found["count"] == hard.pseudo_labels["artist"]["chosen"] > 0 and len(found["examples"]) == 3
    line = f"the old version finds {found['count']} unannotated entities of type artist in these sentences"
    assert f"{line}, which retain learns to keep" in dry_run_lines(soft)
    assert not any(line in one for one in dry_run_lines(hard)), "there it stands beside the pseudo labels"


def test_a_first_version(encoder):
    data = generate(200, seed=9, types=["artist"])
    seen = preview(LearnRequest(data, encoder, recipe=Recipe(epochs=2), device="cpu").resolve())
    assert seen.old == () and seen.pseudo_labels is None
    assert seen.dev == {"sentences": 20, "set_aside": True, "chooses": False}


def test_the_run_itself_is_the_same_afterwards(first, city, quick):
    once = learn(city, first, recipe=quick, device="cpu").tagger.state_dict()
    preview(LearnRequest(city, first, recipe=quick, device="cpu").resolve())
    again = learn(city, first, recipe=quick, device="cpu").tagger.state_dict()
    assert all(torch.equal(once[name], again[name]) for name in once)


class TestTheVerb:
    @pytest.fixture
    def call(self, tmp_path, encoder, artist, monkeypatch):
        monkeypatch.chdir(tmp_path)
        write(artist, "artist.conll", "conll")
        return ["learn", "artist.conll", "--from", str(encoder), "--out", "v1", "--device", "cpu", "--dry-run"]

    def test_nothing_is_written(self, call, tmp_path, capsys):
        assert main(call) == 0
        out = capsys.readouterr().out
        assert "would learn   artist" in out and "nothing was written" in out
        assert sorted(path.name for path in tmp_path.iterdir()) == ["artist.conll"]

    def test_it_says_when_there_is_too_little_to_choose_on(self, call, capsys):
        write(generate(150, seed=9, types=["artist"]), "artist.conll", "conll")
        assert main(call) == 0 and "set aside, so the last epoch is kept" in capsys.readouterr().out
        assert main([*call, "--dev", "artist.conll"]) == 0 and "if it does not stop early" in capsys.readouterr().out
        assert main([*call[:-1], "--epochs", "1"]) == 0
        out = capsys.readouterr().out
        assert "fewer than 100 entities were set aside, so the last epoch was kept" in out
        assert "poor      hardly anything new is found yet" in out, "one epoch; what was set aside still tells"

    def test_for_machines(self, call, capsys):
        assert main([*call, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["new"] == ["artist"]

    def test_a_folder_in_the_way_is_refused_now(self, call, tmp_path, capsys):
        (tmp_path / "v1").mkdir()
        assert main(call) == 2 and "v1" in capsys.readouterr().err
