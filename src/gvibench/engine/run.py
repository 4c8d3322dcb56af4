"""One run under way: set up, step, record, stop. Knows no solver by name."""

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gvibench import models, solvers
from gvibench.engine.checkpointing import Checkpoints
from gvibench.engine.recorder import Recorder
from gvibench.errors import Diverged, UserError
from gvibench.models import Rows
from gvibench.models.reduction import Reduction, reduce_problem
from gvibench.numerics import Array, Backend
from gvibench.solvers import Solver, State
from gvibench.spec.endings import gradient_tolerance, judge
from gvibench.spec.run import RunSpec, canonical_json
from gvibench.store.prepared import Prepared

__all__ = ["Progress", "Run", "StepResult", "initial_mean", "is_reduced"]

Progress = Callable[[int, Recorder, float], None]
"""Takes the iteration, what has been recorded and the solver's time."""
FACTOR_BYTES = 2_000_000
"""Covariance factors up to this size are stored without being asked for."""


def initial_mean(spec: RunSpec, d: int) -> np.ndarray:
    """Return m0, which depends on seed, scale and dimension only: one for all solvers."""
    return spec.mean_scale * np.random.default_rng(spec.seed).standard_normal(d)


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


class StepResult(NamedTuple):
    """Where steps have led."""

    state: State
    elapsed: float
    """Of the solver's time."""
    metrics: Array | None = None
    """Of the state, if they are known already."""


