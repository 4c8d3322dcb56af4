"""Interface of solvers: options, an initial state, and proposals for the next iterate."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, dataclass_transform

from gvibench.models.protocols import Curvature, Objectives, Oracle
from gvibench.numerics.base import Array, Backend
from gvibench.numerics.gaussian import CovarianceFactor, Factor

if TYPE_CHECKING:
    from gvibench.models.base import Model
    from gvibench.spec.run import RunSpec

__all__ = [
    "Proposal",
    "Scale",
    "Search",
    "Solver",
    "State",
    "initial_covariance",
    "initial_factor",
    "initial_precision",
    "stack",
    "unstack",
]

Scale = float | Array
"""Initial covariance factor C0: a lower triangular matrix, or a number for a multiple of I."""


class Search(NamedTuple):
    """State of a step rule that searches for a step size."""

    step: float
    """Step size to try next."""
    slope: float
    """Slope of the objective at the iterate."""
    rejected: int = 0
    """Number of trial steps that were evaluated and not taken."""
    screened: int = 0
    """Number of trial steps that the quadratic model of the loss ruled out."""
    indefinite: int = 0
    """Number of trial steps whose covariance was not positive definite."""
    objectives: Objectives | None = None
    """Objectives of the iterate, if they have been computed."""

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of rejected, screened and indefinite trial steps."""
        return self.rejected, self.screened, self.indefinite


class State(NamedTuple):
    """Iterate of a run. Solvers return new states and never modify old ones."""

    iteration: int
    mean: Array
    factor: Factor
    oracle: Oracle
    """Value, gradient and curvature of the model at this iterate."""
    evaluations: float = 1.0
    """Number of model evaluations so far, including the one at the start."""
    flow_time: float = 0.0
    """Sum of the step sizes so far."""
    sign_flips: Array = 0
    """Number of sign changes of diagonal entries of the factor."""
    memory: Any = None
    """Additional state of the solver: an array, or a tuple of arrays and numbers."""
    step: float = 0.0
    """Step size that led to this iterate, zero at the start."""
    search: Search | None = None
    """State of the step rule, if it has any."""


