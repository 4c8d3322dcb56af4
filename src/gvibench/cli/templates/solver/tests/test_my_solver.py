"""The check that `gvibench check solver my-solver` runs."""

from gvibench.check.solver import examine


def test_the_solver_conforms():
    verdict = examine("my-solver")
    assert verdict.passed, str(verdict)
