"""Old types annotated in the data: where all of one are, the annotation is the truth, and the teacher knows it."""

import json
from dataclasses import replace

import pytest
import torch

from retainer.cli.main import main
from retainer.data.generated import generate
from retainer.data.io import read, write
from retainer.data.labels import Labels
from retainer.data.spans import Sentence
from retainer.data.tasks import hide
from retainer.methods import METHODS
from retainer.model.predict import run_tagger
from retainer.model.quirks import NONE
from retainer.training.learn import learn
from retainer.training.prepare import prepare
from retainer.training.preview import preview
from retainer.training.progress import Progress
from retainer.training.recipe import Recipe
from retainer.training.request import LearnRequest
from retainer.training.task_data import TaskData
from retainer.training.teacher_targets import Completeness, open_labels, ruled_out
from retainer.versions.version import load

NAMES = [name for name, one in METHODS.items() if not one.joint and one.quirks == NONE]
TYPES = ["artist", "city", "movie"]
BRIEF = Recipe(epochs=2, batch=16, lr=1e-3)


@pytest.fixture(scope="module")
def pair(encoder):
    """A version that knows artists and movies, the movies well and the artists from a dozen sentences."""
    data = generate(250, seed=6, types=TYPES)
    few = [s.with_spans(x for x in s.spans if x.type == "movie" or at < 12) for at, s in enumerate(data)]
    data = hide(replace(data, sentences=tuple(few)), ["artist", "movie"])
    return learn(data, encoder, recipe=Recipe(epochs=8, batch=16, base_lr=3e-3, holdout=0), device="cpu")


@pytest.fixture(scope="module")
def more():
    """Sentences in which all artists are annotated, and nothing else."""
    return hide(generate(250, seed=15, types=TYPES), ["artist"])


class Notes(Progress):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


def test_what_is_ruled_out():
    labels = Labels(("O", "B-a", "I-a", "B-b", "I-b"))  # the student has B-n and I-n behind them
    gold = torch.tensor([0, 1, 5, 0, 3, 5])
    out = ruled_out(gold, complete(["a", "n"], []), labels)
    assert out.int().tolist() == [
        [0, 1, 1, 0, 0],  # O where all a are annotated: no a; it may be b
        [1, 0, 1, 1, 1],  # a, and nothing else
        [0, 1, 1, 0, 0],  # new, so no a; what else it looks like is the teacher's business
        [0, 0, 0, 0, 0],  # O where nothing old is complete: anything
        [1, 1, 1, 0, 1],  # b where it stands
        [0, 0, 0, 0, 0],
    ]
    assert ruled_out(torch.tensor([0, 5, 6]), complete(["n"]), labels) is None, "a pure new task tells nothing"


def test_what_stays_open():
    grown = Labels(("O", "B-a", "I-a", "B-n", "I-n", "B-m", "I-m"))  # the teacher knows a
    found = open_labels(complete(["a", "n", "m"], ["n"], [], ["m", "n"]), grown, known=3)
    assert found.at(torch.tensor([0, 3, 6, 9])).int().tolist() == [
        [0, 0, 0, 0, 0, 0, 0],  # everything is annotated
        [0, 0, 0, 0, 0, 1, 1],  # m is not; a is the teacher's business
        [0, 0, 0, 1, 1, 1, 1],  # nothing is
        [0, 0, 0, 0, 0, 0, 0],
    ]
    assert open_labels(complete(["n", "m"], ["a", "m", "n"]), grown, known=3) is None, "where nothing is open"


def complete(*sets):
    """Sentences of three words, each with some types complete."""
    return Completeness.of([Sentence(("x", "y", "z")).completed(types) for types in sets], torch.device("cpu"))


