"""Text without annotation: what is drawn of it, how it is shown, and what the student learns there."""

import io
import json
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from recorded_progress import Record

from retainer.data.corpus import Corpus, fingerprint
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.data.spans import Sentence
from retainer.data.tasks import hide
from retainer.errors import InputError
from retainer.methods import METHODS, Retain
from retainer.model.predict import run_tagger
from retainer.training.learn import learn
from retainer.training.loop import TrainingLoop
from retainer.training.prepare import prepare
from retainer.training.preview import preview
from retainer.training.progress import Progress
from retainer.training.recipe import Recipe
from retainer.training.request import LearnRequest
from retainer.training.step import TrainingStep
from retainer.training.task_data import TaskData
from retainer.training.text import draw

NAMES = [name for name, method in METHODS.items() if method.takes_text]
OTHERS = [name for name in METHODS if name not in NAMES]
BRIEF = Recipe(epochs=2, batch=16, lr=1e-3)


@pytest.fixture(scope="module")
def start(encoder):
    """A version that finds artists."""
    data = hide(generate(200, seed=6, types=["artist", "city"]), ["artist"])
    return learn(data, encoder, recipe=Recipe(epochs=12, batch=16, base_lr=3e-3, holdout=0), device="cpu")


@pytest.fixture(scope="module")
def text():
    """Sentences with artists and cities, none of them annotated."""
    return hide(generate(50, seed=8, types=["artist", "city"]), ())


def words(corpus):
    return [" ".join(sentence.words) for sentence in corpus]


class TestReading:
    @pytest.fixture(autouse=True)
    def here(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        return tmp_path

    @pytest.mark.parametrize(
        "content",
        [
            "to Oslo\n\n  \nby train\n",
            "to Oslo\r\nby train",
            '{"text": "to Oslo", "spans": [{"start": 3, "end": 7, "label": "city"}]}\n{"text": "by train"}\n',
            '{"tokens": ["to", "Oslo"], "tags": ["O", "B-city"]}\n{"tokens": ["by", "train"], "tags": ["O", "O"]}\n',
            "to\tO\nOslo\tB-city\n\nby\tO\ntrain\tO\n",
        ],
        ids=["lines", "lines of Windows", "records", "records of words", "columns"],
    )
    def test_a_file(self, here, content):
        (here / "some").write_bytes(content.encode())
        for path in ("some", here / "some"):
            found = draw(path, 10, 0)
            assert words(found) == ["to Oslo", "by train"] and not found.counts and str(found.source) == str(path)

    def test_stdin(self, monkeypatch):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"to Oslo\n\nby train\n")))
        assert words(draw("-", 10, 0)) == ["to Oslo", "by train"]

    def test_a_folder(self, here):
        (here / "notes").mkdir()
        (here / "notes" / "a.name").write_text('<DOC DOCNO="a">\nin <ENAMEX TYPE="GPE">Oslo</ENAMEX> .\n</DOC>\n')
        assert words(draw("notes", 10, 0)) == ["in Oslo ."]

    @pytest.mark.parametrize("texts", [["to Oslo", " ", "by train"], ("to Oslo", "by train")])
    def test_strings(self, texts):
        assert words(draw(texts, 10, 0)) == words(draw(iter(texts), 10, 0)) == ["to Oslo", "by train"]

    def test_a_corpus_leaves_its_annotation_behind(self):
        """The entities, and what their absence would mean: of no type is every entity annotated."""
        corpus = generate(20, seed=1, types=["artist"])
        sure = replace(corpus, sentences=tuple(sentence.completed(["artist"]) for sentence in corpus))
        drawn = draw(sure, 50, 0)
        assert words(drawn) == words(corpus) and not drawn.counts
        assert all(sentence.complete is None for sentence in drawn)
        assert fingerprint(drawn) == fingerprint(draw(hide(corpus, ()), 50, 0))

    @pytest.mark.parametrize("content", [b"", b"\n \n\t\n", b'{"text": ""}\n', b"\xef\xbb\xbf"])
    def test_no_word(self, here, content):
        (here / "some").write_bytes(content)
        with pytest.raises(InputError, match="^some has no word, so there is no text to learn from$"):
            draw("some", 10, 0)

    def test_no_strings(self):
        with pytest.raises(InputError, match="has no word"):
            draw([], 10, 0)

    def test_what_is_not_text(self, here):
        (here / "latin").write_bytes(b"to Oslo\nto Troms\xf8\n")
        with pytest.raises(InputError, match="^latin:2: .*UTF-8"):
            draw("latin", 10, 0)
        with pytest.raises(InputError, match="text:2: .*not valid Unicode"):
            draw(["to Oslo", "to \ud800"], 10, 0)
        with pytest.raises(InputError, match="nowhere: there is no such file"):
            draw("nowhere", 10, 0)


