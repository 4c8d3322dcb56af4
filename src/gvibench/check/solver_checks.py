"""The checks. Each returns a note for the reader, or raises `Failed` or `LeftOut`.

All problems are small and made here, so that answers are known in closed form.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gvibench import models
from gvibench import numerics as backends
from gvibench.engine.execute import execute, execute_lockstep
from gvibench.engine.recorder import Recorder
from gvibench.errors import UserError
from gvibench.models import Model, Rows
from gvibench.numerics import Backend
from gvibench.solvers import Solver, State, configure
from gvibench.spec.endings import UNUSABLE
from gvibench.spec.run import DataSpec, RunSpec, documentation
from gvibench.store.prepared import Prepared
from gvibench.store.traces import Trace

__all__ = ["CHECKS", "Failed", "LeftOut", "Subject"]

STEPS = (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4)
SMALL_STEP, HUGE_STEP = 1e-3, 1e3
ROWS, FEATURES, BETA = 40, 4, 0.5
DATA = DataSpec(dataset="conformance")


class Failed(Exception):  # noqa: N818  (a finding)
    """The solver does not do what it must."""


class LeftOut(Exception):  # noqa: N818  (a finding)
    """The check cannot be made here."""


@dataclass
class Subject:
    """The solver under examination."""

    name: str
    kind: type[Solver]
    step: float = STEPS[-1]
    """One at which it descends, once that is known."""

    def spec(self, **changes: Any) -> RunSpec:
        """Return a short run of the solver."""
        values = {"step": self.step, "iterations": 10, "device": "cpu", **changes}
        return RunSpec(data=DATA, beta=BETA, solver=self.name, **values)

    def run(self, **changes: Any) -> Trace:
        """Do a short run of the solver."""
        spec = self.spec(**changes)
        return execute(spec, _data(spec.model == "linear"))


def _data(real: bool) -> Prepared:
    train, test = _rows(real, seed=0), _rows(real, seed=1)
    return Prepared(DATA, train.x, train.y, test.x, test.y, {})


def _rows(real: bool, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((ROWS, FEATURES))
    y = x @ np.arange(1.0, FEATURES + 1) / FEATURES + rng.standard_normal(ROWS)
    return Rows(x, y if real else np.where(y > 0, 1.0, -1.0))


def _model(spec: RunSpec, backend: Backend, rows: Rows | None = None) -> Model:
    train = _rows(spec.model == "linear", seed=0) if rows is None else rows
    return models.build(spec, backend, train, train)


def _introduces_itself(subject: Subject) -> str:
    kind = subject.kind
    if not issubclass(kind, Solver):
        raise Failed("it is no subclass of gvibench.solvers.Solver")
    if getattr(kind, "id", None) != subject.name:
        raise Failed(
            f"its id is {getattr(kind, 'id', None)!r}, it is installed as {subject.name!r}"
        )
    for attribute in ("title", "reference", "__doc__"):
        if not getattr(kind, attribute, None):
            raise Failed(f"it has no {attribute.strip('_')}")
    return kind.title


def _documents_its_options(subject: Subject) -> str:
    try:
        configure(subject.name, {})
    except UserError as error:
        raise Failed(f"an option has no default ({error})") from error
    texts = documentation(subject.kind)
    if bare := [option for option, text in texts.items() if not text]:
        raise Failed(f"the option '{bare[0]}' has no docstring below it")
    return ", ".join(texts) or "it has none"


def _descends(subject: Subject) -> str:
    best = _linear_optimum(subject)
    for step in STEPS:
        trace = subject.run(model="linear", step=step, iterations=50)
        objective = trace.scalars["objective"]
        rounding = 1e-9 * (1.0 + abs(best))
        if objective.min() < best - rounding:
            raise Failed(
                f"at step {step:g} the objective gets below the optimum, by "
                f"{best - objective.min():.2g}: mean, factor and oracle of a state do not agree"
            )
        gaps = objective - best
        falls = bool(np.all(np.diff(objective) <= rounding)) and gaps[-1] <= 0.5 * gaps[0]
        if trace.attrs["status"] not in UNUSABLE and falls:
            subject.step = step
            return f"gap {gaps[0]:.3g} -> {max(gaps[-1], 0.0):.2g} at step {step:g}"
    raise Failed(
        f"at no step from {STEPS[0]:g} down to {STEPS[-1]:g} does the objective fall in each of 50 "
        "iterations and halve its gap"
    )


def _linear_optimum(subject: Subject) -> float:
    spec = subject.spec(model="linear")
    model = _model(spec, backends.select("cpu"))
    precision = model.train.x.T @ model.train.x + BETA * np.eye(FEATURES)
    mean = np.linalg.solve(precision, model.train.x.T @ model.train.y)
    residual = model.train.y - model.train.x @ mean
    expected_loss = 0.5 * (residual @ residual + BETA * mean @ mean + FEATURES)
    return float(expected_loss + 0.5 * np.linalg.slogdet(precision)[1])


def _stays_at_the_optimum(subject: Subject) -> str:
    # With orthogonal columns of one length the best covariance is a multiple of the identity,
    # where every solver can start.
    rows = _rows(real=True, seed=0)
    x = 3.0 * np.linalg.qr(rows.x)[0]
    model = _model(subject.spec(model="linear"), backends.select("cpu"), Rows(x, rows.y))
    precision = 9.0 + BETA
    mean = x.T @ rows.y / precision
    state = configure(subject.name, {}).init(model, mean, precision**-0.5)
    last = _after_steps(subject, model, state, subject.step)
    lower = last.factor.covariance_lower()
    moved = float(np.abs(last.mean - mean).max())
    spread = float(np.abs(precision * lower @ lower.T - np.eye(FEATURES)).max())
    if not (moved <= 1e-8 and spread <= 1e-8):
        raise Failed(f"three steps from it the mean has moved by {moved:.2g}, V by {spread:.2g}")
    return ""


def _after_steps(subject: Subject, model: Model, state: State, rho: float) -> State:
    """Return the state after three steps."""
    solver = configure(subject.name, {})
    for iteration in (1, 2, 3):
        state = solver.step(state, model, rho)
        if state.iteration != iteration:
            raise Failed("a step does not count itself in `iteration`: return `self.advance(...)`")
    return state


def _keeps_single_precision(subject: Subject) -> str:
    solver, found = configure(subject.name, {}), {}
    for dtype in ("float32", "float64"):
        backend = backends.select("cpu", dtype)
        spec = subject.spec(dtype=dtype)
        model = _model(spec, backend)
        state = solver.init(model, backend.asarray(np.full(FEATURES, 0.1)), 0.5)
        for _ in range(3):
            state = solver.step(state, model, SMALL_STEP)
            for name, array in (("mean", state.mean), ("factor", state.factor.lower)):
                if array.dtype != backend.dtype:
                    raise Failed(f"in a run in {dtype} the {name} is {array.dtype}")
        found[dtype] = float(Recorder(spec, model).objective_of(state))
    single, double = found["float32"], found["float64"]
    if not abs(single - double) <= 1e-3 * (1.0 + abs(double)):
        raise Failed(f"the objective is {single:.8g} in float32, {double:.8g} in float64")
    return ""


def _stays_on_the_device(subject: Subject) -> str:
    try:
        from gvibench.check.strict_backend import StrictBackend, watched_arrays
    except ImportError as error:
        raise LeftOut("array-api-strict is not installed") from error
    spec = subject.spec(expectation="gauss-hermite")

    def ends(backend: Any) -> list[np.ndarray]:
        model = _model(spec, backend)
        mean = backend.asarray(np.full(FEATURES, 0.1))
        backend.sealed = True
        start = configure(subject.name, {}).init(model, mean, 0.5)
        last = _after_steps(subject, model, start, SMALL_STEP)
        backend.sealed = False
        return [backend.to_host(array) for array in (last.mean, last.factor.lower)]

    try:
        with watched_arrays(may_look=subject.kind.adaptive):
            found = ends(StrictBackend())
    except Exception as error:
        hint = "" if subject.kind.adaptive else " (if it must look, set `adaptive = True`)"
        raise Failed(f"a step leaves it: {type(error).__name__}: {error}{hint}") from error
    for one, other in zip(found, ends(backends.select("cpu")), strict=True):
        if not np.allclose(one, other, rtol=1e-8, atol=1e-8):
            raise Failed("its iterates there are others than those of NumPy")
    return "looks at values, as it says" if subject.kind.adaptive else ""


def _repeats_itself(subject: Subject) -> str:
    if difference := _difference(subject.run(), subject.run()):
        raise Failed(f"two equal runs differ in {difference}: is there a random or shared state?")
    return ""


def _resumes(subject: Subject) -> str:
    spec, data = subject.spec(), _data(real=False)

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
            raise LeftOut("it ended before it could be stopped")
    if difference := _difference(subject.run(), resumed):
        raise Failed(
            f"a run that was stopped and resumed differs in {difference}: all that a step needs "
            "must be in the state, as arrays or numbers"
        )
    return ""


class _Stop(Exception):  # noqa: N818
    """As if the run were killed."""


def _difference(one: Trace, other: Trace) -> str:
    """Return what two traces of the same run do not have in common."""
    if not np.array_equal(one.iteration, other.iteration):
        return "how far they get"
    for name, values in one.scalars.items():
        if name != "seconds" and not np.array_equal(values, other.scalars[name], equal_nan=True):
            return f"'{name}'"
    assert one.mean is not None
    assert other.mean is not None
    return "" if np.array_equal(one.mean, other.mean) else "the mean"


def _takes_runs_together(subject: Subject) -> str:
    if not subject.kind.supports_batching:
        return "it does not say that it can, so they go one by one"
    specs, data = [subject.spec(seed=seed) for seed in range(3)], _data(real=False)
    for spec, other in zip(specs, execute_lockstep(specs, data), strict=True):
        for name, values in execute(spec, data).scalars.items():
            if name != "seconds" and not np.allclose(
                values, other.scalars[name], rtol=1e-9, atol=1e-12, equal_nan=True
            ):
                raise Failed(
                    f"batched runs differ in '{name}' from the same runs one by one: make the step "
                    "work on the last axes of its arrays, or set `supports_batching` to False"
                )
    return ""


def _reports_divergence(subject: Subject) -> str:
    trace = subject.run(step=HUGE_STEP, iterations=20)
    if not np.isfinite(trace.scalars["objective"]).all():
        raise Failed(f"at step {HUGE_STEP:g} it records an objective that is not finite")
    return f"at step {HUGE_STEP:g} {trace.attrs['status']} ({trace.attrs['reason']})"


CHECKS: dict[str, Callable[[Subject], str]] = {
    "says who it is": _introduces_itself,
    "documents its options": _documents_its_options,
    "descends on the linear model": _descends,
    "stays at the optimum": _stays_at_the_optimum,
    "keeps to float32 and float64": _keeps_single_precision,
    "stays on the device": _stays_on_the_device,
    "repeats itself to the bit": _repeats_itself,
    "resumes to the bit": _resumes,
    "takes several runs at once": _takes_runs_together,
    "reports divergence, raises nothing": _reports_divergence,
}
"""What is checked, in words; later checks use the step that an earlier one found."""
