"""What released code computes, against slow recomputations of its formulas; none of it is open to `learn`."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from retainer.bench.cell import Cell
from retainer.bench.preset import Setting
from retainer.bench.run import Bench
from retainer.bench.task_sequence import TaskSequence
from retainer.cli.main import main
from retainer.data.corpus import Splits
from retainer.data.generated import generate
from retainer.data.io import write
from retainer.data.labels import Labels
from retainer.data.spans import Sentence, Span
from retainer.data.tasks import plan
from retainer.errors import InputError
from retainer.methods import IGNORE, METHODS, Clock, Tokens
from retainer.methods.rdp_released import flat_target, scrambled
from retainer.metrics.f1 import Spans, gold_spans, score
from retainer.model.decode import flat_spans, predicted_spans
from retainer.model.heads import Rows, SequenceNormHead
from retainer.model.quirks import NONE, RELEASED, Quirks
from retainer.model.tagger_output import TaggerOutput
from retainer.training.learn import learn
from retainer.training.recipe import RECIPES

OLD, NEW, WIDTH, SIZE = 3, 2, 4, 24
RELEASED_RDP = METHODS["rdp_released"]


def make(seed):
    random = torch.Generator().manual_seed(seed)
    labels = torch.tensor([IGNORE, 0, 0, 0, OLD, OLD + 1])[torch.randint(6, (SIZE,), generator=random)]
    student = TaggerOutput(torch.randn(SIZE, OLD + NEW, generator=random), torch.randn(SIZE, WIDTH, generator=random))
    teacher = TaggerOutput(torch.randn(SIZE, OLD, generator=random), torch.randn(SIZE, WIDTH, generator=random))
    return student, teacher, Tokens(labels, torch.arange(SIZE), 0, OLD, torch.arange(SIZE) // 2)


def softmax(row):
    powers = [math.exp(x) for x in row]
    return [power / sum(powers) for power in powers]


@pytest.mark.parametrize("seed", range(5))
class TestLosses:
    def test_every_term(self, seed):
        student, teacher, tokens = make(seed)
        labels = tokens.labels.tolist()
        clock = Clock(torch.zeros(1), 1, torch.zeros(1), 1)
        targets = RELEASED_RDP.targets(tokens, teacher, RELEASED_RDP.begin(tokens, teacher), clock)
        terms = RELEASED_RDP.losses(student, teacher, tokens, targets)
        p = [softmax(row) for row in student.logits.tolist()]
        q = [softmax(row) for row in teacher.logits.tolist()]
        size = OLD + NEW
        cd = se = 0.0
        for i, label in enumerate(labels):  # ALL positions, ignored ones too
            u = [1 / (1 + math.exp(-z)) for z in teacher.logits[i].tolist()]
            u += [float(label == c) for c in range(OLD, size)]
            cd -= sum(s * math.log(x) for s, x in zip(softmax(u), p[i], strict=True)) / size / SIZE
            se -= sum(x * math.log(x) for x in p[i]) / size / SIZE
        outside = [i for i, label in enumerate(labels) if label == 0]
        kd = sum(q[i][c] * (math.log(q[i][c]) - math.log(p[i][c])) for i in outside for c in range(OLD)) / len(outside)
        labelled = [i for i, label in enumerate(labels) if label != IGNORE]
        ce = -sum(math.log(p[i][targets.labels[i]]) for i in labelled) / len(labelled)
        wanted = {"ce": ce, "cd": 0.3 * cd, "se": 0.1 * se, "kd": 2 * kd}
        assert {name: float(term) for name, term in terms.items()} == pytest.approx(wanted, rel=1e-4)

    def test_pseudo_labels(self, seed):
        _, teacher, tokens = make(seed)
        memory = RELEASED_RDP.begin(tokens, teacher)
        found = RELEASED_RDP.targets(tokens, teacher, memory, Clock(torch.zeros(1), 1, torch.zeros(1), 1)).labels
        for i, label in enumerate(tokens.labels.tolist()):
            if label != 0:
                assert found[i] == label
                continue
            distance = [math.dist(teacher.hidden[i].tolist(), centre) for centre in memory.tolist()]
            weight, q = softmax([-d for d in distance]), softmax(teacher.logits[i].tolist())
            assert found[i] == max(range(OLD), key=lambda c: weight[c] * q[c])

    def test_prototypes_are_scrambled(self, seed):
        """The numbers of n vectors, one after the other, cut into WIDTH pieces of n; the sums of the pieces count."""
        _, teacher, tokens = make(seed)
        found = scrambled(teacher, tokens, batch=3)
        coarse = teacher.logits.argmax(-1).tolist()
        for label in range(OLD):
            total, count = [0.0] * WIDTH, 0
            for batch in range(SIZE // 6):
                rows = [i for i in range(6 * batch, 6 * batch + 6) if tokens.labels[i] == 0 and coarse[i] == label]
                numbers = [x for i in rows for x in teacher.hidden[i].tolist()]
                for place in range(WIDTH):
                    total[place] += sum(numbers[place * len(rows) : (place + 1) * len(rows)])
                count += len(rows)
            assert found[label].tolist() == pytest.approx([x / max(count, 1) for x in total], abs=1e-5)


def test_the_target_is_nearly_flat():
    target = flat_target(torch.tensor([[9.0, -9.0, 0.0]]), torch.tensor([3]), 5)[0]
    assert target.sum() == pytest.approx(1.0) and target.max() / target.min() < math.e + 1e-3
    assert target[3] == target.max()


class TestHead:
    def test_channels_are_divided_over_positions(self):
        head = SequenceNormHead(Rows(torch.randn(3, 4), torch.zeros(3)), sigma=2.0)
        hidden = torch.randn(2, 5, 4)
        wanted = torch.zeros(2, 5, 3)
        for sentence in range(2):
            for position in range(5):
                for label in range(3):
                    row = head.old.weight[label] / head.old.weight[label].norm()
                    wanted[sentence, position, label] = 2.0 * sum(
                        row[c] * hidden[sentence, position, c] / hidden[sentence, :, c].norm() for c in range(4)
                    )
        assert torch.allclose(head(hidden), wanted, atol=1e-5)

    def test_padding_moves_every_score(self):
        head = SequenceNormHead(Rows(torch.randn(3, 4), torch.zeros(3)))
        hidden = torch.randn(1, 5, 4)
        longer = torch.cat([hidden, torch.ones(1, 3, 4)], dim=1)
        assert not torch.allclose(head(hidden), head(longer)[:, :5], atol=1e-2)

    def test_rows_are_random_at_first_and_from_the_dev_set_later(self):
        labels = Labels().grow(["a"])
        first = SequenceNormHead.empty(16).grow_as_released(labels, torch.randn(9, 16), torch.zeros(9).long())
        assert (
            first.weight().shape == (3, 16)
            and first.weight().abs().max() <= 0.25
            and float(first.sigma.detach()) == 1.0
        )
        more = labels.grow(["b"])
        hidden, gold = torch.randn(6, 16), torch.tensor([0, 3, 3, 0, 0, 0])
        grown = first.grow_as_released(more, hidden, gold)
        unit = torch.nn.functional.normalize(hidden[1:3], dim=-1).mean(0)
        wanted = unit / unit.norm() * first.weight()[1:].norm(dim=-1).mean()
        assert torch.allclose(grown.new.weight[0], wanted, atol=1e-5)
        assert torch.equal(grown.new.weight[1], grown.new.weight[0]), "no I in the dev set: it copies the B"


class TestScores:
    LABELS = Labels(("O", "B-x", "I-x", "B-y", "I-y"))

    def test_sentences_are_glued(self):
        """The toy case of the literature: right sentence by sentence, wrong when flattened."""
        sentences = [Sentence(("a",), (Span(0, 1, "x"),)), Sentence(("b",), (Span(0, 1, "x"),))]
        starts, ids = np.array([0, 1, 2]), np.array([1, 2])
        gold = gold_spans(sentences, starts, ["x"])
        assert score(gold, predicted_spans(ids, self.LABELS, starts, ["x"]), ["x"]).micro == 100
        assert score(gold, flat_spans(np.array([1, 2]), self.LABELS, _long(gold), ["x"]), ["x"]).micro == 0

    def test_labels_the_annotation_lacks_become_o(self):
        gold = Spans(np.array([0]), np.array([1]), np.array([0]))
        found = flat_spans(np.array([1, 2, 3]), self.LABELS, gold, ["x", "y"])
        assert (found.start.tolist(), found.end.tolist(), found.type.tolist()) == ([0], [1], [0])


def _long(gold):
    """Add an entity of two words far away, so that I-x is a label the annotation has."""
    return Spans(np.append(gold.start, 50), np.append(gold.end, 52), np.append(gold.type, 0))


class TestEncoding:
    def test_batches_as_most_code_makes_them(self, first):
        encoded = first.tagger.tokenize(generate(21, seed=1).sentences)
        plain = encoded.in_order(8)
        assert [part.tolist() for part, _ in plain] == [list(range(8)), list(range(8, 16)), list(range(16, 21))]
        assert all(length == encoded.lengths[part.numpy()].max() for part, length in plain)
        shuffled = [w for part, _ in encoded.in_order(8, seed=3) for w in part.tolist()]
        assert sorted(shuffled) == list(range(21)) != shuffled

    def test_without_a_mask_neighbours_matter(self, first):
        encoded = first.tagger.tokenize(generate(12, seed=1).sentences)
        alone, together = (encoded.batch(torch.tensor([0]), n) for n in (int(encoded.lengths[0]), 40))
        quirky = first.tagger.like(first.tagger.network, first.tagger.head, first.tagger.labels).eval()
        quirky.quirks = Quirks(batch=8)
        with torch.no_grad():
            a, b = (quirky(batch)[0, : alone.ids.shape[1]] for batch in (alone, together))
            c, d = (first.tagger.eval()(batch)[0, : alone.ids.shape[1]] for batch in (alone, together))
        assert not torch.allclose(a, b, atol=1e-3) and torch.allclose(c, d, atol=1e-4)


class TestRunning:
    def test_learn_refuses_it(self, first, city, quick, tmp_path, capsys):
        with pytest.raises(InputError, match="for `retainer bench` alone"):
            learn(city, first, method="rdp_released", recipe=quick, device="cpu")
        first.save(tmp_path / "v")
        call = ["learn", "examples/cities.jsonl", "--from", str(tmp_path / "v"), "--out", str(tmp_path / "w")]
        assert main([*call, "--method", "rdp_released"]) == 2
        assert "bench" in capsys.readouterr().err

    @pytest.mark.parametrize("recipe", ["retainer", "paper"])
    def test_it_runs_over_all_tasks(self, encoder, recipe):
        types = ["artist", "city", "movie"]
        made = plan(
            Splits(*(generate(n, seed=s, types=types) for n, s in ((90, 1), (40, 2), (40, 3)))), fg=1, pg=1, seed=1
        )
        steps = list(
            TaskSequence(
                made,
                METHODS["rdp_released"],
                encoder=str(encoder),
                recipe=RECIPES[recipe].changed({"epochs": 2}),
                device="cpu",
            ).run()
        )
        assert [step.version.types for step in steps] == [("artist",), ("artist", "city"), ("artist", "city", "movie")]
        assert all(
            step.version.tagger.quirks == RELEASED and step.version.tagger.head.kind == "sequence" for step in steps
        )
        assert all(len(step.spans) == len(made.test) for step in steps)

    def test_the_same_seed_gives_the_same(self, encoder):
        """Its first rows are random, and drawn before the first epoch."""
        types = ["artist", "city"]
        made = plan(
            Splits(*(generate(n, seed=s, types=types) for n, s in ((60, 1), (30, 2), (30, 3)))), fg=1, pg=1, seed=1
        )
        recipe = RECIPES["retainer"].changed({"epochs": 1})
        first, again, other = (
            list(
                TaskSequence(
                    made, METHODS["rdp_released"], encoder=str(encoder), recipe=recipe, seed=seed, device="cpu"
                ).run()
            )[-1]
            for seed in (1, 1, 2)
        )
        weights = [step.version.tagger.head.weight() for step in (first, again, other)]
        assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])

    def test_other_methods_have_none(self):
        assert [name for name, one in METHODS.items() if one.quirks != NONE] == ["rdp_released"]

    def test_a_cell_of_its_own(self, encoder, tmp_path):
        types = ("artist", "city")
        for name, count, seed in (("train", 60, 1), ("dev", 30, 2), ("test", 30, 3)):
            write(generate(count, seed=seed, types=list(types)), tmp_path / f"{name}.conll", "conll")
        recipe = RECIPES["paper"].changed({"epochs": 1})
        one = Cell("p", Setting("FG-1-PG-1", 1, 1, 1), "rdp_released", RELEASED_RDP, 1, str(encoder), recipe)
        bench = Bench(tmp_path, tmp_path / "out", types, "cpu")
        assert len(bench.plan(one).train) == 59, "the last sentence is lost"
        assert len(bench.plan(replace(one, name="rdp", method=METHODS["rdp"])).train) == 60
        assert len(bench.measure(one).tasks) == 2 and not (tmp_path / "out" / "bases").exists(), (
            "its first version is its own"
        )
