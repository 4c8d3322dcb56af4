"""Save and restore the state of a run, so that a killed run can resume.

A checkpoint contains the iterate and everything recorded so far. The model is evaluated again when
the run resumes, from the same numbers with the same code, so that a resumed run produces a
bit-identical trace (except for times).
"""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import numpy as np

from gvibench.engine.recorder import Recorder
from gvibench.errors import Interrupted, UserError
from gvibench.models.base import Model
from gvibench.numerics.base import Array
from gvibench.numerics.gaussian import CovarianceFactor, Factor, PrecisionFactor
from gvibench.solvers.base import Search, Solver, State
from gvibench.store.checkpoints import KIND
from gvibench.store.zarrzip import Group, StoredGroup, open_zip, write_zip

__all__ = ["Checkpoints", "stop_on_signals"]

FIRST_SECONDS = 10.0
"""Time to the first checkpoint; each later interval is twice as long, up to the maximum."""
EXIT_CODES = {signal.SIGINT: Interrupted.BY_KEYBOARD, signal.SIGTERM: Interrupted.TRY_AGAIN}
FACTORS: dict[str, type[CovarianceFactor] | type[PrecisionFactor]] = {
    "covariance": CovarianceFactor,
    "precision": PrecisionFactor,
}


class Checkpoints:
    """Checkpoint file of one run.

    Parameters
    ----------
    path
        Path of the file.
    identity
        Hashes of spec and code. A checkpoint with another identity is ignored and replaced.
    every
        Maximum number of seconds between checkpoints. The first ones follow each other more
        closely, so that the progress of short runs is visible.
    """

    def __init__(self, path: Path, identity: str, every: float) -> None:
        self._path = path
        self._identity = identity
        self._every = every
        self._wait = min(every, FIRST_SECONDS)
        self._last = time.monotonic()

    def update(self, state: State, recorder: Recorder, seconds: float) -> None:
        """Write a checkpoint if one is due. Raise Interrupted if a stop was requested."""
        stop_signal = _stop_signal
        if stop_signal is None and time.monotonic() - self._last < self._wait:
            return
        group = _to_group(state, recorder, seconds)
        group.attrs |= {"kind": KIND, "identity": self._identity}
        write_zip(self._path, group)
        self._wait = min(self._every, 2 * self._wait)
        self._last = time.monotonic()
        if stop_signal is not None:
            raise Interrupted(
                f"interrupted at iteration {state.iteration}; the same command resumes from "
                f"{self._path}",
                EXIT_CODES[stop_signal],
            )

    def resume(
        self, model: Model, solver: Solver, recorder: Recorder
    ) -> tuple[State, float] | None:
        """Return the saved state and solver time, or None if there is no valid checkpoint."""
        if not self._path.exists():
            return None
        try:
            with open_zip(self._path) as group:
                if group.attrs.get("kind") != KIND or group.attrs.get("identity") != self._identity:
                    return None
                return _from_group(group, model, solver, recorder)
        except (UserError, KeyError, TypeError, ValueError):  # corrupt: start again
            return None


def _to_group(state: State, recorder: Recorder, seconds: float) -> Group:
    to_host = recorder.model.backend.to_host
    kind = next(name for name, factor in FACTORS.items() if isinstance(state.factor, factor))
    memory = state.memory if isinstance(state.memory, tuple) else (state.memory,)
    group = Group(
        {
            "iteration": state.iteration,
            "factor": kind,
            "evaluations": state.evaluations,
            "flow_time": state.flow_time,
            "sign_flips": int(state.sign_flips),
            "step": state.step,
            "search": None if state.search is None else list(state.search[:-1]),
            "seconds": seconds,
            "memory": ["none" if part is None else "array" for part in memory],
            "memory_is_tuple": isinstance(state.memory, tuple),
        }
    )
    _put(group, "mean", to_host(state.mean))
    _put(group, "lower", to_host(state.factor.lower))
    for k, part in enumerate(memory):
        if part is not None:
            _put(group, f"memory_{k}", to_host(part))
    for name, values in recorder.dump().items():
        _put(group.group("recorded"), name, values)
    return group


def _put(group: Group, name: str, values: np.ndarray) -> None:
    group.put(name, values, [f"dim_{k}" for k in range(values.ndim)])


def _from_group(
    group: StoredGroup, model: Model, solver: Solver, recorder: Recorder
) -> tuple[State, float]:
    attrs, backend = group.attrs, model.backend

    def read(name: str) -> Array:
        return backend.asarray(group.read(name))

    factor: Factor = FACTORS[attrs["factor"]](backend, read("lower"))
    parts = tuple(
        None if kind == "none" else _number_or_array(read(f"memory_{k}"))
        for k, kind in enumerate(attrs["memory"])
    )
    state = solver.evaluate(
        model,
        int(attrs["iteration"]),
        read("mean"),
        factor,
        evaluations=float(attrs["evaluations"]),
        flow_time=float(attrs["flow_time"]),
        sign_flips=int(attrs["sign_flips"]),
        step=float(attrs["step"]),
        search=None if attrs["search"] is None else Search(*attrs["search"]),
        memory=parts if attrs["memory_is_tuple"] else parts[0],
    )
    recorder.restore(group.group("recorded").read_all(), state)
    return state, float(attrs["seconds"])


def _number_or_array(values: Array) -> Array | float:
    return float(values) if values.ndim == 0 else values


_stop_signal: signal.Signals | None = None
"""Signal that requested a stop: SIGTERM from a batch system, SIGINT from Ctrl-C."""


@contextmanager
def stop_on_signals() -> Iterator[None]:
    """Stop a run at its next iteration, after a checkpoint, on SIGTERM and SIGINT.

    A second SIGINT stops it immediately.
    """

    def request(number: int, frame: FrameType | None) -> None:
        global _stop_signal
        _stop_signal = signal.Signals(number)
        if number == signal.SIGINT:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    global _stop_signal
    _stop_signal = None
    # Shells make their background jobs ignore Ctrl-C. Keep it that way.
    handled = [number for number in EXIT_CODES if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, request) for number in handled}
    try:
        yield
    finally:
        _stop_signal = None
        for number, handler in before.items():
            signal.signal(number, handler)
