"""Define the conformance tests of a solver.

Each check returns a note for the reader or raises `CheckFailed` or `CheckSkipped`. All problems are
small and generated here, so that their solutions are known in closed form.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gvibench import numerics as backends
from gvibench.check.subject import (
    BETA,
    FEATURES,
    HUGE_STEP,
    SMALL_STEP,
    STEPS,
    CheckFailed,
    CheckSkipped,
    Subject,
    build_model,
    made_data,
    made_rows,
)
from gvibench.engine.execute import execute
from gvibench.engine.lockstep import run_trials
from gvibench.engine.recorder import Recorder
from gvibench.errors import Stopped
from gvibench.models.base import Model
from gvibench.models.protocols import Rows
from gvibench.numerics.gaussian import Factor
from gvibench.solvers import create
from gvibench.solvers.base import Solver, State
from gvibench.spec.documentation import documentation
from gvibench.spec.statuses import UNUSABLE
from gvibench.store.traces import Trace

__all__ = ["CHECKS"]


def _has_metadata(subject: Subject) -> str:
    kind = subject.kind
    if not issubclass(kind, Solver):
        raise CheckFailed("it is not a subclass of gvibench.plugin.Solver")
    if getattr(kind, "id", None) != subject.name:
        raise CheckFailed(
            f"its id is {getattr(kind, 'id', None)!r}, but it is installed as {subject.name!r}"
        )
    for attribute in ("title", "reference", "__doc__"):
        if not getattr(kind, attribute, None):
            raise CheckFailed(f"it has no {attribute.strip('_')}")
    return kind.title


def _has_documented_options(subject: Subject) -> str:
    try:
        create(subject.name, {})
    except TypeError as error:
        raise CheckFailed(f"an option has no default ({error})") from error
    texts = documentation(subject.kind)
    if bare := [option for option, text in texts.items() if not text]:
        raise CheckFailed(f"the option '{bare[0]}' has no docstring below it")
    return ", ".join(texts) or "no options"


def _descends(subject: Subject) -> str:
    best = _linear_optimum(subject)
    for step in STEPS:
        trace = subject.run(model="linear", step=step, iterations=50)
        objective = trace.scalars["objective"]
        rounding = 1e-9 * (1.0 + abs(best))
        if objective.min() < best - rounding:
            raise CheckFailed(
                f"at step {step:g} the objective gets below the optimum by "
                f"{best - objective.min():.2g}: mean, factor and oracle of a state disagree"
            )
        gaps = objective - best
        descends = bool(np.all(np.diff(objective) <= rounding)) and gaps[-1] <= 0.5 * gaps[0]
        if trace.attrs["status"] not in UNUSABLE and descends:
            subject.step = step
            return f"gap {gaps[0]:.3g} -> {max(gaps[-1], 0.0):.2g} at step {step:g}"
    raise CheckFailed(
        f"no step from {STEPS[0]:g} down to {STEPS[-1]:g} decreases the objective in each of 50 "
        "iterations and halves its gap"
    )


def _linear_optimum(subject: Subject) -> float:
    spec = subject.spec(model="linear")
    model = build_model(spec, backends.select("cpu"))
    precision = model.train.x.T @ model.train.x + BETA * np.eye(FEATURES)
    mean = np.linalg.solve(precision, model.train.x.T @ model.train.y)
    residual = model.train.y - model.train.x @ mean
    expected_loss = 0.5 * (residual @ residual + BETA * mean @ mean + FEATURES)
    return float(expected_loss + 0.5 * np.linalg.slogdet(precision)[1])


def _has_the_slope_of_its_step(subject: Subject) -> str:
    if not subject.kind.has_slope():
        return "no slope, so step rule `auto` is not supported"
    solver, model, state = _interior_state(subject)
    slope = float(solver.slope(state, model))

    def value(rho: float) -> float:
        proposal = solver.propose(state, model, rho)
        return _objective(model, proposal.mean, proposal.factor)

    # Central differences at two distances, extrapolated to fourth order.
    h = 1e-3 / (1.0 + abs(slope)) ** 0.5
    wide, narrow = ((value(-s * h) - value(s * h)) / (2.0 * s * h) for s in (2.0, 1.0))
    measured = (4.0 * narrow - wide) / 3.0
    if not abs(measured - slope) <= 1e-6 * abs(measured):
        raise CheckFailed(
            f"slope is {slope:.9g}, but the objective decreases at the rate {measured:.9g}"
        )
    return f"{slope:.6g}"


def _has_an_exact_surrogate_on_the_linear_model(subject: Subject) -> str:
    if not subject.kind.has_slope():
        return "not used without a slope"
    solver, model, state = _interior_state(subject, model="linear")
    proposal = solver.propose(state, model, SMALL_STEP)
    before = _objective(model, state.mean, state.factor)
    change = _objective(model, proposal.mean, proposal.factor) - before
    surrogate = float(solver.surrogate(state, model, proposal, SMALL_STEP))
    if not abs(surrogate - change) <= 1e-12 * (1.0 + abs(before)):
        raise CheckFailed(
            f"surrogate is {surrogate:.9g}, but the objective changes by {change:.9g}"
        )
    return ""


def _interior_state(subject: Subject, **changes: Any) -> tuple[Solver, Model, State]:
    """Return a solver, a model, and a state that the solver reaches after a few steps."""
    solver = create(subject.name, {})
    model = build_model(subject.spec(**changes), backends.select("cpu"))
    state = solver.init(model, np.full(FEATURES, 0.1), 0.5)
    *_, state = _steps(solver, model, state)
    return solver, model, state


def _objective(model: Model, mean: np.ndarray, factor: Factor) -> float:
    oracle = model.full_oracle(mean, factor, "hessian")
    return float(model.objectives(mean, factor, oracle.value).objective)


def _stays_at_the_optimum(subject: Subject) -> str:
    if subject.is_stochastic:
        return "not required of a solver that uses draws"
    # With orthogonal columns of equal length, the optimal covariance is a multiple of the
    # identity, at which all solvers can start.
    rows = made_rows(real=True, seed=0)
    x = 3.0 * np.linalg.qr(rows.x)[0]
    model = build_model(subject.spec(model="linear"), backends.select("cpu"), Rows(x, rows.y))
    precision = 9.0 + BETA
    mean = x.T @ rows.y / precision
    state = create(subject.name, {}).init(model, mean, precision**-0.5)
    last = _after_steps(subject, model, state, subject.step)
    lower = last.factor.covariance_lower()
    moved = float(np.abs(last.mean - mean).max())
    spread = float(np.abs(precision * lower @ lower.T - np.eye(FEATURES)).max())
    if not (moved <= 1e-8 and spread <= 1e-8):
        raise CheckFailed(f"after three steps the mean has moved by {moved:.2g}, V by {spread:.2g}")
    return ""


def _after_steps(subject: Subject, model: Model, state: State, rho: float) -> State:
    """Return the state after three steps."""
    solver = create(subject.name, {})
    for iteration in (1, 2, 3):
        try:
            state = solver.step(state, model, rho)
        except Stopped:
            break
        if state.iteration != iteration:
            raise CheckFailed("a step does not increase `iteration`: return `self.advance(...)`")
    return state


def _steps(solver: Solver, model: Model, state: State) -> Iterator[State]:
    """Yield the states after each of three small steps, or fewer if the solver stops."""
    for _ in range(3):
        try:
            state = solver.step(state, model, SMALL_STEP)
        except Stopped:
            return
        yield state


def _keeps_the_precision(subject: Subject) -> str:
    solver, objectives = create(subject.name, {}), {}
    for dtype in ("float32", "float64"):
        backend = backends.select("cpu", dtype)
        spec = subject.spec(dtype=dtype)
        model = build_model(spec, backend)
        start = solver.init(model, backend.asarray(np.full(FEATURES, 0.1)), 0.5)
        for state in _steps(solver, model, start):
            for name, array in (("mean", state.mean), ("factor", state.factor.lower)):
                if array.dtype != backend.dtype:
                    raise CheckFailed(f"in a run in {dtype} the {name} is {array.dtype}")
        objectives[dtype] = float(Recorder(spec, model).objectives_of(state).objective)
    single, double = objectives["float32"], objectives["float64"]
    if not abs(single - double) <= 1e-3 * (1.0 + abs(double)):
        raise CheckFailed(f"the objective is {single:.8g} in float32, {double:.8g} in float64")
    return ""


def _stays_on_the_device(subject: Subject) -> str:
    try:
        from gvibench.check.strict_backend import StrictBackend, watched_arrays
    except ImportError as error:
        raise CheckSkipped("array-api-strict is not installed") from error
    # A stochastic run moves its draws to the device, and its linear model needs no quadrature.
    stochastic = subject.is_stochastic
    spec = subject.spec(**({"model": "linear"} if stochastic else {"expectation": "gauss-hermite"}))

    def last_iterate(backend: Any) -> list[np.ndarray]:
        model = build_model(spec, backend)
        mean = backend.asarray(np.full(FEATURES, 0.1))
        backend.sealed = not stochastic
        start = create(subject.name, {}).init(model, mean, 0.5)
        last = _after_steps(subject, model, start, SMALL_STEP)
        backend.sealed = False
        return [backend.to_host(array) for array in (last.mean, last.factor.lower)]

    try:
        with watched_arrays(may_look=subject.kind.adaptive):
            on_device = last_iterate(StrictBackend())
    except Exception as error:
        hint = "" if subject.kind.adaptive else " (if it must read values, set `adaptive = True`)"
        raise CheckFailed(f"a step fails: {type(error).__name__}: {error}{hint}") from error
    on_cpu = last_iterate(backends.select("cpu"))
    for device_array, cpu_array in zip(on_device, on_cpu, strict=True):
        if not np.allclose(device_array, cpu_array, rtol=1e-8, atol=1e-8):
            raise CheckFailed("the iterates differ from the iterates with NumPy")
    return "reads values, as declared" if subject.kind.adaptive else ""


def _is_reproducible(subject: Subject) -> str:
    if difference := _difference(subject.run(), subject.run()):
        raise CheckFailed(
            f"two equal runs differ in {difference}: the step must not use random or shared state"
        )
    return ""


def _resumes(subject: Subject) -> str:
    spec, data = subject.spec(), made_data(real=False)

    def stop(iteration: int, recorder: Recorder, seconds: float) -> None:
        if iteration == 5:
            raise _Stop

    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(folder) / "checkpoint"
        try:
            execute(spec, data, checkpoint=checkpoint, checkpoint_every=0.0, progress=stop)
        except _Stop:
            resumed = execute(spec, data, checkpoint=checkpoint)
        else:
            return "a run ends before it could be stopped"
    if difference := _difference(subject.run(), resumed):
        raise CheckFailed(
            f"a run that was stopped and resumed differs in {difference}: keep everything that a "
            "step needs in the state, as arrays or numbers"
        )
    return ""


class _Stop(Exception):  # noqa: N818
    """Stops a run as a signal would."""


def _difference(first: Trace, second: Trace) -> str:
    """Return the name of the first quantity in which two traces differ, or an empty string."""
    if not np.array_equal(first.iteration, second.iteration):
        return "their number of iterations"
    for name, values in first.scalars.items():
        if name != "seconds" and not np.array_equal(values, second.scalars[name], equal_nan=True):
            return f"'{name}'"
    assert first.mean is not None
    assert second.mean is not None
    return "" if np.array_equal(first.mean, second.mean) else "the mean"


def _supports_batching(subject: Subject) -> str:
    if not subject.kind.supports_batching:
        return "not declared, so runs are executed separately"
    specs, data = [subject.spec(seed=seed) for seed in range(3)], made_data(real=False)
    for spec, batched in zip(specs, run_trials(specs, data), strict=True):
        (single,) = run_trials([spec], data)
        for name, values, expected in (
            ("mean", batched.state.mean, single.state.mean),
            ("factor", batched.state.factor.lower, single.state.factor.lower),
        ):
            if not np.allclose(values, expected, rtol=1e-9, atol=1e-12, equal_nan=True):
                raise CheckFailed(
                    f"batched runs differ in the {name} from single runs: make the step work on "
                    "the last axes of its arrays, or set `supports_batching` to False"
                )
    return ""


def _reports_divergence(subject: Subject) -> str:
    trace = subject.run(step=HUGE_STEP, iterations=20)
    if not np.isfinite(trace.scalars["objective"]).all():
        raise CheckFailed(f"at step {HUGE_STEP:g} a recorded objective is not finite")
    return f"at step {HUGE_STEP:g} {trace.attrs['status']} ({trace.attrs['reason']})"


CHECKS: dict[str, Callable[[Subject], str]] = {
    "has id, title and reference": _has_metadata,
    "documents its options": _has_documented_options,
    "descends on the linear model": _descends,
    "has the slope of its step": _has_the_slope_of_its_step,
    "has an exact surrogate on the linear model": _has_an_exact_surrogate_on_the_linear_model,
    "stays at the optimum": _stays_at_the_optimum,
    "keeps float32 and float64": _keeps_the_precision,
    "stays on the device": _stays_on_the_device,
    "is reproducible to the bit": _is_reproducible,
    "resumes to the bit": _resumes,
    "supports batched runs": _supports_batching,
    "reports divergence": _reports_divergence,
}
"""Checks by name. Later checks use the step found by "descends on the linear model"."""
