"""What some methods look at beside the batch: a sentence with holes, attention maps, layers, the slice itself."""

from dataclasses import replace

import pytest
import torch
from transformers import AutoTokenizer, DebertaV2Config, DebertaV2Model

from retainer.data.generated import generate
from retainer.data.spans import Sentence
from retainer.data.tasks import hide
from retainer.errors import InputError
from retainer.methods import METHODS, TBCL, Retain
from retainer.model.predict import run_tagger
from retainer.model.tokenization import Tokenization
from retainer.training.learn import learn
from retainer.training.prepare import prepare
from retainer.training.recipe import Recipe
from retainer.training.second_look import SecondLook, moved_back
from retainer.training.speed.attention_maps import attention_maps
from retainer.training.step import TrainingStep
from retainer.training.task_data import TaskData


@pytest.fixture(scope="module")
def encoded(first, city):
    return first.tagger.tokenize(city.sentences, "cpu")


class TestLeavingOut:
    def test_the_same_as_encoding_what_is_left(self, first, city):
        encoder = first.tagger.tokenize
        encoded = encoder(city.sentences, "cpu")
        windows = torch.arange(len(city))
        batch = encoded.batch(windows, int(encoded.lengths.max()))
        gone = torch.rand(batch.ids.shape, generator=torch.Generator().manual_seed(1)) < 0.3
        rest, places = encoded.without(batch, gone.flatten())
        for row, sentence in enumerate(city):
            number = int(encoded.sentence_starts[row])
            at = {int(word) - number: place for place, word in enumerate(batch.words[row]) if word >= 0}
            kept = [i for i in range(len(sentence.words)) if not gone[row, at[i]]]
            alone = encoder([Sentence(tuple(sentence.words[i] for i in kept))], "cpu")
            count = int(rest.mask[row].sum())
            if kept:
                assert rest.ids[row, :count].tolist() == alone.ids.tolist()
            assert rest.words[row][rest.words[row] >= 0].tolist() == [i + number for i in kept]
            assert (rest.ids[row, count:] == encoded.pad).all() and (rest.words[row, count:] == -1).all()
            assert torch.equal(rest.ids[row, :count], batch.ids[row, places[row, :count]])

    def test_nothing_gone_changes_nothing(self, encoded):
        batch = encoded.batch(torch.arange(5), 40)
        rest, places = encoded.without(batch, torch.zeros(batch.ids.numel(), dtype=torch.bool))
        assert torch.equal(rest.ids, batch.ids) and torch.equal(rest.words, batch.words)
        assert torch.equal(rest.mask, batch.mask)
        assert torch.equal(places, torch.arange(40).expand_as(places))

    def test_what_is_said_moves_back_to_its_place(self):
        places = torch.tensor([[0, 2, 3, 1], [3, 0, 1, 2]])
        said = torch.randn(8, 5)
        moved = moved_back(said, places)
        for row in range(2):
            for at, place in enumerate(places[row]):
                assert torch.equal(moved[row, place], said.view(2, 4, 5)[row, at])

    def test_the_second_look_is_without_new_entities(self, first, city, quick):
        """The student's scores of what is left are those of the shortened sentence by itself."""
        prepared = prepare(first.tagger, TaskData(city, ("city",)), TBCL(), quick)
        step = TrainingStep(prepared, prepared.slice, replace(quick, precision="full"))
        step.arithmetic.tagger.eval()
        batch = prepared.slice.batch(torch.arange(4), int(prepared.slice.lengths[:4].max()))
        rows = batch.words.flatten()
        labels = prepared.tokens.labels[rows.clamp(min=0)].masked_fill(rows < 0, -100)
        given = replace(prepared.tokens, labels=labels, rows=rows, sentences=None)
        again = step._student_output(batch, given, len(batch.ids)).second_view.logits.view(*batch.ids.shape, -1)
        for row in range(4):
            sentence = city[row]
            kept = [i for i in range(len(sentence.words)) if not any(s.start <= i < s.end for s in sentence.spans)]
            alone = Sentence(tuple(sentence.words[i] for i in kept))
            alone_logits = run_tagger(prepared.student, first.tagger.tokenize([alone], "cpu")).logits
            at = [place for place, label in enumerate(given.labels.view_as(batch.ids)[row]) if 0 <= label < given.old]
            assert torch.allclose(again[row, at], alone_logits, atol=1e-5)