class TestTheTeacher:
    def prepare_task(self, pair, data, name="rdp", new=(), again=("artist",)):
        return prepare(pair.tagger, TaskData(data, tuple(new), retaught=again), METHODS[name], BRIEF)

    def test_it_goes_by_the_annotation_and_else_by_what_it_knows(self, pair, more):
        prepared = self.prepare_task(pair, more)
        labels, plain = pair.tagger.labels, run_tagger(pair.tagger, prepared.slice).logits.softmax(-1)
        heard, given = prepared.teacher.output.logits.softmax(-1), prepared.tokens
        artists, others = labels.of(["artist"]), [0, *labels.of(["movie"])]
        free = given.unannotated
        assert (heard[free][:, artists] == 0).all() and (plain[free][:, artists] > 0.5).any(), "it had other ideas"
        ratio = plain[free][:, others] / plain[free][:, others].sum(-1, keepdim=True)
        assert torch.allclose(heard[free][:, others], ratio, atol=1e-5), "of the rest it thinks what it thought"
        assert torch.equal(heard[given.annotated].argmax(-1), given.labels[given.annotated])
        assert (heard[given.annotated].max(-1).values == 1).all()

    @pytest.mark.parametrize("name", ["rdp", "rdp-no-ppl", "cpfd"])
    def test_no_pseudo_label_adds_to_the_truth(self, name, pair, more):
        prepared = self.prepare_task(pair, more, name)
        artists = torch.tensor(pair.tagger.labels.of(["artist"]))
        guess = prepared.method.pseudo_labels(prepared.memory)
        assert not torch.isin(guess[prepared.tokens.unannotated], artists).any()
        unnamed = prepare(pair.tagger, TaskData(hide(more, []), ()), METHODS[name], BRIEF)
        assert torch.isin(unnamed.method.pseudo_labels(unnamed.memory), artists).any(), (
            "untold, it would have added some"
        )

    def test_a_teacher_asked_at_every_step_knows_it_too(self, pair, more):
        prepared = self.prepare_task(pair, more, "podnet")
        assert prepared.teacher.live is not None
        windows, length = prepared.slice.shuffled(8, 0)[0]
        batch = prepared.slice.batch(windows, length)
        rows = batch.words.flatten()
        heard = prepared.teacher.outputs(batch, prepared.method.needs)
        assert torch.equal(heard.logits[rows >= 0], prepared.teacher.output.logits[rows[rows >= 0]]) and heard.layers

    def test_a_pure_new_task_hears_the_very_same_teacher(self, pair, city):
        prepared = self.prepare_task(pair, city, "rdp", ["city"], ())
        assert not prepared.teacher.informed and prepared.student.head.retaught is None
        assert torch.equal(prepared.teacher.output.logits, run_tagger(pair.tagger, prepared.slice).logits)


