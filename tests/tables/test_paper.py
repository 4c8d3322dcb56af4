"""Table `paper`: verdicts on the printed rows of the paper."""

import math

import numpy as np
import pytest

from figures.made_aggregate import Run, make_dataset, study, write_aggregate
from gvibench.spec.paper_values import PAPER_RESULTS, PAPER_ROWS, Printed, paper_test_rows
from gvibench.tables import paper, write_tables
from gvibench.tables.paper import IMPOSSIBLE, NOT_CONVERGED, NOT_REPRODUCED, REPRODUCED, verdict
from gvibench.tables.runs import values_of

AUSTRALIAN = Printed(196.817, 54.608, 121 / 138, math.nan)
"""Results at the optimum of the minimax 20-piece bound."""


def judge(dataset, solver, optimum, n_test=None):
    rows = PAPER_RESULTS[dataset]
    elbos = [row.train_elbo for row in rows.values()]
    return verdict(rows[solver], optimum, elbos, n_test or paper_test_rows(dataset))


def test_a_row_at_our_optimum_is_reproduced():
    assert judge("australian_scale", "vn", AUSTRALIAN)[0] == REPRODUCED


@pytest.mark.parametrize(
    "moved",
    [
        AUSTRALIAN._replace(train_elbo=196.84),
        AUSTRALIAN._replace(test_nll=54.63),
        AUSTRALIAN._replace(accuracy=120 / 138),
    ],
)
def test_rows_that_agree_away_from_our_optimum_are_not_reproduced(moved):
    assert judge("australian_scale", "vn", moved)[0] == NOT_REPRODUCED


def test_solvers_that_disagree_have_not_converged():
    result, why = judge("phishing", "bw-gd", Printed(1219.0, 330.0, 0.94, math.nan))
    assert result == NOT_CONVERGED
    assert "109.88" in why  # 1377.645 - 1267.77
    assert "+158.6" in why


def test_the_nll_of_covtype_is_too_low_for_its_accuracy():
    optimum = Printed(250_000.0, 41_000.0, 0.756, math.nan)
    result, why = judge("covtype", "vn", optimum)
    assert result == IMPOSSIBLE
    assert "14291 nats" in why  # (0.255 - 0.0005) * 81012 * log 2
    # With the subsample that fits the printed values, the row is possible.
    assert judge("covtype", "vn", optimum, n_test=20_000)[0] == NOT_CONVERGED


def test_the_accuracies_of_leukemia_are_fractions_of_its_34_test_rows():
    result, why = judge("leukemia", "vn", Printed(300.0, 700.0, 24 / 34, math.nan))
    assert result == NOT_CONVERGED
    assert "225.27" in why  # 564.65 - 339.38
    for row in PAPER_RESULTS["leukemia"].values():
        assert round(round(row.accuracy * 34) / 34, 3) == row.accuracy


def test_an_accuracy_that_no_classification_has_is_impossible():
    result, why = judge("leukemia", "vn", Printed(300.0, 700.0, 24 / 34, math.nan), n_test=4)
    assert result == IMPOSSIBLE
    assert "4 test rows" in why


def test_each_data_set_of_the_paper_has_all_solvers():
    assert set(PAPER_RESULTS) == set(PAPER_ROWS)
    assert all(set(rows) == {"vn", "sr-vn", "bw-gd"} for rows in PAPER_RESULTS.values())


def test_a_study_of_other_data_gets_an_error_message(tmp_path):
    aggregate = write_aggregate(tmp_path, study())
    job = {"table": "paper", "study": "made", "code_hash": "c"}
    write_tables(job, aggregate, tmp_path / "paper.csv")
    for end in ("csv", "md", "tex"):
        text = (tmp_path / f"paper.{end}").read_text()
        assert "needs a data set and a solver of the paper" in text


def test_only_runs_at_the_step_of_the_paper_are_compared(tmp_path):
    runs = [
        Run([250.0, value], "australian_scale", step=step, data={"dataset": "australian_scale"})
        for step, value in ((5e-3, 200.0), (1.0, 400.0))
    ]
    table = paper.judge(values_of(make_dataset(tmp_path, runs)))
    assert table["step"].tolist() == [5e-3]
    assert table["train_elbo_ours"].tolist() == [198.0]


def test_a_study_without_the_step_of_the_paper_has_no_values(tmp_path):
    runs = [Run([250.0, 400.0], "australian_scale", step=1.0, data={"dataset": "australian_scale"})]
    (row,) = paper.judge(values_of(make_dataset(tmp_path, runs))).to_dict("records")
    assert row["seeds"] == 0
    assert np.isnan(row["train_elbo_ours"])
