"""CFNER (Zheng et al. 2022): learn an entity's label also through the words most like it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar

from retainer.methods.base import Clock, Method, Need, Tokens
from retainer.methods.terms import growth, share, unit

if TYPE_CHECKING:
    from torch import Tensor

    from retainer.model.tagger_output import TaggerOutput

SMALL = 1e-10


@dataclass(frozen=True)
class Matches:
    """What is found once per task: for every word the words most like it, and which O words the teacher would tag."""

    rows: Tensor
    found: Tensor


@dataclass(frozen=True)
class Scheduled(Tokens):
    """A batch with the O words the teacher would tag, and the confidence they need today to be mixed."""

    found: Tensor = field(kw_only=True)
    threshold: Tensor = field(kw_only=True)


@dataclass(frozen=True)
class CFNER(Method):
    """L = -log p~(y) over annotated words + distil_weight * sqrt(old / new labels, without O) * KL(t, s) over O words.

    p~ = (p + mean of the neighbours' probabilities) / 2. Neighbours of an annotated word are the ``neighbours`` nearest
    annotated words of the slice by the teacher's vectors, those of an O word the teacher would tag the nearest such
    words. s is p on the old labels; for O words the teacher would tag, once the student is sure enough, it is mixed
    with the neighbours' (over old labels) like p~, and t is the teacher's first choice; else t is its probabilities.

    The released code looks for neighbours among the first 5,000 words only and crashes with fewer than three; the
    search here is exact, and a word without neighbours stands for itself. It encodes all neighbours anew at every step;
    here their vectors are those of the epoch's beginning, scored with the head of the moment. The curriculum (the
    confidence wanted falls linearly to 0 at the last epoch) is in the paper, but off in every released configuration;
    here it is on, and ``confidence`` 0 switches it off. There scores come out of two heads that disagree; here of one.
    """

    needs_teacher: ClassVar[bool] = True
    needs: ClassVar[frozenset[Need]] = frozenset({"epoch_vectors"})

    distil_weight: float = 2.0
    """Weight of the old labels, before it is adapted to their number."""
    neighbours: int = 3
    """How many words stand beside each."""
    confidence: float = 0.9
    """The probability an old label needs in the first epoch before its neighbours are mixed in."""

    def begin(self, slice_: Tokens, teacher: TaggerOutput) -> Matches:
        """Search the neighbours of all words."""
        found = slice_.unannotated & (teacher.logits.argmax(dim=-1) != slice_.outside)
        rows = slice_.rows.unsqueeze(-1).repeat(1, self.neighbours)
        for group in (slice_.annotated, found):
            members = group.nonzero().flatten()
            rows[members] = nearest_words(unit(teacher.hidden[members]), members, self.neighbours)
        return Matches(rows, found)

    def matches(self, tokens: Tokens, memory: Any) -> Tensor:
        """Ask for the neighbours of every word of a batch."""
        rows: Tensor = memory.rows[tokens.rows.clamp(min=0)]
        return rows

    def targets(self, tokens: Tokens, teacher: TaggerOutput, memory: Any, clock: Clock) -> Tokens:
        """Look up which words may be mixed, and from which confidence on."""
        share_left = 1 - clock.epoch / max(1, clock.epochs - 1)
        found = memory.found[tokens.rows.clamp(min=0)] & tokens.unannotated
        given = {one.name: getattr(tokens, one.name) for one in fields(Tokens)}
        return Scheduled(**given, found=found, threshold=self.confidence * share_left)

    def losses(self, student: TaggerOutput, teacher: TaggerOutput, given: Tokens, targets: Tokens) -> dict[str, Tensor]:
        """Return the effect on new types and the effect on old ones."""
        assert isinstance(targets, Scheduled) and student.matched is not None, "made by targets and matches"
        old, p = teacher.logits.shape[-1], student.log_p.exp()
        right = given.labels.clamp(min=0).unsqueeze(-1)
        mixed = (p + student.matched.softmax(dim=-1).mean(dim=-2)) / 2
        new = -(mixed.gather(-1, right).squeeze(-1) + SMALL).log()

        s, q = p[..., :old], teacher.logits.softmax(dim=-1)
        sure = (targets.found & (s.max(dim=-1).values > targets.threshold)).unsqueeze(-1)
        beside = student.matched[..., :old].softmax(dim=-1).mean(dim=-2)
        s = ((s + beside) / 2).where(sure, s)
        first = q.new_zeros(q.shape).scatter(-1, q.argmax(dim=-1, keepdim=True), 1.0)
        t = first.where(sure, q)
        apart = (t * ((t + SMALL).log() - (s + SMALL).log())).sum(dim=-1)
        weight = self.distil_weight * growth(student, teacher, outside=False)
        return {
            "new": (new * share(given.annotated)).sum(),
            "old": weight * (apart * share(given.unannotated)).sum(),
        }


def nearest_words(vectors: Tensor, names: Tensor, count: int, chunk: int = 4096) -> Tensor:
    """Return the names of the nearest other vectors of each; where there are too few, the nearest again, or itself.

    All vectors have length one, so the nearest is the one with the largest product.
    """
    found = names.unsqueeze(-1).repeat(1, count)
    most = min(count, len(names) - 1)
    for at in range(0, len(names) if most > 0 else 0, chunk):
        products = vectors[at : at + chunk] @ vectors.T
        products.diagonal(at).fill_(float("-inf"))
        best = names[products.topk(most, dim=-1).indices]
        found[at : at + chunk] = best[:, [min(column, most - 1) for column in range(count)]]
    return found
