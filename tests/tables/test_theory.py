"""Table `theory`."""

import csv
import io

import pytest

from analysis.theory_runs import NARROW, mixed_runs, run_spec, study
from gvibench.analysis.theory_checks import measure
from gvibench.tables.formats import to_csv, to_latex, to_markdown
from gvibench.tables.theory import build


@pytest.fixture(scope="module")
def dataset():
    other_temperature = run_spec(NARROW, "vn", 0.1, init_scale=0.4, iterations=100, gamma=0.5)
    return study(*mixed_runs(iterations=100), (NARROW, other_temperature))


@pytest.fixture(scope="module")
def table(dataset):
    return build(dataset)


def test_each_run_has_a_row_with_full_precision(dataset, table):
    values = table.values
    assert len(values) == dataset.sizes["run"]
    for row, run in zip(values.to_dict("records"), measure(dataset), strict=True):
        assert row["seed"] == run.seed
        assert row["not_measured"] == run.missing
        if run.constants:
            assert row["lambda_min"] == run.constants.lambda_min
            assert row["pl_valid"] == run.pl_valid.constant
        if run.claim and run.claim.name == "SR-VN":
            assert row["eta"] == run.constants.eta(row["step"])
            assert -row["eta"] == max(row["omega_m"], row["omega_C"])
        if run.claim and run.claim.bound is not None:
            assert row["claimed_rate"] == run.claim.claimed_rate
            assert row["last_bound"] == run.claim.bound[-1]
    assert values["applicable"].tolist() == [True, True, False, True, True, "", True, ""]
    assert values["rate_unit"].tolist()[3] == "1/time"


def test_blocks_contain_the_runs_to_which_they_apply(table):
    constants, bounds, inequality, findings = (block.cells for block in table.blocks)
    assert len(constants) == len(inequality) == 7  # The theory does not cover gamma = 0.5.
    assert bounds["claim"].tolist() == ["SR-VN"] * 3 + ["flow", "Wasserstein", "SR-VN"]
    assert bounds["applicable"].tolist()[2] == "no: eta is not positive"
    assert bounds["claimed rate"].tolist()[2] == bounds["held throughout"].tolist()[2] == "–"
    assert bounds["last bound"].tolist()[2] == "–"
    assert float(bounds["last value"][0]) < float(bounds["last bound"][0])
    assert bounds["held throughout"].tolist()[0] == "yes"
    assert (constants["eta"] == "–").tolist() == [False] * 3 + [True] * 3 + [False]
    assert bounds["step, printed"].tolist()[3] == "–"  # A flow has no step.
    assert findings["finding"].tolist()[-1] == "not measured: gamma is not 1"


def test_a_failure_is_listed_with_its_run(dataset, table):
    failing = next(run for run in measure(dataset) if run.failures)
    at = failing.claim.verdict.violated_at
    row = table.blocks[-1].cells.iloc[0]
    assert row["step"] == "0.002"
    assert row["C0"] == "2.5"
    assert row["finding"] == f"the claimed bound fails, first at iteration {at}"
    assert table.blocks[1].cells["held throughout"].tolist()[-1] == f"no: iteration {at}"
    written = list(csv.DictReader(io.StringIO(to_csv(table))))
    assert written[6]["bound_violated_at"] == str(at)
    assert (written[6]["bound_held"], written[0]["bound_violated_at"]) == ("False", "")


def test_a_study_without_failures_has_one_finding():
    table = build(study(mixed_runs(iterations=100)[0]))
    assert table.blocks[-1].cells["finding"].tolist() == ["no claim fails"]


def test_a_study_of_other_solvers_has_only_the_inequality():
    table = build(study(mixed_runs(iterations=100)[5]))
    assert len(table.blocks) == 3
    assert not any("claim" in block.cells for block in table.blocks)


def test_all_formats_can_be_written(table):
    assert to_markdown(table).count("| data set |") == 4
    assert to_latex(table).count(r"\begin{longtable}") == 4
