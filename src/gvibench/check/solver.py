"""What any solver must be able to do, ours and those of other packages: `gvibench check solver`."""

from dataclasses import dataclass
from typing import Literal

from gvibench.check.solver_checks import CHECKS, Failed, LeftOut, Subject
from gvibench.solvers import solver_class

__all__ = ["Finding", "Verdict", "examine"]


@dataclass(frozen=True)
class Finding:
    """How one check went."""

    what: str
    outcome: Literal["ok", "FAIL", "--"]
    note: str

    def __str__(self) -> str:
        return f"  {self.outcome:5} {self.what}" + (f": {self.note}" if self.note else "")


@dataclass(frozen=True)
class Verdict:
    """How all of them went."""

    solver: str
    findings: tuple[Finding, ...]

    @property
    def failed(self) -> list[Finding]:
        """The checks that the solver does not pass."""
        return [finding for finding in self.findings if finding.outcome == "FAIL"]

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return not self.failed

    def __str__(self) -> str:
        ending = "conforms" if self.passed else f"fails {len(self.failed)} of {len(CHECKS)} checks"
        return "\n".join([*map(str, self.findings), f"{self.solver} {ending}"])


def examine(name: str) -> Verdict:
    """Put the solver called `name` to every check."""
    subject = Subject(name, solver_class(name))
    return Verdict(name, tuple(_find(what, subject) for what in CHECKS))


def _find(what: str, subject: Subject) -> Finding:
    try:
        return Finding(what, "ok", CHECKS[what](subject))
    except LeftOut as reason:
        return Finding(what, "--", f"left out, {reason}")
    except Failed as reason:
        return Finding(what, "FAIL", str(reason))
    except Exception as error:  # whatever a solver may raise is its failure, not ours
        return Finding(what, "FAIL", f"raised {type(error).__name__}: {error}")
