"""Scores that mean what they say."""

import numpy as np
import pytest
from scipy.optimize import minimize

from retainer.calibration import STRENGTH, Curve, apply, bins, error, fit


def logistic(z):
    return 1 / (1 + np.exp(-z))


def drawn(slope, shift, count, seed=0):
    """Entities whose chance of being right follows a curve."""
    rng = np.random.default_rng(seed)
    scores = rng.uniform(0.3, 0.999, count)
    return scores, rng.uniform(size=count) < logistic(slope * np.log(scores / (1 - scores)) + shift)


class TestFit:
    @pytest.mark.parametrize(("slope", "shift"), [(1.0, 0.0), (0.4, -0.7), (2.0, 1.0)])
    def test_finds_the_curve_again(self, slope, shift):
        found = fit(*drawn(slope, shift, 20_000))
        assert found.slope == pytest.approx(slope, abs=0.1) and found.shift == pytest.approx(shift, abs=0.1)

    @pytest.mark.parametrize("count", [1, 5, 300])
    def test_is_the_minimum_another_search_finds(self, count):
        scores, right = drawn(0.5, -0.5, count, seed=count)
        x = np.log(scores / (1 - scores))

        def loss(at):
            p = logistic(at[0] * x + at[1])
            return -np.log(np.where(right, p, 1 - p)).sum() + STRENGTH / 2 * ((at[0] - 1) ** 2 + at[1] ** 2)

        found = fit(scores, right)
        other = minimize(loss, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12}).x
        assert (found.slope, found.shift) == pytest.approx(tuple(other), abs=1e-5)

    def test_nothing_seen_changes_nothing(self):
        assert fit([], []) == Curve()

    @pytest.mark.parametrize("right", [True, False])
    def test_all_alike_stays_finite(self, right):
        found = fit([1.0, 0.0, 0.9] * 20, [right] * 60)
        made = found(np.array([0.0, 0.5, 1.0]))
        assert np.isfinite(made).all() and ((made > 0) & (made < 1)).all()


def test_a_curve_keeps_the_order_of_scores():
    made = fit(*drawn(0.4, -0.7, 500))(np.linspace(0.01, 0.99, 50))
    assert (np.diff(made) > 0).all()


def test_every_type_has_its_own():
    scores = np.array([0.9, 0.9, 0.9])
    made = apply({"a": Curve(1.0, -1.0), "b": Curve(0.5, 0.0)}, scores, ["a", "b", "c"])
    assert made == pytest.approx([logistic(np.log(9) - 1), logistic(np.log(9) / 2), 0.9])
    assert (scores == 0.9).all(), "what was given is left as it is"


class TestError:
    def test_by_hand(self):
        scores, right = [0.95, 0.95, 0.15, 1.0], [True, False, True, True]
        first, last = bins(scores, right)
        assert (first.count, first.score, first.right) == (1, 0.15, 1.0)
        assert last.count == 3 and last.right == pytest.approx(2 / 3)
        assert error(scores, right) == pytest.approx(100 * (0.85 * 1 + abs(2.9 / 3 - 2 / 3) * 3) / 4)

    def test_nothing_to_measure(self):
        assert error([], []) is None and bins([], []) == []

    def test_a_fitted_curve_has_less(self):
        seen, fresh = drawn(0.4, -0.7, 2000), drawn(0.4, -0.7, 2000, seed=1)
        assert error(fit(*seen)(fresh[0]), fresh[1]) < error(*fresh) / 3
