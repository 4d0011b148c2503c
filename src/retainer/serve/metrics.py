"""What a server counts, in the text format that Prometheus reads. Every method may be called from any thread."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Literal

SECONDS_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SIZE_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256)

LabelValues = tuple[str, ...]
Samples = Iterable[tuple[LabelValues, float]]
Across = Literal["sum", "max"]
"""How the values of several processes become one."""


@dataclass(frozen=True)
class Family:
    """A metric as it was at one moment: its samples by name and labels, in the order in which they are written."""

    name: str
    help_text: str
    kind: str
    across: Across
    samples: dict[str, float]

    @property
    def text(self) -> str:
        """The lines of the text format."""
        head = (f"# HELP {self.name} {self.help_text}", f"# TYPE {self.name} {self.kind}")
        return "".join(f"{line}\n" for line in (*head, *(f"{key} {_number(n)}" for key, n in self.samples.items())))


class Counter:
    """A number per combination of labels that only grows."""

    kind = "counter"
    across: Across = "sum"

    def __init__(self, name: str, help_text: str, *labels: str) -> None:
        """Start at zero."""
        self.name, self.help_text, self.labels = name, help_text, labels
        self._lock, self._values = Lock(), dict[LabelValues, float]()

    def add(self, *values: str, amount: float = 1) -> None:
        """Add one, or some other amount."""
        with self._lock:
            self._values[values] = self._values.get(values, 0) + amount

    def samples(self) -> dict[str, float]:
        """Return the samples."""
        with self._lock:
            samples = sorted(self._values.items())
        return {_key(self.name, self.labels, values): value for values, value in samples}


class Gauge:
    """A number per combination of labels that is read at the moment of the scrape."""

    kind = "gauge"

    def __init__(
        self, name: str, help_text: str, read: Callable[[], Samples], *labels: str, across: Across = "sum"
    ) -> None:
        """Keep the function that reads the samples."""
        self.name, self.help_text, self.read, self.labels, self.across = name, help_text, read, labels, across

    def samples(self) -> dict[str, float]:
        """Return the samples."""
        return {_key(self.name, self.labels, values): value for values, value in sorted(self.read())}


class Histogram:
    """How many observations fell below each bound, per combination of labels."""

    kind = "histogram"
    across: Across = "sum"

    def __init__(self, name: str, help_text: str, bounds: Sequence[float], *labels: str) -> None:
        """Start at zero."""
        self.name, self.help_text, self.bounds, self.labels = name, help_text, tuple(bounds), labels
        self._lock = Lock()
        self._counts, self._sums = dict[LabelValues, list[int]](), dict[LabelValues, float]()

    def observe(self, observation: float, *values: str) -> None:
        """Count one observation."""
        with self._lock:
            counts = self._counts.setdefault(values, [0] * (len(self.bounds) + 1))
            counts[bisect_left(self.bounds, observation)] += 1
            self._sums[values] = self._sums.get(values, 0.0) + observation

    def samples(self) -> dict[str, float]:
        """Return the samples; buckets are cumulative, as Prometheus expects."""
        with self._lock:
            state = [(values, list(counts), self._sums[values]) for values, counts in sorted(self._counts.items())]
        samples: dict[str, float] = {}
        for values, counts, total in state:
            cumulative = 0
            for bound, count in zip([*map(_number, self.bounds), "+Inf"], counts, strict=True):
                cumulative += count
                samples[_key(f"{self.name}_bucket", (*self.labels, "le"), (*values, bound))] = cumulative
            samples[_key(f"{self.name}_sum", self.labels, values)] = total
            samples[_key(f"{self.name}_count", self.labels, values)] = cumulative
        return samples


Metric = Counter | Gauge | Histogram


class Metrics:
    """All metrics of a server."""

    def __init__(self) -> None:
        """Start at zero."""
        self.requests = Counter("retainer_requests_total", "Requests answered.", "route", "method", "status")
        self.request_seconds = Histogram(
            "retainer_request_seconds", "From the head of a request to its response.", SECONDS_BUCKETS, "route"
        )
        self.texts = Counter("retainer_texts_total", "Texts a version has seen.", "version")
        self.entities = Counter("retainer_entities_total", "Entities a version has found.", "version", "type")
        self.batch_texts = Histogram("retainer_batch_texts", "Texts per batch of a version.", SIZE_BUCKETS, "version")
        self.batch_seconds = Histogram(
            "retainer_batch_seconds", "Seconds a version took per batch.", SECONDS_BUCKETS, "version"
        )
        self.reloads = Counter("retainer_reloads_total", "Versions reloaded, and failures.", "version", "outcome")
        self.gauges: list[Gauge] = []
        """Added by the objects that know the values, such as the length of a queue."""

    def families(self) -> list[Family]:
        """Return all metrics as they are now."""
        metrics: list[Metric] = [
            self.requests,
            self.request_seconds,
            self.texts,
            self.entities,
            self.batch_texts,
            self.batch_seconds,
            self.reloads,
            *self.gauges,
        ]
        return [Family(one.name, one.help_text, one.kind, one.across, one.samples()) for one in metrics]

    def exposition(self) -> str:
        """Return all metrics in the text format of Prometheus."""
        return "".join(family.text for family in self.families())


def _key(name: str, labels: LabelValues, values: LabelValues) -> str:
    pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in zip(labels, values, strict=True))
    return f"{name}{{{pairs}}}" if pairs else name


def _escaped(text: str) -> str:
    """Escape the value of a label: the name of a type may hold any character."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
