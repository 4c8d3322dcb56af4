"""Record metrics and snapshots of a run."""

import contextlib
import dataclasses
import math
from collections.abc import Callable

import numpy as np

from gvibench.engine.endings import Descent
from gvibench.errors import Diverged
from gvibench.models.base import Model
from gvibench.numerics.base import Array
from gvibench.solvers.base import State
from gvibench.spec.metrics import METRICS
from gvibench.spec.run import RunSpec

__all__ = ["Recorder"]

LOG_POINTS = 200
"""Number of records of a logarithmic schedule, before duplicates are removed."""
BLOW_UP = 1e6
"""Increase of the objective, relative to the size of its initial value, above which a run has
diverged. A run that ends above its start by less has failed (see `endings`)."""


class Recorder:
    """Buffers of the recorded iterates. All recorded objectives are finite, except the first."""

    def __init__(self, spec: RunSpec, model: Model) -> None:
        self.model = model
        self._extras = [name for name in spec.record if name in EXTRA_SCALARS]
        self._stores_means = spec.snapshots > 0
        self._stores_factors = self._stores_means and "covariance_factor_path" in spec.record
        self._every = spec.record_every
        self._schedule = _log_spaced(spec.iterations, LOG_POINTS)
        self._snapshots = _log_spaced(spec.iterations, spec.snapshots - 1)
        self._limit = math.inf
        self._rows: list[np.ndarray] = []
        self._seconds: list[float] = []
        self.last: State
        """Last recorded state."""
        self.descent: Descent
        """Progress of the objective."""
        self.iteration: list[int] = []
        self.snapshot: list[int] = []
        self.means: list[np.ndarray] = []
        self.factors: list[np.ndarray] = []

    def wants(self, iteration: int) -> bool:
        """Return whether the schedules contain this iteration, for metrics or for a snapshot.

        The last iteration is always recorded.
        """
        return self.is_due(iteration) or iteration in self._snapshots

    def is_due(self, iteration: int) -> bool:
        """Return whether the schedule of the metrics contains this iteration."""
        if self._every == "log":
            return iteration in self._schedule
        return iteration % self._every == 0

    def start(self, state: State) -> None:
        """Record the initial state and set the limit above which the objective has blown up."""
        self._store(state, self._measure(state), 0.0)
        self._take_snapshot(state)
        first = self.objective
        self._limit = first + BLOW_UP * (1.0 + abs(first))
        rounding = float(np.finfo(self.model.backend.dtype).eps)
        self.descent = Descent.start(first, rounding)
        self._check(first)

    def record(self, state: State, seconds: float, metrics: Array | None = None) -> None:
        """Record metrics and a snapshot if they are due. Raise `Diverged` if the run has diverged.

        `metrics` are the metrics of the model, if they have already been computed.
        """
        if self.is_due(state.iteration):
            self._record_metrics(state, seconds, metrics)
        if state.iteration in self._snapshots:
            self._take_snapshot(state)

    def _record_metrics(self, state: State, seconds: float, metrics: Array | None = None) -> None:
        row = self._measure(state, metrics)
        self._check(float(row[0]))
        self._store(state, row, seconds)
        self.descent.update(state.iteration, float(row[0]))

    def finish(self, state: State, seconds: float) -> None:
        """Record the last state even if it is not due, unless its objective is not finite."""
        if state.iteration != self.iteration[-1]:
            with contextlib.suppress(Diverged):
                self._record_metrics(state, seconds)
        # The last snapshot must be the last record. Drop snapshots after it, whose objective was
        # not finite.
        while self.snapshot and self.snapshot[-1] > self.last.iteration:
            self._drop_snapshot()
        if self.snapshot and self.last.iteration != self.snapshot[-1]:
            self._take_snapshot(self.last)

    def objective_of(self, state: State) -> Array:
        """Return the objective of a state, on the device."""
        return self.model.objectives(state.mean, state.factor, state.oracle.value).objective

    def check(self, objectives: list[Array], last_iteration: int) -> None:
        """Raise `Diverged` if an objective is not finite or has blown up.

        The objectives belong to consecutive states up to `last_iteration`. Each state must be
        checked once, so that neither the iteration of divergence nor the status depends on the
        schedule.
        """
        if len(objectives) == 1:
            values = [float(objectives[0])]
        else:
            backend = self.model.backend
            values = backend.to_host(backend.xp.stack(objectives)).tolist()
        for iteration, objective in enumerate(values, start=last_iteration - len(values) + 1):
            self._check(objective)
            if self.model.sampling is None:  # an estimate from a few rows can be low by chance
                self.descent.update(iteration, objective)

    def _check(self, objective: float) -> None:
        if not math.isfinite(objective):
            raise Diverged("the objective is not finite")
        if objective > self._limit:
            raise Diverged(f"the objective has blown up to {objective:.3g}")

    @property
    def objective(self) -> float:
        """Objective of the last recorded state."""
        return float(self._rows[-1][0])

    @property
    def grad_norm(self) -> float:
        """Gradient norm of the last recorded state."""
        return float(self._rows[-1][METRICS.index("grad_norm")])

    def scalars(self) -> dict[str, np.ndarray]:
        """Return the recorded values along the iterations, by name."""
        table = np.array(self._rows)
        columns = {name: table[:, k] for k, name in enumerate([*METRICS, *self._extras])}
        return {**columns, "seconds": np.array(self._seconds)}

    def dump(self) -> dict[str, np.ndarray]:
        """Return everything recorded so far as arrays, for a checkpoint."""
        arrays = {
            "rows": np.array(self._rows),
            "seconds": np.array(self._seconds),
            "iteration": np.array(self.iteration),
            "snapshot": np.array(self.snapshot, dtype=np.int64),
            "means": np.array(self.means),
            "factors": np.array(self.factors),
            "limit": np.array(self._limit),
            "descent": np.array(dataclasses.astuple(self.descent)),
        }
        return {name: values for name, values in arrays.items() if values.size}

    def restore(self, dumped: dict[str, np.ndarray], state: State) -> None:
        """Restore what `dump` returned. `state` is the state from which the run resumes."""
        # Read everything first, so that an incomplete checkpoint leaves the recorder unchanged.
        needed = ("rows", "seconds", "iteration", "limit", "descent")
        rows, seconds, iteration, limit, descent = (dumped[name] for name in needed)
        first, rounding, best, best_iteration = descent.tolist()
        self.descent = Descent(first, rounding, best, int(best_iteration))
        self._rows = list(rows)
        self._seconds = seconds.tolist()
        self.iteration = iteration.tolist()
        self.snapshot = dumped["snapshot"].tolist() if "snapshot" in dumped else []
        self.means = list(dumped.get("means", []))
        self.factors = list(dumped.get("factors", []))
        self._limit = float(limit)
        self.last = state

    def _measure(self, state: State, metrics: Array | None = None) -> np.ndarray:
        model, xp = self.model, self.model.backend.xp
        if metrics is None:
            metrics = model.metrics(state.mean, state.factor, state.oracle)
        extras = [xp.asarray(EXTRA_SCALARS[name](model, state)) for name in self._extras]
        row = xp.concatenate([metrics, xp.stack(extras)]) if extras else metrics
        return model.backend.to_host(row)

    def _store(self, state: State, row: np.ndarray, seconds: float) -> None:
        self.last = state
        self.iteration.append(state.iteration)
        self._rows.append(row)
        self._seconds.append(seconds)

    def _take_snapshot(self, state: State) -> None:
        if not self._stores_means:
            return
        to_host = self.model.backend.to_host
        self.snapshot.append(state.iteration)
        self.means.append(to_host(state.mean))
        if self._stores_factors:
            self.factors.append(to_host(state.factor.covariance_lower()))

    def _drop_snapshot(self) -> None:
        self.snapshot.pop()
        self.means.pop()
        if self._stores_factors:
            self.factors.pop()


