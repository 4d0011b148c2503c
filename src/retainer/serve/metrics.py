"""What a server counts, in the text format that Prometheus reads. Every method may be called from any thread."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from threading import Lock

SECONDS_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SIZE_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256)

LabelValues = tuple[str, ...]
Samples = Iterable[tuple[LabelValues, float]]


class Counter:
    """A number per combination of labels that only grows."""

    kind = "counter"

    def __init__(self, name: str, help_text: str, *labels: str) -> None:
        """Start at zero."""
        self.name, self.help_text, self.labels = name, help_text, labels
        self._lock, self._values = Lock(), dict[LabelValues, float]()

    def add(self, *values: str, amount: float = 1) -> None:
        """Add one, or some other amount."""
        with self._lock:
            self._values[values] = self._values.get(values, 0) + amount

    def lines(self) -> list[str]:
        """Return the samples."""
        with self._lock:
            samples = sorted(self._values.items())
        return [_sample(self.name, self.labels, values, value) for values, value in samples]


class Gauge:
    """A number per combination of labels that is read at the moment of the scrape."""

    kind = "gauge"

    def __init__(self, name: str, help_text: str, read: Callable[[], Samples], *labels: str) -> None:
        """Keep the function that reads the samples."""
        self.name, self.help_text, self.read, self.labels = name, help_text, read, labels

    def lines(self) -> list[str]:
        """Return the samples."""
        return [_sample(self.name, self.labels, values, value) for values, value in sorted(self.read())]


class Histogram:
    """How many observations fell below each bound, per combination of labels."""

    kind = "histogram"

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

    def lines(self) -> list[str]:
        """Return the samples; buckets are cumulative, as Prometheus expects."""
        with self._lock:
            state = [(values, list(counts), self._sums[values]) for values, counts in sorted(self._counts.items())]
        lines: list[str] = []
        for values, counts, total in state:
            cumulative = 0
            for bound, count in zip([*map(_number, self.bounds), "+Inf"], counts, strict=True):
                cumulative += count
                lines.append(_sample(f"{self.name}_bucket", (*self.labels, "le"), (*values, bound), cumulative))
            lines.append(_sample(f"{self.name}_sum", self.labels, values, total))
            lines.append(_sample(f"{self.name}_count", self.labels, values, cumulative))
        return lines


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

    def exposition(self) -> str:
        """Return all metrics in the text format of Prometheus."""
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
        lines: list[str] = []
        for metric in metrics:
            lines += [
                f"# HELP {metric.name} {metric.help_text}",
                f"# TYPE {metric.name} {metric.kind}",
                *metric.lines(),
            ]
        return "\n".join(lines) + "\n"


def _sample(name: str, labels: LabelValues, values: LabelValues, value: float) -> str:
    pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in zip(labels, values, strict=True))
    return f"{name}{{{pairs}}} {_number(value)}" if pairs else f"{name} {_number(value)}"


def _escaped(text: str) -> str:
    """Escape the value of a label: the name of a type may hold any character."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
