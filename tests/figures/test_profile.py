"""Figure `profile`."""

import numpy as np

from figures.drawn import legend_title, lines, plot
from figures.made_aggregate import Run, make_dataset
from gvibench.figures.profile import ratios


def test_profile_follows_the_definition_of_dolan_and_more(tmp_path):
    def reaches(at, solver, seed, **more):
        curve = [20.0] * at + [10.0] + [10.0] * (8 - at)
        return Run(curve, "wdbc", solver, seed=seed, **more)

    runs = [
        reaches(1, "vn", 0),
        reaches(4, "vn", 1),
        reaches(2, "gd", 0),
        reaches(2, "gd", 1),
        Run([20.0, 19.0], "wdbc", "sr-vn", seed=0),
        Run([20.0, 10.0], "wdbc", "sr-vn", seed=1, status="diverged"),
    ]
    dataset = make_dataset(tmp_path, runs)
    figure, shown, _ = plot("profile", dataset)
    cost = np.array([1, 4, 2, 2, np.nan, np.nan])
    relative = ratios(shown, dataset["seed"].values, cost)
    np.testing.assert_allclose(relative["VN"], [1, 2])
    np.testing.assert_allclose(relative["GD"], [2, 1])
    np.testing.assert_allclose(relative["SR-VN"], np.inf)
    drawn = lines(figure.axes[0])
    factors, shares = drawn["VN"]
    np.testing.assert_allclose(factors, [1, 1, 2, 2.4])
    np.testing.assert_allclose(shares, [0, 0.5, 1, 1])
    factors, shares = drawn["SR-VN"]
    assert (shares[factors <= 2.4] == 0).all()  # The stand-in lies outside the axes.
    assert [axes.get_title() for axes in figure.axes] == ["iterations", "solver time"]


def test_shares_are_over_the_problems_with_runs_of_the_line(tmp_path):
    """Problems without runs of a solver do not count as failures of this solver."""
    runs = [Run([20.0, 10.0], name, "vn") for name in ("a", "b", "c")]
    runs += [Run([20.0, 10.0], name, "sr-vn") for name in ("a", "b")]
    runs += [Run([20.0, 10.0], "c", "sr-vn", solver_id="sr-vn-rotated")]
    figure, *_ = plot("profile", make_dataset(tmp_path, runs))
    for _, shares in lines(figure.axes[0]).values():
        assert shares[-1] == 1.0
    assert "number of problems: VN 3, SR-VN 2, SR-VN (rotated) 1" in legend_title(figure)


def test_unsolved_problems_have_a_finite_ratio_beyond_the_axis(tmp_path):
    runs = [Run([20.0, 10.0], solver="vn"), Run([20.0, 19.0], solver="gd")]
    figure, _, table = plot("profile", make_dataset(tmp_path, runs))
    unsolved = table[~table["reached"]]
    assert set(unsolved["line"]) == {"GD"}
    assert np.isfinite(unsolved["ratio"]).all()
    assert unsolved["ratio"].min() > max(axes.get_xlim()[1] for axes in figure.axes)


def test_profiles_use_the_cost_of_the_study(tmp_path):
    costly = {"evaluations": [1, 10, 20], "data_passes": [1, 10, 20]}
    runs = [Run([15.0, 12.0, 10.0]), Run([15.0, 10.0, 10.0], solver="gd", scalars=costly)]
    for cost, expected in (("iterations", {"VN": 2.0, "GD": 1.0}), ("evaluations", None)):
        table = plot("profile", make_dataset(tmp_path, runs, cost=cost)).table
        shown = table[table["panel"] == cost].set_index("line")["ratio"].to_dict()
        assert shown == (expected or {"VN": 1.0, "GD": 10 / 3})


def test_a_study_that_counts_seconds_has_one_panel(tmp_path):
    drawing = plot("profile", make_dataset(tmp_path, [Run([15.0, 10.0])], cost="seconds"))
    assert set(drawing.table["panel"]) == {"solver time"}