class TestDrawing:
    SIX = ("one", "two", "three", "four", "five", "six")

    def test_every_sentence_is_as_likely_as_any_other(self):
        pairs = Counter(tuple(words(draw(self.SIX, 2, seed))) for seed in range(3000))
        assert len(pairs) == 15, "in their order, so no pair comes twice"
        assert all(abs(count - 200) < 5 * math.sqrt(200) for count in pairs.values())

    def test_seeded_and_in_order(self):
        drawn = [words(draw(map(str, range(1000)), 40, seed)) for seed in (3, 3, 4)]
        assert drawn[0] == drawn[1] != drawn[2] and len(drawn[0]) == 40
        assert all(one == sorted(one, key=int) for one in drawn)

    @pytest.mark.parametrize(("most", "count"), [(0, 0), (1, 1), (6, 6), (7, 6)])
    def test_at_most(self, most, count):
        assert len(draw(self.SIX, most, 0)) == count

    @pytest.mark.parametrize(
        ("fields", "count"),
        [
            ({"epochs": 1}, 24),
            ({"epochs": 2, "text_share": 0.3}, 15),
            ({"epochs": 10}, 50),
            ({"epochs": 10, "text_limit": 7}, 7),
        ],
    )
    def test_no_more_than_a_run_can_show(self, start, few, text, fields, count):
        recipe = replace(BRIEF, holdout=0, **fields)
        task = LearnRequest(few, start, recipe=recipe, device="cpu", text=text).resolve()
        assert len(task.text) == len(task.data.text) == count
        assert task.facts["data"]["text"] == {"sha256": fingerprint(task.text), "sentences": count}

    def test_formats_make_no_difference(self, start, few, text, tmp_path):
        """The same sentences are the same text, whatever file they come from."""
        write(generate(50, seed=8, types=["artist", "city"]), tmp_path / "text.conll", "conll")
        found = [
            LearnRequest(few, start, recipe=BRIEF, device="cpu", text=some).resolve().facts["data"]["text"]
            for some in (text, tmp_path / "text.conll")
        ]
        assert found[0] == found[1]

    def test_a_share_of_0_is_no_text(self, start, few, text):
        recipe = replace(BRIEF, text_share=0.0)
        task = LearnRequest(few, start, recipe=recipe, device="cpu", text=text).resolve()
        assert task.text is None and task.data.text == () and "text" not in task.facts["data"]
        with pytest.raises(InputError, match="no such file"):
            LearnRequest(few, start, recipe=recipe, device="cpu", text="nowhere").resolve()


def loop_of(start, data, recipe, method="extend_ner", seed=0):
    prepared = prepare(start.tagger, data, METHODS[method], recipe)
    return TrainingLoop(prepared, recipe, seed, Progress())


def epochs_of(loop, count):
    """Return the batches of some epochs: the windows of the slice, and those of text behind them."""
    first = loop.task.slice_windows
    for epoch in range(count):
        loop.epoch = epoch
        batches = [(windows.numpy(), length) for windows, length in loop.batches(100 + epoch)]
        yield [(one[one < first], one[one >= first], one, length) for one, length in batches]


