import json
import shutil

import numpy as np
import pytest
import torch

from retainer.data.generated import generate
from retainer.data.spans import Sentence
from retainer.errors import InputError
from retainer.model.predict import tag
from retainer.model.windows import windows
from retainer.training.learn import learn
from retainer.training.recipe import Recipe
from retainer.versions.version import load

TEXTS = [
    "play boston by boston in the kitchen",
    "Text Madison , please: dinner is at 8 in Zürich!",
    "",
    "what's new",
    "a" * 300 + " b",
    "songs by Florence and the Machine … really?",
]


def places(entities):
    return [[(e["entity_group"], e["start"], e["end"]) for e in found] for found in entities]


@pytest.fixture(scope="module", params=["linear", "cosine"])
def grown(request, encoder, artist, city):
    """A version after two tasks, trained long enough to find things."""
    recipe = Recipe(epochs=12, base_lr=1e-3, lr=1e-3, head=request.param)
    return learn(city, learn(artist, encoder, recipe=recipe, device="cpu"), recipe=recipe, device="cpu")


def test_a_saved_version_is_a_plain_pipeline_folder(grown, tmp_path, pipeline):
    folder = grown.save(tmp_path / "v")
    texts = TEXTS + [" ".join(sentence.words) for sentence in generate(60, seed=77, types=["artist", "city"])]
    ours, theirs = grown.predict(texts), pipeline(folder, texts)
    assert sum(map(len, ours)) > 20, "a test with no entities would prove nothing"
    assert places(ours) == places(theirs)
    if grown.tagger.head.kind == "linear":
        scores = [[e["score"] for found in all_ for e in found] for all_ in (ours, theirs)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-4)


