"""Runs from their specification to their trace, one by one or several together."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from gvibench import models, solvers
from gvibench import numerics as backends
from gvibench.engine.checkpointing import Checkpoints
from gvibench.engine.run import Progress, Run, StepResult
from gvibench.errors import Diverged
from gvibench.numerics import Array, Backend
from gvibench.solvers.base import stack, unstack
from gvibench.spec.code import code_hash, machine, versions
from gvibench.spec.run import RunSpec
from gvibench.store.prepared import Prepared
from gvibench.store.traces import Trace

__all__ = ["CHECKPOINT_SECONDS", "execute", "execute_lockstep", "run_code_hash"]

CHECKPOINT_SECONDS = 120.0
"""How often a run keeps its state, unless told otherwise."""
MAY_DIFFER = ("seed", "init_scale", "mean_scale")
"""Where runs start, which runs that take their steps together need not have in common."""


def run_code_hash(spec: RunSpec) -> str:
    """Return the hash of the code this run uses: the loop, its solver, model and expectation.

    A plan takes it once and its jobs carry it, so that plan and trace cannot disagree.
    """
    modules = [__name__, solvers.module_of(spec.solver), *models.modules_of(spec)]
    return code_hash(modules, unused=["gvibench.numerics.cuda_backend"] * (spec.device == "cpu"))


def execute(
    spec: RunSpec,
    data: Prepared,
    *,
    code_hash: str | None = None,
    exclusive: bool = False,
    checkpoint: Path | None = None,
    checkpoint_every: float = CHECKPOINT_SECONDS,
    progress: Progress | None = None,
    no_step: str = "",
) -> Trace:
    """Do the run that `spec` defines on prepared data and return its trace.

    A run that diverges is a result: its trace ends with the last iterate that has an objective and
    says why. `code_hash` is that of the plan (default: `run_code_hash`). `exclusive` is noted in
    the trace; whoever starts the run knows what runs beside it. With a file for a `checkpoint`, the
    run resumes from it if it exists and stores its state in it at intervals; the caller removes it
    once the trace is written. `progress` is told of every iterate, outside the solver's time.
    `no_step` is the reason why tuning found no step: the run then fails at its initial state.
    """
    clock = _Clock()
    code = code_hash or run_code_hash(spec)
    with _settings(spec) as backend:
        checkpoints = None
        if checkpoint is not None:
            identity = f"{spec.spec_hash} {code}"
            checkpoints = Checkpoints(checkpoint, identity, checkpoint_every)
        run = Run(spec, data, backend, checkpoints, progress)
        _start(run, no_step)
        while run.is_active:
            run.advance()
        return _trace(run, data, clock, code, exclusive=exclusive, lockstep_size=1)


def execute_lockstep(
    specs: Sequence[RunSpec],
    data: Prepared,
    *,
    code_hash: str | None = None,
    exclusive: bool = False,
    progress: Sequence[Progress | None] = (),
    no_step: str = "",
) -> list[Trace]:
    """Do several runs on the same data and return their traces.

    Runs that differ in where they start alone take their steps at once, if that pays: their arrays
    are stacked, and what a step costs beside its arithmetic is paid once for all of them. The
    numbers are those of `execute`; the time of a step is shared out evenly. With `exclusive`, by
    which the times are to be those of a run alone, they go one after the other.
    """
    clock = _Clock()
    progress = progress or [None] * len(specs)
    pairs = list(zip(specs, progress, strict=True))
    if not exclusive and len({_in_common(spec) for spec in specs}) == 1:
        with _settings(specs[0]) as backend:
            if Run(specs[0], data, backend).supports_batching:
                code = code_hash or run_code_hash(specs[0])
                runs = [Run(spec, data, backend, progress=told) for spec, told in pairs]
                _run_lockstep(runs, no_step)
                return [
                    _trace(run, data, clock, code, exclusive=False, lockstep_size=len(runs))
                    for run in runs
                ]
    return [
        execute(
            spec,
            data,
            code_hash=code_hash,
            exclusive=exclusive,
            progress=told,
            no_step=no_step,
        )
        for spec, told in pairs
    ]


def _in_common(spec: RunSpec) -> str:
    return spec.model_dump_json(exclude=set(MAY_DIFFER))


def _start(run: Run, no_step: str) -> None:
    run.start()
    if no_step and run.is_active:
        run.end("failed", no_step)


def _run_lockstep(runs: Sequence[Run], no_step: str) -> None:
    for run in runs:
        _start(run, no_step)
    while going := [run for run in runs if run.is_active]:
        _step_lockstep(going)


def _step_lockstep(runs: Sequence[Run]) -> None:
    """Take the next steps of runs that are equally far, up to the next that is recorded.

    If one of them cannot take the next step, all take it alone: this one then ends as it would by
    itself, and the others go on.
    """
    first = runs[0]
    timer = first.model.backend.timer()
    start = state = stack([run.state for run in runs])
    failed = False
    try:
        while state is start or not first.is_recorded(state.iteration):
            timer.start()
            following = first.solver.step(state, first.model, first.step_size(state.iteration))
            timer.stop()
            objectives = first.recorder.objective_of(following).tolist()
            for run, objective in zip(runs, objectives, strict=True):
                run.recorder.check([objective], following.iteration)
            state = following
    except Diverged:
        failed = True
    if state is not start:
        share = timer.read() / len(runs)
        metrics: Sequence[Array | None] = [None] * len(runs)
        if first.recorder.is_due(state.iteration):
            metrics = list(first.model.metrics(state.mean, state.factor, state.oracle))
        for run, own_state, own_metrics in zip(runs, unstack(state), metrics, strict=True):
            run.advance(StepResult(own_state, share, own_metrics))
    if failed:
        for run in runs:
            if run.is_active:
                run.advance()


@contextlib.contextmanager
def _settings(spec: RunSpec) -> Iterator[Backend]:
    """Let a run compute within its threads."""
    backend = backends.select(spec.device, spec.dtype)  # loads the BLAS that is to be limited
    # Overflow is how divergence begins; the run notices it and says so.
    with threadpool_limits(spec.threads), np.errstate(all="ignore"):
        yield backend


class _Clock:
    """Seconds since it was made, on the wall and of the processor."""

    def __init__(self) -> None:
        self._started = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        wall, cpu = self._started
        return time.perf_counter() - wall, time.process_time() - cpu


def _trace(
    run: Run, data: Prepared, clock: _Clock, code: str, *, exclusive: bool, lockstep_size: int
) -> Trace:
    """Return what is left of a run, which shared its time with others if they went together."""
    iterates = run.finish()
    wall, cpu = (seconds / lockstep_size for seconds in clock.read())
    attrs = {
        "spec": run.spec.canonical(),
        "spec_hash": run.spec.spec_hash,
        "code_hash": code,
        "status": run.status,
        "reason": run.reason,
        "iterations_done": run.recorder.iteration[-1],
        "step_used": run.spec.step,
        "solver_form": "dense" if run.reduction is None else "reduced",
        "n_train": len(data.train_y),
        "n_test": len(data.test_y),
        "d": data.train_x.shape[1],
        "device": run.model.backend.name,
        "dtype": run.spec.dtype,
        "threads": run.spec.threads,
        "exclusive": exclusive,
        "lockstep_size": lockstep_size,
        "versions": versions(),
        **machine(),
        "wall_seconds": wall,
        "cpu_seconds": cpu,
        "warmup_seconds": run.warmup_seconds,
    }
    return Trace(np.array(run.recorder.iteration), run.recorder.scalars(), attrs, **iterates)