class Run:
    """A run and how far it is.

    Parameters
    ----------
    spec
        What defines it.
    data
        The prepared data it asks for.
    backend
        Where it computes.
    checkpoints
        Where it keeps its state, if it does.
    progress
        Is told of every iterate, outside the solver's time.
    """

    state: State
    """The last iterate, once the run has started."""

    def __init__(
        self,
        spec: RunSpec,
        data: Prepared,
        backend: Backend,
        checkpoints: Checkpoints | None = None,
        progress: Progress | None = None,
    ) -> None:
        if data.spec != spec.data:
            raise UserError(
                f"the prepared data are of {canonical_json(data.spec)}, "
                f"the run asks for {canonical_json(spec.data)}: prepare the data anew"
            )
        self.spec = spec
        self.solver = solvers.configure(spec.solver, spec.solver_options)
        train, test = Rows(data.train_x, data.train_y), Rows(data.test_x, data.test_y)
        mean = initial_mean(spec, data.train_x.shape[1])
        self.reduction: Reduction | None = None
        if is_reduced(spec, self.solver, *data.train_x.shape):
            self.reduction = reduce_problem(data.train_x, data.test_x, mean)
            train = train._replace(x=self.reduction.train_x)
            test = test._replace(x=self.reduction.test_x)
            mean = self.reduction.mean
        multiplicity = 1 if self.reduction is None else self.reduction.multiplicity
        self.model = models.build(spec, backend, train, test, multiplicity=multiplicity)
        self.recorder = Recorder(spec, self.model)
        self.seconds = 0.0
        self.warmup_seconds = 0.0
        self.status = ""
        """How the run ended, once it has."""
        self.reason = ""
        self._budget = f"{spec.iterations} iterations done"
        self._mean: Array = backend.asarray(mean)
        self._checkpoints = checkpoints
        self._progress = progress
        self._stretch = backend.steps_between_syncs
        self._ended = False

    @property
    def is_active(self) -> bool:
        """Whether there is a next step to take."""
        return not self._ended and self.state.iteration < self.spec.iterations

    @property
    def supports_batching(self) -> bool:
        """Whether its steps may be taken at once with those of runs like it."""
        return (
            self.solver.supports_batching
            and self.model.supports_batching
            and self.reduction is None  # the basis depends on the initial mean
            and self.spec.seconds is None
        )

    def start(self) -> None:
        """Go to the initial state, or to where a checkpoint says."""
        resumed = None
        if self._checkpoints is not None:
            resumed = self._checkpoints.resume(self.model, self.solver, self.recorder)
        if resumed is not None:
            self.state, self.seconds = resumed
        else:
            self.state = self.solver.init(self.model, self._mean, self.spec.init_scale)
        self._warm_up()
        if resumed is None:
            try:
                self.recorder.start(self.state)
            except Diverged as cause:
                self.end("diverged", f"at iteration 0: {cause}")

    def step_size(self, iteration: int) -> float:
        """Return the size of the step from an iterate to the next."""
        return self.spec.step / (1.0 + self.spec.step_decay * iteration)

    def is_recorded(self, iteration: int) -> bool:
        """Whether an iterate is recorded."""
        return iteration == self.spec.iterations or self.recorder.wants(iteration)

    def advance(self, reached: StepResult | None = None) -> None:
        """Take the next steps: one, or on a device some, up to the next that is recorded.

        Or go on from a state that was `reached` otherwise.
        """
        failing = self.state.iteration + 1  # the iteration to blame when something diverges
        try:
            self._arrive(*(reached or self._take(self._stretch)))
        except Diverged as cause:
            if self._stretch == 1:
                self.end("diverged", f"at iteration {failing}: {cause}")
            self._stretch = 1  # once more from the last good state, to find the first that is not

    def _arrive(self, state: State, elapsed: float, metrics: Array | None) -> None:
        if self.recorder.wants(state.iteration):
            self.recorder.record(state, self.seconds + elapsed, metrics)
        self.state, self.seconds = state, self.seconds + elapsed
        if reason := self._reason_to_stop():
            self._budget, self._ended = reason, True
            return
        if self._checkpoints is not None:
            self._checkpoints.update(state, self.recorder, self.seconds)
        if self._progress is not None:
            self._progress(state.iteration, self.recorder, self.seconds)

    def finish(self) -> dict[str, Any]:
        """Record the last state; return the means and factors that the trace keeps."""
        recorder = self.recorder
        recorder.finish(self.state, self.seconds)
        if not self.status:
            last = recorder.iteration[-1], recorder.objective, recorder.grad_norm
            tolerance = gradient_tolerance(self.spec.gamma, self.spec.tolerance)
            self.end(*judge(recorder.descent, *last, tolerance, self._budget))
        if not self.spec.snapshots:
            return {}
        means = np.array(self.recorder.means)
        factors: dict[str, np.ndarray] = {}
        asked = "covariance_factor" in self.spec.record
        if asked or self.model.d**2 * 8 <= FACTOR_BYTES:
            name = "covariance_factor" if self.reduction is None else "reduced_factor"
            lower = self.recorder.last.factor.covariance_lower()
            factors[name] = self.model.backend.to_host(lower)
        if self.recorder.factors and self.reduction is None:
            factors["covariance_factor_path"] = np.array(self.recorder.factors)
        if self.reduction is not None:
            means = self.reduction.lift(means)
        return {"snapshot": np.array(self.recorder.snapshot), "mean": means, "factors": factors}

    def _take(self, steps: int) -> StepResult:
        """Take so many steps, at most to the next recorded one; only then look at how they went."""
        timer, state = self.model.backend.timer(), self.state
        objectives = []
        for _ in range(steps):
            timer.start()
            state = self.solver.step(state, self.model, self.step_size(state.iteration))
            timer.stop()
            objectives.append(self.recorder.objective_of(state))
            if self.is_recorded(state.iteration):
                break
        self.recorder.check(objectives, state.iteration)
        return StepResult(state, timer.read())

    def _warm_up(self) -> None:
        """Take one step and forget it: code is compiled, caches are warm when the clock starts."""
        timer = self.model.backend.timer()
        timer.start()
        with contextlib.suppress(Diverged):  # the run itself will find out, and say so
            self.solver.step(self.state, self.model, self.spec.step)
        timer.stop()
        self.warmup_seconds = timer.read()

    def _reason_to_stop(self) -> str:
        spec, grad_norm = self.spec, self.recorder.grad_norm
        if spec.seconds is not None and self.seconds >= spec.seconds:
            return f"{spec.seconds:g} s of solver time used"
        if spec.tolerance is not None and grad_norm <= spec.tolerance:
            return f"tolerance reached after {self.state.iteration} iterations"
        return ""

    def end(self, status: str, reason: str) -> None:
        """End the run: it takes no further step."""
        self.status, self.reason, self._ended = status, reason, True
