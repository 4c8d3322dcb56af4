"""Execute one run: from its specification to its trace."""

import contextlib
import functools
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from threadpoolctl import ThreadpoolController

from gvibench import numerics
from gvibench.engine.checkpointing import Checkpoints
from gvibench.engine.run import Progress, Run
from gvibench.numerics.base import Backend
from gvibench.spec.run import RunSpec
from gvibench.store.prepared import Prepared
from gvibench.store.provenance import machine, versions
from gvibench.store.traces import Trace

__all__ = ["CHECKPOINT_SECONDS", "Clock", "backend_of", "build_trace", "execute"]

CHECKPOINT_SECONDS = 120.0
"""Default interval between checkpoints."""


def execute(
    spec: RunSpec,
    data: Prepared,
    *,
    code_hash: str = "",
    exclusive: bool = False,
    checkpoint: Path | None = None,
    checkpoint_every: float = CHECKPOINT_SECONDS,
    progress: Progress | None = None,
    no_step: str = "",
) -> Trace:
    """Execute a run on prepared data and return its trace.

    A run that diverges is a result: its trace ends with the last iterate that has a finite
    objective and contains the reason.

    Parameters
    ----------
    spec
        Specification of the run.
    data
        Prepared data of `spec.data`.
    code_hash
        Hash of the code of the run, computed by the caller and stored in the trace.
    exclusive
        Whether nothing else runs on the machine; stored in the trace.
    checkpoint
        File to resume from and to save the state to. The caller removes it after writing the trace.
    checkpoint_every
        Seconds between checkpoints.
    progress
        Function that is called after each step, outside the solver time.
    no_step
        Reason why tuning found no step size. The run then fails at its initial state.
    """
    with backend_of(spec) as backend:
        checkpoints = None
        if checkpoint is not None:
            identity = f"{spec.spec_hash} {code_hash} {data.content_hash}"
            checkpoints = Checkpoints(checkpoint, identity, checkpoint_every)
        run = Run(spec, data, backend, checkpoints, progress)
        clock = Clock()  # Building the run has imported all code and loaded the kernels.
        run.start(no_step)
        while run.is_active:
            run.step()
        return build_trace(run, data, clock, code_hash, exclusive=exclusive)


@contextlib.contextmanager
def backend_of(spec: RunSpec) -> Iterator[Backend]:
    """Select the backend and limit BLAS threads for the duration of a run."""
    backend = numerics.select(spec.device, spec.dtype)  # loads the BLAS that is then limited
    # A run that diverges overflows first. It checks its objective, so warnings are not needed.
    with _thread_pools().limit(limits=spec.threads), np.errstate(all="ignore"):
        yield backend


@functools.cache
def _thread_pools() -> ThreadpoolController:
    """Return the thread pools of this process. Searching for them takes as long as a small run."""
    return ThreadpoolController()


class Clock:
    """Wall and CPU seconds since its creation."""

    def __init__(self) -> None:
        self._started = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        """Return wall and CPU seconds."""
        wall, cpu = self._started
        return time.perf_counter() - wall, time.process_time() - cpu


def build_trace(
    run: Run, data: Prepared, clock: Clock, code_hash: str, *, exclusive: bool
) -> Trace:
    """Build the trace of a finished run."""
    iterates = run.finish()
    wall, cpu = clock.read()
    attrs = {
        "spec": run.spec.canonical(),
        "spec_hash": run.spec.spec_hash,
        "code_hash": code_hash,
        "data_hash": data.content_hash,
        "status": run.status,
        "reason": run.reason,
        "iterations_done": run.recorder.iteration[-1],
        "step_used": run.spec.step,
        **run.trial_counts(),
        "results": run.solver.results(run.state),
        "solver_form": "dense" if run.reduction is None else "reduced",
        "n_train": len(data.train_y),
        "n_test": len(data.test_y),
        "d": data.train_x.shape[1],
        "device": run.model.backend.name,
        "dtype": run.spec.dtype,
        "threads": run.spec.threads,
        "exclusive": exclusive,
        "versions": versions(),
        **machine(),
        "wall_seconds": wall,
        "cpu_seconds": cpu,
        "warmup_seconds": run.warmup_seconds,
    }
    if iterates.get("mean") is not None and data.attrs.get("encoding"):
        attrs["feature_names"] = list(data.attrs["feature_names"])
    return Trace(np.array(run.recorder.iteration), run.recorder.scalars(), attrs, **iterates)