class TestMaps:
    def test_the_same_as_plain_attention(self, first, encoded):
        tagger, batch = first.tagger.eval(), encoded.batch(torch.arange(6), 40)
        plain = tagger.outputs(batch)
        usual = tagger.network.config._attn_implementation
        with torch.no_grad(), attention_maps([tagger]):
            shown = tagger.outputs(batch, {"maps"})
        assert tagger.network.config._attn_implementation == usual
        words = batch.words.flatten() >= 0
        assert torch.allclose(plain.logits[words], shown.logits[words], atol=1e-5)
        for one in shown.maps:
            assert one.shape[0] == 6 and one.shape[2:] == (40, 40)
            assert torch.allclose(one.sum(-1), torch.ones(()), atol=1e-5), "a query spends all its attention"
            assert (one.masked_select(~batch.mask[:, None, None].expand_as(one)) == 0).all(), "none of it on padding"

    def test_before_dropout(self, first, encoded):
        tagger, batch = first.tagger, encoded.batch(torch.arange(6), 40)
        with torch.no_grad(), attention_maps([tagger]):
            tagger.train()
            maps = tagger.outputs(batch, {"maps"}).maps[0]
            tagger.eval()
            assert torch.allclose(maps.sum(-1), torch.ones(()), atol=1e-5)

    def test_nobody_pays_for_them_unasked(self, first, encoded):
        said = first.tagger.outputs(encoded.batch(torch.arange(2), 40))
        assert said.maps is None and said.layers is None and said.second_view is None and said.matched is None

    def test_a_version_learned_with_them_is_like_any_other(self, first, city, quick, tmp_path):
        usual = first.tagger.network.config._attn_implementation
        version = learn(city, first, method="cpfd", recipe=quick, device="cpu", out=tmp_path / "v")
        assert version.tagger.network.config._attn_implementation == usual
        assert first.tagger.network.config._attn_implementation == usual
        assert "retainer_maps" not in (tmp_path / "v" / "config.json").read_text()

    def test_an_encoder_that_shows_none_is_refused(self, encoder, artist, city, tmp_path):
        """DeBERTa has attention of its own, and its maps come after dropout; all else works with it."""
        tokenizer = AutoTokenizer.from_pretrained(encoder)
        sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
        DebertaV2Model(DebertaV2Config(vocab_size=len(tokenizer), **sizes)).save_pretrained(tmp_path / "deberta")
        tokenizer.save_pretrained(tmp_path / "deberta")
        once = Recipe(epochs=1, holdout=0)
        base = learn(artist, tmp_path / "deberta", recipe=once, device="cpu")
        with pytest.raises(InputError, match="does not show; use another method"):
            learn(city, base, method="cpfd", recipe=once, device="cpu", out=tmp_path / "v")
        assert not (tmp_path / "v").exists()
        for name in ("rdp", "podnet", "tbcl"):
            assert "city" in learn(city, base, method=name, recipe=once, device="cpu").types


class TestLayers:
    def test_last_layer_is_the_vectors(self, first, encoded):
        said = first.tagger.eval().outputs(encoded.batch(torch.arange(3), 40), {"layers"})
        assert len(said.layers) == first.tagger.network.config.num_hidden_layers + 1
        assert torch.equal(said.layers[-1], said.hidden)

    @pytest.mark.parametrize(("name", "kept", "live"), [
        ("extend_ner", False, False), ("lucir", True, False), ("podnet", False, True), ("cpfd", False, True),
    ])  # fmt: skip
    def test_the_teacher_keeps_and_does_what_is_asked_for(self, first, city, quick, name, kept, live):
        prepared = prepare(first.tagger, TaskData(city, ("city",)), METHODS[name], quick)
        assert bool(len(prepared.teacher.output.hidden)) is kept and (prepared.teacher.live is not None) is live


class TestRecall:
    def test_neighbours_are_seen_with_the_epochs_encoder_and_todays_head(self, first, city, quick):
        prepared = prepare(first.tagger, TaskData(city, ("city",)), METHODS["cfner"], quick)
        step = TrainingStep(prepared, prepared.slice, replace(quick, precision="full", warmup=0.0))
        step.begin(0)
        before = run_tagger(prepared.student, prepared.slice, hidden=True).hidden
        batches = prepared.slice.shuffled(8, 0)
        step(*batches[0])
        now = run_tagger(prepared.student, prepared.slice, hidden=True).hidden
        assert torch.equal(step.epoch_vectors, before) and not torch.equal(now, before)
        step.begin(1)
        assert torch.equal(step.epoch_vectors, run_tagger(prepared.student, prepared.slice, hidden=True).hidden)

    def test_others_have_none(self, first, city, quick):
        prepared = prepare(first.tagger, TaskData(city, ("city",)), METHODS["rdp"], quick)
        assert not len(TrainingStep(prepared, prepared.slice, quick).epoch_vectors)


def test_frozen_moves_only_the_new_rows(first, city, quick):
    version = learn(city, first, method="frozen", recipe=replace(quick, epochs=2), device="cpu")
    old = {name: tensor for name, tensor in first.tagger.state_dict().items() if not name.startswith("head.")}
    new = version.tagger.state_dict()
    assert all(torch.equal(tensor, new[name]) for name, tensor in old.items())
    rows = len(first.tagger.labels.names)
    assert torch.equal(version.tagger.head.weight()[:rows], first.tagger.head.weight())
    grown = prepare(first.tagger, TaskData(city, ("city",)), METHODS["frozen"], quick).student.head.weight()[rows:]
    assert not torch.equal(version.tagger.head.weight()[rows:], grown)


