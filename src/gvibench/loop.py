"""One run: step, record, stop. Knows no solver by name."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from gvibench import backend as backends
from gvibench import models, solvers
from gvibench.backend import Array, Backend
from gvibench.checkpoints import Checkpoints
from gvibench.datasets.prepared import Prepared
from gvibench.errors import Diverged, UserError
from gvibench.models import Model, Rows
from gvibench.models.reduction import Reduction, reduce_problem
from gvibench.provenance import code_hash, machine, versions
from gvibench.recording import Recorder
from gvibench.solvers import Solver, State
from gvibench.spec import RunSpec, canonical_json
from gvibench.traces import Trace

__all__ = [
    "CHECKPOINT_SECONDS",
    "Progress",
    "execute",
    "initial_mean",
    "is_reduced",
    "run_code_hash",
]

CHECKPOINT_SECONDS = 120.0
"""How often a run keeps its state, unless told otherwise."""
Progress = Callable[[int, Recorder, float], None]
"""Takes the iteration, what has been recorded and the solver's time."""
FACTOR_BYTES = 2_000_000
"""Covariance factors up to this size are stored without being asked for."""


def run_code_hash(spec: RunSpec) -> str:
    """Return the hash of the code this run uses: the loop, its solver, model and expectation."""
    modules = [__name__, solvers.module_of(spec.solver), *models.modules_of(spec)]
    return code_hash(modules, unused=["gvibench.backend.cuda_backend"] * (spec.device == "cpu"))


def initial_mean(spec: RunSpec, d: int) -> np.ndarray:
    """Return m0, which depends on seed, scale and dimension only: one for all solvers."""
    return spec.mean_scale * np.random.default_rng(spec.seed).standard_normal(d)


def execute(
    spec: RunSpec,
    data: Prepared,
    *,
    exclusive: bool = False,
    checkpoint: Path | None = None,
    checkpoint_every: float = CHECKPOINT_SECONDS,
    progress: Progress | None = None,
) -> Trace:
    """Do the run that `spec` defines on prepared data and return its trace.

    A run that diverges is a result: its trace ends with the last iterate that has an objective and
    says why. `exclusive` is noted in the trace; whoever starts the run knows what runs beside it.
    With a file for a `checkpoint`, the run goes on from it if it is there and keeps its state in it
    now and then; the caller removes it once the trace is written. `progress` is told of every
    iterate, outside the solver's time.
    """
    if data.spec != spec.data:
        raise UserError(
            f"the prepared data are of {canonical_json(data.spec)}, "
            f"the run asks for {canonical_json(spec.data)}: prepare the data anew"
        )
    started, cpu_started = time.perf_counter(), time.process_time()
    backend = backends.select(spec.device, spec.dtype)  # loads the BLAS that is to be limited
    # Overflow is how divergence begins; the loop notices it and says so.
    with threadpool_limits(spec.threads), np.errstate(all="ignore"):
        setup = _set_up(spec, data, backend)
        recorder = Recorder(spec, setup.model)
        checkpoints = None
        if checkpoint is not None:
            identity = f"{spec.spec_hash} {run_code_hash(spec)}"
            checkpoints = Checkpoints(checkpoint, identity, checkpoint_every)
        ending = _iterate(spec, setup, recorder, checkpoints, progress)
        arrays = _iterates(spec, setup, recorder)
    attrs = {
        "spec": spec.canonical(),
        "spec_hash": spec.spec_hash,
        "code_hash": run_code_hash(spec),
        "status": ending.status,
        "reason": ending.reason,
        "iterations_done": recorder.iteration[-1],
        "step_used": spec.step,
        "solver_form": "dense" if setup.reduction is None else "reduced",
        "n_train": len(data.train_y),
        "n_test": len(data.test_y),
        "d": data.train_x.shape[1],
        "device": setup.model.backend.name,
        "dtype": spec.dtype,
        "threads": spec.threads,
        "exclusive": exclusive,
        "versions": versions(),
        **machine(),
        "wall_seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - cpu_started,
        "warmup_seconds": ending.warmup_seconds,
    }
    return Trace(np.array(recorder.iteration), recorder.scalars(), attrs, **arrays)


@dataclass(frozen=True)
class _Setup:
    """Everything a run needs before its first step."""

    model: Model
    solver: Solver
    mean: Array
    reduction: Reduction | None


@dataclass(frozen=True)
class _Ending:
    """How a run ended."""

    status: str
    reason: str
    warmup_seconds: float


def _set_up(spec: RunSpec, data: Prepared, backend: Backend) -> _Setup:
    solver = solvers.configure(spec.solver, spec.solver_options)
    train, test = Rows(data.train_x, data.train_y), Rows(data.test_x, data.test_y)
    n, d = data.train_x.shape
    mean = initial_mean(spec, d)
    reduction = None
    if is_reduced(spec, solver, n, d):
        reduction = reduce_problem(data.train_x, data.test_x, mean)
        train, test = train._replace(x=reduction.train_x), test._replace(x=reduction.test_x)
        mean = reduction.mean
    multiplicity = 1 if reduction is None else reduction.multiplicity
    model = models.build(spec, backend, train, test, multiplicity=multiplicity)
    return _Setup(model, solver, backend.asarray(mean), reduction)


