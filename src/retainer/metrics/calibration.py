"""Scores that mean what they say: of the entities scored 0.8, four in five should be right.

The mean probability of an entity's words is not that. After each task, the dev set or the held-out sentences show
how often the entities of a new type are right at which score, and two parameters per type are fitted to that (Platt's
scaling: a slope, which is one over a temperature, and a shift). Old types keep the parameters of their own task: later
data say nothing about them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from retainer.errors import InputError
from retainer.metrics.f1 import Spans

Floats = np.ndarray[Any, np.dtype[np.float64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]

PRIOR_STRENGTH = 1.0
"""How strongly the parameters are pulled towards the identity, in observations or so: few entities prove little."""
EDGE = 1e-4
"""Scores are kept this far from 0 and 1, where a logit ends."""
BINS = 10


@dataclass(frozen=True)
class Curve:
    """How a score becomes a probability: the logistic function of slope x logit(score) + shift."""

    slope: float = 1.0
    shift: float = 0.0

    def __call__(self, scores: Floats) -> Floats:
        """Turn scores into probabilities of being right."""
        return _sigmoid(self.slope * _logit(scores) + self.shift)


def fit_curve(scores: Sequence[float] | Floats, right: Sequence[bool] | Flags) -> Curve:
    """Fit the most probable curve, which stays close to the identity where little was seen.

    The sum of squares of (slope - 1, shift), times PRIOR_STRENGTH / 2, is added to the negative log-likelihood, which
    makes the problem strictly convex: Newton's steps, halved where they overshoot, end at the one minimum.
    """
    x, y = _logit(np.asarray(scores, dtype=float)), np.asarray(right, dtype=float)
    design, centre = np.stack([x, np.ones_like(x)], axis=1), np.array([1.0, 0.0])
    at = centre.copy()
    for _ in range(100):
        p = _sigmoid(design @ at)
        slope = design.T @ (p - y) + PRIOR_STRENGTH * (at - centre)
        bend = (design * (p * (1 - p))[:, None]).T @ design + PRIOR_STRENGTH * np.eye(2)
        step = np.linalg.solve(bend, slope)
        while _loss(at - step, design, y, centre) > _loss(at, design, y, centre) and np.abs(step).max() > 1e-12:
            step /= 2
        at = at - step
        if np.abs(step).max() < 1e-10:
            break
    return Curve(float(at[0]), float(at[1]))


def _loss(at: Floats, design: Floats, y: Floats, centre: Floats) -> float:
    z = design @ at
    return float((np.logaddexp(0, z) - y * z).sum() + PRIOR_STRENGTH / 2 * ((at - centre) ** 2).sum())


LEAST_ENTITIES = 20
"""A type of which fewer entities are found on the dev set gets no curve: they say too little about its scores."""


def fit_curves(spans: Spans, scores: Floats, gold: Spans, types: Sequence[str]) -> dict[str, dict[str, float]]:
    """Fit a curve for every type of which enough was found, in the form a record holds."""
    right, curves = hits(spans, gold), {}
    for number, type_ in enumerate(types):
        chosen = spans.type == number
        if chosen.sum() >= LEAST_ENTITIES:
            curve = fit_curve(scores[chosen], right[chosen])
            curves[type_] = {"slope": curve.slope, "shift": curve.shift, "entities": float(chosen.sum())}
    return curves


def hits(spans: Spans, gold: Spans) -> Flags:
    """Say of every entity found whether it is right."""
    true = set(zip(gold.start.tolist(), gold.end.tolist(), gold.type.tolist(), strict=True))
    found = zip(spans.start.tolist(), spans.end.tolist(), spans.type.tolist(), strict=True)
    return np.array([one in true for one in found], dtype=bool)


def read_curves(record: Mapping[str, Mapping[str, float]]) -> dict[str, Curve]:
    """Return the curves of a version's record."""
    return {type_: Curve(facts["slope"], facts["shift"]) for type_, facts in record.items()}


def require_curves(model: str, curves: Mapping[str, Any], types: Iterable[str]) -> list[str]:
    """Refuse a model without any curve; return the types without one, whose scores look calibrated and are not."""
    if not curves:
        raise InputError(f"{model} was never calibrated: it was not learned by retainer, or without a dev set")
    return [type_ for type_ in types if type_ not in curves]


def calibrate(curves: Mapping[str, Curve], scores: Floats, types: Iterable[str]) -> Floats:
    """Turn the scores of entities into probabilities, by the curve of its type; without one it keeps its score."""
    names = np.array(list(types), dtype=object)
    probabilities = np.array(scores, dtype=float)
    for type_, curve in curves.items():
        chosen = names == type_
        probabilities[chosen] = curve(probabilities[chosen])
    return probabilities


@dataclass(frozen=True)
class Bin:
    """Entities with scores in one tenth (from 0): how many, their mean score, and the share of them that is right."""

    tenth: int
    count: int
    score: float
    right: float


def bins(scores: Sequence[float] | Floats, right: Sequence[bool] | Flags) -> list[Bin]:
    """Sort entities into tenths by score, for a reliability plot; empty tenths are left out."""
    s, r = np.asarray(scores, dtype=float), np.asarray(right, dtype=float)
    tenth = np.minimum((s * BINS).astype(int), BINS - 1)
    return [
        Bin(number, int(chosen.sum()), float(s[chosen].mean()), float(r[chosen].mean()))
        for number in range(BINS)
        if (chosen := tenth == number).any()
    ]


def calibration_error(scores: Sequence[float] | Floats, right: Sequence[bool] | Flags) -> float | None:
    """Return the expected calibration error in percent: how far scores are from the share that is right, on average."""
    found = bins(scores, right)
    total = sum(one.count for one in found)
    return 100 * sum(one.count * abs(one.score - one.right) for one in found) / total if total else None


def reliability(scores: Floats, right: Flags, names: Sequence[str], types: Iterable[str]) -> dict[str, Any]:
    """Measure how far scores can be trusted, all together and type by type: the error, and the tenths behind it.

    All together may look better than any type, where one is overconfident and another underconfident.
    """
    owners = np.array(names, dtype=object)
    per_type = {type_: _measured(scores[owners == type_], right[owners == type_]) for type_ in types}
    return {**_measured(scores, right), "per_type": per_type}


def _measured(scores: Floats, right: Flags) -> dict[str, Any]:
    return {"error": calibration_error(scores, right), "bins": [asdict(one) for one in bins(scores, right)]}


def _logit(scores: Floats) -> Floats:
    inside = np.clip(scores, EDGE, 1 - EDGE)
    return np.asarray(np.log(inside / (1 - inside)))


def _sigmoid(z: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(z / 2)))
