import re

import pytest

from figures.made_aggregate import Run, study, write_aggregate
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
    assert "8 runs of 24" in text
    assert "| wdbc | SR-VN | 1/3 | 0.1 | the objective has blown up (1) |" in text
    assert "| wdbc | mine | 3/3 | 7 | V is not positive definite (3) |" in text
    assert re.search(
        r"- wdbc: \*\*VN\*\* \(step 0.5, C0 1\): objective 10, gap 0.0001 after 3 ", text
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
    assert "| wdbc | VN | 0.1 | 1 | 40 | 12000 | 2.5 |" in text
    assert "No run." in text
    assert "a gap of 0.0001 is never reached" in text


def test_summary_when_everything_diverged(tmp_path):
    text = summary_of(tmp_path, [Run([15.0], status="diverged", reason="at iteration 1: no")])
    assert "- wdbc: every run diverged." in text
    assert "| diverged |" in text


def test_summary_warns_of_a_doubtful_optimum(tmp_path):
    with pytest.warns(UserWarning, match="below the optimum"):
        text = summary_of(tmp_path, [Run([15.0, 9.0])])
    assert "by up to 1 nat: do not trust it" in text


@pytest.mark.parametrize(
    ("optima", "gap", "expected"),
    [
        ((10.0, 10.0), "optimum", "from the optimum, found beforehand; those"),
        ((10.0, None), "optimum", "where there is one, else the best value seen"),
        ((None, None), "optimum", "from the best value seen on the same problem"),
        ((10.0, 10.0), "best-seen", "from the best value seen on the same problem"),
    ],
)
def test_summary_says_what_gaps_are_measured_from(tmp_path, optima, gap, expected):
    runs = [Run([15.0], name, optimum=at) for name, at in zip("ab", optima, strict=True)]
    assert expected in summary_of(tmp_path, runs, gap=gap)
