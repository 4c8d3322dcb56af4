"""Test the figure `calibration` and the tables `quality` and `truth` on hand-made measures."""

import math

import numpy as np
import pytest
from scipy import stats

from figures.drawn import COLUMN, PAGE, assert_nothing_is_cut_or_overlaps, lay_out, plot
from figures.made_aggregate import Run, make_dataset
from gvibench.errors import UserError
from gvibench.figures.calibration import observed_range
from gvibench.registry import TABLES

PREDICTED = [0.05, 0.2, 0.5, 0.8, 0.97]


def result(seed, shift=0.0, **changes):
    values = {
        "seed": seed,
        "pred_nll": 0.25 + shift,
        "brier": 0.1,
        "auc": 0.9,
        "ece": 0.02,
        "log_evidence": -100.5,
        "log_evidence_error": 0.01,
        "evidence_gap": 0.1 + shift,
        "ess": 0.5,
        "k_hat": 0.4 + shift,
        "reading": "good" if shift < 0.1 else "usable",
        "kl": shift,
        "w2": shift,
        "mean_error_max": 0.5 + shift,
        "sd_ratio_min": 0.9,
        "worst": "age",
        "truth": "NUTS",
        "bin_predicted": [p + 0.02 * shift for p in PREDICTED],
        "bin_observed": [0.0, 0.3, 0.5, 0.7, 1.0],
        "bin_count": [12, 11, 12, 11, 11],
        "notes": {},
    }
    return values | changes


RUNS = [
    Run([15.0, 11.0], name, solver, seed=seed)
    for name in ("wdbc", "digits_50%")
    for solver in ("vn", "laplace", "bam")
    for seed in range(2)
]
MEASURES = [
    *((k, result(None)) for k in (0, 6)),
    *((k, result(RUNS[k].seed, 0.1 * (k % 2))) for k in (2, 3, 4, 5, 8, 9)),
    (10, result(0, auc=math.nan, notes={"auc": "the test rows are all of one class"})),
]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("made"), RUNS, measures=MEASURES)


@pytest.mark.parametrize("style", [PAGE, COLUMN], ids=["page", "column"])
def test_nothing_is_cut_or_overlaps(dataset, style):
    assert_nothing_is_cut_or_overlaps(lay_out("calibration", dataset, style))


def test_points_are_means_over_the_seeds(dataset):
    drawing = plot("calibration", dataset, PAGE)
    table = drawing.table
    assert sorted(set(table["line"])) == ["BaM", "Laplace", "optimum"]
    part = table[(table["panel"] == "wdbc") & (table["line"] == "Laplace")]
    assert part["predicted"].tolist() == pytest.approx([p + 0.001 for p in PREDICTED])
    axes = drawing.figure.axes[0]
    drawn = next(line for line in axes.get_lines() if line.get_label() == "Laplace")
    assert drawn.get_xdata().tolist() == pytest.approx(part["predicted"].tolist())
    assert drawn.get_ydata().tolist() == part["observed"].tolist()
    assert any("57 test rows, 11–12 per bin" in text.get_text() for text in axes.texts)


@pytest.mark.parametrize(("count", "share"), [(1, 0.3), (12, 0.05), (20, 0.97), (5000, 0.4)])
def test_the_range_of_calibrated_bins_is_binomial(count, share):
    expected = stats.binom.ppf([0.025, 0.975], count, share) / count
    assert observed_range(count, share) == pytest.approx(tuple(expected))
    assert observed_range(count, 0.0) == (0.0, 0.0)
    assert observed_range(count, 1.0) == (1.0, 1.0)


def test_the_table_of_quality(dataset):
    table = TABLES.load("quality")(dataset)
    rows = {(row["problem"], row["gaussian"]): row for row in table.values.to_dict("records")}
    assert list(rows)[:3] == [("wdbc", name) for name in ("optimum", "Laplace", "BaM")]
    laplace = rows["wdbc", "Laplace"]
    assert (laplace["gaussians"], laplace["solver"]) == (2, "laplace")
    assert [laplace[f"pred_nll_{s}"] for s in ("min", "median", "max")] == [0.25, 0.3, 0.35]
    assert laplace["reading"] == "1 good, 1 usable"
    assert rows["wdbc", "optimum"]["reading"] == "good"
    assert rows["digits_50%", "BaM"]["note"] == "the test rows are all of one class"
    predictions, fit = table.blocks
    cells = predictions.cells.set_index(["data set", "Gaussian"])
    assert cells.loc[("wdbc", "Laplace"), "predictive NLL"] == "0.3 [0.25, 0.35]"
    assert cells.loc[("digits_50%", "BaM"), "AUC"] == "–"
    assert cells.loc[("digits_50%", "BaM"), "note"] == "the test rows are all of one class"
    cells = fit.cells.set_index(["data set", "Gaussian"])
    assert cells.loc[("wdbc", "optimum"), "k-hat"] == "0.4 (good)"
    assert "note" not in fit.cells


def test_the_table_of_truth(dataset):
    table = TABLES.load("truth")(dataset)
    row = table.values.to_dict("records")[1]
    assert (row["mean_error_max_median"], row["worst"], row["truth"]) == (0.55, "age", "NUTS")
    assert np.isnan(row["mean_error_rms_median"])
    cells = table.blocks[0].cells
    assert cells["mean error, max"][1] == "0.55 [0.5, 0.6]"
    assert cells["rms"][1] == "–"


@pytest.mark.parametrize("name", ["quality", "truth"])
def test_a_study_without_measures_has_no_such_table(tmp_path, name):
    with pytest.raises(UserError, match="measured no Gaussians: add the table 'quality'"):
        TABLES.load(name)(make_dataset(tmp_path, RUNS))


def test_targets_without_classes_have_no_diagram(tmp_path):
    empty = {name: [] for name in ("bin_predicted", "bin_observed", "bin_count")}
    dataset = make_dataset(tmp_path, RUNS, measures=[(0, result(None, **empty))])
    with pytest.raises(UserError, match="no Gaussian has predictions of two classes"):
        plot("calibration", dataset, PAGE)


def test_solvers_without_an_optimum_are_shown(tmp_path):
    dataset = make_dataset(tmp_path, RUNS, measures=[(2, result(0))])
    drawing = plot("calibration", dataset, PAGE)
    assert set(drawing.table["line"]) == {"Laplace"}
