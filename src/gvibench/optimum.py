"""The reference optimum of a problem: what gaps are measured from.

Damped VN, started from the MAP estimate and its curvature, is run until the residuals of the
fixed point, g = 0 and gamma V^{-1} = H, are down at rounding level. At gamma = 0 the covariance
collapses and the optimum is the MAP estimate itself.
"""

import json
import math
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from gvibench import backend as backends
from gvibench import models
from gvibench.backend import Array, Backend
from gvibench.datasets.prepared import Prepared
from gvibench.errors import Diverged, UserError
from gvibench.gaussian import CovarianceFactor, Factor, PrecisionFactor
from gvibench.models import METRICS, Model, Oracle, Rows
from gvibench.models.reduction import reduce_problem
from gvibench.provenance import code_hash, versions
from gvibench.spec import ProblemSpec, RunSpec
from gvibench.zarrzip import Group, open_zip, write_zip

__all__ = ["Optimum", "find_optimum", "optimum_code_hash", "read_optimum", "write_optimum"]

KIND = "gvibench optimum"
MAX_ITERATIONS = 1000
PATIENCE = 15
"""Iterations without a better residual after which rounding level is reached."""
ACCEPTABLE = 1e-6
"""A gradient larger than this, relative to what cancels in it, is no optimum."""
REQUIRED = frozenset(METRICS) - {"test_nll_at_mean", "grad_norm"} | {"smoothness"}
"""What others read of an optimum."""
NOT_FINITE = ("inf", "-inf", "nan")
SMALLEST_STEP = 1e-8


@dataclass(frozen=True)
class Optimum:
    """The best Gaussian of a problem, its metrics and how well it satisfies the equations."""

    mean: np.ndarray
    covariance_factor: np.ndarray | None
    """Lower triangular; nothing if the problem was reduced or V has collapsed."""
    attrs: dict[str, Any]
    """Spec, hashes, the metrics of a trace by name, residuals."""

    def summary(self) -> str:
        """Return one line for a person."""
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
            raise UserError(
                f"no optimum found for '{spec.data.dataset}' with beta {spec.beta:g}: {error}; "
                "raise beta, or scale the columns"
            ) from error


def _find(spec: ProblemSpec, data: Prepared, backend: Backend, code: str) -> Optimum:
    n, d = data.train_x.shape
    train, test = Rows(data.train_x, data.train_y), Rows(data.test_x, data.test_y)
    reduction = reduce_problem(data.train_x, data.test_x, np.zeros(d)) if d > n else None
    if reduction is not None:
        train, test = train._replace(x=reduction.train_x), test._replace(x=reduction.test_x)
    model = models.build(
        _as_run(spec),
        backend,
        train,
        test,
        multiplicity=1 if reduction is None else reduction.multiplicity,
    )
    mean, oracle, iterations = _maximise_posterior(model)
    factor: Factor = _collapsed(model)
    if spec.gamma > 0:
        mean, factor, oracle, more = _descend(model, mean, oracle.curvature / spec.gamma)
        iterations += more
    attrs: dict[str, Any] = {
        "spec": spec.canonical(),
        "spec_hash": spec.spec_hash,
        "code_hash": code,
        "versions": versions(),
        "iterations": iterations,
        "smoothness": float(model.smoothness()),
        **_values(model, mean, factor, oracle),
    }
    # Written so that NaN is no optimum either.
    if not attrs["gradient_residual"] <= ACCEPTABLE * (1.0 + attrs["gradient_scale"]):
        raise UserError(
            f"no optimum found for '{spec.data.dataset}' with beta {spec.beta:g}: the gradient is "
            f"still {attrs['gradient_residual']:.1e} after {iterations} iterations; "
            "raise beta, or use expectation 'exact'"
        )
    keeps_factor = reduction is None and spec.gamma > 0
    return Optimum(
        mean=mean if reduction is None else reduction.lift(mean),
        covariance_factor=factor.covariance_lower() if keeps_factor else None,
        attrs=attrs,
    )


def _as_run(spec: ProblemSpec) -> RunSpec:
    values = {name: getattr(spec, name) for name in ProblemSpec.model_fields}
    if spec.expectation == "stochastic":
        values["expectation"] = "exact"
    return RunSpec(**values, solver="vn", step=1.0)


