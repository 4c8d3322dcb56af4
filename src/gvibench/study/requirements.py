"""What each figure and table needs of a study, checked before anything runs.

The figures and tables check the same of the results. This module repeats it for settings, without
importing what draws them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gvibench.errors import UserError
from gvibench.spec.paper_values import PAPER_RESULTS
from gvibench.spec.run import RunSpec
from gvibench.study.data_shape import shape_of

__all__ = ["Planned", "validate_outputs"]

CLAIMED = ("bw-gd", "ng-flow", "sr-vn")
"""Solvers that a theorem is about."""
PATH = "covariance_factor_path"


@dataclass(frozen=True)
class Planned:
    """Runs that differ in their seed only."""

    dataset: str
    solver: str
    spec: RunSpec
    has_optimum: bool
    """Whether gaps are measured from the optimum."""


Needs = Callable[[Sequence[Planned]], str]
"""Returns what a study lacks, in words that follow "needs"; empty if nothing."""


def validate_outputs(
    figures: Iterable[str], tables: Iterable[str], every: Sequence[Planned], where: str
) -> None:
    """Refuse figures and tables that the runs of a study cannot give."""
    for kind, names, known in (("figure", figures, FIGURES), ("table", tables, TABLES)):
        for name in names:
            lacking = known[name](every) if name in known else ""
            if lacking:
                raise UserError(f"{where}: the {kind} '{name}' needs {lacking}")


def _path(every: Sequence[Planned]) -> str:
    specs = [one.spec for one in every]
    if any(spec.model != "linear" for spec in specs):
        return "the quadratic loss of model 'linear' in all runs"
    if any(PATH not in spec.record or spec.snapshots == 0 for spec in specs):
        return f"the iterates of all runs: set record: [{PATH}] and snapshots above 0"
    columns = [(shape_of(spec.data).columns, spec.data.intercept) for spec in specs]
    if any(known is not None and known + intercept != 2 for known, intercept in columns):
        return "data sets with two features, the intercept included: it is drawn in a plane"
    if not all(one.has_optimum and one.spec.gamma > 0 for one in every):
        return "the optimum of all runs: set gap: optimum, and beta and gamma above 0"
    return ""


def _bias(every: Sequence[Planned]) -> str:
    bounds = [one for one in every if one.spec.expectation == "piecewise"]
    if not bounds:
        return "runs with expectation 'piecewise'"
    if any("objective_exact" not in one.spec.record for one in bounds):
        return "exact values of all runs on a bound: set record: [objective_exact]"
    if not all(one.has_optimum for one in bounds):
        return "the optimum: set gap: optimum and beta above 0, and use a convex model"
    return ""


def _temperature(every: Sequence[Planned]) -> str:
    several = len({one.spec.gamma for one in every}) > 1
    return "" if several else "two temperatures or more: set vary: {gamma: [0.5, 1.0]}"


def _sensitivity(every: Sequence[Planned]) -> str:
    steps: dict[tuple[str, str], set[float]] = {}
    for one in every:
        steps.setdefault((one.dataset, one.solver), set()).add(one.spec.step)
    several = any(len(found) > 1 for found in steps.values())
    return "" if several else "a solver with two steps or more: set step: [0.01, 0.1]"


def _runtime(every: Sequence[Planned]) -> str:
    moving = any(one.spec.iterations > 0 for one in every)
    return "" if moving else "runs of at least one iteration"


def _theory_table(every: Sequence[Planned]) -> str:
    """The theory is about exact, convex runs at gamma = 1 whose constants were recorded."""
    lacking = [_theory_of(one) for one in every]
    return "" if "" in lacking else lacking[0]


def _theory_figure(every: Sequence[Planned]) -> str:
    claimed = [one for one in every if one.spec.solver in CLAIMED]
    if not claimed:
        return f"a solver that a theorem is about: {', '.join(CLAIMED)}"
    return _theory_table(claimed)


def _theory_of(one: Planned) -> str:
    spec = one.spec
    if spec.model == "non-convex":
        return "runs with a convex model"
    if spec.gamma != 1:
        return "runs with gamma 1"
    if spec.expectation != "exact":
        return "runs with expectation 'exact'"
    if spec.step_decay != 0:
        return "runs with a constant step"
    if not one.has_optimum:
        return "the optimum: set gap: optimum and beta above 0"
    if not {"cov_eig_min", "factor_norm"} <= set(spec.record):
        return "the constants of runs: set record: [cov_eig_min, factor_norm]"
    return ""


def _paper(every: Sequence[Planned]) -> str:
    printed = [
        one
        for one in every
        if one.spec.solver.removesuffix("-rotated") in PAPER_RESULTS.get(one.spec.data.dataset, {})
    ]
    if not printed:
        return "a data set and a solver of the paper's performance table"
    if not all(one.has_optimum and one.spec.model == "logistic" for one in printed):
        return "the optimum that it compares with: set gap: optimum, model: logistic, beta above 0"
    return ""


FIGURES: dict[str, Needs] = {
    "bias": _bias,
    "path": _path,
    "runtime": _runtime,
    "sensitivity": _sensitivity,
    "temperature": _temperature,
    "theory": _theory_figure,
}
TABLES: dict[str, Needs] = {
    "paper": _paper,
    "runtime": _runtime,
    "theory": _theory_table,
}
