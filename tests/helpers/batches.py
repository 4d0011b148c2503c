"""Random batches, and the formulas of the shared terms word by word, in double precision."""

import math
from dataclasses import replace

import torch

from retainer.methods import IGNORE, Clock, Tokens
from retainer.model.tagger_output import TaggerOutput

OLD, NEW, WIDTH, LAYERS, HEADS = 5, 4, 6, 3, 2
CLOCK = Clock(torch.zeros(1).long(), 1, torch.zeros(1).long(), 1)


def make(seed, size=40, labels=None, old_gold=False):
    """A random batch of four sentences (or one): padding, O words, new types, and old gold labels where asked for."""
    random = torch.Generator().manual_seed(seed)
    choices = [IGNORE, 0, 0, 0, *range(OLD, OLD + NEW), *(range(1, OLD) if old_gold else [])]
    picks = torch.randint(len(choices), (size,), generator=random)
    given = torch.tensor(choices)[picks] if labels is None else torch.tensor(labels)
    size, length = len(given), len(given) // (4 if labels is None else 1)
    rows = torch.arange(size).masked_fill(given == IGNORE, -1)
    mask = (given != IGNORE).view(-1, length)

    def noise(*shape, scale=1.0):
        return torch.randn(*shape, generator=random).mul(scale).requires_grad_()

    def maps():
        scores = noise(LAYERS, len(mask), HEADS, length, length).masked_fill(~mask[:, None, None], -1e9)
        return tuple(scores.softmax(dim=-1))

    student = TaggerOutput(noise(size, OLD + NEW, scale=3), noise(size, WIDTH))
    teacher = TaggerOutput(noise(size, OLD, scale=3).detach(), noise(size, WIDTH).detach())
    student = replace(
        student,
        layers=tuple(noise(LAYERS, size, WIDTH)),
        maps=maps(),
        mask=mask,
        second_view=TaggerOutput(noise(size, OLD + NEW, scale=3), noise(size, WIDTH)),
        matched=noise(size, 3, OLD + NEW, scale=3).detach(),
    )
    teacher = replace(
        teacher, layers=tuple(noise(LAYERS, size, WIDTH).detach()), maps=tuple(m.detach() for m in maps())
    )
    return student, teacher, Tokens(given, rows, 0, OLD, torch.arange(size) // length)


def cut(outputs, keep):
    """Leave some positions out; maps belong to the batch as a whole and stay."""
    return replace(
        outputs,
        logits=outputs.logits.detach()[keep],
        hidden=outputs.hidden.detach()[keep],
        layers=tuple(layer.detach()[keep] for layer in outputs.layers),
        second_view=outputs.second_view
        and TaggerOutput(outputs.second_view.logits.detach()[keep], outputs.second_view.hidden.detach()[keep]),
        matched=None if outputs.matched is None else outputs.matched[keep],
    )


def run(one, student, teacher, tokens):
    memory = one.begin(tokens, teacher)
    targets = one.targets(tokens, teacher, memory, CLOCK)
    return one.losses(student, teacher, tokens, targets), targets


# ------------------------------------------------------------------------------------- the formulas, word by word


def softmax(row, temperature=1.0):
    values = row.tolist() if isinstance(row, torch.Tensor) else list(row)
    powers = [math.exp((value - max(values)) / temperature) for value in values]
    return [power / sum(powers) for power in powers]


def mean(values):
    return sum(values) / len(values) if values else 0.0


def slow_ce(student, labels, words):
    return mean([-math.log(softmax(student.logits[i])[labels[i]]) for i in words])


def slow_kd(student, teacher, words, student_temperature, teacher_temperature):
    total = []
    for i in words:
        q, p = softmax(teacher.logits[i], teacher_temperature), softmax(student.logits[i], student_temperature)
        total.append(sum(q[c] * (math.log(q[c]) - math.log(p[c])) for c in range(OLD) if q[c] > 0))
    return mean(total)


def slow_cd(student, teacher, labels, words):
    total = []
    for i in words:
        p, q = softmax(student.logits[i]), softmax(teacher.logits[i])
        target = [*q, *(1.0 if labels[i] == c else 0.0 for c in range(OLD, OLD + NEW))]
        total.append(-sum(target[c] * math.log(p[c]) for c in range(OLD + NEW)))
    return mean(total)


def slow_se(student, words):
    return mean([-sum(x * math.log(x) for x in softmax(student.logits[i])) for i in words])


def slow_soft_kd(student, teacher, words):
    total = []
    for i in words:
        p, q = softmax(student.logits[i]), softmax(teacher.logits[i])
        total.append(-sum(q[c] * math.log(p[c]) for c in range(OLD)))
    return mean(total)


def slow_pseudo(teacher, labels, temperature):
    """Eq. 6 to 8 of the paper, loop by loop; labels the teacher never gives have no prototype."""
    outside = [i for i, label in enumerate(labels) if label == 0]
    coarse = {i: max(range(OLD), key=lambda c: softmax(teacher.logits[i])[c]) for i in outside}
    centres = {}
    for c in range(OLD):
        members = [teacher.hidden[i].tolist() for i in outside if coarse[i] == c]
        if members:
            centres[c] = [mean(column) for column in zip(*members, strict=True)]
    found = list(labels)
    for i in outside:
        distance = {c: math.dist(teacher.hidden[i].tolist(), centre) for c, centre in centres.items()}
        weight = dict(zip(distance, softmax([-d for d in distance.values()], temperature), strict=True))
        q = softmax(teacher.logits[i])
        found[i] = max(centres, key=lambda c: weight[c] * q[c])
    return found


def words(tokens):
    labels = tokens.labels.tolist()
    return (
        labels,
        [i for i, label in enumerate(labels) if label != IGNORE],
        [i for i, label in enumerate(labels) if label == 0],
        [i for i, label in enumerate(labels) if label not in (0, IGNORE)],
    )
