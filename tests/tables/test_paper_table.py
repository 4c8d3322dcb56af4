"""Verdicts on the paper's printed rows."""

import math

import numpy as np
import pytest

from figures.made_aggregate import Run, make_dataset, study, write_aggregate
from gvibench.spec.paper_values import PAPER_RESULTS, PAPER_ROWS, Printed
from gvibench.tables import paper, write_tables
from gvibench.tables.paper import IMPOSSIBLE, NOT_CONVERGED, NOT_REPRODUCED, REPRODUCED, verdict
from gvibench.tables.runs import values_of

AUSTRALIAN = Printed(196.817, 54.608, 121 / 138, math.nan)
"""At the optimum of the minimax 20-piece bound."""


def judge(dataset, solver, optimum, n_test=None):
    rows = PAPER_RESULTS[dataset]
    whole, train = PAPER_ROWS[dataset]
    elbos = [row.train_elbo for row in rows.values()]
    return verdict(rows[solver], optimum, elbos, n_test or whole - train)


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
def test_solvers_that_agree_elsewhere_are_not_reproduced(moved):
    assert judge("australian_scale", "vn", moved)[0] == NOT_REPRODUCED


def test_solvers_that_disagree_have_not_converged():
    found, why = judge("phishing", "bw-gd", Printed(1219.0, 330.0, 0.94, math.nan))
    assert found == NOT_CONVERGED
    assert "109.88" in why  # 1377.645 - 1267.77
    assert "+158.6" in why


def test_covtype_costs_less_than_its_mistakes_must():
    optimum = Printed(250_000.0, 41_000.0, 0.756, math.nan)
    found, why = judge("covtype", "vn", optimum)
    assert found == IMPOSSIBLE
    assert "14291 nats" in why  # (0.255 - 0.0005) * 81012 * log 2
    # On the subsample that fits the print it is possible.
    assert judge("covtype", "vn", optimum, n_test=20_000)[0] == NOT_CONVERGED


def test_leukemia_has_an_accuracy_that_four_rows_cannot_have():
    found, why = judge("leukemia", "vn", Printed(300.0, 700.0, 24 / 34, math.nan))
    assert found == IMPOSSIBLE
    assert "4 test rows" in why
    assert judge("leukemia", "vn", Printed(300.0, 700.0, 24 / 34, 0.0), 34)[0] == NOT_CONVERGED


def test_every_solver_of_every_set_of_the_paper_is_there():
    assert set(PAPER_RESULTS) == set(PAPER_ROWS)
    assert all(set(rows) == {"vn", "sr-vn", "bw-gd"} for rows in PAPER_RESULTS.values())


def test_a_study_of_other_data_gets_a_sentence(tmp_path):
    aggregate = write_aggregate(tmp_path, study())
    job = {"table": "paper", "study": "made", "code_hash": "c"}
    write_tables(job, aggregate, tmp_path / "paper.csv")
    for end in ("csv", "md", "tex"):
        text = (tmp_path / f"paper.{end}").read_text()
        assert "needs a data set and a solver of the paper" in text


def test_ours_are_the_runs_at_the_papers_step(tmp_path):
    """Not the mean over all steps of the study."""
    runs = [
        Run([250.0, value], "australian_scale", step=step, data={"dataset": "australian_scale"})
        for step, value in ((5e-3, 200.0), (1.0, 400.0))
    ]
    table = paper.judge(values_of(make_dataset(tmp_path, runs)))
    assert table["step"].tolist() == [5e-3]
    assert table["train_elbo_ours"].tolist() == [198.0]


def test_a_study_without_the_papers_step_says_so(tmp_path):
    runs = [Run([250.0, 400.0], "australian_scale", step=1.0, data={"dataset": "australian_scale"})]
    (row,) = paper.judge(values_of(make_dataset(tmp_path, runs))).to_dict("records")
    assert row["seeds"] == 0
    assert np.isnan(row["train_elbo_ours"])
