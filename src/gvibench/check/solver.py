"""Run the conformance tests that built-in and plug-in solvers must pass."""

from dataclasses import dataclass
from typing import Literal

from gvibench.check.solver_checks import CHECKS
from gvibench.check.subject import CheckFailed, CheckSkipped, Subject
from gvibench.registry import SOLVERS

__all__ = ["CheckResult", "Report", "check_solver"]


@dataclass(frozen=True)
class CheckResult:
    """Result of one check."""

    name: str
    outcome: Literal["ok", "FAIL", "--"]
    note: str

    def __str__(self) -> str:
        return f"  {self.outcome:5} {self.name}" + (f": {self.note}" if self.note else "")


@dataclass(frozen=True)
class Report:
    """Results of all checks of one solver or model."""

    name: str
    results: tuple[CheckResult, ...]

    @property
    def failed(self) -> list[CheckResult]:
        """Failed checks."""
        return [result for result in self.results if result.outcome == "FAIL"]

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return not self.failed

    def __str__(self) -> str:
        count = len(self.results)
        ending = "conforms" if self.passed else f"fails {len(self.failed)} of {count} checks"
        return "\n".join([*map(str, self.results), f"{self.name} {ending}"])


def check_solver(name: str) -> Report:
    """Run all checks on the solver called `name`."""
    subject = Subject(name, SOLVERS.load(name))
    return Report(name, tuple(_run_check(check, subject) for check in CHECKS))


def _run_check(name: str, subject: Subject) -> CheckResult:
    try:
        return CheckResult(name, "ok", CHECKS[name](subject))
    except CheckSkipped as reason:
        return CheckResult(name, "--", f"skipped, {reason}")
    except CheckFailed as reason:
        return CheckResult(name, "FAIL", str(reason))
    except Exception as error:  # any error raised by a solver is a failure of the solver
        return CheckResult(name, "FAIL", f"raised {type(error).__name__}: {error}")
