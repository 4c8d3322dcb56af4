"""The reference optimum of a problem: what gaps are measured from.

Damped VN, started from the MAP estimate and its curvature, is run until the residuals of the
fixed point, g = 0 and gamma V^{-1} = H, are down at rounding level. At gamma = 0 the covariance
collapses and the optimum is the MAP estimate itself. The objective of the `piecewise` bound has
several minima at small gamma, so its optimum is followed from gamma = 1 downwards.
"""

import json
import math
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from gvibench import models
from gvibench import numerics as backends
from gvibench.engine.optimum_search import collapsed, descend, loss_at, maximise_posterior
from gvibench.errors import Diverged, UserError
from gvibench.models import METRICS, Model, Oracle, Rows
from gvibench.models.reduction import reduce_problem
from gvibench.numerics import Array, Backend
from gvibench.numerics.gaussian import Factor
from gvibench.spec.code import code_hash, versions
from gvibench.spec.run import ProblemSpec, RunSpec
from gvibench.store.prepared import Prepared
from gvibench.store.zarrzip import Group, open_zip, write_zip

__all__ = [
    "NoOptimumError",
    "Optimum",
    "find_optimum",
    "optimum_code_hash",
    "read_optimum",
    "unknown_optimum",
    "write_optimum",
]

KIND = "gvibench optimum"
ACCEPTABLE = 1e-6
"""Residuals of the fixed point larger than this, relative to what cancels in them, are no optimum.
"""
REQUIRED = frozenset(METRICS) - {"test_nll_at_mean", "grad_norm"} | {"smoothness"}
"""What others read of an optimum."""
NOT_FINITE = ("inf", "-inf", "nan")
COOLING = 3.0
"""Largest ratio of successive temperatures on the way to a small gamma."""
ADVICE = {
    "piecewise": "use more pieces, or expectation 'exact'",
    "gauss-hermite": "use more nodes, or expectation 'exact'",
}


class NoOptimumError(UserError):
    """Raised if the search for an optimum fails; the message is one sentence for a person."""


@dataclass(frozen=True)
class Optimum:
    """The best Gaussian of a problem, its metrics and how well it satisfies the equations."""

    mean: np.ndarray
    covariance_factor: np.ndarray | None
    """Lower triangular; nothing if the problem was reduced or V has collapsed."""
    attrs: dict[str, Any]
    """Spec, hashes, the metrics of a trace by name, residuals."""

    @property
    def error(self) -> str:
        """Why the optimum is unknown, or nothing if it is known."""
        return str(self.attrs.get("error", ""))

    def summary(self) -> str:
        """Return one line for a person."""
        if self.error:
            return self.error
        attrs = self.attrs
        return (
            f"optimum of {json.loads(attrs['spec'])['data']['dataset']}: objective "
            f"{attrs['objective']:.10g}, |g| {attrs['gradient_residual']:.1e}, "
            f"|gamma V^-1 - H| / |H| {attrs['curvature_residual']:.1e}, "
            f"{attrs['iterations']} iterations"
        )


def optimum_code_hash(spec: ProblemSpec) -> str:
    """Return the hash of the code that finds this optimum."""
    return code_hash([__name__, *models.modules_of(spec)])


def find_optimum(spec: ProblemSpec, data: Prepared, *, code_hash: str | None = None) -> Optimum:
    """Find the optimum of a problem on prepared data, on one thread and in float64.

    `code_hash` is that of the job as planned (default: `optimum_code_hash`).
    """
    if spec.model == "non-convex":
        raise UserError(
            "the model 'non-convex' has no single optimum: measure gaps from the best value seen"
        )
    if spec.beta == 0:
        raise UserError("with beta = 0 an optimum need not exist: measure from the best value seen")
    backend = backends.select("cpu")  # loads the BLAS that is to be limited
    with threadpool_limits(1):
        try:
            return _find(spec, data, backend, code_hash or optimum_code_hash(spec))
        except (Diverged, np.linalg.LinAlgError) as error:
            raise _no_optimum(spec, str(error)) from error


def unknown_optimum(
    spec: ProblemSpec, data: Prepared, error: NoOptimumError, code_hash: str | None = None
) -> Optimum:
    """Return what stands for an optimum that was not found: NaN everywhere, and the reason."""
    attrs = {
        **_identity(spec, code_hash or optimum_code_hash(spec)),
        **dict.fromkeys((*METRICS, "smoothness"), math.nan),
        "error": str(error),
    }
    return Optimum(np.full(data.train_x.shape[1], np.nan), None, attrs)


def _no_optimum(spec: ProblemSpec, why: str) -> NoOptimumError:
    advice = ADVICE.get(spec.expectation, "raise beta")
    return NoOptimumError(
        f"no optimum found for '{spec.data.dataset}' with beta {spec.beta:g} and gamma "
        f"{spec.gamma:g}: {why}; {advice}"
    )


def _identity(spec: ProblemSpec, code: str) -> dict[str, Any]:
    return {
        "spec": spec.canonical(),
        "spec_hash": spec.spec_hash,
        "code_hash": code,
        "versions": versions(),
    }