class TestLearning:
    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("types", [["artist"], ["city", "artist"]], ids="+".join)
    def test_every_method(self, name, types, pair):
        data = generate(24, seed=5, types=TYPES)
        version = learn(data, pair, types=types, method=name, recipe=replace(BRIEF, epochs=1), device="cpu")
        new = tuple(type_ for type_ in types if type_ == "city")
        assert version.types == ("artist", "movie", *new)
        assert version.tagger.labels.names[:5] == pair.tagger.labels.names, "old labels stay where they were"
        assert version.lineage.tasks == (("artist", "movie"), new) and version.lineage.again == ("artist",)
        assert version.lineage.scores["changed_by_growing"] == 0
        state = version.tagger.state_dict()
        assert all(torch.isfinite(tensor).all() for tensor in state.values())
        moved = (state["head.old.weight"][:5] != pair.tagger.head.weight()).any(dim=1)
        artists = pair.tagger.labels.of(["artist"])
        assert moved.nonzero().flatten().tolist() == artists, "these rows learn, and no other old one"

    def test_more_data_make_it_better_and_cost_the_others_little(self, pair, more):
        test = generate(200, seed=31, types=TYPES)
        version = learn(more, pair, types=["artist"], recipe=replace(BRIEF, epochs=6), device="cpu")
        before, after = ({type_: one.f1 for type_, one in v.evaluate(test).per_type.items()} for v in (pair, version))
        assert after["artist"] > before["artist"] + 10 and after["movie"] > before["movie"] - 5
        made = version.lineage.scores["balance"]
        assert (
            made["again"] == ["artist"] and made["new"] == {} and "learned more of artist (found " in made["in_words"]
        )
        assert made["old"]["artist"]["after"] == version.lineage.scores["per_type"]["artist"]["f1"]
        assert set(version.lineage.scores["before"]) == {"artist"}

    def test_the_epoch_is_chosen_on_what_is_taught(self, pair):
        both, dev = (hide(generate(size, seed=5, types=TYPES), ["artist", "city"]) for size in (120, 20))
        recipe = replace(BRIEF, precision="full")
        version = learn(both, pair, types=["city", "artist"], dev=dev, recipe=recipe, device="cpu")
        scores = version.lineage.scores
        counts = [scores["per_type"][type_] for type_ in ("city", "artist")]
        assert min(one["support"] for one in counts) > 0
        low, high = sorted(one["f1"] for one in counts)
        assert low <= scores["dev"] <= high

    def test_thawed_rows_and_cosine_heads(self, pair, encoder, more):
        version = learn(more, pair, types=["artist"], recipe=replace(BRIEF, freeze_old_rows=False), device="cpu")
        assert (version.tagger.head.weight() != pair.tagger.head.weight()).any(dim=1).all(), "all rows learn"
        recipe = replace(BRIEF, head="cosine", base_lr=3e-3)
        start = learn(
            hide(generate(60, seed=6, types=TYPES), ["artist", "movie"]), encoder, recipe=recipe, device="cpu"
        )
        version = learn(more, start, types=["artist"], recipe=recipe, device="cpu")
        assert version.tagger.head.kind == "cosine" and version.lineage.scores["changed_by_growing"] == 0

    def test_a_killed_run_goes_on(self, pair, more, tmp_path):
        call = {
            "types": ["artist"],
            "recipe": replace(BRIEF, epochs=3),
            "device": "cpu",
            "state_folder": tmp_path / "p",
        }
        whole = learn(more, pair, **{**call, "state_folder": None})
        with pytest.raises(KeyboardInterrupt):
            learn(more, pair, **call, checkpoint_seconds=0, progress=_Later())
        notes = Notes()
        again = learn(more, pair, **call, progress=notes)
        assert any("resuming an unfinished run after epoch" in note for note in notes.notes)
        state = whole.tagger.state_dict()
        assert all(torch.equal(state[key], value) for key, value in again.tagger.state_dict().items())

    def test_the_next_version_goes_on_from_there(self, pair, more, city, tmp_path):
        learn(more, pair, types=["artist"], recipe=BRIEF, device="cpu", out=tmp_path / "v2")
        third = learn(city, tmp_path / "v2", recipe=BRIEF, device="cpu")
        assert third.lineage.tasks == (("artist", "movie"), (), ("city",)) and third.lineage.again == ()
        assert third.old_types == ("artist", "movie") and third.new_types == ("city",)
        assert load(tmp_path / "v2", device="cpu").old_types == ("artist", "movie")


class _Later(Progress):
    """Kills a run after its second epoch, when the first has been kept."""

    def epoch(self, epoch):
        if epoch.number == 2:
            raise KeyboardInterrupt


class TestUnnamed:
    def test_gold_where_they_stand_and_the_rest_is_the_teachers(self, pair):
        data = hide(generate(120, seed=5, types=TYPES), ["artist", "city"])
        notes = Notes()
        version = learn(data, pair, recipe=BRIEF, device="cpu", progress=notes)
        assert version.lineage.again == () and version.lineage.tasks[-1] == ("city",)
        (note,) = (note for note in notes.notes if "also has entities of artist" in note)
        assert "--types city,artist" in note
        task = LearnRequest(data, pair, recipe=BRIEF, device="cpu").resolve()
        prepared = prepare(pair.tagger, task.data, task.method, BRIEF)
        heard, given = prepared.teacher.output.logits.softmax(-1), prepared.tokens
        artists = pair.tagger.labels.of(["artist"])
        assert (heard[given.unannotated][:, artists] > 0.5).any(), "absence means nothing"
        stand = given.annotated & (given.labels < given.old)
        assert stand.any() and torch.equal(heard[stand].argmax(-1), given.labels[stand])
        old = torch.arange(len(pair.tagger.labels.names))
        assert torch.equal(version.tagger.head.weight()[old], pair.tagger.head.weight()), "and no old row moves"

    def test_no_note_without_cause(self, pair, city):
        assert LearnRequest(city, pair, method="rdp", recipe=BRIEF, device="cpu").resolve().notes == []


