"""Test that every printed number of the paper has a verdict that follows from published runs."""

import sys

import pandas as pd
import pytest

from gvibench.spec.paper_values import PAPER_RESULTS, Printed
from reader import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import printed_numbers
from paper_pairs import Start, load, run_to_table, spec_of
from paper_rules import EXPLAINED, REPRODUCED, UNEXPLAINED, Values, row_verdict

TABLE = pd.read_csv(printed_numbers.CSV)
NUMBERS = ["train_elbo", "test_nll", "accuracy"]


def test_every_printed_number_has_a_verdict():
    found = {(r.dataset, r.solver, r.number): r.printed for r in TABLE.itertuples()}
    printed = {
        (dataset, solver, number): getattr(row, number)
        for dataset, rows in PAPER_RESULTS.items()
        for solver, row in rows.items()
        for number in NUMBERS
    }
    assert found == printed
    assert len(TABLE) == 72


def test_verdicts_and_distances_follow_from_the_numbers():
    for (dataset, solver), part in TABLE.groupby(["dataset", "solver"]):
        ours = Values(*(part.set_index("number")["ours"][name] for name in NUMBERS))
        assert set(part["verdict"]) == {row_verdict(ours, PAPER_RESULTS[dataset][solver])}
    difference = TABLE["ours"] - TABLE["printed"]
    assert (TABLE["difference"] - difference).abs().max() < 1e-5
    assert (TABLE["relative"] - difference / TABLE["printed"]).abs().max() < 1e-7


def test_the_page_shows_the_verdicts():
    assert printed_numbers.rows_part(TABLE) in printed_numbers.PAGE.read_text()


@pytest.mark.parametrize(
    ("shares", "accuracy", "verdict"),
    [
        ((0.0, 0.0), 0.938, REPRODUCED),
        ((1e-5, 0.0), 0.93849, REPRODUCED),
        ((0.0049, -0.0049), 0.9384, EXPLAINED),
        ((0.0049, -0.0049), 0.9386, UNEXPLAINED),
        ((0.0051, 0.0), 0.938, UNEXPLAINED),
        ((0.0, 0.0051), 0.938, UNEXPLAINED),
    ],
)
def test_the_rules_are_those_that_were_fixed_before_the_search(shares, accuracy, verdict):
    printed = Printed(1267.77, 334.19, 0.938, 0.99)
    ours = Values(1267.77 * (1 + shares[0]), 334.19 * (1 + shares[1]), accuracy)
    assert row_verdict(ours, printed) == verdict


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["vn", "bw-gd"])
@pytest.mark.usefixtures("libsvm_data")
def test_a_published_pair_can_be_repeated(solver):
    rows = TABLE[(TABLE["dataset"] == "leukemia") & (TABLE["solver"] == solver)]
    first = rows.iloc[0]
    base, data = load("leukemia")
    start = Start(first["mean_scale"], first["init_scale"], int(first["seed"]))
    spec = spec_of(base, solver, start, 1, int(first["iteration"]))
    last = run_to_table(spec, data, float("-inf")).iloc[-1]
    assert last["iteration"] == first["iteration"]
    for row in rows.itertuples():
        assert last[row.number] == pytest.approx(row.ours, rel=1e-6)
