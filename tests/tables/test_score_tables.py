"""Tables `scores`, `run-times`, `failures` and `beats`."""

import math
import subprocess
import sys

import numpy as np
import pytest

from analysis.made_outcomes import outcomes_from, random_outcomes
from figures.made_aggregate import Run, make_dataset, study
from gvibench.analysis.scores import area
from gvibench.errors import UserError
from gvibench.registry import TABLES
from gvibench.spec.scoring import SCORE_TABLES, ScoreSettings
from gvibench.tables.beats import beats_table
from gvibench.tables.failures import failures_table
from gvibench.tables.formats import to_csv, to_latex, to_markdown
from gvibench.tables.run_times import run_times_table
from gvibench.tables.scores import scores_table

SETTINGS = ScoreSettings(draws=200)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("scores"), study())


@pytest.fixture(scope="module")
def outcomes():
    """The first entry reaches all targets with 10 passes, the second half of them with 100."""
    costs = np.stack([np.full((4, 2), 10.0), np.full((4, 2), 100.0), np.full((4, 2), np.inf)])
    costs[1, 2:] = np.inf
    costs[2, 0] = np.nan
    made = outcomes_from(costs, ["a", "a", "b", "b"], [1e-2, 1e-8], ["fast", "half", "none"])
    made["status"].values[2, 1:] = ["diverged", "diverged", "failed"]
    made["reason"].values[2, 1:] = "V is not positive definite"
    return made


def test_scores(outcomes):
    table = scores_table(outcomes, SETTINGS)
    rows = table.values.set_index("entry")
    assert rows["score"].tolist() == pytest.approx([2 / 3, 1 / 6, 0.0])
    assert rows["rank"].tolist() == [1, 2, 3]
    assert rows.loc["fast", ["score_low", "score_high"]].tolist() == pytest.approx([2 / 3, 2 / 3])
    assert rows.loc["half", ["score_low", "score_high"]].tolist() == pytest.approx([0, 1 / 3])
    assert rows["reached_0.01"].tolist() == rows["reached_1e-08"].tolist() == [1.0, 0.5, 0.0]
    assert rows["failed"].tolist() == [0, 0, 3]
    assert rows["missing"].tolist() == [0, 0, 1]
    # In a quarter of all samples, "half" has reached nothing, so that it is tied with "none".
    assert rows["tie_groups"].tolist() == ["a", "b", "b"]
    (block,) = table.blocks
    assert block.cells["score"].tolist() == ["0.667", "0.167", "0"]
    assert block.cells["diverged or failed"].tolist() == ["0/4", "0/4", "3/4"]
    assert block.cells["missing"].tolist() == ["0/4", "0/4", "1/4"]
    assert "2 problems, 4 instances and 2 targets" in block.caption
    assert "logarithm of the data passes, from 1 to 1000" in block.caption


def test_run_times(outcomes):
    table = run_times_table(outcomes, SETTINGS)
    rows = table.values.set_index(["problem", "entry"])
    assert list(rows) == ["ert_0.01", "ert_1e-08"]
    for column in rows:
        found = rows[column]
        assert found["all problems", "fast"] == found["b", "fast"] == 10
        assert found["all problems", "half"] == (200 + 2 * 1000) / 2
        assert found["a", "half"] == 100
        assert math.isinf(found["b", "half"])
        assert math.isinf(found["a", "none"])
    assert [len(block.cells) for block in table.blocks] == [3, 3, 3]
    assert table.blocks[2].cells["to 0.01 nat"].tolist() == ["10", "∞", "∞"]
    assert r"$\infty$" in to_latex(table)


def test_failures(outcomes):
    table = failures_table(outcomes, SETTINGS)
    assert table.values.to_numpy().tolist() == [
        ["fast", "completed", "", 4, "a; b"],
        ["half", "completed", "", 4, "a; b"],
        ["none", "diverged", "V is not positive definite", 2, "a; b"],
        ["none", "failed", "V is not positive definite", 1, "b"],
        ["none", "missing", "", 1, "a"],
    ]
    assert table.blocks[0].cells["runs"].tolist() == ["4/4", "4/4", "2/4", "1/4", "1/4"]


def test_beats(outcomes):
    table = beats_table(outcomes, SETTINGS)
    matrix = table.values.set_index("entry")
    assert matrix.loc["fast"].tolist() == [0.5, 1.0, 1.0]
    assert 0.8 < matrix.loc["half", "none"] < 0.95  # 7/8, because equal scores count half
    assert matrix.loc["half", "none"] + matrix.loc["none", "half"] == pytest.approx(1.0)
    assert table.blocks[0].cells["> half"].tolist()[:2] == ["1.000", "–"]


def test_a_large_matrix_has_several_blocks():
    table = beats_table(random_outcomes(20, 3, 2, 4), SETTINGS)
    assert [block.cells.shape for block in table.blocks] == [(20, 9), (20, 9), (20, 5)]


@pytest.mark.parametrize("name", SCORE_TABLES)
def test_tables_of_a_study_in_all_formats(dataset, name):
    table = TABLES.load(name)(dataset)
    for write in (to_csv, to_latex, to_markdown):
        assert "SR-VN" in write(table)


def test_scores_use_the_settings_of_the_study(tmp_path):
    runs = [Run([15.0, 10.5, 10.001], iteration=[0, 10, 100])]
    dataset = make_dataset(tmp_path, runs)
    dataset.attrs["score"] = ScoreSettings((1.0, 0.1), 50.0, 2.0, 100).to_dict()
    values = TABLES.load("scores")(dataset).values
    # The first target is reached within ten iterations, the second one beyond the budget.
    assert 0.5 * np.log(50 / 10) / np.log(50 / 2) <= values["score"][0] < 0.5
    assert list(values.filter(like="reached_")) == ["reached_0.1"]


def test_the_score_is_the_area(dataset):
    from gvibench.analysis.outcomes import study_outcomes

    found, settings = study_outcomes(dataset)
    assert settings == ScoreSettings()
    values = TABLES.load("scores")(dataset).values
    scores = area(found, settings.budget).sel(entry=values["entry"].tolist())
    assert values["score"].tolist() == pytest.approx(scores.values.tolist(), abs=1e-11)


@pytest.mark.parametrize("name", SCORE_TABLES)
def test_a_study_without_optimum_is_an_error(tmp_path, name):
    dataset = make_dataset(tmp_path, [Run([15.0, 10.0], optimum=None)])
    with pytest.raises(UserError, match="scores need the optimum"):
        TABLES.load(name)(dataset)


def test_the_settings_survive_json():
    settings = ScoreSettings((10.0, 1.0), 20.0, 0.5, 300)
    assert ScoreSettings.from_dict(settings.to_dict()) == settings
    targets = ScoreSettings().targets
    assert (len(targets), targets[0], targets[8], targets[-1]) == (21, 100.0, 0.01, 1e-8)


def test_tables_do_not_import_matplotlib():
    modules = "scores, run_times, failures, beats"
    code = (
        f"import sys; from gvibench.tables import {modules}; assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
