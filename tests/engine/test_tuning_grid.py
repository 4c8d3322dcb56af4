"""Test grids of step sizes and initial scales, and the choice of the best point."""

import math

import pytest

from gvibench.engine.tuning_grid import Grid, Point, best_point, first_grid


def test_first_grid():
    settings = {"steps": {"start": 0.01, "stop": 1.0, "count": 3}, "init_scales": [1.0, 0.1]}
    assert first_grid(settings) == Grid((0.01, 0.1, 1.0), (0.1, 1.0))


def point(step, scale, objective, effort, start=50.0):
    return Point(step, scale, objective, effort, start)


def test_a_step_that_works_from_all_scales_is_preferred():
    quick, failed = point(1.0, 1.0, 5.0, 6.0), point(1.0, 0.1, 9.0, math.inf)
    safe = [point(0.3, 1.0, 5.0, 20.0), point(0.3, 0.1, 5.0, 25.0)]
    assert best_point([quick, failed, *safe], "safe") == safe[0]
    slow = [point(0.01, 1.0, 5.0, 600.0), point(0.01, 0.1, 5.0, 700.0)]
    assert best_point([quick, failed, *slow], "safe") == quick
    assert best_point([quick, failed, *safe], "quick") == quick


def test_steps_without_progress_are_not_ties():
    tried = [point(1e-9, 1.0, 49.9999999, 0.0), point(1e-8, 1.0, 49.999999, 0.0)]
    assert best_point(tried, "safe") == tried[1]


@pytest.mark.parametrize("prefer", ["safe", "quick"])
def test_the_middle_one_of_equally_quick_scales_is_chosen(prefer):
    tried = [point(0.3, scale, 5.0, 20.0 + scale) for scale in (0.01, 0.1, 1.0)]
    assert best_point(tried, prefer) == tried[1]
    tried = [point(0.3, scale, 5.0, 20.0 * scale) for scale in (0.01, 0.1, 1.0)]
    assert best_point(tried, prefer) == tried[0]