class TestSaidSentenceBySentence:
    """Data may say which types are complete in a sentence; elsewhere O stays open."""

    @pytest.fixture(scope="class")
    def data(self, tmp_path_factory):
        """Artists and cities: both complete in a third of the sentences, artists in another; the rest does not say."""
        made = hide(generate(90, seed=5, types=TYPES), ["artist", "city"])
        said = (["artist", "city"], ["artist"], None)
        path = tmp_path_factory.mktemp("said") / "data.jsonl"
        write([replace(one, complete=said[at % 3]) for at, one in enumerate(made)], path, "prodigy")
        return path

    def test_it_is_learned_so(self, data, pair):
        task = LearnRequest(data, pair, method="rdp", recipe=BRIEF, device="cpu").resolve()
        assert (task.new, task.data.retaught, task.notes) == (("city",), ("artist",), []), "no type had to be named"
        third = ({"artist", "city"}, {"artist"}, set())
        assert [set(one.complete) for one in task.data.sentences] == [third[at % 3] for at in range(90)]
        prepared = prepare(pair.tagger, task.data, task.method, BRIEF)
        heard, given = prepared.teacher.output.logits.softmax(-1), prepared.tokens
        artists, third = pair.tagger.labels.of(["artist"]), given.sentences % 3
        assert (heard[given.unannotated & (third < 2)][:, artists] == 0).all(), "a true O"
        assert (heard[given.unannotated & (third == 2)][:, artists] > 0).all(), "what the teacher thinks"
        cities = prepared.student.labels.of(["city"])
        assert torch.equal(prepared.open.at(given.rows)[:, cities].all(-1), third > 0), "nobody knows"

    def test_only_what_is_known_needs_no_name(self, data, pair, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        pair.save("v1")
        write(hide(read(data), ["artist"]), "more.jsonl", "jsonl")
        call = ["learn", "more.jsonl", "--from", "v1", "--out", "v2", "--epochs", "1", "--device", "cpu"]
        assert main(call) == 0
        assert load("v2", device="cpu").lineage.again == ("artist",)
        again = ["learn", "more.jsonl", "--config", "v2/retainer.json", "--out", "v3", "--device", "cpu"]
        assert main(again) == 0
        assert load("v3", device="cpu").fingerprint == load("v2", device="cpu").fingerprint, "the record repeats it"

    def test_a_new_type_that_is_complete_nowhere(self, data, pair):
        corpus = read(data)
        poor = replace(corpus, sentences=tuple(one.completed(["artist"]) for one in corpus))
        (note,) = LearnRequest(poor, pair, method="rdp", recipe=BRIEF, device="cpu").resolve().notes
        assert "names city as complete, so nothing says what is not of this type" in note

    def test_what_is_set_aside_to_measure_is_complete(self, data, pair):
        task = LearnRequest(data, pair, recipe=replace(BRIEF, holdout=0.5), device="cpu").resolve()
        assert len(task.dev) == 15 and all(set(one.complete) == {"artist", "city"} for one in task.dev)


class TestTheVerb:
    @pytest.fixture
    def here(self, pair, more, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        pair.save("v1")
        write(more, "more.conll", "conll")
        return tmp_path

    CALL = ("learn", "more.conll", "--from", "v1", "--out", "v2", "--epochs", "1", "--device", "cpu")

    def test_only_what_is_known(self, here, capsys):
        assert main(list(self.CALL)) == 2
        assert "name the types (--types artist)" in capsys.readouterr().err and not (here / "v2").exists()
        assert main([*self.CALL, "--types", "artist", "--dev", "more.conll"]) == 0
        out = capsys.readouterr().out
        assert "learned   more of artist" in out and "before    movie" in out and "on what was taught" in out
        assert main(["log", "v2"]) == 0 and "learned more of artist; knows artist, movie" in capsys.readouterr().out
        assert main(["verify", "v2"]) == 0 and main(["evaluate", "v2", "more.conll"]) == 0
        card = (here / "v2" / "README.md").read_text()
        assert "This version learned more of artist and was to keep movie." in card

    def test_a_look_ahead(self, here, capsys, pair, more):
        assert main([*self.CALL, "--types", "artist", "--dry-run"]) == 0
        out = capsys.readouterr().out
        assert "would learn   more of artist" in out and "would keep    movie" in out and "texts for artist" not in out
        seen = preview(LearnRequest(more, pair, types=["artist"], recipe=BRIEF, device="cpu").resolve())
        assert seen.retaught == ("artist",) and seen.pseudo_labels is None and set(seen.found) == {"movie"}

    def test_for_machines(self, here, capsys):
        assert main([*self.CALL, "--types", "artist", "--json"]) == 0
        record = json.loads(capsys.readouterr().out)
        assert record["again"] == ["artist"] and record["tasks"] == [["artist", "movie"], []]
