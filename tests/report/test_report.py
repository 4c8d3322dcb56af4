import pytest

from figures.made_aggregate import Run, study, write_aggregate
from gvibench.analysis.ranking import RULE
from gvibench.report import write_summary


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
    assert text.startswith("# A made study\n")
    assert "24 runs, 2 problems, 3 solvers, 8 configurations, 3 seeds" in text
    assert "- 16 completed: the budget is used up" in text
    assert "- 8 diverged: " in text
    assert "| wdbc | SR-VN | 1 diverged | 0.1 | the objective has blown up (1) |" in text
    assert "| wdbc | mine | 3 diverged | 7 | V is not positive definite (3) |" in text
    assert RULE in text
    assert (
        "- wdbc: **VN** (step 0.5, C0 1): final gap below 1e-08 nat, objective 10, settles at a "
        "gap of 0.0001 after 3 iterations, 0.03 s, test NLL 5 (sum), accuracy 0.9." in text
    )
    assert "![Objective gap against iterations.](figures/gap.png)" in text
    assert "[csv](tables/performance.csv)" in text
    assert "Code of sr-vn: `feedfacefeedface`" in text
    assert "`c0de`" in text
    assert "What tuning cost" not in text
    assert "nan" not in text.lower()


def test_summary_tells_what_tuning_cost(tmp_path):
    cost = {"trials": 40, "iterations": 12000, "seconds": 2.5}
    text = summary_of(tmp_path, [Run([15.0, 11.0], tuning=cost)])
    assert "40 trials, 2.5 s of solver time" in text
    assert "| wdbc | VN | 0.1 | 1 | 40 | 12000 | 2.5 | – |" in text
    assert "- 1 completed: " in text
    assert "never reaches a gap of 0.0001" in text


def test_summary_when_everything_diverged(tmp_path):
    text = summary_of(tmp_path, [Run([15.0], status="diverged", reason="at iteration 1: no")])
    assert "- wdbc: nobody, because no run is usable (1 diverged)." in text
    assert "| diverged |" in text


def test_summary_warns_of_a_doubtful_optimum(tmp_path):
    with pytest.warns(UserWarning, match="below the optimum"):
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
def test_summary_says_what_gaps_are_measured_from(tmp_path, optima, gap, expected):
    runs = [Run([15.0], name, optimum=at) for name, at in zip("ab", optima, strict=True)]
    assert expected in summary_of(tmp_path, runs, gap=gap)
