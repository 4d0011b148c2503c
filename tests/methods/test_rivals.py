"""The terms of RDP's rivals against the slow, obvious computation straight from their formulas."""

import dataclasses
import math
import statistics

import pytest
import torch
from batches import (
    HEADS,
    LAYERS,
    NEW,
    OLD,
    make,
    mean,
    run,
    slow_ce,
    slow_kd,
    slow_pseudo,
    slow_soft_kd,
    softmax,
    words,
)

from retainer.errors import InputError
from retainer.methods import CFNER, CPFD, IGNORE, METHODS, TBCL, Clock, Tokens
from retainer.methods.cfner import nearest_words
from retainer.methods.cpfd import thresholds

ROOT = math.sqrt(OLD / NEW)
ROOT_WITHOUT_O = math.sqrt((OLD - 1) / NEW)


@pytest.fixture(autouse=True)
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b)


def first_choice(row):
    return max(range(len(row)), key=lambda c: float(row[c]))


def floats(terms):
    return {name: float(value.detach()) for name, value in terms.items()}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("old_gold", [False, True])
class TestTerms:
    def test_lucir(self, seed, old_gold):
        student, teacher, tokens = make(seed, old_gold=old_gold)
        labels, _, outside, annotated = words(tokens)
        z = student.logits.tolist()
        turned = [1 - cosine(student.hidden[i].tolist(), teacher.hidden[i].tolist()) for i in outside]
        assert floats(run(METHODS["lucir"], student, teacher, tokens)[0]) == pytest.approx(
            {
                "ce": slow_ce(student, labels, annotated),
                "features": 50 * ROOT * mean(turned),
                "ranking": mean([max(0.0, 0.5 - z[i][0] + max(z[i][OLD:])) for i in outside]),
            }
        )

    def test_podnet(self, seed, old_gold):
        student, teacher, tokens = make(seed, old_gold=old_gold)
        labels, _, outside, annotated = words(tokens)
        z = student.logits.tolist()
        nca = []
        for i in annotated:
            others = math.log(sum(math.exp(z[i][c]) for c in range(OLD + NEW) if c != labels[i]))
            nca.append(max(0.0, others - (z[i][labels[i]] - 0.6)))
        spatial = []
        for ours, theirs in zip(student.layers, teacher.layers, strict=True):
            sums = [[sum(row[i].tolist()) / math.hypot(*row[i].tolist()) for row in (ours, theirs)] for i in outside]
            spatial.append(mean([abs(a - b) for a, b in sums]))
        turned = [1 - cosine(student.hidden[i].tolist(), teacher.hidden[i].tolist()) for i in outside]
        assert floats(run(METHODS["podnet"], student, teacher, tokens)[0]) == pytest.approx(
            {"nca": mean(nca), "flat": ROOT * mean(turned), "spatial": mean(spatial)}
        )

    def test_frozen(self, seed, old_gold):
        student, teacher, tokens = make(seed, old_gold=old_gold)
        labels, labelled, *_ = words(tokens)
        terms, _ = run(METHODS["frozen"], student, teacher, tokens)
        assert floats(terms) == pytest.approx({"ce": slow_ce(student, labels, labelled)})

    @pytest.mark.parametrize("epoch", [0, 5, 9])
    def test_cfner(self, seed, old_gold, epoch):
        student, teacher, tokens = make(seed, old_gold=old_gold)
        labels, _, outside, annotated = words(tokens)
        one = CFNER()
        clock = Clock(torch.tensor([epoch]), 10, torch.zeros(1).long(), 1)
        targets = one.targets(tokens, teacher, one.begin(tokens, teacher), clock)
        new, old, mixed = [], [], 0
        for i in annotated:
            beside = [softmax(row)[labels[i]] for row in student.matched[i]]
            new.append(-math.log(softmax(student.logits[i])[labels[i]] / 2 + mean(beside) / 2))
        for i in outside:
            s, t = softmax(student.logits[i])[:OLD], softmax(teacher.logits[i])
            choice = first_choice(teacher.logits[i])
            if choice != 0 and max(s) > 0.9 * (1 - epoch / 9):
                beside = [softmax(row[:OLD]) for row in student.matched[i]]
                s = [s[c] / 2 + mean([row[c] for row in beside]) / 2 for c in range(OLD)]
                t = [float(c == choice) for c in range(OLD)]
                mixed += 1
            old.append(sum(t[c] * math.log(t[c] / s[c]) for c in range(OLD) if t[c] > 0))
        assert mixed or epoch < 9
        terms = one.losses(student, teacher, tokens, targets)
        assert floats(terms) == pytest.approx({"new": mean(new), "old": 2 * ROOT_WITHOUT_O * mean(old)}, rel=1e-6)

    def test_cpfd(self, seed, old_gold):
        student, teacher, tokens = make(seed, old_gold=old_gold)
        labels, _, outside, _ = words(tokens)
        judged, weights = slow_judgement(teacher, labels, tokens.sentences.tolist())
        counted = [i for i, label in enumerate(judged) if label != IGNORE]
        ce = [-weights[i] * math.log(softmax(student.logits[i])[judged[i]]) for i in counted]
        terms, targets = run(METHODS["cpfd"], student, teacher, tokens)
        assert targets.labels.tolist() == judged
        assert floats(terms) == pytest.approx(
            {
                "ce": mean(ce),
                "kd": 2 * ROOT_WITHOUT_O * slow_kd(student, teacher, outside, 1.0, 1.0),
                "attention": 2 * ROOT_WITHOUT_O * slow_attention(student, teacher),
            }
        )

    def test_tbcl(self, seed, old_gold):
        student, teacher, tokens = make(seed, old_gold=old_gold)
        labels, labelled, outside, _ = words(tokens)
        pseudo = slow_pseudo(teacher, labels, 1.0)
        kept = [i for i in labelled if labels[i] < OLD]
        apart = 0.0
        for i in outside:
            if pseudo[i] != 0:
                rows = softmax(student.logits[i]), softmax(student.second_view.logits[i])
                apart += sum((a - b) ** 2 for a, b in zip(*rows, strict=True))
        terms = floats(run(METHODS["tbcl"], student, teacher, tokens)[0])
        plain = floats(run(METHODS["rdp"], student, teacher, tokens)[0])
        assert {name: terms.pop(name) for name in plain} == plain
        assert terms == pytest.approx(
            {
                "again_ce": slow_ce(student.second_view, pseudo, kept),
                "again_kd": slow_soft_kd(student.second_view, teacher, outside),
                "consistency": 0.01 * apart / len(labelled),
            }
        )


