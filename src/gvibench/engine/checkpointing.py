"""A run that was killed resumes where it was: its state, kept beside its output.

A checkpoint holds the iterate and what has been recorded so far. What a state knows about the model
is computed again on resuming, from the same numbers by the same code, so that a resumed run ends
with the trace of an undisturbed one, bit for bit (times apart).
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
from gvibench.models import METRICS, Model
from gvibench.numerics import Array
from gvibench.numerics.gaussian import CovarianceFactor, Factor, PrecisionFactor
from gvibench.solvers import Solver, State
from gvibench.store.zarrzip import Group, StoredGroup, open_zip, write_zip

__all__ = [
    "Checkpoints",
    "checkpoint_iteration",
    "checkpoint_objectives",
    "checkpoint_path",
    "stop_on_signals",
]

KIND = "gvibench checkpoint"
FIRST_SECONDS = 10.0
"""How long a run waits with its first checkpoint; with each further one twice as long."""
EXIT_CODES = {signal.SIGINT: Interrupted.BY_KEYBOARD, signal.SIGTERM: Interrupted.TRY_AGAIN}
FACTORS: dict[str, type[CovarianceFactor] | type[PrecisionFactor]] = {
    "covariance": CovarianceFactor,
    "precision": PrecisionFactor,
}


def checkpoint_path(out: Path) -> Path:
    """Return where the checkpoint of the run that writes `out` lives."""
    return out.with_name(f".{out.name}.checkpoint")


def checkpoint_iteration(out: Path) -> int | None:
    """Return the iteration that the run which writes `out` would resume from, if there is one."""
    try:
        with open_zip(checkpoint_path(out)) as group:
            return int(group.attrs["iteration"])
    except (UserError, KeyError, TypeError, ValueError):
        return None


def checkpoint_objectives(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the iterations that a checkpoint has records of, and their objectives."""
    with open_zip(path) as group:
        recorded = group.group("recorded")
        return recorded.read("iteration"), recorded.read("rows")[:, METRICS.index("objective")]


class Checkpoints:
    """Keeps the state of one run in one file.

    Parameters
    ----------
    path
        The file.
    identity
        Hashes of spec and code: a checkpoint of anything else is ignored and replaced.
    every
        Seconds between checkpoints. The first ones come sooner, so that the progress of a run of a
        minute can be seen.
    """

    def __init__(self, path: Path, identity: str, every: float) -> None:
        self._path = path
        self._identity = identity
        self._every = every
        self._wait = min(every, FIRST_SECONDS)
        self._last = time.monotonic()

    def update(self, state: State, recorder: Recorder, seconds: float) -> None:
        """Keep the state if it is time to; if the run was told to stop, keep it and stop."""
        told_to_stop = _stop_signal
        if told_to_stop is None and time.monotonic() - self._last < self._wait:
            return
        group = _to_group(state, recorder, seconds)
        group.attrs |= {"kind": KIND, "identity": self._identity}
        write_zip(self._path, group)
        self._wait = min(self._every, 2 * self._wait)
        self._last = time.monotonic()
        if told_to_stop is not None:
            raise Interrupted(
                f"interrupted at iteration {state.iteration}; the same command resumes from "
                f"{self._path}",
                EXIT_CODES[told_to_stop],
            )

    def resume(
        self, model: Model, solver: Solver, recorder: Recorder
    ) -> tuple[State, float] | None:
        """Return the kept state and the solver's time so far, or nothing to start from."""
        if not self._path.exists():
            return None
        try:
            with open_zip(self._path) as group:
                if group.attrs.get("kind") != KIND or group.attrs.get("identity") != self._identity:
                    return None
                return _from_group(group, model, solver, recorder)
        except (UserError, KeyError, TypeError, ValueError):  # damaged: the run starts again
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
        evaluations=int(attrs["evaluations"]),
        flow_time=float(attrs["flow_time"]),
        sign_flips=int(attrs["sign_flips"]),
        memory=parts if attrs["memory_is_tuple"] else parts[0],
    )
    recorder.restore(group.group("recorded").read_all(), state)
    return state, float(attrs["seconds"])


def _number_or_array(values: Array) -> Array | float:
    return float(values) if values.ndim == 0 else values


# Batch systems send SIGTERM some time before they kill; Ctrl-C sends SIGINT.

_stop_signal: signal.Signals | None = None


@contextmanager
def stop_on_signals() -> Iterator[None]:
    """Let SIGTERM and SIGINT end the runs within at their next iteration, after a checkpoint.

    A second SIGINT does not wait for that.
    """

    def request(number: int, frame: FrameType | None) -> None:
        global _stop_signal
        _stop_signal = signal.Signals(number)
        if number == signal.SIGINT:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    global _stop_signal
    _stop_signal = None
    # A shell lets its background jobs ignore Ctrl-C, and so should we.
    heeded = [one for one in EXIT_CODES if signal.getsignal(one) is not signal.SIG_IGN]
    before = {number: signal.signal(number, request) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