class TestShowing:
    @pytest.mark.parametrize(("share", "beside"), [(1.0, 8), (0.5, 4), (0.01, 1), (2.0, 16)])
    def test_every_step_shows_as_many(self, start, few, text, share, beside):
        """Behind its own windows, in the last and smaller batch too; an epoch stays one pass over the data."""
        data = TaskData(replace(few, sentences=few.sentences[:21]), ("city",), text=text.sentences)
        loop = loop_of(start, data, replace(BRIEF, text_share=share))
        assert loop.task.text.per_step(loop.recipe.batch) == beside and loop.steps == 3
        for batches in epochs_of(loop, 3):
            assert sorted(len(own) for own, *_ in batches) == [5, 8, 8]
            assert sorted(np.concatenate([own for own, *_ in batches])) == list(range(21))
            for own, shown, both, length in batches:
                assert len(shown) == beside and (both == np.concatenate([own, shown])).all()
                assert length == loop.slice.lengths[both].max()

    @pytest.mark.parametrize("count", [1, 7, 50])
    def test_all_are_shown_before_one_is_shown_again(self, start, few, text, count):
        loop = loop_of(start, TaskData(few, ("city",), text=text.sentences[:count]), BRIEF)
        seen = Counter(dict.fromkeys(loop.task.text.windows.tolist(), 0))
        assert len(seen) == count
        for number, batches in enumerate(epochs_of(loop, 6), 1):
            seen.update(int(window) for _, shown, *_ in batches for window in shown)
            assert max(seen.values()) - min(seen.values()) <= 1 and sum(seen.values()) == number * 3 * 8

    def test_the_order_is_the_seeds(self, start, few, text):
        data = TaskData(few, ("city",), text=text.sentences)
        orders = [
            [
                shown.tolist()
                for batches in epochs_of(loop_of(start, data, BRIEF, seed=seed), 2)
                for _, shown, *_ in batches
            ]
            for seed in (0, 0, 1)
        ]
        assert orders[0] == orders[1] != orders[2]

    def test_rare_types_are_repeated_and_text_is_not(self, start, few, text):
        """Text counts for no type, and an epoch that shows some sentences twice has room beside them too."""
        data = TaskData(few, ("city",), text=text.sentences)
        loop = loop_of(start, data, replace(BRIEF, repeat=5))
        (batches,) = epochs_of(loop, 1)
        assert all(len(shown) == loop.task.text.per_step(loop.recipe.batch) for _, shown, *_ in batches)

    def test_texts_longer_than_a_window(self, start, few):
        """Their windows are texts like any other, and every word counts in one of them."""
        long = Sentence(tuple(f"word{i % 7}" for i in range(300)))
        data = TaskData(few, ("city",), text=(long, Sentence(("to", "Oslo"))))
        loop = loop_of(start, data, BRIEF)
        task, encoded = loop.task, loop.task.slice
        assert len(task.text.windows) > 5 and task.slice_windows == len(few)
        assert set(encoded.window_sentences[task.text.windows]) == {24, 25}
        counted = torch.cat([encoded.words[a:b] for w in task.text.windows for a, b in [encoded.starts[w : w + 2]]])
        assert sorted(counted[counted >= 0].tolist()) == list(range(encoded.word_count - 302, encoded.word_count))
        version = learn(few, start, recipe=BRIEF, device="cpu", text=Corpus((long,)))
        assert version.lineage.data["text"]["sentences"] == 1

    def test_recorded_steps_have_room_for_them(self, start, few, text):
        loop = loop_of(start, TaskData(few, ("city",), text=text.sentences), BRIEF)
        assert loop._batch == 16
        for windows, length in loop.slice.shuffled(8, 0, few_shapes=True, beside=loop._beside()):
            assert length >= loop.slice.lengths[windows.numpy()].max() and length in (16, 24, 32, 48, 64)


class _Spy:
    """A method that tells what it was given."""

    def __init__(self, method, seen):
        self._method, self._seen = method, seen

    def __getattr__(self, name):
        return getattr(self._method, name)

    def losses(self, *given):
        self._seen.append(given)
        return self._method.losses(*given)


