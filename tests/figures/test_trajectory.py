"""Figure `path`."""

import numpy as np
import pytest

from figures.drawn import (
    LAYOUTS,
    assert_nothing_is_cut_or_overlaps,
    lay_out,
    legend_texts,
    legend_title,
    lines,
    plot,
    with_gid,
)
from figures.made_aggregate import Run, make_dataset
from gvibench.analysis.efforts import SOLVED
from gvibench.errors import UserError
from gvibench.figures.trajectory import CONTOUR_RATIO

LINEAR = {"model": "linear"}
SNAPSHOT = np.array([0, 1, 3])
OPTIMUM = np.array([1.0, 2.0])
OPTIMAL_FACTOR = np.array([[0.5, 0.0], [0.3, 0.1]])
VN_MEANS = np.array([[-1.0, 0.0], [1.0, 2.0], [1.0, 2.0]])
SLOW_MEANS = np.array([[-1.0, 0.0], [-0.5, 1.0], [0.0, 1.5]])
GONE_MEANS = np.array([[-1.0, 0.0], [99.0, 99.0], [np.nan, np.nan]])
START_FACTOR = np.eye(2)


def made_path(folder, features=2, spec=LINEAR, more=()):
    """Return a study of two seeds with known paths. The paths of the second seed are shifted."""
    runs = []
    for seed in (3, 4):
        runs += [
            Run([20.0, 10.0, 10.0, 10.0], solver="vn", seed=seed, step=1.0, spec=spec),
            Run([20.0, 18.0, 16.0, 14.0], solver="sr-vn", seed=seed, step=0.25, spec=spec),
            Run([20.0, 30.0], solver="gd", seed=seed, spec=spec, status="diverged"),
        ]
    dataset = make_dataset(folder, [*runs, *more])
    count = dataset.sizes["run"]
    means = np.full((count, 3, features), np.nan)
    factors = np.full((count, 3, features, features), np.nan)
    known = {"vn": VN_MEANS, "sr-vn": SLOW_MEANS, "gd": GONE_MEANS}
    for run in range(count):
        seed, solver = int(dataset["seed"][run]), str(dataset["solver"].values[run])
        means[run, :, :2] = known[solver] + 50 * (seed - 3)
        means[run, :, 2:] = 0.0
        factors[run, :, :2, :2] = [START_FACTOR, 0.5 * START_FACTOR, OPTIMAL_FACTOR]
    optimum_factor = np.tile(np.eye(features), (count, 1, 1))
    optimum_factor[:, :2, :2] = OPTIMAL_FACTOR
    optimum = np.zeros((count, features))
    optimum[:, :2] = OPTIMUM
    square = ("feature", "feature_")
    return dataset.assign_coords(snapshot=SNAPSHOT).assign(
        path_mean=(("run", "snapshot", "feature"), means),
        path_covariance_factor=(("run", "snapshot", *square), factors),
        optimum_mean=(("run", "feature"), optimum),
        optimum_covariance_factor=(("run", *square), optimum_factor),
    )


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return made_path(tmp_path_factory.mktemp("path"))


@pytest.fixture(scope="module")
def drawing(dataset):
    return plot("path", dataset)


def test_shows_the_means_of_the_first_seed(drawing):
    figure, shown, _ = drawing
    (axes,) = figure.axes
    drawn = lines(axes)
    np.testing.assert_allclose(drawn["VN"].T, VN_MEANS)
    np.testing.assert_allclose(drawn["SR-VN"].T, SLOW_MEANS)
    assert "GD" not in drawn  # GD diverged.
    assert any("GD 2/2" in text.get_text() for text in axes.texts)
    assert {config.line for config in shown} == {"VN", "SR-VN", "GD"}
    np.testing.assert_allclose(with_gid(axes, "optimum")[0].ravel(), OPTIMUM)
    np.testing.assert_allclose(with_gid(axes, "start")[0].ravel(), VN_MEANS[0])
    assert "seed 3" in legend_title(figure)


