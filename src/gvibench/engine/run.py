"""State of one run: set it up, take steps, record, stop."""

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gvibench import models, solvers, steps
from gvibench.engine.checkpointing import Checkpoints
from gvibench.engine.endings import gradient_tolerance, judge, settled_tolerance
from gvibench.engine.recorder import Recorder
from gvibench.errors import Diverged, Stopped, UserError
from gvibench.models.basis import basis_of
from gvibench.models.protocols import Objectives
from gvibench.models.reduction import Reduction, reduce_problem
from gvibench.numerics.base import Array, Backend
from gvibench.solvers.base import State
from gvibench.spec.compatibility import is_reduced
from gvibench.spec.run import RunSpec
from gvibench.store.prepared import Prepared

__all__ = ["Progress", "Run", "StepResult", "initial_gaussian", "initial_mean"]

Progress = Callable[[int, Recorder, float], None]
"""Function that receives the iteration, the recorder and the solver time."""
FACTOR_BYTES = 2_000_000
"""Maximum size of covariance factors that are stored without being requested."""


def initial_mean(spec: RunSpec, d: int) -> np.ndarray:
    """Return m0. It depends on seed, scale and dimension only, so all solvers share it."""
    return spec.mean_scale * np.random.default_rng(spec.seed).standard_normal(d)


def initial_gaussian(spec: RunSpec, d: int) -> tuple[np.ndarray, float | np.ndarray]:
    """Return m0 and C0 in the coordinates of a run; a number stands for a multiple of I."""
    mean = initial_mean(spec, d)
    basis = basis_of(spec, d)
    if basis is None:
        return mean, spec.init_scale
    return basis.mean(mean), basis.factor(spec.init_scale * np.eye(d))


class StepResult(NamedTuple):
    """State after one or more steps."""

    state: State
    elapsed: float
    """Solver time of these steps in seconds."""
    metrics: Array | None = None
    """Metrics of the state, if they are known already."""
    objectives: Objectives | None = None
    """Objectives of the state, if they are known already."""


