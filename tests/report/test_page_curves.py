"""Test the thinning of curves."""

import numpy as np
import pytest

from gvibench.report.page.curves import LINEAR_TOLERANCE, LOG_TOLERANCE, statistics, thin


def test_statistics():
    rows = np.array([[1.0], [2.0], [3.0], [4.0], [10.0]])
    assert statistics(rows)[:, 0].tolist() == [4.0, 1.0, 10.0, 3.0, 2.0, 4.0]
    assert statistics(rows[:1]).tolist() == [[1.0]]


@pytest.mark.parametrize("axis", ["linear", "log"])
@pytest.mark.parametrize("kind", ["decay", "oscillation", "noise with a spike"])
def test_thinned_curves_are_within_the_tolerances(kind, axis):
    at = np.arange(2000.0)
    random = np.random.default_rng(1)
    curve = {
        "decay": 500 * np.exp(-0.01 * at) + 1e-9,
        "oscillation": 10 + np.sin(at / 50),
        "noise with a spike": 1 + 0.1 * random.random(2000) + 1e3 * (at == 1234),
    }[kind]
    rows = np.array([curve, 1.5 * curve])
    max_points = 3000 if kind == "noise with a spike" else 300
    kept, error = thin(at, rows, 1e-12, max_points)
    assert error <= 1
    assert len(kept) <= min(max_points, 2000)
    assert {0, 1, 1999} <= set(kept)
    where, kept = (slice(None), kept) if axis == "linear" else (slice(1, None), kept[1:])
    x = at if axis == "linear" else np.log10(np.maximum(at, 1e-300))
    for row in rows:
        straight = np.interp(x[where], x[kept], row[kept])
        assert np.abs(straight - row[where]).max() <= 1.01 * LINEAR_TOLERANCE * np.ptp(rows)
        decades = np.interp(x[where], x[kept], np.log10(row[kept]))
        assert np.abs(decades - np.log10(row[where])).max() <= 1.01 * LOG_TOLERANCE


def test_thinning_accepts_several_points_at_one_position():
    at = np.array([0.0, 1.0, 1.0, 1.0])
    kept, _ = thin(at, np.array([[3.0, 2.0, 5.0, 1.0]]), 1e-12, 300)
    assert {0, 3} <= set(kept)


def test_thinning_keeps_a_spike_among_noise():
    random = np.random.default_rng(1)
    at = np.arange(2000.0)
    curve = 1 + 0.1 * random.random(2000) + 1e3 * (at == 1234)
    kept, error = thin(at, curve[np.newaxis], 1e-12, 100)
    assert 1234 in kept
    assert error > 1
    assert len(kept) < 250


@pytest.mark.parametrize("count", [1, 2, 3])
def test_short_curves_are_not_thinned(count):
    at = np.arange(float(count))
    kept, error = thin(at, np.array([[5.0, 1.0, 4.0][:count]]), 1e-12, 300)
    assert kept.tolist() == list(range(count))
    assert error == 0
