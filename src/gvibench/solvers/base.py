"""What a solver is: options, an initial state and a step."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gvibench.models.base import Curvature, Model, Oracle
from gvibench.numerics import Array, Backend
from gvibench.numerics.gaussian import CovarianceFactor, Factor
from gvibench.spec.run import StrictModel

__all__ = ["Solver", "State", "stack", "unstack"]


class State(NamedTuple):
    """An iterate. Solvers make new states and never change old ones."""

    iteration: int
    mean: Array
    factor: Factor
    oracle: Oracle
    """The model at this iterate: the next step starts from it and recording reads it."""
    evaluations: float = 1.0
    """How often the model was evaluated so far, the start included."""
    flow_time: float = 0.0
    """The sum of the steps so far."""
    sign_flips: Array = 0
    """How often a diagonal entry of the factor has changed its sign."""
    memory: Any = None
    """What else a solver carries from step to step: an array, or a tuple of arrays and numbers."""


class Solver(StrictModel):
    """Base of all solvers; the fields of a subclass are its options.

    A solver knows the model and its own state, nothing of recording, stopping or files. It may
    raise `Diverged` when the update is not defined.
    """

    id: ClassVar[str]
    title: ClassVar[str]
    """Name in tables and figures."""
    reference: ClassVar[str]
    curvature: ClassVar[Curvature] = "hessian"
    """How this solver wants the model's curvature."""

    adaptive: ClassVar[bool] = False
    """Whether a step looks at values to decide how long it is, which waits for the device."""

    supports_batching: ClassVar[bool] = False
    """Whether a step takes the states of several runs at once, as `stack` makes one of them.

    A class that changes the step of another must say so anew.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if {
            "step",
            "evaluate",
            "advance",
        } & cls.__dict__.keys() and "supports_batching" not in cls.__dict__:
            cls.supports_batching = False

    @property
    def rotation_invariant(self) -> bool:
        """Whether rotating the features rotates the iterates (so that d > n can be reduced)."""
        return True

    @property
    def rotated(self) -> bool:
        """Whether the solver is defined in the basis of the rows, not that of the features."""
        return False

    def init(self, model: Model, mean: Array, scale: float) -> State:
        """Return the state at N(mean, scale^2 I)."""
        return self.evaluate(model, 0, mean, isotropic(model.backend, model.d, scale))

    def step(self, state: State, model: Model, rho: float) -> State:
        """Return the state after one step of size `rho`."""
        raise NotImplementedError

    def evaluate(
        self, model: Model, iteration: int, mean: Array, factor: Factor, **carried: Any
    ) -> State:
        """Return the state at N(mean, V) with the model evaluated there."""
        oracle = model.oracle(mean, factor, self.curvature, iteration)
        return State(iteration, mean, factor, oracle, **carried)

    def advance(
        self, state: State, model: Model, rho: float, mean: Array, factor: Factor, **carried: Any
    ) -> State:
        """Return the state that follows `state` after a step of size `rho`."""
        carried.setdefault("evaluations", state.evaluations + 1)
        carried.setdefault("flow_time", state.flow_time + rho)
        return self.evaluate(model, state.iteration + 1, mean, factor, **carried)


def stack(states: Sequence[State]) -> State:
    """Return states of one iteration as one, its arrays with the runs along their first axis."""
    first = states[0]
    backend = first.factor.backend

    def together(field: Callable[[State], Array]) -> Array:
        return backend.xp.stack([field(state) for state in states])

    return first._replace(
        mean=together(lambda state: state.mean),
        factor=type(first.factor)(backend, together(lambda state: state.factor.lower)),
        oracle=Oracle(
            together(lambda state: state.oracle.value),
            together(lambda state: state.oracle.gradient),
            together(lambda state: state.oracle.curvature),
            first.oracle.kind,
        ),
        sign_flips=together(lambda state: state.sign_flips),
        memory=None if first.memory is None else together(lambda state: state.memory),
    )


def unstack(stacked: State) -> list[State]:
    """Return the states of which `stack` would make this one."""
    oracle = stacked.oracle
    return [
        stacked._replace(
            mean=stacked.mean[k],
            factor=stacked.factor.part(k),
            oracle=Oracle(oracle.value[k], oracle.gradient[k], oracle.curvature[k], oracle.kind),
            # Many solvers count no flips and have no memory.
            sign_flips=stacked.sign_flips[k] if np.ndim(stacked.sign_flips) else 0,
            memory=None if stacked.memory is None else stacked.memory[k],
        )
        for k in range(len(stacked.mean))
    ]


def isotropic(backend: Backend, d: int, scale: float) -> CovarianceFactor:
    """Return the factor of scale^2 I."""
    return CovarianceFactor(backend, scale * backend.identity(d))