class TestTheLesson:
    @pytest.mark.parametrize("name", ["tbcl", "retain", "podnet"])
    def test_what_the_methods_see(self, start, few, text, name):
        """At a word of text the student is asked about old types alone. The teacher says what it says."""
        data = TaskData(few, ("city",), text=text.sentences)
        loop = loop_of(start, data, BRIEF, name)
        prepared, seen = loop.task, []
        step = TrainingStep(prepared, prepared.slice, loop.recipe)
        step.task = replace(prepared, method=_Spy(prepared.method, seen))
        plain = run_tagger(start.tagger, prepared.slice).logits
        behind = sum(len(sentence.words) for sentence in few)
        for windows, length in loop.batches(0):
            step._terms(windows, length)
        texts = 0
        for student, teacher, given, _ in seen:
            marked, own = given.rows >= behind, (given.rows >= 0) & (given.rows < behind)
            assert (given.labels[marked] == given.outside).all()
            for one in (student, *([student.second_view] if name == "tbcl" else [])):
                new = one.log_p.exp()[:, given.old :].sum(-1)
                assert (new[marked] == 0).all() and (new[own] > 0).all()
            assert torch.allclose(teacher.logits[marked], plain[given.rows[marked]], atol=1e-4)
            texts += int(marked.sum())
        assert texts > 0 and len(seen) == 3

    def test_the_loss_at_a_word_of_text(self, start, few, text):
        """- sum of q_c log p_c over the old labels; the student's O is O and all new labels together."""
        prepared = prepare(
            start.tagger, TaskData(few, ("city",), text=text.sentences), Retain(prior_correction="none"), BRIEF
        )
        step = TrainingStep(prepared, prepared.slice, replace(BRIEF, precision="full"))
        prepared.student.eval()
        windows = torch.from_numpy(prepared.text.windows[:9])
        terms = step._terms(windows, int(prepared.slice.lengths[windows.numpy()].max()))
        first = sum(len(sentence.words) for sentence in few)
        last = first + sum(len(sentence.words) for sentence in text.sentences[:9])
        p = run_tagger(prepared.student.eval(), prepared.slice).logits.softmax(-1)[first:last].tolist()
        q = run_tagger(start.tagger, prepared.slice).logits.softmax(-1)[first:last].tolist()
        outside, old = prepared.tokens.outside, prepared.tokens.old
        slow = 0.0
        for said, heard in zip(p, q, strict=True):
            slow -= sum(heard[c] * math.log(said[c]) for c in range(old) if c != outside)
            slow -= heard[outside] * math.log(said[outside] + sum(said[old:]))
        assert len(p[0]) > len(q[0]) == old
        assert terms["kd"].item() == pytest.approx(slow / len(p), rel=1e-4)
        assert terms["ce"].item() == 0 and terms["look"].item() == 0

    def test_no_new_row_is_pushed_down(self, start, few, text):
        prepared = prepare(start.tagger, TaskData(few, ("city",), text=text.sentences), METHODS["extend_ner"], BRIEF)
        step = TrainingStep(prepared, prepared.slice, BRIEF)
        seen = []
        step.task = replace(prepared, method=_Spy(prepared.method, seen))
        windows = torch.from_numpy(prepared.text.windows[:9])
        student = prepared.student.outputs(prepared.slice.batch(windows, int(prepared.slice.lengths.max())))
        logits = student.logits.detach().requires_grad_()
        step._student_output = lambda *_: replace(student, logits=logits)
        sum(step._terms(windows, int(prepared.slice.lengths.max())).values()).backward()
        new = logits.grad[:, prepared.tokens.old :]
        outside = logits.grad[:, prepared.tokens.outside].unsqueeze(-1)
        assert (new * outside >= 0).all() and (new != 0).any(), "they go where O goes, and never against it"


