"""What all workers have counted, as one: no counter goes backwards when a worker ends and another takes its place."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from retainer.serve.metrics import Family

GROWING = ("counter", "histogram")


class Books:
    """The last known metrics of every worker, and the sum of those that have ended."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._last: dict[Hashable, list[Family]] = {}
        self._past: list[Family] = []

    def note(self, worker: Hashable, families: Iterable[dict[str, Any]]) -> None:
        """Write down what a worker has counted until now."""
        self._last[worker] = [Family(**family) for family in families]

    def close(self, worker: Hashable) -> None:
        """Keep what a worker that has ended had counted when it was last asked."""
        last = [family for family in self._last.pop(worker, ()) if family.kind in GROWING]
        self._past = merged([self._past, last])

    def exposition(self, own: Sequence[Family]) -> str:
        """Return all metrics, those of the supervisor last, in the text format of Prometheus."""
        return "".join(family.text for family in merged([*self._last.values(), self._past, own]))


def merged(books: Iterable[Sequence[Family]]) -> list[Family]:
    """Put the metrics of several processes together, sample by sample."""
    found: dict[str, Family] = {}
    for family in (one for some in books for one in some):
        if family.name not in found:
            found[family.name] = Family(family.name, family.help_text, family.kind, family.across, {})
        samples = found[family.name].samples
        for key, value in family.samples.items():
            one = samples.get(key, 0.0)
            samples[key] = one + value if family.across == "sum" else max(one, value)
    return list(found.values())
