import csv
import io

import pytest

from gvibench.analysis.theory_checks import measure
from gvibench.tables import theory
from gvibench.tables.formats import to_csv, to_latex, to_markdown
from theory_runs import problem, run_spec, study

DATA = problem()
NARROW = problem(n=4, scale=0.3)


def run(solver, step, data=DATA, **changes):
    return data, run_spec(data, solver, step, **{"init_scale": 0.4, "iterations": 100, **changes})


@pytest.fixture(scope="module")
def dataset():
    return study(
        run("sr-vn", 0.05),
        run("sr-vn", 0.05, seed=1),
        run("sr-vn", 1.0),
        run("ng-flow", 0.05),
        run("bw-gd", 0.02),
        run("vn", 0.1),
        run("sr-vn", 0.002, NARROW, init_scale=2.5, mean_scale=0.0, iterations=40),
        run("vn", 0.1, NARROW, gamma=0.5),
    )


@pytest.fixture(scope="module")
def table(dataset):
    return theory.build(dataset)


def test_every_run_has_a_row_with_full_precision(dataset, table):
    values = table.values
    assert len(values) == dataset.sizes["run"]
    for row, one in zip(values.to_dict("records"), measure(dataset), strict=True):
        assert row["seed"] == one.seed
        assert row["not_measured"] == one.missing
        if one.constants:
            assert row["lambda_min"] == one.constants.lambda_min
            assert row["pl_valid"] == one.pl_valid.constant
        if one.claim and one.claim.name == "SR-VN":
            assert row["eta"] == one.constants.eta(row["step"])
            assert -row["eta"] == max(row["omega_m"], row["omega_C"])
        if one.claim and one.claim.bound is not None:
            assert row["claimed_rate"] == one.claim.claimed_rate
            assert row["last_bound"] == one.claim.bound[-1]
    assert values["applicable"].tolist() == [True, True, False, True, True, "", True, ""]
    assert values["rate_unit"].tolist()[3] == "1/time"


def test_blocks_show_the_runs_they_speak_of(table):
    constants, bounds, inequality, findings = (block.cells for block in table.blocks)
    assert len(constants) == len(inequality) == 7  # gamma = 0.5 is no case for the theory
    assert bounds["claim"].tolist() == ["SR-VN"] * 3 + ["flow", "Wasserstein", "SR-VN"]
    assert bounds["applicable"].tolist()[2] == "no: eta is not positive"
    assert bounds["claimed rate"].tolist()[2] == bounds["held throughout"].tolist()[2] == "–"
    assert bounds["last bound"].tolist()[2] == "–"
    assert float(bounds["last value"][0]) < float(bounds["last bound"][0])
    assert bounds["held throughout"].tolist()[0] == "yes"
    assert (constants["eta"] == "–").tolist() == [False] * 3 + [True] * 3 + [False]
    assert bounds["step, printed"].tolist()[3] == "–"  # a flow has no step
    assert findings["finding"].tolist()[-1] == "not measured: gamma is not 1"


def test_a_failure_is_said_with_the_run_that_shows_it(dataset, table):
    failing = next(one for one in measure(dataset) if one.failures)
    at = failing.claim.verdict.violated_at
    row = table.blocks[-1].cells.iloc[0]
    assert row["step"] == "0.002"
    assert row["C0"] == "2.5"
    assert row["finding"] == f"the claimed bound fails, first at iteration {at}"
    assert table.blocks[1].cells["held throughout"].tolist()[-1] == f"no: iteration {at}"
    written = list(csv.DictReader(io.StringIO(to_csv(table))))
    assert written[6]["bound_violated_at"] == str(at)
    assert (written[6]["bound_held"], written[0]["bound_violated_at"]) == ("False", "")


def test_a_study_without_failures_says_so():
    table = theory.build(study(run("sr-vn", 0.05)))
    assert table.blocks[-1].cells["finding"].tolist() == ["no claim fails"]


def test_a_study_of_other_solvers_has_the_inequality_only():
    table = theory.build(study(run("vn", 0.1)))
    assert len(table.blocks) == 3
    assert not any("claim" in block.cells for block in table.blocks)


def test_all_formats_can_be_written(table):
    assert to_markdown(table).count("| data set |") == 4
    assert to_latex(table).count(r"\begin{longtable}") == 4
