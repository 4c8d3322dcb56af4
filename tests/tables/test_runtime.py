"""Table `runtime`."""

import numpy as np
import pytest

from figures.made_aggregate import make_dataset, timed_run
from gvibench.tables.runtime import build


def test_run_times_and_their_growth(tmp_path):
    runs = [timed_run(d, 4e-3 * d**2, seed=seed) for d in (8, 16, 32) for seed in (0, 1)]
    runs += [timed_run(8, 4e-3, solver="gd")]
    table = build(make_dataset(tmp_path, runs))
    of_vn = table.values[table.values["solver"] == "vn"]
    assert of_vn["features"].tolist() == [8, 16, 32]
    np.testing.assert_allclose(of_vn["seconds_per_iteration_mean"], [0.064, 0.256, 1.024])
    assert of_vn["operations_paper"].tolist() == [d**3 + 4 * d**2 for d in (8, 16, 32)]
    times, growth = table.blocks
    assert times.cells["VN"].tolist() == ["64", "256", "1024"]
    assert times.cells["GD"].tolist() == ["1", "–", "–"]
    assert growth.cells["measured"].tolist() == ["2", "–"]
    assert growth.cells["paper's count"].tolist()[1] == "–"
    # By hand, between 16 and 32: log2 of (32^3 + 4 32^2) / (16^3 + 4 16^2).
    assert float(growth.cells["paper's count"][0]) == pytest.approx(np.log2(7.2), abs=0.005)
