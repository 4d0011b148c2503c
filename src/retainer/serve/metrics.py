"""What a server counts, in the text format Prometheus reads. Any thread may count."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from threading import Lock

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)

Labels = tuple[str, ...]
Reading = Iterable[tuple[Labels, float]]


class Counter:
    """A number by labels that only grows."""

    kind = "counter"

    def __init__(self, name: str, about: str, *labels: str) -> None:
        """Begin at nothing."""
        self.name, self.about, self.labels = name, about, labels
        self._lock, self._values = Lock(), dict[Labels, float]()

    def add(self, *labels: str, amount: float = 1) -> None:
        """Count one, or some."""
        with self._lock:
            self._values[labels] = self._values.get(labels, 0) + amount

    def lines(self) -> list[str]:
        """Return the samples."""
        with self._lock:
            values = sorted(self._values.items())
        return [_sample(self.name, self.labels, labels, value) for labels, value in values]


class Gauge:
    """A number by labels as it is at the moment somebody looks."""

    kind = "gauge"

    def __init__(self, name: str, about: str, read: Callable[[], Reading], *labels: str) -> None:
        """Remember whom to ask."""
        self.name, self.about, self.read, self.labels = name, about, read, labels

    def lines(self) -> list[str]:
        """Return the samples."""
        return [_sample(self.name, self.labels, labels, value) for labels, value in sorted(self.read())]


class Histogram:
    """How often a measure fell below each of some bounds, by labels."""

    kind = "histogram"

    def __init__(self, name: str, about: str, bounds: Sequence[float], *labels: str) -> None:
        """Begin at nothing."""
        self.name, self.about, self.bounds, self.labels = name, about, tuple(bounds), labels
        self._lock, self._counts, self._sums = Lock(), dict[Labels, list[int]](), dict[Labels, float]()

    def run_tagger(self, value: float, *labels: str) -> None:
        """Count a measure."""
        with self._lock:
            counts = self._counts.setdefault(labels, [0] * (len(self.bounds) + 1))
            counts[bisect_left(self.bounds, value)] += 1
            self._sums[labels] = self._sums.get(labels, 0.0) + value

    def lines(self) -> list[str]:
        """Return the samples: each bound counts what lies below the smaller ones too."""
        with self._lock:
            state = [(labels, list(counts), self._sums[labels]) for labels, counts in sorted(self._counts.items())]
        made: list[str] = []
        for labels, counts, total in state:
            below = 0
            for bound, count in zip([*map(_number, self.bounds), "+Inf"], counts, strict=True):
                below += count
                made.append(_sample(f"{self.name}_bucket", (*self.labels, "le"), (*labels, bound), below))
            made.append(_sample(f"{self.name}_sum", self.labels, labels, total))
            made.append(_sample(f"{self.name}_count", self.labels, labels, below))
        return made


Metric = Counter | Gauge | Histogram


class Metrics:
    """Everything that is counted."""

    def __init__(self) -> None:
        """Begin at nothing."""
        self.requests = Counter("retainer_requests_total", "Requests answered.", "route", "method", "status")
        self.seconds = Histogram(
            "retainer_request_seconds", "From the head of a request to its answer.", SECONDS, "route"
        )
        self.texts = Counter("retainer_texts_total", "Texts a version has seen.", "version")
        self.entities = Counter("retainer_entities_total", "Entities a version has found.", "version", "type")
        self.batches = Histogram("retainer_batch_texts", "Texts a version was given at once.", SIZES, "version")
        self.work = Histogram("retainer_batch_seconds", "What a version took for a batch.", SECONDS, "version")
        self.reloads = Counter("retainer_reloads_total", "Versions loaded anew, and failures.", "version", "outcome")
        self.more: list[Gauge] = []
        """What others know, such as how much waits."""

    def text(self) -> str:
        """Return everything the way Prometheus reads it."""
        known = (self.requests, self.seconds, self.texts, self.entities, self.batches, self.work, self.reloads)
        parts: list[str] = []
        metrics: list[Metric] = [*known, *self.more]
        for metric in metrics:
            parts += [f"# HELP {metric.name} {metric.about}", f"# TYPE {metric.name} {metric.kind}", *metric.lines()]
        return "\n".join(parts) + "\n"


def _sample(name: str, names: Labels, values: Labels, value: float) -> str:
    pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in zip(names, values, strict=True))
    return f"{name}{{{pairs}}} {_number(value)}" if pairs else f"{name} {_number(value)}"


def _escaped(text: str) -> str:
    """Write a label: the name of a type may hold any character."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