def test_what_was_frozen_can_move_again(first, city, quick):
    still = learn(city, first, method="frozen", recipe=replace(quick, freeze_embeddings=True), device="cpu")
    song = hide(generate(60, seed=6, types=["city", "song"]), ["song"])
    moved = learn(song, still, recipe=quick, device="cpu").tagger
    pairs = zip(still.tagger.body.named_parameters(), moved.body.parameters(), strict=True)
    stuck = [name for (name, old), new in pairs if torch.equal(old, new)]
    assert not [name for name in stuck if "pooler" not in name]


def test_long_texts_with_holes(first):
    """A text of several windows loses its entities too, and nothing breaks."""
    encoder = Tokenization(first.tagger.tokenize.tokenizer, 16)
    encoded = encoder([Sentence(tuple(f"word{i}" for i in range(40)))], "cpu")
    batch = encoded.batch(torch.arange(len(encoded.lengths)), 16)
    rest, _ = encoded.without(batch, (batch.words % 3 == 0).flatten())
    assert not (rest.words[rest.words >= 0] % 3 == 0).any()
    assert sorted(rest.words[rest.words >= 0].tolist()) == [i for i in range(40) if i % 3]


def test_recipes_do_not_matter(first, city):
    """Methods with a second look also learn with the published optimizer and a cosine head."""
    version = learn(city, first, method="tbcl", recipe=Recipe(epochs=1, optimizer="sgd", lr=1e-3), device="cpu")
    assert "city" in version.types


class TestTheSecondLookInOnePass:
    """A CPU reads a batch and what it looks at twice in one pass, only where there is something to see; a recorded step
    takes two, looks at all, and the others do not count."""

    @pytest.mark.parametrize(
        ("method", "of_it"), [(Retain(look_share=1), "look"), (Retain(look_share=0.5), "look"), (TBCL(), "again_kd")]
    )
    def test_the_same_terms_and_gradients_as_in_two(self, first, city, quick, method, of_it):
        def seen(asks):
            prepared = prepare(first.tagger, TaskData(city, ("city",)), method, quick)
            step = TrainingStep(prepared, prepared.slice, replace(quick, precision="full"))
            step.asks = asks
            tagger = step.arithmetic.tagger.eval()
            terms = step._terms(torch.arange(8), int(prepared.slice.lengths[:8].max()))
            torch.stack(list(terms.values())).sum().backward()
            return terms, [parameter.grad for parameter in tagger.parameters() if parameter.grad is not None]

        (one_pass, gradients), (two, expected) = seen(True), seen(False)
        assert {name: float(term.detach()) for name, term in one_pass.items()} == pytest.approx(
            {name: float(term.detach()) for name, term in two.items()}, rel=1e-5
        )
        assert float(two[of_it].detach()) != 0
        assert len(gradients) == len(expected) > 10
        assert all(torch.allclose(a, b, rtol=1e-4, atol=1e-6) for a, b in zip(gradients, expected, strict=True))

    @pytest.mark.parametrize("needs", [frozenset(), frozenset({"layers"})])
    @pytest.mark.parametrize("part", [None, 3])
    def test_words_that_stay_have_scores_and_vectors_of_their_own(self, first, city, needs, part):
        """Where nothing is left out the second view is the first; layers are asked for in a pass of their own."""
        encoded = first.tagger.tokenize(city.sentences[:8], torch.device("cpu"))
        batch, tagger = encoded.batch(torch.arange(8), int(encoded.lengths.max())), first.tagger.eval()
        gone = torch.zeros_like(batch.mask, dtype=torch.bool)
        look = SecondLook.at_first(encoded, batch, gone, part, asks=False) if part else None
        look = look or SecondLook.at_all(encoded, batch, gone)
        said = look.outputs(tagger, batch, needs, at_once=True)
        words = batch.mask.bool()[:part].flatten()
        for name in ("logits", "hidden"):
            one, other = getattr(said, name), getattr(said.second_view, name)
            assert one.shape == other.shape
            assert torch.allclose(one[: len(words)][words], other[: len(words)][words], atol=1e-5)
            assert part is None or not other[len(words) :].any()
        assert (said.layers is not None) == bool(needs)

    def test_a_sentence_without_new_entities_has_none(self, first, city, quick):
        bare = replace(city, sentences=tuple(sentence for sentence in city if not sentence.spans)[:4])
        if not bare.sentences:
            bare = replace(city, sentences=(Sentence(("play", "some", "music")),) * 4)
        some = replace(city, sentences=(*bare.sentences, *city.sentences))
        prepared = prepare(first.tagger, TaskData(some, ("city",)), Retain(), quick)
        step = TrainingStep(prepared, prepared.slice, quick)
        for asks in (True, False):
            step.asks = asks
            terms = step._terms(torch.arange(len(bare)), int(prepared.slice.lengths[: len(bare)].max()))
            assert float(terms["look"].detach()) == 0
