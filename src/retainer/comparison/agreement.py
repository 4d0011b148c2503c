"""How far two versions agree, without any annotation: what became of the old version's entities, type by type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from retainer.comparison.changes import CHANGE_KINDS, Change

DRAWS = 1000

Sums = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class TypeAgreement:
    """What became of the entities of one type, or of several together. Shares and agreement are in percent."""

    kept: int = 0
    moved: int = 0
    relabelled: int = 0
    lost: int = 0
    gained: int = 0
    """Found by the new version where the old one found nothing."""
    taken: int = 0
    """Found by the new version where the old one found another type."""
    relabelled_as: Mapping[str, int] = field(default_factory=dict)
    """What the relabelled ones are called now."""
    low: float | None = None
    high: float | None = None
    """The middle 95 % of the agreement on texts drawn from these."""

    @property
    def old(self) -> int:
        """How many the old version finds."""
        return self.kept + self.moved + self.relabelled + self.lost

    @property
    def new(self) -> int:
        """How many the new version finds."""
        return self.kept + self.moved + self.gained + self.taken

    @property
    def agreement(self) -> float | None:
        """F1 of the new version with the old one's entities as gold; None where neither finds any."""
        size = self.old + self.new
        return 200 * self.kept / size if size else None

    def share(self, kind: str) -> float | None:
        """Return the share of the old version's entities that are kept, moved, relabelled or lost; None without any."""
        return 100 * int(getattr(self, kind)) / self.old if self.old else None

    @property
    def silent_drift(self) -> float | None:
        """The share of the old version's entities that are lost, relabelled or moved."""
        return 100 * (self.old - self.kept) / self.old if self.old else None

    def as_dict(self) -> dict[str, Any]:
        """Return everything for a result file."""
        return {
            "agreement": self.agreement,
            "low": self.low,
            "high": self.high,
            "old": self.old,
            "new": self.new,
            **{kind: getattr(self, kind) for kind in (*CHANGE_KINDS, "taken")},
            "relabelled_as": dict(self.relabelled_as),
            "drift": {"all": self.silent_drift, **{kind: self.share(kind) for kind in ("lost", "relabelled", "moved")}},
        }


class AgreementCounter:
    """Counts changes while texts stream by, and draws bootstrap sets from the texts at the same time.

    Each text is in a drawn set as often as a Poisson number with mean one says (the streaming form of the bootstrap),
    so no text is stored for it: only the sums of the drawn sets are.
    """

    def __init__(self, types: Sequence[str], seed: int = 0) -> None:
        """Start with nothing counted, for these types."""
        self.types = tuple(types)
        self._number = {type_: at for at, type_ in enumerate(self.types)}
        self._random = np.random.default_rng(seed)
        self._counts: Counter[tuple[str, str]] = Counter()
        self._labels: dict[str, Counter[str]] = {type_: Counter() for type_ in self.types}
        self._sums: Sums = np.zeros((DRAWS, len(self.types), 2))
        self.kinds: Counter[str] = Counter()
        """Changes of all types together."""

    def add(self, texts: Sequence[Sequence[Change]]) -> None:
        """Count the changes of some texts."""
        rows = [row for row in map(self._row, texts) if row.any()]
        if rows:
            weights = self._random.poisson(1.0, size=(len(rows), DRAWS)).astype(np.float64)
            table = np.stack(rows).reshape(len(rows), -1)
            self._sums += (weights.T @ table).reshape(self._sums.shape)

    def _row(self, found: Sequence[Change]) -> Sums:
        """Count one text: per type what both versions find, and the sum of what each finds."""
        row = np.zeros((len(self.types), 2))
        for change in found:
            self.kinds[change.kind] += 1
            self._count_old(change, row)
            self._count_new(change, row)
        return row

    def _count_old(self, change: Change, row: Sums) -> None:
        if change.old is None or change.old.type not in self._number:
            return
        self._counts[change.old.type, change.kind] += 1
        row[self._number[change.old.type]] += (change.kind == "kept", 1)
        if change.kind == "relabelled" and change.new is not None:
            self._labels[change.old.type][change.new.type] += 1

    def _count_new(self, change: Change, row: Sums) -> None:
        if change.new is None or change.new.type not in self._number:
            return
        row[self._number[change.new.type], 1] += 1
        if change.kind in ("gained", "relabelled"):
            self._counts[change.new.type, "gained" if change.kind == "gained" else "taken"] += 1

    def by_type(self) -> dict[str, TypeAgreement]:
        """Return the agreement on every type."""
        return {type_: self.total([type_]) for type_ in self.types}

    def total(self, types: Sequence[str]) -> TypeAgreement:
        """Return the agreement on some types together."""
        counts = {kind: sum(self._counts[type_, kind] for type_ in types) for kind in (*CHANGE_KINDS, "taken")}
        labels = sum((self._labels[type_] for type_ in types), Counter[str]())
        plain = TypeAgreement(**counts, relabelled_as=dict(labels.most_common()))
        if plain.agreement is None:
            return plain
        sums = self._sums[:, [self._number[type_] for type_ in types]].sum(axis=1)
        there = sums[sums[:, 1] > 0]
        low, high = np.quantile(200 * there[:, 0] / there[:, 1], [0.025, 0.975])
        return replace(plain, low=float(low), high=float(high))
