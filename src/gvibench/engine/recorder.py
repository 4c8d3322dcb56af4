"""Record metrics and snapshots of a run."""

import contextlib
import dataclasses
import math
from array import array
from collections.abc import Callable

import numpy as np

from gvibench.engine.endings import Descent
from gvibench.engine.schedule import Schedule
from gvibench.errors import Diverged
from gvibench.models.base import Model
from gvibench.models.protocols import Objectives, Oracle
from gvibench.numerics.base import Array
from gvibench.solvers.base import State
from gvibench.spec.metrics import METRICS, TEST_METRICS
from gvibench.spec.run import RunSpec

__all__ = ["Recorder"]

BLOW_UP = 1e6
"""Increase of the objective, relative to the size of its initial value, above which a run has
diverged. A run that ends above its start by less has failed (see `endings`)."""
FIRST_TEST = METRICS.index(TEST_METRICS[0])
"""Column of the first test metric. The others follow it."""
OF_STEPS = ("evaluations", "step")
"""Columns whose values are known on the host."""
NO_TEST = [math.nan] * len(TEST_METRICS)
"""Test metrics of a record at which they are not due."""


class Recorder:
    """Buffers of the recorded iterates. All recorded objectives are finite, except the first.

    Parameters
    ----------
    spec
        Specification of the run, with its recording schedule.
    model
        Model of the run.
    objective_only
        Whether to record only the objective and, if the run has a tolerance, the gradient norm.
    """

    def __init__(self, spec: RunSpec, model: Model, objective_only: bool = False) -> None:
        if objective_only:
            spec = spec.replace(snapshots=0, record=())
        self.model = model
        self.objective_only = objective_only
        self._schedule = Schedule(spec)
        self._extras = [name for name in spec.record if name in EXTRA_SCALARS]
        self._columns = [*METRICS, *self._extras, *OF_STEPS]
        if objective_only:
            self._columns = ["objective"] if spec.tolerance is None else ["objective", "grad_norm"]
        self._stores_means = spec.snapshots > 0
        self._stores_factors = self._stores_means and "covariance_factor_path" in spec.record
        self._ends_early = objective_only and spec.gamma > 0 and model.sampling is None
        self._limit = math.inf
        self._numbers = array("d")  # the rows of the table of records, one after the other
        self._seconds: list[float] = []
        self._restored_test: list[float] = []
        self.last: State
        """Last recorded state."""
        self.descent: Descent
        """Progress of the objective."""
        self.settled_norm = math.inf
        """Gradient norm of the last state at which the objective of a trial had settled."""
        self.iteration: list[int] = []
        self.snapshot: list[int] = []
        self.means: list[np.ndarray] = []
        self.factors: list[np.ndarray] = []

    def wants(self, iteration: int) -> bool:
        """Return whether the schedules contain this iteration, for metrics or for a snapshot.

        The last iteration is always recorded.
        """
        return self._schedule.records(iteration) or self._schedule.has_snapshot(iteration)

    def is_due(self, iteration: int) -> bool:
        """Return whether the schedule of the metrics contains this iteration."""
        return self._schedule.records(iteration)

    def start(self, state: State) -> None:
        """Record the initial state and set the limit above which the objective has blown up."""
        self._store(state, self.measure(state), 0.0)
        self._take_snapshot(state)
        first = self.objective
        self._limit = first + BLOW_UP * (1.0 + abs(first))
        rounding = float(np.finfo(self.model.backend.dtype).eps)
        self.descent = Descent.start(first, rounding)
        self._check(first)

    def record(
        self,
        state: State,
        seconds: float,
        objectives: Objectives | None = None,
        metrics: Array | None = None,
    ) -> None:
        """Record metrics and a snapshot if they are due. Raise `Diverged` if the run has diverged.

        `objectives` are those of the state, and `metrics` is the result of `measure`, if they have
        already been computed.
        """
        if self._schedule.records(state.iteration):
            self._record_metrics(state, seconds, objectives, metrics)
        if self._schedule.has_snapshot(state.iteration):
            self._take_snapshot(state)

    def _record_metrics(
        self,
        state: State,
        seconds: float,
        objectives: Objectives | None = None,
        metrics: Array | None = None,
    ) -> None:
        if metrics is None:
            metrics = self.measure(state, objectives)
        if self.model.sampling is not None:  # `check` has seen an estimate
            objective = float(metrics[0])
            self._check(objective)
            self.descent.update(state.iteration, objective)
        before = self.iteration[-1], self.objective
        self._store(state, metrics, seconds)
        if self._ends_early and self._has_settled(*before):
            self.settled_norm = float(self.model.fisher_norm(state.factor, state.oracle))

    def _has_settled(self, previous_iteration: int, previous_objective: float) -> bool:
        """Return whether the objective hardly changed up to a point of the logarithmic schedule."""
        change = abs(self.objective - previous_objective)
        return change <= self.descent.min_decrease() and self._schedule.passes_log_point(
            previous_iteration, self.iteration[-1]
        )

    def finish(self, state: State, seconds: float) -> None:
        """Record the last state even if it is not due, unless its objective is not finite."""
        if state.iteration != self.iteration[-1]:
            with contextlib.suppress(Diverged):
                self._record_metrics(state, seconds)
        if not self.objective_only:
            first = len(self._numbers) - len(self._columns) + FIRST_TEST
            self._numbers[first : first + len(TEST_METRICS)] = array("d", self._test_of_last())
        # The last snapshot must be the last record. Drop snapshots after it, whose objective was
        # not finite.
        while self.snapshot and self.snapshot[-1] > self.last.iteration:
            self._drop_snapshot()
        if self.snapshot and self.last.iteration != self.snapshot[-1]:
            self._take_snapshot(self.last)

    def objectives_of(self, state: State) -> Objectives:
        """Return the objectives of a state, on the device."""
        if state.search is not None and state.search.objectives is not None:
            return state.search.objectives
        return self.model.objectives(state.mean, state.factor, state.oracle.value)

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
        return self._numbers[-len(self._columns)]

    @property
    def grad_norm(self) -> float:
        """Gradient norm of the last recorded state, computed now if it is not recorded."""
        if "grad_norm" in self._columns:
            return self._numbers[self._columns.index("grad_norm") - len(self._columns)]
        oracle = self._full_oracle(self.last)
        return float(self.model.fisher_norm(self.last.factor, oracle))

    def scalars(self) -> dict[str, np.ndarray]:
        """Return the recorded values along the iterations, by name."""
        table = self._table()
        columns = {name: table[:, k] for k, name in enumerate(self._columns)}
        if not self.objective_only:
            columns["data_passes"] = columns["evaluations"] * self.model.passes_per_evaluation
        return {**columns, "seconds": np.array(self._seconds)}

    def dump(self) -> dict[str, np.ndarray]:
        """Return everything recorded so far as arrays, for a checkpoint."""
        arrays = {
            "rows": self._table(),
            "last_test": np.array([] if self.objective_only else self._test_of_last()),
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
        self._numbers = array("d", rows.ravel())
        self._restored_test = list(dumped.get("last_test", []))
        self._seconds = seconds.tolist()
        self.iteration = iteration.tolist()
        self.snapshot = dumped["snapshot"].tolist() if "snapshot" in dumped else []
        self.means = list(dumped.get("means", []))
        self.factors = list(dumped.get("factors", []))
        self._limit = float(limit)
        self.last = state

    def measure(self, state: State, objectives: Objectives | None = None) -> Array:
        """Return the metrics that are due at a state, on the device.

        The state may be a stack of states of runs with the same schedule. `objectives` are those of
        the state if they have already been computed.
        """
        model = self.model
        if not self.objective_only:
            tests = self._schedule.tests(self.iteration, state.iteration)
            return model.metrics(
                state.mean, state.factor, state.oracle, objectives, with_test=tests
            )
        oracle = self._full_oracle(state)
        if objectives is None or oracle is not state.oracle:
            objectives = model.objectives(state.mean, state.factor, oracle.value)
        if len(self._columns) == 1:
            return model.backend.pack([objectives.objective])
        return model.backend.pack([objectives.objective, model.fisher_norm(state.factor, oracle)])

    def _full_oracle(self, state: State) -> Oracle:
        """Return the oracle of all rows at a state."""
        if self.model.sampling is None:
            return state.oracle
        return self.model.full_oracle(state.mean, state.factor, "hessian")

    def _store(self, state: State, metrics: Array, seconds: float) -> None:
        """Append a row to the table. Test metrics are NaN if `metrics` does not contain them."""
        model = self.model
        if self._extras:
            extras = [EXTRA_SCALARS[name](model, state) for name in self._extras]
            metrics = model.backend.xp.concatenate([metrics, model.backend.pack(extras)])
        row = model.backend.to_host(metrics).tolist()
        if not self.objective_only:
            row += [state.evaluations, state.step]
        if len(row) < len(self._columns):
            row[FIRST_TEST:FIRST_TEST] = NO_TEST
        self._numbers.extend(row)
        self.last = state
        self.iteration.append(state.iteration)
        self._seconds.append(seconds)

    def _test_of_last(self) -> list[float]:
        """Return the test metrics of the last record, computed now if they were not due."""
        first = len(self._numbers) - len(self._columns) + FIRST_TEST
        recorded = self._numbers[first : first + len(TEST_METRICS)].tolist()
        if not math.isnan(recorded[0]):
            return recorded
        if self.last.iteration != self.iteration[-1]:  # a resumed run that has not recorded yet
            return self._restored_test
        model = self.model
        test = model.test_metrics(self.last.mean, self.last.factor)
        numbers: list[float] = model.backend.to_host(model.backend.pack(test)).tolist()
        return numbers

    def _table(self) -> np.ndarray:
        return np.array(self._numbers).reshape(-1, len(self._columns))

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


def _eigenvalues(model: Model, state: State) -> Array:
    # Squared singular values of the factor are accurate for small eigenvalues, too.
    root = state.factor.covariance_lower()
    return model.backend.xp.linalg.svd(root, compute_uv=False) ** 2


def _factor_norm(model: Model, state: State) -> Array:
    extra = (model.multiplicity - 1) * state.factor.last_variance()
    return model.backend.xp.sqrt(state.factor.variances_total() + extra)


EXTRA_SCALARS: dict[str, Callable[[Model, State], Array]] = {
    "cov_eig_min": lambda model, state: _eigenvalues(model, state)[-1],
    "cov_eig_max": lambda model, state: _eigenvalues(model, state)[0],
    "factor_norm": _factor_norm,
    "sign_flips": lambda model, state: state.sign_flips,
    "flow_time": lambda model, state: state.flow_time,
    "objective_exact": lambda model, state: model.exact_objective(state.mean, state.factor),
}