def _find(spec: ProblemSpec, data: Prepared, backend: Backend, code: str) -> Optimum:
    n, d = data.train_x.shape
    train, test = Rows(data.train_x, data.train_y), Rows(data.test_x, data.test_y)
    reduction = reduce_problem(data.train_x, data.test_x, np.zeros(d)) if d > n else None
    if reduction is not None:
        train, test = train._replace(x=reduction.train_x), test._replace(x=reduction.test_x)
    multiplicity = 1 if reduction is None else reduction.multiplicity

    def model_at(gamma: float) -> Model:
        run = _as_run(spec.model_copy(update={"gamma": gamma}))
        return models.build(run, backend, train, test, multiplicity=multiplicity)

    model = model_at(spec.gamma)
    mean, oracle, iterations = maximise_posterior(model)
    factor: Factor = collapsed(model)
    for gamma in _temperatures(spec):
        model = model_at(gamma)
        mean, factor, oracle, more = descend(model, mean, oracle.curvature / gamma)
        iterations += more
    attrs: dict[str, Any] = {
        **_identity(spec, code),
        "iterations": iterations,
        "smoothness": float(model.smoothness()),
        **_values(model, mean, factor, oracle),
    }
    _require_optimum(spec, attrs)
    keeps_factor = reduction is None and spec.gamma > 0
    return Optimum(
        mean=mean if reduction is None else reduction.lift(mean),
        covariance_factor=factor.covariance_lower() if keeps_factor else None,
        attrs=attrs,
    )


def _temperatures(spec: ProblemSpec) -> list[float]:
    """Return the values of gamma to solve for, each from the optimum of the one before."""
    if spec.gamma == 0:
        return []
    if spec.expectation != "piecewise" or spec.gamma >= 1:
        return [spec.gamma]
    count = 1 + math.ceil(math.log(1 / spec.gamma) / math.log(COOLING))
    return [*np.geomspace(1.0, spec.gamma, count).tolist()[:-1], spec.gamma]


def _require_optimum(spec: ProblemSpec, attrs: dict[str, Any]) -> None:
    gradient, curvature = attrs["gradient_residual"], attrs["curvature_residual"]
    # Written so that NaN is no optimum either.
    if not gradient <= ACCEPTABLE * (1.0 + attrs["gradient_scale"]):
        why = f"the gradient is still {gradient:.1e} after {attrs['iterations']} iterations"
        raise _no_optimum(spec, why)
    if not curvature <= ACCEPTABLE:
        why = (
            f"gamma V^-1 still differs from H by {curvature:.1e} of its size after "
            f"{attrs['iterations']} iterations"
        )
        raise _no_optimum(spec, why)


def _as_run(spec: ProblemSpec) -> RunSpec:
    values = {name: getattr(spec, name) for name in ProblemSpec.model_fields}
    if spec.expectation == "stochastic":
        values["expectation"] = "exact"
    return RunSpec(**values, solver="vn", step=1.0)


def _values(model: Model, mean: Array, factor: Factor, oracle: Oracle) -> dict[str, float]:
    """Return the metrics of a trace and the residuals of the fixed point."""
    if model.gamma > 0:
        metrics = model.metrics(mean, factor, oracle)
        precision = factor.lower @ factor.lower.T
        residual = model.gamma * precision - oracle.curvature
        size = float(np.linalg.norm(oracle.curvature))
        curvature_residual = float(np.linalg.norm(residual)) / size
        values = dict(zip(METRICS, map(float, metrics), strict=True))
    else:
        # V = 0: the objective is the MAP one; the entropy terms of the other two are infinite.
        test = model.test_metrics(mean, factor)
        curvature_residual = 0.0
        numbers = [loss_at(model, mean, oracle), np.inf, np.inf, *map(float, test), 0.0]
        values = dict(zip(METRICS, numbers, strict=True))
    scale = float(np.linalg.norm(oracle.gradient - model.beta * mean))
    return {
        **values,
        "gradient_residual": float(np.linalg.norm(oracle.gradient)),
        "gradient_scale": scale,
        "curvature_residual": curvature_residual,
    }


def write_optimum(path: str | os.PathLike[str], optimum: Optimum) -> None:
    """Write an optimum as one Zarr zip file."""
    attrs = {name: _to_json(value) for name, value in optimum.attrs.items()}
    group = Group({"kind": KIND, **attrs})
    group.put("mean", optimum.mean, ["feature"], long_name="mean of q")
    if optimum.covariance_factor is not None:
        dims = ["feature", "feature_"]
        name = "lower triangular C, C C' = V"
        group.put("covariance_factor", optimum.covariance_factor, dims, long_name=name)
    write_zip(path, group)


def _to_json(value: Any) -> Any:
    # JSON has neither infinity nor NaN; text that float() reads keeps them.
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def read_optimum(path: str | os.PathLike[str]) -> Optimum:
    """Read a file of `write_optimum`."""
    with open_zip(path) as group:
        attrs = dict(group.attrs)
        if attrs.pop("kind", None) != KIND:
            raise UserError(f"{path} is not an optimum of gvibench: make the file again")
        arrays = group.read_all()
    if missing := REQUIRED - set(attrs) | {"mean"} - set(arrays):
        raise UserError(f"{path} lacks '{min(missing)}': delete the file and make it again")
    attrs = {name: float(value) if value in NOT_FINITE else value for name, value in attrs.items()}
    return Optimum(arrays["mean"], arrays.get("covariance_factor"), attrs)
