import itertools
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gvibench.benchmark.tuning_budget import expected_best, read_trials, tuning_curves


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=7), st.data())
def test_the_expected_best_is_the_mean_over_all_subsets(values, data):
    count = data.draw(st.integers(1, len(values)))
    subsets = list(itertools.combinations(values, count))
    expected = np.mean([min(subset) for subset in subsets])
    assert expected_best(values, count) == pytest.approx(expected, abs=1e-12)


def test_curves_are_means_of_log_regrets():
    trials = pd.DataFrame(
        {
            "problem": ["p"] * 4,
            "entry": ["good", "good", "bad", "bad"],
            "step": [0.1, 1.0, 0.1, 1.0],
            "objective": [0.0, 1.0, 10.0, None],
            "start": [100.0] * 4,
        }
    )
    curves = tuning_curves(trials).set_index(["entry", "trials"])["log10_regret"]
    assert curves["good", 1] == pytest.approx((-12 - 2) / 2)
    assert curves["good", 2] == pytest.approx(-12)
    assert curves["bad", 1] == pytest.approx((-1 + 0) / 2)
    assert curves["bad", 2] == pytest.approx(-1)


def test_trials_are_read_from_the_choices_of_a_study(tmp_path):
    folder = tmp_path / "tuning/sonar/vn/tuned_start-random"
    folder.mkdir(parents=True)
    point = {"step": 0.1, "init_scale": 1.0, "objective": None, "effort": None, "start": 3.0}
    (folder / "choice.json").write_text(json.dumps({"points": [point]}))
    (row,) = read_trials(tmp_path).to_dict("records")
    assert (row["problem"], row["entry"], row["step"]) == ("sonar", "vn", 0.1)
    assert pd.isna(row["objective"])