class Run:
    """State of one run.

    Parameters
    ----------
    spec
        Specification of the run.
    data
        Prepared data of `spec.data`.
    backend
        Backend that computes the run.
    checkpoints
        File for checkpoints, if the run can be resumed.
    progress
        Function that is called after each step, outside the solver time.
    objective_only
        Whether to record only the objective, for trials of the tuning stage. Such a run ends as
        soon as its objective cannot decrease any more (see `endings.SETTLED_NORM`).
    """

    state: State
    """Current iterate, after `start`."""

    def __init__(
        self,
        spec: RunSpec,
        data: Prepared,
        backend: Backend,
        checkpoints: Checkpoints | None = None,
        progress: Progress | None = None,
        *,
        objective_only: bool = False,
    ) -> None:
        if data.spec != spec.data:
            raise UserError(
                f"the prepared data belong to {data.spec.canonical()}, but the run needs "
                f"{spec.data.canonical()}: prepare the data again"
            )
        self.spec = spec
        self.solver = solvers.create(spec.solver, spec.solver_options)
        self.rule = steps.create(spec.step_rule, spec.step, spec.step_options)
        self._build_model(data, backend)
        self.recorder = Recorder(spec, self.model, objective_only)
        self.seconds = 0.0
        self.warmup_seconds = 0.0
        self.status = ""
        """Status of the run, empty until it has ended."""
        self.reason = ""
        self._budget = f"{spec.iterations} iterations done"
        self._checkpoints = checkpoints
        self._progress = progress
        self._steps_between_syncs = backend.steps_between_syncs
        self._ended = False
        self._settled_tolerance = settled_tolerance(spec.gamma)

    def _build_model(self, data: Prepared, backend: Backend) -> None:
        train, test = models.rows_of(data, self.spec)
        mean, scale = initial_gaussian(self.spec, data.train_x.shape[1])
        self.reduction: Reduction | None = None
        if is_reduced(self.spec, self.solver, *data.train_x.shape):
            self.reduction = reduce_problem(data.train_x, data.test_x, mean)
            train = train._replace(x=self.reduction.train_x)
            test = test._replace(x=self.reduction.test_x)
            mean = self.reduction.mean
        multiplicity = 1 if self.reduction is None else self.reduction.multiplicity
        names = models.names_of(data)
        self.model = models.build(
            self.spec, backend, train, test, multiplicity=multiplicity, names=names
        )
        self._mean: Array = backend.asarray(mean)
        self._scale = scale if isinstance(scale, float) else backend.asarray(scale)

    @property
    def is_active(self) -> bool:
        """Whether the run takes another step."""
        return not self._ended and self.state.iteration < self.spec.iterations

    @property
    def supports_batching(self) -> bool:
        """Whether its steps can be batched with those of similar runs."""
        return (
            self.solver.supports_batching
            and not self.rule.searches
            and self.model.supports_batching
            and self.reduction is None  # the basis depends on the initial mean
            and self.spec.seconds is None
            and self.spec.passes is None
        )

    def start(self, no_step: str = "", *, warm_up: bool = True) -> None:
        """Set the initial state, or resume from a checkpoint.

        If tuning found no step size, `no_step` is the reason, and the run fails at its initial
        state. Without `warm_up`, compilation is part of the solver time.
        """
        resumed = None
        if self._checkpoints is not None:
            resumed = self._checkpoints.resume(self.model, self.solver, self.recorder)
        if resumed is not None:
            self.state, self.seconds = resumed
        else:
            self.state = self.solver.init(self.model, self._mean, self._scale)
        if warm_up:
            self._warm_up()
        if resumed is None:
            try:
                self.recorder.start(self.state)
            except Diverged as cause:
                self._end("diverged", f"at iteration 0: {cause}")
        if no_step and self.is_active:
            self._end("failed", no_step)

    def is_recorded(self, iteration: int) -> bool:
        """Return whether an iteration is recorded."""
        return iteration == self.spec.iterations or self.recorder.wants(iteration)

    def step(self, result: StepResult | None = None) -> None:
        """Advance by one step (CPU) or up to the next recorded iteration (GPU).

        With a `result`, accept the state of steps that were taken in lockstep with other runs.
        """
        next_iteration = self.state.iteration + 1
        try:
            self._accept(*(result or self._take_steps(self._steps_between_syncs)))
        except Stopped as cause:
            reason = f"{cause} after {self.state.iteration} iterations"
            if cause.failed:
                far = self.state.iteration == 0
                advice = ": use a smaller init_scale or mean_scale" if far else ""
                self._end("failed", reason + advice)
            self._budget, self._ended = reason, True
        except Diverged as cause:
            if self._steps_between_syncs == 1:
                self._end("diverged", f"at iteration {next_iteration}: {cause}")
            # Repeat from the last valid state, one step at a time, to find the first invalid one.
            self._steps_between_syncs = 1

    def _accept(
        self, state: State, elapsed: float, metrics: Array | None, objectives: Objectives | None
    ) -> None:
        seconds = self.seconds + elapsed
        self.recorder.record(state, seconds, objectives, metrics)
        self.state, self.seconds = state, seconds
        if reason := self._reason_to_stop():
            self._budget, self._ended = reason, True
            return
        if self._checkpoints is not None:
            self._checkpoints.update(state, self.recorder, self.seconds)
        if self._progress is not None:
            self._progress(state.iteration, self.recorder, self.seconds)

    def trial_counts(self) -> dict[str, int]:
        """Return the numbers of trial steps that the step rule did not take, for the trace."""
        search = self.state.search
        rejected, screened, indefinite = search.counts if search is not None else (0, 0, 0)
        return {
            "rejected_steps": rejected,
            "screened_steps": screened,
            "indefinite_steps": indefinite,
        }

    def finish(self) -> dict[str, Any]:
        """Record the last state and return the means and factors for the trace."""
        recorder = self.recorder
        recorder.finish(self.state, self.seconds)
        if not self.status:
            last = recorder.iteration[-1], recorder.objective, recorder.grad_norm
            self._end(*judge(recorder.descent, *last, self._tolerance(), self._budget))
        if not self.spec.snapshots or recorder.objective_only:
            return {}
        means = np.array(recorder.means)
        if self.reduction is not None:
            means = self.reduction.lift(means)
        return {"snapshot": np.array(recorder.snapshot), "mean": means, "factors": self._factors()}

    def _factors(self) -> dict[str, np.ndarray]:
        factors: dict[str, np.ndarray] = {}
        requested = "covariance_factor" in self.spec.record
        if requested or self.model.d**2 * 8 <= FACTOR_BYTES:
            name = "covariance_factor" if self.reduction is None else "reduced_factor"
            lower = self.recorder.last.factor.covariance_lower()
            factors[name] = self.model.backend.to_host(lower)
        if self.recorder.factors and self.reduction is None:
            factors["covariance_factor_path"] = np.array(self.recorder.factors)
        return factors

    def _take_steps(self, count: int) -> StepResult:
        """Take up to `count` steps, at most to the next recorded one, then check them all."""
        timer, state = self.model.backend.timer(), self.state
        objectives = []
        for _ in range(count):
            timer.start()
            try:
                state = self.rule.advance(self.solver, state, self.model)
            except Stopped:
                if state is self.state:
                    raise
                break  # the next call has no step either
            finally:
                timer.stop()
            computed = self.recorder.objectives_of(state)
            objectives.append(computed.objective)
            if count > 1 and self.is_recorded(state.iteration):
                break
        self.recorder.check(objectives, state.iteration)
        return StepResult(state, timer.read(), objectives=computed)

    def _warm_up(self) -> None:
        """Take one step and discard it, so that compilation is not part of the solver time."""
        timer = self.model.backend.timer()
        timer.start()
        with contextlib.suppress(Diverged, Stopped):  # the run itself will end and report it
            self.rule.advance(self.solver, self.state, self.model)
        timer.stop()
        self.warmup_seconds = timer.read()

    def _reason_to_stop(self) -> str:
        spec, recorder = self.spec, self.recorder
        if spec.seconds is not None and self.seconds >= spec.seconds:
            return f"{spec.seconds:g} s of solver time used"
        if spec.passes is not None and self._passes() >= spec.passes:
            return f"{spec.passes:g} passes over the training rows used"
        if spec.tolerance is not None and recorder.grad_norm <= spec.tolerance:
            return f"tolerance reached after {self.state.iteration} iterations"
        if self._has_settled():
            return f"objective settled after {self.state.iteration} iterations"
        return ""

    def _passes(self) -> float:
        return self.state.evaluations * self.model.passes_per_evaluation

    def _has_settled(self) -> bool:
        return self.recorder.settled_norm <= self._settled_tolerance

    def _tolerance(self) -> float:
        """Return the maximum gradient norm of a converged run."""
        tolerance = gradient_tolerance(self.spec.gamma, self.spec.tolerance)
        return max(tolerance, self.recorder.settled_norm) if self._has_settled() else tolerance

    def _end(self, status: str, reason: str) -> None:
        self.status, self.reason, self._ended = status, reason, True