def _collapsed(model: Model) -> CovarianceFactor:
    return CovarianceFactor(model.backend, np.zeros((model.d, model.d)))


def _maximise_posterior(model: Model) -> tuple[Array, Oracle, int]:
    """Minimise the loss at a point (V = 0) by damped Newton steps."""
    point = _collapsed(model)
    mean = np.zeros(model.d)
    oracle = model.full_oracle(mean, point, "hessian")
    value = _loss(model, mean, oracle)
    for iteration in range(MAX_ITERATIONS):
        lower = model.backend.cholesky(oracle.curvature, "H")
        direction = PrecisionFactor(model.backend, lower).covariance_times(oracle.gradient)
        decrement = float(oracle.gradient @ direction)
        step = 1.0
        while step > SMALLEST_STEP:
            candidate = mean - step * direction
            following = model.full_oracle(candidate, point, "hessian")
            following_value = _loss(model, candidate, following)
            if following_value <= value - 1e-4 * step * decrement:
                break
            step /= 2
        else:
            return mean, oracle, iteration  # no descent left: rounding level
        mean, oracle, value = candidate, following, following_value
        # Convergence is quadratic: the step just taken went all the way.
        if decrement <= 1e-16 * (1.0 + abs(value)):
            return mean, oracle, iteration + 1
    return mean, oracle, MAX_ITERATIONS


def _loss(model: Model, mean: Array, oracle: Oracle) -> float:
    return float(oracle.value + 0.5 * model.beta * (mean @ mean))


def _descend(model: Model, mean: Array, precision: Array) -> tuple[Array, Factor, Oracle, int]:
    """Damped VN; returns the iterate with the smallest Fisher-Rao gradient norm."""
    factor: Factor = PrecisionFactor(model.backend, model.backend.cholesky(precision, "V^-1"))
    oracle = model.full_oracle(mean, factor, "hessian")
    value = float(model.objectives(mean, factor, oracle.value).objective)
    norm = float(model.fisher_norm(factor, oracle))
    best = (norm, mean, factor, oracle)
    waited = iteration = 0
    step = 1.0
    while waited < PATIENCE and iteration < MAX_ITERATIONS:
        iteration += 1
        moved = _try_step(model, mean, precision, oracle, step)
        # Close to the optimum the objective moves by less than it can be computed.
        slack = 1e-12 * (1.0 + abs(value))
        # An approximate expectation need not fit its own derivatives: less gradient counts too.
        if moved is None or not (moved.value <= value + slack or moved.norm < norm):
            step /= 2
            waited += 1 if step < SMALLEST_STEP else 0
            continue
        mean, precision, factor, oracle, value = moved.iterate
        last, norm = norm, moved.norm
        # A full step may overshoot close to the optimum, where only the gradient shows it.
        step = min(1.0, 1.2 * step) if norm < last else 0.5 * step
        waited = 0 if norm < best[0] else waited + 1
        if norm < best[0]:
            best = (norm, mean, factor, oracle)
    return best[1], best[2], best[3], iteration


@dataclass(frozen=True)
class _Moved:
    iterate: tuple[Array, Array, Factor, Oracle, float]
    norm: float

    @property
    def value(self) -> float:
        return self.iterate[-1]


def _try_step(
    model: Model, mean: Array, precision: Array, oracle: Oracle, step: float
) -> _Moved | None:
    precision = (1.0 - step * model.gamma) * precision + step * oracle.curvature
    try:
        factor = PrecisionFactor(model.backend, model.backend.cholesky(precision, "V^-1"))
    except Diverged:
        return None
    mean = mean - step * factor.covariance_times(oracle.gradient)
    oracle = model.full_oracle(mean, factor, "hessian")
    value = float(model.objectives(mean, factor, oracle.value).objective)
    norm = float(model.fisher_norm(factor, oracle))
    return _Moved((mean, precision, factor, oracle, value), norm)


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
        numbers = [_loss(model, mean, oracle), np.inf, np.inf, *map(float, test), 0.0]
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