def test_ellipses_lie_at_one_standard_deviation(drawing):
    figure, *_ = drawing
    ellipses = with_gid(figure.axes[0], "ellipse")
    assert len(ellipses) == 6
    for centre, factor, ellipse in zip(
        VN_MEANS, [START_FACTOR, 0.5 * START_FACTOR, OPTIMAL_FACTOR], ellipses[:3], strict=True
    ):
        white = np.linalg.solve(factor, ellipse - centre[:, np.newaxis])
        np.testing.assert_allclose(np.linalg.norm(white, axis=0), 1.0)


def test_contours_have_constant_loss(tmp_path):
    gamma = 0.25
    figure, *_ = plot("path", made_path(tmp_path, spec={**LINEAR, "gamma": gamma}))
    hessian = gamma * np.linalg.inv(OPTIMAL_FACTOR @ OPTIMAL_FACTOR.T)
    losses = []
    for contour in with_gid(figure.axes[0], "contour"):
        offsets = contour.T - OPTIMUM
        loss = 0.5 * np.einsum("ki,ij,kj->k", offsets, hessian, offsets)
        np.testing.assert_allclose(loss, loss[0])
        losses.append(loss[0])
    assert len(losses) == 8
    np.testing.assert_allclose(np.divide(losses[1:], losses[:-1]), CONTOUR_RATIO)


def test_legend_counts_the_iterations(drawing):
    figure, *_ = drawing
    assert legend_texts(figure) == [
        "VN, step 1: 1 iteration",
        "SR-VN, step 0.25: >3 iterations",
        "start",
        "optimum",
    ]
    assert "GD, step 0.1: diverged" in legend_title(figure)  # There is no line to explain.
    assert f"{SOLVED:g} nat" in legend_title(figure)


def test_coinciding_paths_are_both_visible(drawing):
    figure, *_ = drawing
    drawn = {line.get_label(): line for line in figure.axes[0].get_lines()}
    order = list(drawn)
    assert order.index("VN") < order.index("SR-VN")
    assert drawn["VN"].get_linewidth() > 1.5 * drawn["SR-VN"].get_linewidth()
    assert drawn["SR-VN"].is_dashed()


@pytest.mark.parametrize("style", LAYOUTS)
def test_nothing_is_cut_or_overlaps(tmp_path, style):
    other = Run([20.0, 15.0], "other", solver="vn", seed=3, step=0.5, spec=LINEAR)
    figure = lay_out("path", made_path(tmp_path, more=[other]), style)
    assert len(figure.axes) == 2
    words = [" ".join(text.split()) for text in legend_texts(figure)]  # Long texts are wrapped.
    assert "VN, step 1, 0.5: 1 iteration, >1 iterations" in words
    assert_nothing_is_cut_or_overlaps(figure)


def test_studies_without_paths_in_a_plane_are_rejected(dataset, tmp_path):
    with pytest.raises(UserError, match="covariance_factor_path"):
        plot("path", dataset.drop_vars("path_mean"))
    with pytest.raises(UserError, match="two features, not 3"):
        plot("path", made_path(tmp_path, features=3))
    with pytest.raises(UserError, match="linear"):
        plot("path", dataset.assign_coords(model=("run", ["logistic"] * dataset.sizes["run"])))
    unknown = np.nan * dataset["optimum_covariance_factor"]
    with pytest.raises(UserError, match="gap: optimum"):
        plot("path", dataset.assign(optimum_covariance_factor=unknown))


def test_the_table_is_what_is_drawn(drawing):
    figure, _, table = drawing
    (axes,) = figure.axes
    for kind in ("contour", "ellipse", "start", "optimum"):
        rows = table[table["kind"] == kind]
        drawn = np.concatenate([points.T for points in with_gid(axes, kind)])
        np.testing.assert_array_equal(drawn, rows[["m1", "m2"]].to_numpy())
    for line in ("VN", "SR-VN"):
        rows = table[(table["kind"] == "path") & (table["line"] == line)]
        np.testing.assert_array_equal(lines(axes)[line].T, rows[["m1", "m2"]].to_numpy())
