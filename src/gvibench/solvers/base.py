"""Interface of solvers: options, an initial state and a step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, dataclass_transform

from gvibench.models.protocols import Curvature, Oracle
from gvibench.numerics.base import Array, Backend
from gvibench.numerics.gaussian import CovarianceFactor, Factor

if TYPE_CHECKING:
    from gvibench.models.base import Model

__all__ = ["Solver", "State", "stack", "unstack"]


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

    adaptive: ClassVar[bool] = False
    """Whether a step adapts its length to computed values, which synchronises the device."""

    supports_batching: ClassVar[bool] = False
    """Whether a step can advance several runs that `stack` has combined into one state.

    A subclass that overrides the step must set it again.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if {
            "step",
            "evaluate",
            "advance",
        } & cls.__dict__.keys() and "supports_batching" not in cls.__dict__:
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

    def init(self, model: "Model", mean: Array, scale: float) -> State:
        """Return the state at N(mean, scale^2 I)."""
        return self.evaluate(model, 0, mean, isotropic(model.backend, model.d, scale))

    def step(self, state: State, model: "Model", rho: float) -> State:
        """Return the state after one step of size `rho`."""
        raise NotImplementedError

    def evaluate(
        self, model: "Model", iteration: int, mean: Array, factor: Factor, **carried: Any
    ) -> State:
        """Return the state at N(mean, V) with the model evaluated there."""
        oracle = model.oracle(mean, factor, self.curvature, iteration)
        return State(iteration, mean, factor, oracle, **carried)

    def advance(
        self, state: State, model: "Model", rho: float, mean: Array, factor: Factor, **carried: Any
    ) -> State:
        """Return the state that follows `state` after a step of size `rho`."""
        carried.setdefault("evaluations", state.evaluations + 1)
        carried.setdefault("flow_time", state.flow_time + rho)
        return self.evaluate(model, state.iteration + 1, mean, factor, **carried)


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


def isotropic(backend: Backend, d: int, scale: float) -> CovarianceFactor:
    """Return the factor of scale^2 I."""
    return CovarianceFactor(backend, scale * backend.identity(d))