def is_reduced(spec: RunSpec, solver: Solver, n: int, d: int) -> bool:
    """Decide on the form of the run, or say why it cannot have the one it asks for."""
    possible = (
        (solver.rotation_invariant or solver.rotated)
        and models.model_class(spec.model).rotation_invariant
        # A stochastic run draws in the coordinates it works in: other coordinates, another run.
        and (spec.expectation != "stochastic" or solver.rotated)
    )
    wanted = spec.form == "reduced" or solver.rotated
    if wanted and (not possible or (spec.form == "dense" and solver.rotated)):
        raise UserError(
            f"solver '{spec.solver}' cannot work in the basis of the rows with model "
            f"'{spec.model}', expectation '{spec.expectation}' and form '{spec.form}': "
            "choose another solver or form"
        )
    reduced = wanted or (possible and spec.form == "auto" and d > n)
    if reduced and "covariance_factor_path" in spec.record:
        raise UserError(
            "'covariance_factor_path' cannot be recorded of a run in the basis of the rows: "
            "use form 'dense', or do not record it"
        )
    return reduced


def _iterate(
    spec: RunSpec,
    setup: _Setup,
    recorder: Recorder,
    checkpoints: Checkpoints | None,
    progress: Progress | None,
) -> _Ending:
    model, solver = setup.model, setup.solver
    resumed = checkpoints.resume(model, solver, recorder) if checkpoints else None
    state, seconds = resumed or (solver.init(model, setup.mean, spec.init_scale), 0.0)
    warmup_seconds = _warm_up(spec, setup, state)
    status, reason = "completed", f"{spec.iterations} iterations done"
    stretch = model.backend.steps_between_looks
    failing = 0  # the iteration to blame when something diverges
    try:
        if resumed is None:
            recorder.start(state)
        while state.iteration < spec.iterations:
            failing = state.iteration + 1
            try:
                following, elapsed = _advance(spec, setup, recorder, state, stretch)
                if recorder.wants(following.iteration):
                    recorder.record(following, seconds + elapsed)
            except Diverged:
                if stretch == 1:
                    raise
                stretch = 1  # once more from the last good state, to find the first that is not
                continue
            state, seconds = following, seconds + elapsed
            if ended := _reason_to_stop(spec, recorder, seconds):
                reason = ended
                break
            if checkpoints is not None:
                checkpoints.update(state, recorder, seconds)
            if progress is not None:
                progress(state.iteration, recorder, seconds)
    except Diverged as cause:
        status, reason = "diverged", f"at iteration {failing}: {cause}"
    recorder.finish(state, seconds)
    return _Ending(status, reason, warmup_seconds)


def _advance(
    spec: RunSpec, setup: _Setup, recorder: Recorder, state: State, steps: int
) -> tuple[State, float]:
    """Take so many steps, at most to the next recorded one; only then look at how they went.

    Returns the last state and the solver's time.
    """
    timer = setup.model.backend.timer()
    objectives = []
    for _ in range(steps):
        rho = spec.step / (1.0 + spec.step_decay * state.iteration)
        timer.start()
        state = setup.solver.step(state, setup.model, rho)
        timer.stop()
        objectives.append(recorder.objective_of(state))
        if state.iteration == spec.iterations or recorder.wants(state.iteration):
            break
    recorder.check(objectives)
    return state, timer.read()


def _reason_to_stop(spec: RunSpec, recorder: Recorder, seconds: float) -> str:
    if spec.seconds is not None and seconds >= spec.seconds:
        return f"{spec.seconds:g} s of solver time used"
    if spec.tolerance is not None and recorder.grad_norm <= spec.tolerance:
        return f"gradient norm {recorder.grad_norm:.3g} within tolerance {spec.tolerance:g}"
    return ""


def _warm_up(spec: RunSpec, setup: _Setup, state: State) -> float:
    """Take one step and forget it: code is compiled and caches are warm when the clock starts."""
    timer = setup.model.backend.timer()
    timer.start()
    with contextlib.suppress(Diverged):  # the run itself will find out, and say so
        setup.solver.step(state, setup.model, spec.step)
    timer.stop()
    return timer.read()


def _iterates(spec: RunSpec, setup: _Setup, recorder: Recorder) -> dict[str, Any]:
    """Return the means and factors that the trace keeps."""
    if not spec.snapshots:
        return {}
    means = np.array(recorder.means)
    factors: dict[str, np.ndarray] = {}
    backend, d = setup.model.backend, setup.model.d
    asked = "covariance_factor" in spec.record
    if asked or d * d * 8 <= FACTOR_BYTES:
        name = "covariance_factor" if setup.reduction is None else "reduced_factor"
        factors[name] = backend.to_host(recorder.last.factor.covariance_lower())
    if recorder.factors and setup.reduction is None:
        factors["covariance_factor_path"] = np.array(recorder.factors)
    if setup.reduction is not None:
        means = setup.reduction.lift(means)
    return {"snapshot": np.array(recorder.snapshot), "mean": means, "factors": factors}