class TestLearning:
    @pytest.mark.parametrize("name", NAMES)
    def test_every_method_with_a_teacher(self, name, start, few, text):
        version = learn(few, start, method=name, recipe=replace(BRIEF, epochs=1, holdout=0), device="cpu", text=text)
        assert version.types == ("artist", "city") and version.lineage.scores["changed_by_growing"] == 0
        assert all(torch.isfinite(tensor).all() for tensor in version.tagger.state_dict().values())
        assert version.lineage.data["sentences"] == 24, "text is counted apart"
        drawn = draw(text, 24, 0)
        assert version.lineage.data["text"] == {"sha256": fingerprint(drawn), "sentences": 24}
        without = learn(few, start, method=name, recipe=replace(BRIEF, epochs=1, holdout=0), device="cpu")
        after, plain = version.tagger.state_dict(), without.tagger.state_dict()
        assert any(not torch.equal(after[key], plain[key]) for key in after), "it makes a difference"

    def test_old_types_are_kept_better(self, start):
        """The data have no artist, so what is lost is lost by drifting away; the text has some."""
        data, text = generate(200, seed=5, types=["city"]), hide(generate(200, seed=8, types=["artist"]), ())
        unseen = generate(100, seed=9, types=["artist"])
        recipe = Recipe(epochs=4, batch=16, lr=3e-3)
        scores = []
        for some in (None, text):
            version = learn(data, start, method="extend_ner", recipe=recipe, device="cpu", text=some)
            scores.append([version.evaluate(corpus).per_type for corpus in (unseen, data)])
        (lost, city), (held, also) = ([old["artist"].f1, new["city"].f1] for old, new in scores)
        assert held > lost + 15 and also > city - 15

    def test_a_share_of_0_changes_nothing(self, start, few, text):
        recipe = replace(BRIEF, text_share=0.0)
        with_, without = (learn(few, start, recipe=recipe, device="cpu", text=some) for some in (text, None))
        state = without.tagger.state_dict()
        assert all(torch.equal(state[key], value) for key, value in with_.tagger.state_dict().items())
        assert with_.lineage.data == without.lineage.data

    def test_beside_exemplars_and_a_review(self, encoder, artist, few, text):
        first = learn(artist, encoder, method="learn_and_review", recipe=BRIEF, device="cpu")
        kept = replace(artist, sentences=tuple(s for s in artist if s.spans)[:10])
        more = {"exemplars": kept, "text": text}
        version = learn(few, first, method="learn_and_review", recipe=BRIEF, device="cpu", **more)
        assert version.types == ("artist", "city") and len(version.generators) == 2
        assert {"exemplars", "text"} <= version.lineage.data.keys()

    def test_more_of_what_is_known(self, start, text):
        """With no new type there is nothing to leave open, and text is the teacher's alone."""
        more = hide(generate(24, seed=4, types=["artist", "city"]), ["artist"])
        version = learn(more, start, types=["artist"], recipe=BRIEF, device="cpu", text=text)
        assert version.types == ("artist",) and version.lineage.again == ("artist",)

    def test_a_killed_run_goes_on(self, start, few, text, tmp_path):
        recipe = replace(BRIEF, epochs=4)
        call = {"recipe": recipe, "device": "cpu", "text": text, "checkpoint_seconds": 0}
        whole = learn(few, start, **call)
        with pytest.raises(KeyboardInterrupt):
            learn(few, start, **call, state_folder=tmp_path / "p", progress=_Killed())
        record = Record()
        again = learn(few, start, **call, state_folder=tmp_path / "p", progress=record)
        assert [epoch.number for epoch in record.epochs] == [3, 4]
        state = whole.tagger.state_dict()
        assert all(torch.equal(state[key], value) for key, value in again.tagger.state_dict().items())

    def test_other_text_starts_over(self, start, few, text, tmp_path):
        call = {"recipe": replace(BRIEF, epochs=4), "device": "cpu", "state_folder": tmp_path / "p"}
        with pytest.raises(KeyboardInterrupt):
            learn(few, start, **call, text=text, checkpoint_seconds=0, progress=_Killed())
        record = Record()
        learn(few, start, **call, text=replace(text, sentences=text.sentences[1:]), progress=record)
        assert [epoch.number for epoch in record.epochs] == [1, 2, 3, 4]

    def test_a_look_ahead(self, start, city, text):
        request = LearnRequest(city, start, recipe=BRIEF, device="cpu", text=text)
        seen = preview(request.resolve())
        assert seen.text == {"sha256": fingerprint(text), "sentences": 50, "batch": 8}
        assert seen.steps == 2 * -(-len(city) // 8), "text adds no step"
        assert preview(replace(request, text=None).resolve()).text is None
        assert json.dumps(seen.as_dict()["text"])


class _Killed(Record):
    """Stops a run in its third epoch."""

    def step(self):
        super().step()
        if len(self.epochs) == 2:
            raise KeyboardInterrupt


class TestRefusing:
    @pytest.mark.parametrize("name", [name for name in OTHERS if name != "rdp_released"])
    def test_methods_that_ask_no_teacher(self, name, start, text):
        both = generate(40, seed=3, types=["artist", "city"])
        with pytest.raises(InputError, match=f"^method {name} does not learn from what .*, or leave the text out$"):
            learn(both, start, method=name, recipe=BRIEF, device="cpu", text=text)

    def test_a_bare_encoder(self, encoder, city, text):
        with pytest.raises(InputError, match="the model knows no type yet, so there is nothing that text"):
            learn(city, encoder, recipe=BRIEF, device="cpu", text=text)

    def test_which_methods_take_text(self):
        assert sorted(OTHERS) == ["finetune", "frozen", "joint", "partial_joint", "rdp_released"]
