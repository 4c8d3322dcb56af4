import pytest

from figures.made_aggregate import Run, study, write_aggregate
from gvibench.analysis.ranking import SHARED_TOLERANCE, ZERO
from gvibench.report.summary import write_summary


def summary_of(folder, runs, **settings):
    job = {
        "study": "made",
        "code_hash": "c0de",
        "tables": ["performance"],
        "figures": ["gap", "profile"],
    }
    write_summary(job, write_aggregate(folder, runs, **settings), folder / "summary.md")
    return (folder / "summary.md").read_text()


def test_summary_of_a_study(tmp_path):
    text = summary_of(tmp_path, study(), title="A made study")
    assert text.startswith("# A made study\n\nWith most seeds, VN settles within 0.0001 nat of ")
    assert "24 runs, 2 problems, 3 solvers, 8 configurations, 3 seeds" in text
    assert "- 16 completed: the budget is used up" in text
    assert "- 8 diverged: " in text
    assert "| wdbc | SR-VN | 1 diverged | 0.1 | the objective has blown up (1) |" in text
    assert "| wdbc | mine | 3 diverged | 7 | V is not positive definite (3) |" in text
    assert ZERO in text
    assert "the fewest iterations until the gap settles" in text
    assert (
        "- wdbc: **VN** (step 0.5, C0 1): final gap 0 nat, objective 10, settles at a "
        "gap of 0.0001 after 3 iterations (0.03 s), test NLL 5 (sum), accuracy 0.9." in text
    )
    assert "![Objective gap against the cost of the solvers.](figures/gap.png)" in text
    assert "[csv](tables/performance.csv)" in text
    assert "Code hash of sr-vn: `feedfacefeedface`" in text
    assert "`c0de`" in text
    assert "Cost of tuning" not in text
    assert "nan" not in text.lower()


def test_summary_reports_the_cost_of_tuning(tmp_path):
    cost = {"trials": 40, "iterations": 12000, "seconds": 2.5}
    text = summary_of(tmp_path, [Run([15.0, 11.0], tuning=cost)])
    assert "40 trials, 2.5 s of solver time" in text
    assert "| wdbc | VN | 0.1 | 1 | 40 | 12000 | 2.5 | – |" in text
    assert "- 1 completed: " in text
    assert "never reaches a gap of 0.0001" in text


def test_summary_counts_the_seeds_that_end_far_away(tmp_path):
    ends = [10.0, 10.0, 772.0]
    runs = [
        Run([800.0, end], seed=seed, status="stalled" if end > 700 else "converged")
        for seed, end in enumerate(ends)
    ]
    runs.append(Run([800.0], seed=3, status="diverged", reason="at iteration 1: no"))
    text = summary_of(tmp_path, runs)
    assert (
        "settles at a gap of 0.0001 after 1 iterations (0.01 s) with 2 of 4 seeds "
        "(1 stalled, 1 diverged, largest final gap 762 nat)" in text
    )
    assert "(2/4)" in text
    assert "(4/5): only 4 of 5 seeds reached the level" in text


def test_summary_names_solvers_that_reach_the_optimum_too(tmp_path):
    curves = {"vn": [60.0, 10.0, 10.0], "gd": [60.0, 20.0, 10.0]}
    runs = [
        Run(curve, solver=solver, seed=seed) for solver, curve in curves.items() for seed in (0, 1)
    ]
    text = summary_of(tmp_path, runs)
    assert "; the final gap of GD is 0, too." in text
    assert "the runner-up also reaches the optimum." in text
    assert "overlap with GD" not in text
    assert "behind the best, seed by seed |" in text
    assert text.count("Gaps below 1e-08 nat are rounding errors and count as 0.") == 1


def test_the_rule_explains_a_shared_tolerance_only_if_there_is_one(tmp_path):
    runs = [Run([60.0, 10.0], seed=seed, spec={"tolerance": 0.1}) for seed in (0, 1)]
    assert SHARED_TOLERANCE in summary_of(tmp_path, runs)
    runs[1].spec["tolerance"] = 0.2
    assert SHARED_TOLERANCE not in summary_of(tmp_path, runs)


def test_summary_when_everything_diverged(tmp_path):
    text = summary_of(tmp_path, [Run([15.0], status="diverged", reason="at iteration 1: no")])
    assert "- wdbc: no run is usable (1 diverged)." in text
    assert "| diverged |" in text


def test_summary_warns_if_a_run_got_below_the_optimum(tmp_path):
    text = summary_of(tmp_path, [Run([15.0, 9.0])])
    assert "by up to 1 nat: do not trust it" in text


@pytest.mark.parametrize(
    ("optima", "gap", "expected"),
    [
        (
            (10.0, 10.0),
            "optimum",
            "the optimum, which was computed independently of the solvers; gaps",
        ),
        ((10.0, None), "optimum", "except on b, where they are measured from the best value seen"),
        ((None, None), "optimum", "from the best value seen on the same problem"),
        ((10.0, 10.0), "best-seen", "from the best value seen on the same problem"),
    ],
)
def test_summary_names_the_reference_of_the_gaps(tmp_path, optima, gap, expected):
    runs = [Run([15.0], name, optimum=at) for name, at in zip("ab", optima, strict=True)]
    assert expected in summary_of(tmp_path, runs, gap=gap)


def test_summary_lists_failed_figures_and_tables(tmp_path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "tables").mkdir()
    (tmp_path / "figures/gap.json").write_text('{"error": "the figure \'gap\' could not be drawn"}')
    (tmp_path / "figures/profile.json").write_text("{}")
    (tmp_path / "tables/performance.csv").write_text("error\nthe table could not be made: 1|2\n")
    text = summary_of(tmp_path, [Run([15.0, 11.0])])
    section = text.partition("## Failed figures and tables")[2].partition("##")[0]
    assert "- figure gap: the figure 'gap' could not be drawn" in section
    assert r"- table performance: the table could not be made: 1\|2" in section
    assert "profile" not in section


def test_summary_of_approximations_names_a_best_and_no_divergence(tmp_path):
    """A panel without a best configuration of its own does not count as diverged."""
    recorded = {"record": ("objective_exact",), "expectation": "piecewise"}
    runs = [
        Run(
            [20.0, 12.0], scalars={"objective_exact": [19.0, exact]}, spec={"pieces": k, **recorded}
        )
        for k, exact in ((4, 11.0), (10, 10.5), (20, 10.1))
    ]
    text = summary_of(tmp_path, runs, gap="best-seen")
    assert "diverged:" not in text
    assert "no run is usable" not in text
    assert "- wdbc: **VN, pieces 20**" in text


def test_summary_reports_a_gap_that_was_reached_but_not_kept(tmp_path):
    text = summary_of(tmp_path, [Run([15.0, 10.0 + 5e-5, 10.5])])
    assert "reaches a gap of 0.0001 with 1 of 1 seeds, but does not settle there" in text
