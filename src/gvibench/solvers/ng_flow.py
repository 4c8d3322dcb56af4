"""NG-Flow: the natural-gradient flow, the continuous-time limit of VN and SR-VN."""

from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple

from gvibench.errors import Diverged
from gvibench.models.base import Model
from gvibench.models.protocols import Oracle
from gvibench.numerics.base import Array
from gvibench.numerics.gaussian import CovarianceFactor
from gvibench.solvers.base import Proposal, Solver, State

__all__ = ["NgFlow"]

RTOL, ATOL = 1e-8, 1e-10
MAX_STEPS = 10_000
"""Maximum number of integrator steps per iteration."""


class NgFlow(Solver):
    """Ordinary differential equation that natural-gradient methods discretise.

    In the Cholesky factor (`factor`, the default)::

        dC/dt = C tril½[gamma I - C'HC],   dm/dt = -C C' g

    or in the covariance (`covariance`), which follows the same path::

        dV/dt = gamma V - V H V,   dm/dt = -V g

    The equation is integrated with the Dormand-Prince pair of orders 5 and 4 and adaptive steps,
    with rtol 1e-8 and atol 1e-10. Iterate k is the solution at time k rho. SciPy's integrators are
    not used, because they only work in host memory.

    The integrator evaluates the model between iterates, so that there is no proposal and no slope.

    Cost: six evaluations of the model per step of the integrator.
    """

    id: ClassVar[str] = "ng-flow"
    title: ClassVar[str] = "NG-Flow"
    adaptive: ClassVar[bool] = True
    reference: ClassVar[str] = (
        "Kumar, Möllenhoff, Khan and Lucchi, Optimization guarantees for square-root "
        "natural-gradient variational inference, TMLR 2025"
    )

    parametrisation: Literal["factor", "covariance"] = "factor"
    """Differential equation to integrate."""

    @property
    def rotation_invariant(self) -> bool:
        return self.parametrisation == "covariance"

    def step(self, state: State, model: Model, rho: float) -> State:
        iteration = state.iteration + 1

        def velocity(point: Point) -> Point:
            # All evaluations of an iteration use the same draws, so that a stochastic flow is
            # a differential equation, too.
            return self._velocity(model, point, iteration)

        matrix, step = state.memory or (self._matrix(state), rho)
        start = Point(state.mean, matrix)
        end, step, count = _integrate(model.backend.xp, velocity, start, rho, step)
        proposal = Proposal(end.mean, self._factor(model, end), (end.matrix, step))
        return self.advance(state, model, rho, proposal, evaluations=6 * count + 1)

    def _matrix(self, state: State) -> Array:
        lower = state.factor.lower
        return lower @ lower.T if self.parametrisation == "covariance" else lower

    def _factor(self, model: Model, point: "Point") -> CovarianceFactor:
        lower = point.matrix
        if self.parametrisation == "covariance":
            lower = model.backend.cholesky(lower, "V")
        return CovarianceFactor(model.backend, lower)

    def _velocity(self, model: Model, point: "Point", iteration: int) -> "Point":
        backend = model.backend
        factor = self._factor(model, point)
        if self.parametrisation == "covariance":
            oracle: Oracle = model.oracle(point.mean, factor, "hessian", iteration)
            covariance = point.matrix
            curved = covariance @ oracle.curvature @ covariance
            return Point(-(covariance @ oracle.gradient), model.gamma * covariance - curved)
        oracle = model.oracle(point.mean, factor, "whitened", iteration)
        residual = model.gamma_identity - oracle.curvature
        change = backend.lower_times_lower(point.matrix, backend.half_lower(residual))
        return Point(-factor.covariance_times(oracle.gradient), change)


class Point(NamedTuple):
    """Point of the flow, or its velocity: a mean, and a factor or covariance."""

    mean: Array
    matrix: Array


# Dormand and Prince, A family of embedded Runge-Kutta formulae, 1980.
_STAGES: tuple[tuple[float, ...], ...] = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)


def _integrate(
    xp: Any, velocity: Callable[[Point], Point], start: Point, span: float, step: float
) -> tuple[Point, float, int]:
    """Integrate the flow over a time `span`.

    Return the end point, the step to try next and the number of steps tried.
    """
    time, point, first = 0.0, start, velocity(start)
    for count in range(1, MAX_STEPS + 1):
        if step < 1e-12 * span:
            raise Diverged("the flow has no step that is short enough")
        last = time + step >= span * (1 - 1e-12)
        h = span - time if last else step
        try:
            slopes = [first]
            for weights in _STAGES:
                candidate = _move(point, h, weights, slopes)
                slopes.append(velocity(candidate))
            error = _error_norm(xp, point, candidate, _move(None, h, _ERROR, slopes))
        except Diverged:  # a stage left the domain, because the step is far too long
            error = float("inf")
        growth = min(5.0, max(0.2, 0.9 * error**-0.2)) if error > 0 else 5.0
        if error <= 1.0:
            # The last stage of an accepted step is the first stage of the next step.
            time, point, first = time + h, candidate, slopes[-1]
            if last:
                # The end of the interval may have shortened this step, so do not shrink the next.
                return point, max(step, h * growth), count
        step = h * growth
    raise Diverged(f"the flow needs more than {MAX_STEPS} steps in one interval")


def _move(start: Point | None, h: float, weights: tuple[float, ...], slopes: list[Point]) -> Point:
    moved = []
    for part in range(2):
        change = sum(w * slope[part] for w, slope in zip(weights, slopes, strict=True) if w)
        moved.append(h * change if start is None else start[part] + h * change)
    return Point(*moved)


def _error_norm(xp: Any, old: Point, new: Point, error: Point) -> float:
    total, count = 0.0, 0
    for before, after, difference in zip(old, new, error, strict=True):
        allowed = ATOL + RTOL * xp.maximum(xp.abs(before), xp.abs(after))
        total = total + xp.sum((difference / allowed) ** 2)
        count += before.size
    norm = float(total / count) ** 0.5
    return norm if norm < float("inf") else float("inf")  # NaN counts as infinite
