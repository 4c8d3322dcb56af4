"""Find the reference optimum of a problem, from which gaps are measured.

Damped VN starts from the MAP estimate and its curvature and runs until the residuals of the fixed
point, g = 0 and gamma V^{-1} = H, reach rounding level. At gamma = 0 the covariance collapses and
the optimum is the MAP estimate. The objective of the `piecewise` bound has several minima at small
gamma, so its optimum is tracked from gamma = 1 downwards.
"""

import math
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from gvibench import models, numerics
from gvibench.engine.certificate import certificate
from gvibench.engine.optimum_search import descend
from gvibench.errors import Diverged, UserError
from gvibench.models.base import Model
from gvibench.models.map_estimate import collapsed, loss_at, maximise_posterior
from gvibench.models.protocols import Oracle
from gvibench.models.reduction import reduce_problem
from gvibench.numerics.base import Array, Backend
from gvibench.numerics.gaussian import Factor
from gvibench.registry import MODELS
from gvibench.spec.metrics import METRICS
from gvibench.spec.run import ProblemSpec, RunSpec
from gvibench.store.optima import Optimum
from gvibench.store.prepared import Prepared
from gvibench.store.provenance import versions

__all__ = ["NoOptimumError", "find_optimum", "unknown_optimum"]

MAX_RESIDUAL = 1e-6
"""Maximum residual of an optimum, relative to the terms that cancel in it."""
MAX_COOLING = 3.0
"""Maximum ratio of successive temperatures on the way to a small gamma."""
ADVICE = {
    "piecewise": "use more pieces, or expectation 'exact'",
    "gauss-hermite": "use more nodes, or expectation 'exact'",
}


class NoOptimumError(UserError):
    """The search for an optimum failed."""


def find_optimum(spec: ProblemSpec, data: Prepared, *, code_hash: str = "") -> Optimum:
    """Find the optimum of a problem on prepared data, with one thread and in float64.

    `code_hash` is the hash of the code, which is stored with the optimum.
    """
    if not MODELS.load(spec.model).convex:
        raise UserError(
            f"the model '{spec.model}' has no unique optimum: measure gaps from the best value "
            "seen with 'gap: best-seen'"
        )
    if not spec.penalises:
        raise UserError(
            "with beta = 0 an optimum may not exist: measure gaps from the best value seen with "
            "'gap: best-seen', or set beta above 0"
        )
    backend = numerics.select("cpu")  # loads BLAS, so that its threads can be limited
    # A step that is too long can overflow. It is rejected, so warnings are not needed.
    with threadpool_limits(1), np.errstate(all="ignore"):
        try:
            return _find(spec, data, backend, code_hash)
        except (Diverged, np.linalg.LinAlgError) as error:
            raise _no_optimum(spec, str(error)) from error


def unknown_optimum(
    spec: ProblemSpec, data: Prepared, error: NoOptimumError, code_hash: str = ""
) -> Optimum:
    """Return a placeholder for an optimum that was not found: NaN values and the reason."""
    attrs = {
        **_identity(spec, code_hash),
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
    train, test = models.rows_of(data, spec)
    reduction = None
    if d > n and spec.is_rotation_invariant:
        reduction = reduce_problem(data.train_x, data.test_x, np.zeros(d))
    if reduction is not None:
        train, test = train._replace(x=reduction.train_x), test._replace(x=reduction.test_x)
    multiplicity = 1 if reduction is None else reduction.multiplicity
    names = models.names_of(data)

    def model_at(gamma: float) -> Model:
        run = _as_run(spec.replace(gamma=gamma))
        return models.build(run, backend, train, test, multiplicity=multiplicity, names=names)

    model = model_at(spec.gamma)
    mean, oracle, iterations, _ = maximise_posterior(model, np.zeros(model.d))
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
    stores_factor = reduction is None and spec.gamma > 0
    lower = factor.covariance_lower() if stores_factor else None
    return Optimum(
        mean=mean if reduction is None else reduction.lift(mean),
        covariance_factor=lower,
        attrs={**attrs, **certificate(spec, model, mean, lower)},
    )


def _temperatures(spec: ProblemSpec) -> list[float]:
    """Return the temperatures to solve for. Each search starts from the previous optimum."""
    if spec.gamma == 0:
        return []
    if spec.expectation != "piecewise" or spec.gamma >= 1:
        return [spec.gamma]
    count = 1 + math.ceil(math.log(1 / spec.gamma) / math.log(MAX_COOLING))
    return [*np.geomspace(1.0, spec.gamma, count).tolist()[:-1], spec.gamma]


def _require_optimum(spec: ProblemSpec, attrs: dict[str, Any]) -> None:
    gradient, curvature = attrs["gradient_residual"], attrs["curvature_residual"]
    # The conditions are negated, so that NaN fails them, too.
    if not gradient <= MAX_RESIDUAL * (1.0 + attrs["gradient_scale"]):
        why = f"the gradient is still {gradient:.1e} after {attrs['iterations']} iterations"
        raise _no_optimum(spec, why)
    if not curvature <= MAX_RESIDUAL:
        why = (
            f"gamma V^-1 still differs from H by {curvature:.1e} of its size after "
            f"{attrs['iterations']} iterations"
        )
        raise _no_optimum(spec, why)


def _as_run(spec: ProblemSpec) -> RunSpec:
    values = {name: getattr(spec, name) for name in ProblemSpec.names()}
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
        # V = 0: the objective is the loss at the MAP estimate. The entropy terms of the other two
        # objectives are infinite.
        test = model.test_metrics(mean, factor)
        curvature_residual = 0.0
        numbers = [loss_at(model, mean, oracle), np.inf, np.inf, *map(float, test), 0.0]
        values = dict(zip(METRICS, numbers, strict=True))
    scale = float(np.linalg.norm(oracle.gradient - model.prior.gradient(mean)))
    return {
        **values,
        "gradient_residual": float(np.linalg.norm(oracle.gradient)),
        "gradient_scale": scale,
        "curvature_residual": curvature_residual,
    }