class Proposal(NamedTuple):
    """Next iterate for some step size, at which the model has not been evaluated."""

    mean: Array
    factor: Factor
    memory: Any = None
    """Additional state of the solver (see `State.memory`)."""
    sign_flips: Array = 0
    """Number of sign changes of diagonal entries of the factor in this step."""


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Solver:
    """Base class of solvers. Annotated fields of a subclass are its options.

    Each subclass becomes a frozen dataclass. A solver uses the model and its own state; recording,
    stopping and files are handled by the engine. It raises `Diverged` if the update is not defined.
    """

    id: ClassVar[str]
    title: ClassVar[str]
    """Name in tables and figures."""
    reference: ClassVar[str]
    """Publication that defines the solver."""
    curvature: ClassVar[Curvature] = "hessian"
    """Form of the curvature that the solver uses."""

    other_limit: ClassVar[str] = ""
    """Why the limit of the iterates is not the optimum, e.g. "other divergence"; else empty."""

    defaults: ClassVar[Mapping[str, Any]] = {}
    """Settings of a run that differ from the usual defaults for this solver."""

    has_step: ClassVar[bool] = True
    """Whether the solver has a step size."""

    fisher_rao: ClassVar[bool] = False
    """Whether a step follows the natural gradient. Its size is then at most about 1 / gamma."""

    adaptive: ClassVar[bool] = False
    """Whether a step adapts its length to computed values, which synchronises the device."""

    supports_batching: ClassVar[bool] = False
    """Whether a step can advance several runs that `stack` has combined into one state.

    A subclass that overrides the step must set it again.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        changed = {"propose", "step", "evaluate", "advance"} & cls.__dict__.keys()
        if changed and "supports_batching" not in cls.__dict__:
            cls.supports_batching = False
        dataclass(frozen=True, kw_only=True)(cls)

    @property
    def rotation_invariant(self) -> bool:
        """Whether rotating the features rotates the iterates, so that d > n can be reduced."""
        return True

    @property
    def rotated(self) -> bool:
        """Whether the solver works in the basis of the rows instead of the feature basis."""
        return False

    @classmethod
    def limitation(cls, spec: "RunSpec") -> str:
        """Return why the solver cannot carry out a run, or an empty string if it can.

        The text follows the name of the solver, as in "needs expectation 'stochastic'".
        """
        return ""

    def results(self, state: State) -> dict[str, float]:
        """Return further results of the last state by name, which the trace stores."""
        return {}

    def init(self, model: "Model", mean: Array, scale: Scale) -> State:
        """Return the state at N(mean, C0 C0'), where C0 is `scale`, a number for scale * I."""
        return self.evaluate(model, 0, mean, initial_factor(model.backend, model.d, scale))

    def propose(self, state: State, model: "Model", rho: float) -> Proposal:
        """Return the iterate after a step of size `rho`, without evaluating the model there."""
        raise NotImplementedError

    def step(self, state: State, model: "Model", rho: float) -> State:
        """Return the state after one step of size `rho`."""
        return self.advance(state, model, rho, self.propose(state, model, rho))

    def slope(self, state: State, model: "Model") -> Array:
        """Return -dL/drho at rho = 0: how fast a step begins to decrease the objective."""
        raise NotImplementedError

    def surrogate(self, state: State, model: "Model", proposal: Proposal, rho: float) -> Array:
        """Return the change of the objective if the expected loss were quadratic.

        The quadratic has the gradient and the curvature of the oracle. The entropy and the penalty
        are exact. This needs no pass over the data.
        """
        here = state.mean, state.factor, state.oracle
        return model.surrogate(*here, proposal.mean, proposal.factor)

    @classmethod
    def has_slope(cls) -> bool:
        """Return whether the solver supports step rules that search for a step size."""
        # A search uses proposals, so that a step of another kind would be ignored.
        return cls.slope is not Solver.slope and cls.step is Solver.step

    def evaluate(
        self, model: "Model", iteration: int, mean: Array, factor: Factor, **carried: Any
    ) -> State:
        """Return the state at N(mean, V) with the model evaluated there."""
        oracle = model.oracle(mean, factor, self.curvature, iteration)
        return State(iteration, mean, factor, oracle, **carried)

    def advance(
        self,
        state: State,
        model: "Model",
        rho: float,
        proposal: Proposal,
        evaluations: float = 1.0,
    ) -> State:
        """Evaluate the model at a proposal and return the state that follows `state`.

        `evaluations` is the number of model evaluations of this step.
        """
        return self.evaluate(
            model,
            state.iteration + 1,
            proposal.mean,
            proposal.factor,
            evaluations=state.evaluations + evaluations,
            flow_time=state.flow_time + rho,
            sign_flips=state.sign_flips + proposal.sign_flips,
            memory=proposal.memory,
            step=rho,
        )


def stack(states: Sequence[State]) -> State:
    """Combine states of the same iteration into one, with the runs along the first axis."""
    first = states[0]
    backend = first.factor.backend

    def stacked(get: Callable[[State], Array]) -> Array:
        return backend.xp.stack([get(state) for state in states])

    return first._replace(
        mean=stacked(lambda state: state.mean),
        factor=type(first.factor)(backend, stacked(lambda state: state.factor.lower)),
        oracle=Oracle(
            stacked(lambda state: state.oracle.value),
            stacked(lambda state: state.oracle.gradient),
            stacked(lambda state: state.oracle.curvature),
            first.oracle.kind,
        ),
        sign_flips=stacked(lambda state: state.sign_flips),
        memory=None if first.memory is None else stacked(lambda state: state.memory),
    )


def unstack(state: State) -> list[State]:
    """Split a state that `stack` has combined."""
    oracle = state.oracle
    return [
        state._replace(
            mean=state.mean[k],
            factor=state.factor.part(k),
            oracle=Oracle(oracle.value[k], oracle.gradient[k], oracle.curvature[k], oracle.kind),
            # Most solvers do not count sign flips and have no memory.
            sign_flips=state.sign_flips[k] if getattr(state.sign_flips, "ndim", 0) else 0,
            memory=None if state.memory is None else state.memory[k],
        )
        for k in range(len(state.mean))
    ]


def initial_factor(backend: Backend, d: int, scale: Scale) -> CovarianceFactor:
    """Return the factor of C0 C0', where C0 is `scale`, a number for scale * I."""
    is_number = isinstance(scale, float | int)
    return CovarianceFactor(backend, scale * backend.identity(d) if is_number else scale)


def initial_covariance(backend: Backend, d: int, scale: Scale) -> Array:
    """Return C0 C0', where C0 is `scale`, a number for scale * I."""
    if isinstance(scale, float | int):
        return scale**2.0 * backend.identity(d)
    return scale @ scale.mT


def initial_precision(backend: Backend, d: int, scale: Scale) -> Array:
    """Return the inverse of C0 C0', where C0 is `scale`, a number for scale * I."""
    if isinstance(scale, float | int):
        return scale**-2.0 * backend.identity(d)
    inverse = backend.invert_lower(scale)
    return inverse.mT @ inverse
