"""Conclusions about outcomes that are known by construction."""

import numpy as np
import pytest

from analysis.made_outcomes import outcomes_from
from gvibench.benchmark.conclusions import conclusions, headline
from gvibench.spec.scoring import ScoreSettings

SETTINGS = ScoreSettings(targets=(1e-2, 1e-8), draws=400)
PROBLEMS = list("abcdef")


def found(costs, **changes):
    """Return the conclusions about entries `first` and `second` with a cost per problem."""
    costs = np.repeat(np.array(costs, dtype=float)[:, :, None], 2, axis=2)
    outcomes = outcomes_from(costs, PROBLEMS, [1e-2, 1e-8], ["first", "second"])
    return outcomes.assign(**changes)


def test_an_entry_that_is_quicker_everywhere_is_first_without_any_problem():
    outcomes = found([[2, 3, 4, 5, 6, 7], [20, 30, 40, 50, 60, 70]])
    assert "first has the highest score" in headline(outcomes, SETTINGS)
    assert "separates it from all other entries" in headline(outcomes, SETTINGS)
    assert conclusions(outcomes, SETTINGS)[1] == (
        "If any one of the 6 problems is left out, first still has the highest score, and no tie "
        "changes."
    )


def test_a_lead_that_is_due_to_one_problem_is_named():
    outcomes = found([[1, 11, 11, 11, 11, 11], [900, 10, 10, 10, 10, 10]])
    assert "does not separate it from second" in headline(outcomes, SETTINGS)
    assert conclusions(outcomes, SETTINGS)[1] == (
        "The first place depends on single problems: it is that of second without a."
    )


def test_a_tie_that_is_due_to_one_problem_is_named():
    outcomes = found([[10, 9, 9, 9, 9, 9], [1, 30, 30, 30, 30, 30]])
    assert "does not separate it from second" in headline(outcomes, SETTINGS)
    assert conclusions(outcomes, SETTINGS)[1].endswith(
        "but ties change: first and second become separable without one of them."
    )


def test_counts_and_failures_are_stated():
    status = np.array([["completed"] * 6, ["failed", "diverged", *4 * ["completed"]]], dtype=object)
    outcomes = found(
        [[10] * 6, [np.inf, np.inf, 20, 20, 20, 30]], status=(("entry", "instance"), status)
    )
    text = conclusions(outcomes, SETTINGS)
    assert "of 6, on which each entry reaches 0.01 nat" in text[2]
    assert "first 6 (10), second 4 (20)." in text[2]
    assert "reaches 1e-08 nat" in text[3]
    assert text[-1].endswith("second 2. They are on a (1) and b (1).")


@pytest.mark.parametrize("plain", [True, False])
def test_the_effect_of_coordinates_is_stated(plain):
    condition = ("instance", [1.0, 1.0, 1.0, 1000.0, 1000.0, 1000.0])
    outcomes = found([[10] * 6, [10, 10, 10, *3 * [10.0 if plain else np.inf]]])
    text = conclusions(outcomes.assign_coords(basis_condition=condition), SETTINGS)[-2]
    if plain:
        assert (
            text
            == "The change of coordinates moves the scores of first and second by at most 0.005."
        )
    else:
        assert text.endswith("The others change: second from 0.667 to 0.000.")