def test_a_model_without_a_record_is_not_saved_as_a_version(checkpoint, tmp_path):
    with pytest.raises(InputError, match="copy its folder instead"):
        load(checkpoint("O", "B-loc"), device="cpu").save(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_foreign_checkpoint_gives_the_same_with_us(checkpoint, pipeline):
    folder = checkpoint("B-loc", "O", "I-loc", "B-per", "I-per")
    assert places(load(folder, device="cpu").predict(TEXTS)) == places(pipeline(folder, TEXTS))


def test_saving_and_loading_changes_nothing(grown, tmp_path, artist):
    folder = grown.save(tmp_path / "v")
    again = load(folder, device="cpu")
    assert again.types == grown.types and again.tagger.head.kind == grown.tagger.head.kind
    assert again.tag(artist.sentences) == grown.tag(artist.sentences)
    assert again.predict(TEXTS) == grown.predict(TEXTS)
    assert again.lineage.tasks == (("artist",), ("city",)) and again.lineage.method == "retain"


def test_the_folder_holds_what_it_should(grown, tmp_path):
    folder = grown.save(tmp_path / "v")
    names = {path.name for path in folder.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "retainer.json"} <= names
    assert not any(name.endswith((".bin", ".pt", ".pkl")) for name in names)
    assert ("cosine_head.safetensors" in names) == (grown.tagger.head.kind == "cosine")
    config = json.loads((folder / "config.json").read_text())
    assert list(config["id2label"].values()) == list(grown.tagger.labels.names)
    record = json.loads((folder / "retainer.json").read_text())
    assert record["tasks"] == [["artist"], ["city"]] and record["versions"]["torch"] and record["data"]["sha256"]
    assert "play" not in json.dumps(record["data"]), "no text in the record"


def test_everybody_may_read_a_saved_version(grown, tmp_path):
    for path in grown.save(tmp_path / "v").rglob("*"):
        assert path.stat().st_mode & 0o444 == 0o444


def test_a_third_task_starts_from_the_saved_second(grown, tmp_path):
    movie = generate(60, seed=8, types=["movie"])
    start = load(grown.save(tmp_path / "v"), device="cpu")
    third = learn(movie, start, recipe=Recipe(epochs=1), device="cpu")
    assert third.types == ("artist", "city", "movie") and third.lineage.task == 3
    assert third.lineage.parent == start.lineage.weights == grown.lineage.weights != ""
    assert third.tagger.head.kind == grown.tagger.head.kind


class TestRefused:
    def test_changed_weights(self, first, tmp_path):
        folder = first.save(tmp_path / "v")
        file = folder / "model.safetensors"
        data = bytearray(file.read_bytes())
        data[-1] ^= 1
        file.write_bytes(data)
        with pytest.raises(InputError, match="truncated or was changed"):
            load(folder)

    def test_truncated_weights(self, first, tmp_path):
        folder = first.save(tmp_path / "v")
        file = folder / "model.safetensors"
        file.write_bytes(file.read_bytes()[:-100])
        with pytest.raises(InputError, match="truncated or was changed"):
            load(folder)

    def test_lost_weights(self, first, tmp_path):
        folder = first.save(tmp_path / "v")
        (folder / "model.safetensors").unlink()
        with pytest.raises(InputError, match=r"has lost its model\.safetensors"):
            load(folder)

    def test_half_a_character(self, first):
        with pytest.raises(InputError, match="is not valid Unicode"):
            first.predict(["fine", "to paris \ud800"])

    def test_a_broken_record(self, first, tmp_path):
        folder = first.save(tmp_path / "v")
        (folder / "retainer.json").write_text("{")
        with pytest.raises(InputError, match=r"retainer\.json is damaged"):
            load(folder)

    def test_a_folder_that_exists_is_left_alone(self, first, tmp_path):
        (tmp_path / "v").mkdir()
        (tmp_path / "v" / "mine").write_text("x")
        with pytest.raises(InputError, match="exists already"):
            first.save(tmp_path / "v")
        assert [path.name for path in tmp_path.rglob("*")] == ["v", "mine"]

    def test_without_the_record_it_is_a_foreign_model(self, first, tmp_path):
        folder = first.save(tmp_path / "v")
        (folder / "retainer.json").unlink()
        assert load(folder, device="cpu").types == ("artist",)

    def test_a_save_that_fails_leaves_nothing(self, first, tmp_path, monkeypatch):
        monkeypatch.setattr("retainer.versions.lineage.Lineage.save", lambda self, folder: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            first.save(tmp_path / "v")
        assert list(tmp_path.iterdir()) == []


class TestPredicting:
    def test_one_text_or_many(self, grown):
        many, single = grown.predict(TEXTS), [grown.predict(text) for text in TEXTS]
        assert places(many) == places(single)
        scores = [[e["score"] for found in all_ for e in found] for all_ in (many, single)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-5)
        assert grown.predict([]) == [] and grown.predict("") == []

    def test_keys_and_offsets(self, grown):
        text = "  play  songs by Prince  in   Boston !"
        for entity in grown.predict(text):
            assert set(entity) == {"entity_group", "score", "word", "start", "end"}
            assert text[entity["start"] : entity["end"]] == entity["word"] and 0 < entity["score"] <= 1

    def test_a_text_of_two_thousand_words_is_read_to_its_end(self, encoder, artist, quick):
        version = learn(artist, encoder, recipe=quick, device="cpu")
        words = [f"word{i}" for i in range(2000)]
        with torch.no_grad():
            version.tagger.head.old.bias[version.tagger.labels.names.index("B-artist")] += 1e4
        found = version.predict(" ".join(words))
        assert [entity["word"] for entity in found] == words, "every word is an entity now, the last one too"

    def test_a_long_text_is_seen_window_by_window(self, grown):
        """Every word gets the label it has in the one window that owns it, looked at as a text of its own."""
        words = tuple("play songs by prince in boston and then".split() * 40)
        tagger, encoder = grown.tagger, grown.tagger.tokenize
        found = tag(tagger, encoder([Sentence(words)])).ids
        (pieces,) = encoder.by_word([Sentence(words)])
        cuts = windows([len(part) for part in pieces], encoder.limit - 2)
        assert len(cuts) > 5 and [cut.own_end for cut in cuts[:-1]] == [cut.own_start for cut in cuts[1:]]
        for cut in cuts:
            alone = tag(tagger, encoder([Sentence(words[cut.start : cut.end])])).ids
            own = alone[cut.own_start - cut.start : cut.own_end - cut.start]
            assert own.tolist() == found[cut.own_start : cut.own_end].tolist()
        assert len(set(found.tolist())) > 1, "a model that finds nothing shows nothing"


def test_evaluate_counts_known_types_unless_told_otherwise(first):
    both = generate(60, seed=3, types=["artist", "city"])
    assert list(first.evaluate(both).per_type) == ["artist"]
    scores = first.evaluate(both, all=True)
    assert list(scores.per_type) == ["artist", "city"] and scores.per_type["city"].recall == 0
    with pytest.raises(InputError, match="no entity of a type this model knows"):
        first.evaluate(generate(30, seed=3, types=["movie"]))


def test_a_copy_of_a_folder_is_as_good(first, tmp_path):
    copy = shutil.copytree(first.save(tmp_path / "v"), tmp_path / "copy")
    assert load(copy, device="cpu").types == first.types


def test_a_score_is_the_mean_over_the_words(first, monkeypatch):
    """The means come out of running sums; word by word they are the same."""
    from retainer.model.predict import Tagged, find_entities

    texts = [Sentence.from_text("play songs by queen in the morning") for _ in range(300)]
    starts = np.cumsum([0, *(len(text.words) for text in texts)])
    random = np.random.default_rng(1)
    certain, ids = random.random(starts[-1], dtype=np.float32), random.integers(0, 3, starts[-1])
    monkeypatch.setattr("retainer.model.predict.tag", lambda *_: Tagged(ids, certain, starts))
    lengths = set()
    for base, text, found in zip(starts[:-1], texts, find_entities(first.tagger, texts), strict=True):
        begins = {begin: i for i, (begin, _) in enumerate(text.offsets)}
        ends = {end: i + 1 for i, (_, end) in enumerate(text.offsets)}
        for entity in found:
            words = range(base + begins[entity["start"]], base + ends[entity["end"]])
            lengths.add(len(words))
            assert entity["score"] == pytest.approx(sum(float(certain[i]) for i in words) / len(words))
    assert lengths >= {1, 2, 3}