def _log_spaced(last: int, count: int) -> frozenset[int]:
    if last < 1 or count < 1:
        return frozenset()
    return frozenset(np.rint(np.geomspace(1, last, count)).astype(int).tolist())


def _eigenvalues(model: Model, state: State) -> Array:
    # Squared singular values of the factor are accurate for small eigenvalues, too.
    root = state.factor.covariance_lower()
    return model.backend.xp.linalg.svd(root, compute_uv=False) ** 2


def _factor_norm(model: Model, state: State) -> Array:
    extra = (model.multiplicity - 1) * state.factor.last_variance()
    return model.backend.xp.sqrt(state.factor.variances_total() + extra)


def _data_passes(model: Model, state: State) -> float:
    share = 1.0 if model.sampling is None else min(model.sampling.batch, model.n) / model.n
    return state.evaluations * share


EXTRA_SCALARS: dict[str, Callable[[Model, State], Array]] = {
    "cov_eig_min": lambda model, state: _eigenvalues(model, state)[-1],
    "cov_eig_max": lambda model, state: _eigenvalues(model, state)[0],
    "factor_norm": _factor_norm,
    "sign_flips": lambda model, state: state.sign_flips,
    "data_passes": _data_passes,
    "flow_time": lambda model, state: state.flow_time,
    "objective_exact": lambda model, state: model.exact_objective(state.mean, state.factor),
}
