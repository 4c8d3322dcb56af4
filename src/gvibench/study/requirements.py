"""Check that the runs of a study provide what its figures and tables need, before anything runs.

Figures and tables check the results in the same way. This module checks the settings and does not
import the code of figures and tables.
"""

from collections.abc import Callable, Iterable, Sequence

from gvibench.errors import UserError
from gvibench.registry import MODELS
from gvibench.spec.paper_values import PAPER_RESULTS
from gvibench.spec.scoring import SCORE_FIGURES, SCORE_TABLES
from gvibench.study.data_shape import shape_of
from gvibench.study.measuring import (
    Planned,
    calibration_needs,
    quality_needs,
    truth_needs,
)

__all__ = ["Planned", "validate_outputs"]

THEOREM_SOLVERS = ("bw-gd", "ng-flow", "sr-vn")
"""Solvers with a convergence theorem."""
FACTOR_PATH = "covariance_factor_path"


Needs = Callable[[Sequence[Planned]], str]
"""Function that returns what a study lacks, in words that follow "needs", or an empty string."""


def validate_outputs(
    figures: Iterable[str], tables: Iterable[str], plans: Sequence[Planned], where: str
) -> None:
    """Raise UserError for a figure or table that cannot be made from the runs of a study."""
    for kind, names, known in (("figure", figures, FIGURES), ("table", tables, TABLES)):
        for name in names:
            lacking = known[name](plans) if name in known else ""
            if lacking:
                raise UserError(f"{where}: the {kind} '{name}' needs {lacking}")


def _path(plans: Sequence[Planned]) -> str:
    specs = [plan.spec for plan in plans]
    if any(spec.model != "linear" for spec in specs):
        return "the quadratic loss of model 'linear' in all runs"
    if any(FACTOR_PATH not in spec.record or spec.snapshots == 0 for spec in specs):
        return f"the iterates of all runs: set record: [{FACTOR_PATH}] and snapshots above 0"
    columns = [(shape_of(spec.data).columns, spec.data.intercept) for spec in specs]
    if any(known is not None and known + intercept != 2 for known, intercept in columns):
        return "data sets with two features, including the intercept, because it shows a plane"
    if not all(plan.has_optimum and plan.spec.gamma > 0 for plan in plans):
        return "the optimum of all runs: set gap: optimum, and beta and gamma above 0"
    return ""


def _bias(plans: Sequence[Planned]) -> str:
    bounds = [plan for plan in plans if plan.spec.expectation == "piecewise"]
    if not bounds:
        return "runs with expectation 'piecewise'"
    if any("objective_exact" not in plan.spec.record for plan in bounds):
        return "the exact objective of all piecewise runs: set record: [objective_exact]"
    if not all(plan.has_optimum for plan in bounds):
        return "the optimum: set gap: optimum and beta above 0, and use a convex model"
    return ""


def _temperature(plans: Sequence[Planned]) -> str:
    several = len({plan.spec.gamma for plan in plans}) > 1
    return "" if several else "two or more temperatures: set vary: {gamma: [0.5, 1.0]}"


def _with_step_size(plans: Sequence[Planned]) -> list[Planned]:
    """Return the runs whose step size is set, not searched for."""
    return [plan for plan in plans if plan.spec.step_rule not in {"auto", "none"}]


def _sensitivity(plans: Sequence[Planned]) -> str:
    steps: dict[tuple[str, str], set[float]] = {}
    for plan in _with_step_size(plans):
        steps.setdefault((plan.dataset, plan.solver), set()).add(plan.spec.step)
    several = any(len(values) > 1 for values in steps.values())
    return "" if several else "a solver with two or more steps: set step: [0.01, 0.1]"


def _heatmap(plans: Sequence[Planned]) -> str:
    cells: dict[tuple[str, str], set[tuple[float, float]]] = {}
    for plan in _with_step_size(plans):
        cell = (plan.spec.step, plan.spec.init_scale)
        cells.setdefault((plan.dataset, plan.solver), set()).add(cell)
    several = any(len(values) > 1 for values in cells.values())
    advice = "set step: [0.01, 0.1] or init_scale: [0.1, 1.0]"
    return "" if several else f"a solver with two or more set steps or initial scales: {advice}"


def _runtime(plans: Sequence[Planned]) -> str:
    moving = any(plan.spec.iterations > 0 for plan in plans)
    return "" if moving else "runs of at least one iteration"


def _theory_table(plans: Sequence[Planned]) -> str:
    """Return what all runs lack for a comparison with a theorem, or an empty string."""
    lacking = [_lacks_for_theory(plan) for plan in plans]
    return "" if "" in lacking else lacking[0]


def _theory_figure(plans: Sequence[Planned]) -> str:
    covered = [plan for plan in plans if plan.spec.solver in THEOREM_SOLVERS]
    if not covered:
        return f"a solver with a convergence theorem: {', '.join(THEOREM_SOLVERS)}"
    return _theory_table(covered)


def _lacks_for_theory(plan: Planned) -> str:
    # The theorems assume exact expectations, a convex model, gamma = 1 and a constant step.
    spec = plan.spec
    model = MODELS.load(spec.model)
    if not (model.convex and model.smooth):
        return "runs with a convex model whose second derivatives are bounded"
    if spec.prior is not None:
        return "runs without 'prior'"
    if spec.gamma != 1:
        return "runs with gamma 1"
    if spec.expectation != "exact":
        return "runs with expectation 'exact'"
    if spec.step_rule != "constant":
        return "runs with a constant step"
    if not plan.has_optimum:
        return "the optimum: set gap: optimum and beta above 0"
    if not {"cov_eig_min", "factor_norm"} <= set(spec.record):
        return "the constants of the theorems: set record: [cov_eig_min, factor_norm]"
    return ""


def _paper(plans: Sequence[Planned]) -> str:
    printed = [
        plan
        for plan in plans
        if plan.spec.solver.removesuffix("-rotated")
        in PAPER_RESULTS.get(plan.spec.data.dataset, {})
    ]
    if not printed:
        return "a data set and a solver of the paper's performance table"
    if not all(plan.has_optimum and plan.spec.model == "logistic" for plan in printed):
        return "the optimum for comparison: set gap: optimum, model: logistic and beta above 0"
    return ""


def _test_rows(plans: Sequence[Planned]) -> str:
    tested = all(plan.spec.data.split != "none" for plan in plans)
    return "" if tested else "test rows, so no data set may have split 'none': list other figures"


def _scores(plans: Sequence[Planned]) -> str:
    # Gaps from the best value seen would change with each further solver.
    known = all(plan.has_optimum for plan in plans)
    advice = "set gap: optimum and beta above 0, and use a convex model"
    return "" if known else f"the optimum of all runs: {advice}"


FIGURES: dict[str, Needs] = {
    "bias": _bias,
    "calibration": calibration_needs,
    "heatmap": _heatmap,
    "path": _path,
    "runtime": _runtime,
    "sensitivity": _sensitivity,
    "temperature": _temperature,
    "test": _test_rows,
    "test-time": _test_rows,
    "theory": _theory_figure,
    **dict.fromkeys(SCORE_FIGURES, _scores),
}
TABLES: dict[str, Needs] = {
    "paper": _paper,
    "quality": quality_needs,
    "runtime": _runtime,
    "theory": _theory_table,
    "truth": truth_needs,
    **dict.fromkeys(SCORE_TABLES, _scores),
}