def slow_judgement(teacher, labels, sentences):
    """Return CPFD's labels and weights, sentence by sentence."""
    outside = [i for i, label in enumerate(labels) if label == 0]
    q = {i: softmax(teacher.logits[i]) for i in outside}
    doubt = {i: -mean([x * math.log(x) for x in q[i]]) / math.log(OLD) for i in outside}
    by_label = {c: [doubt[i] for i in outside if first_choice(q[i]) == c] for c in range(OLD)}
    limit = {c: max(statistics.median(values), 0.001) for c, values in by_label.items() if values}
    judged = list(labels)
    for i in outside:
        choice = first_choice(q[i])
        judged[i] = choice if doubt[i] < limit[choice] else IGNORE
    weights = []
    for i in range(len(labels)):
        here = [j for j in range(len(labels)) if sentences[j] == sentences[i]]
        free = [j for j in here if labels[j] == 0]
        old = [j for j in free if judged[j] > 0]
        new = [j for j in here if labels[j] >= OLD]
        weight = len([j for j in free if judged[j] != IGNORE]) / (len(free) + 1e-6)
        ratio = len(old) / max(len(new), 1)
        weights.append(weight * (0.5 + 1 / (1 + math.exp(-ratio)) if i in old else 1.0))
    return judged, weights


def slow_attention(student, teacher):
    """Return CPFD's distance of attention, number by number."""
    total = 0.0
    for layer in range(LAYERS):
        ours, theirs = student.maps[layer].tolist(), teacher.maps[layer].tolist()
        heads, queries = [], []
        for b, row in enumerate(student.mask.tolist()):
            real = [i for i, there in enumerate(row) if there]
            for j in real:
                for i in real:
                    heads.append(mean([ours[b][h][i][j] - theirs[b][h][i][j] for h in range(HEADS)]) ** 2)
                for h in range(HEADS):
                    queries.append(mean([ours[b][h][i][j] - theirs[b][h][i][j] for i in real]) ** 2)
        total += mean(heads) + mean(queries)
    return total / LAYERS


