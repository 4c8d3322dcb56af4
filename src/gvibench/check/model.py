"""Run the conformance tests that built-in and plug-in models must pass."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gvibench import numerics
from gvibench.check.solver import CheckResult, Report
from gvibench.check.subject import BETA, DATA, CheckFailed
from gvibench.errors import UserError
from gvibench.models.base import Model
from gvibench.models.protocols import PointwiseLoss
from gvibench.registry import MODELS
from gvibench.spec.run import RunSpec

__all__ = ["check_model"]

TARGETS = {"classes": (-1.0, 1.0), "real": (0.3, 2.0), "counts": (0.0, 1.0, 7.0)}
MEANS, VARIANCES = (-1.5, 0.0, 0.8), (0.05, 0.7, 2.0)
STEP = 1e-4
"""Step of finite differences."""
TOLERANCE = 1e-6

Points = tuple[np.ndarray, np.ndarray, np.ndarray]


def check_model(name: str) -> Report:
    """Run all checks on the model called `name`."""
    kind = MODELS.load(name)
    if not (isinstance(kind, type) and issubclass(kind, Model)):
        raise UserError(f"model '{name}' is not a subclass of gvibench.plugin.Model")
    return Report(name, tuple(_run_check(check, name, kind) for check in CHECKS))


def _run_check(check: str, name: str, kind: type[Model]) -> CheckResult:
    spec = RunSpec(data=DATA, beta=BETA, solver="vn", step=1.0, model=name)
    try:
        CHECKS[check](kind, kind.build_loss(numerics.select("cpu"), spec))
    except CheckFailed as reason:
        return CheckResult(check, "FAIL", str(reason))
    except Exception as error:  # any error raised by a model is a failure of the model
        return CheckResult(check, "FAIL", f"raised {type(error).__name__}: {error}")
    return CheckResult(check, "ok", "")


def _points(kind: type[Model]) -> Points:
    """Return means, variances and targets in all combinations."""
    grid = np.meshgrid(MEANS, VARIANCES, TARGETS[kind.targets[0]], indexing="ij")
    mu, s2, y = (values.ravel() for values in grid)
    return mu, s2, y


def _expect(loss: PointwiseLoss, mu: np.ndarray, s2: np.ndarray, y: np.ndarray) -> np.ndarray:
    results = np.empty((3, len(mu)))
    loss.expect(mu, s2, y, *results)
    return results


def _compare(found: Any, expected: Any, words: str) -> None:
    error = np.max(np.abs(found - expected) / (1.0 + np.abs(expected)))
    if not error <= TOLERANCE:  # NaN fails
        raise CheckFailed(f"{words}: the difference is {error:.1e}")


def _declares_what_it_supports(kind: type[Model], loss: PointwiseLoss) -> None:
    if not kind.targets or not set(kind.targets) <= set(TARGETS):
        raise CheckFailed(f"`targets` must be some of {', '.join(TARGETS)}")
    if "exact" not in kind.expectations:
        raise CheckFailed("`expectations` must contain 'exact', with which runs are recorded")


def _derivatives(kind: type[Model], loss: PointwiseLoss) -> None:
    t, _, y = _points(kind)
    at, above, below = loss.at(t, y), loss.at(t + STEP, y), loss.at(t - STEP, y)
    _compare(loss.value_at(t, y), at[0], "`value_at` differs from the first result of `at`")
    for k in (0, 1):
        slope = (above[k] - below[k]) / (2 * STEP)
        _compare(
            at[k + 1], slope, f"result {k + 2} of `at` is not the derivative of result {k + 1}"
        )


def _expectations(kind: type[Model], loss: PointwiseLoss) -> None:
    mu, s2, y = _points(kind)
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    t = mu[:, None] + np.sqrt(s2)[:, None] * nodes
    found = _expect(loss, mu, s2, y)
    for k, values in enumerate(loss.at(t, y[:, None] + 0.0 * t)):
        expected = values @ weights / weights.sum()
        _compare(found[k], expected, f"F{k} of `expect` differs from quadrature")


def _variance(kind: type[Model], loss: PointwiseLoss) -> None:
    mu, s2, y = _points(kind)
    above, below = _expect(loss, mu, s2 + STEP, y), _expect(loss, mu, s2 - STEP, y)
    slope = (above[0] - below[0]) / (2 * STEP)
    _compare(_expect(loss, mu, s2, y)[2] / 2, slope, "F2 / 2 is not the derivative of F0 by s2")


def _steepest(kind: type[Model], loss: PointwiseLoss) -> None:
    t, _, y = _points(kind)
    largest = float(np.max(loss.at(t, y)[2]))
    if not largest <= loss.steepest * (1 + 1e-12):
        raise CheckFailed(
            f"`steepest` is {loss.steepest:g}, but a second derivative is {largest:g}"
        )
    if np.isfinite(loss.steepest) != kind.smooth:
        raise CheckFailed(f"`smooth` is {kind.smooth}, but `steepest` is {loss.steepest:g}")


CHECKS: dict[str, Callable[[type[Model], PointwiseLoss], None]] = {
    "declares what it supports": _declares_what_it_supports,
    "has derivatives that fit its loss": _derivatives,
    "has expectations that equal quadrature": _expectations,
    "has the right derivative by the variance": _variance,
    "bounds its second derivative": _steepest,
}
