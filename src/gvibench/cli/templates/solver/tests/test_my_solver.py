"""Run the conformance tests of `gvibench check solver my-solver`."""

from gvibench.check.solver import check_solver


def test_the_solver_conforms():
    report = check_solver("my-solver")
    assert report.passed, str(report)