class TestGradients:
    """Each term moves what it is about, and nothing else."""

    def gradients(self, name, term):
        student, teacher, tokens = make(1)
        terms, _ = run(METHODS[name], student, teacher, tokens)
        terms[term].backward()
        return student

    def test_podnet_spatial_has_one(self):
        student, teacher, tokens = make(1)
        layers = torch.stack(student.layers).detach().requires_grad_()
        student = dataclasses.replace(student, layers=tuple(layers))
        run(METHODS["podnet"], student, teacher, tokens)[0]["spatial"].backward()
        moved = layers.grad.abs().sum(dim=(0, 2)) > 0
        assert torch.equal(moved, tokens.unannotated), "O words, and nothing else"

    def test_podnet_margin_acts(self):
        student, teacher, tokens = make(1)
        near, far = (
            floats(run(dataclasses.replace(METHODS["podnet"], margin=margin), student, teacher, tokens)[0])["nca"]
            for margin in (0.6, 1.6)
        )
        assert far > near

    def test_lucir_turns_vectors_of_unannotated_words(self):
        student = self.gradients("lucir", "features")
        assert student.logits.grad is None
        assert torch.equal(student.hidden.grad.abs().sum(-1) > 0, make(1)[2].unannotated)

    def test_cfner_mixes_without_moving_the_neighbours(self):
        student = self.gradients("cfner", "new")
        assert not student.matched.requires_grad
        assert torch.equal(student.logits.grad.abs().sum(-1) > 0, make(1)[2].annotated)

    def test_tbcl_moves_both_looks(self):
        student = self.gradients("tbcl", "consistency")
        assert student.logits.grad.abs().sum() > 0 and student.second_view.logits.grad.abs().sum() > 0


class TestNeighbours:
    def test_against_all_distances(self):
        vectors = torch.nn.functional.normalize(torch.randn(50, 6), dim=-1)
        names = torch.randperm(500)[:50]
        found = nearest_words(vectors, names, 3, chunk=7)
        apart = torch.cdist(vectors, vectors) + torch.eye(50) * 9
        assert torch.equal(found, names[apart.argsort(dim=-1)[:, :3]])

    @pytest.mark.parametrize(("count", "wanted"), [(0, []), (1, [[7, 7, 7]]), (2, [[8, 8, 8], [7, 7, 7]])])
    def test_fewer_than_asked_for(self, count, wanted):
        vectors = torch.eye(6)[:count]
        assert nearest_words(vectors, torch.arange(7, 7 + count), 3).tolist() == wanted

    def test_a_word_never_meets_itself_or_the_other_kind(self):
        _, teacher, tokens = make(2, size=80)
        memory = CFNER().begin(tokens, teacher)
        for kind in (tokens.annotated, memory.found):
            rows = memory.rows[kind]
            assert kind[rows].all() and not (rows == kind.nonzero()).any()
        rest = ~(tokens.annotated | memory.found)
        assert (memory.rows[rest] == tokens.rows[rest, None]).all()

    @pytest.mark.parametrize("count", [0, -1, 2.5, True])
    def test_a_senseless_number(self, count):
        with pytest.raises(InputError, match="neighbours must be a whole number above 0"):
            CFNER(neighbours=count)


class TestThresholds:
    def test_never_below_the_floor_and_never_no_number(self):
        doubt = torch.tensor([0.1, 0.3, 0.2, 1e-5])
        found = thresholds(doubt, torch.tensor([0, 0, 1, 2]), torch.ones(4).bool(), 4, 0.001)
        assert found.tolist() == pytest.approx([0.2, 0.2, 0.001, 0.001])

    def test_what_does_not_count_is_no_guess(self):
        _, teacher, tokens = make(0)
        one = CPFD()
        memory = one.begin(tokens, teacher)
        assert (memory.labels == IGNORE).any() and (one.pseudo_labels(memory) >= 0).all()


def test_tbcl_leaves_out_the_new_entities_alone():
    tokens = Tokens(torch.tensor([0, 1, OLD, OLD + 1, IGNORE]), torch.arange(5), 0, OLD)
    assert TBCL().leave_out(tokens).tolist() == [False, False, True, True, False]
