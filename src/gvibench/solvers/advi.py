"""ADVI: stochastic gradient descent in mean and Cholesky factor."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from gvibench.models.base import Model
from gvibench.models.protocols import Curvature
from gvibench.numerics.base import Array
from gvibench.numerics.gaussian import CovarianceFactor, Factor, diagonal
from gvibench.solvers.base import Proposal, Scale, Solver, State, initial_factor

if TYPE_CHECKING:
    from gvibench.spec.run import RunSpec

__all__ = ["Advi"]

DECAY_FIRST, DECAY_SECOND, EPSILON = 0.9, 0.999, 1e-8
"""Constants of Adam."""


class Advi(Solver):
    """Full-rank automatic differentiation variational inference.

    With V = C C', lower triangular C, and stochastic estimates g^ and (HC)^::

        m+ = m - rho g^
        C+ = C - rho low[(HC)^],   C+_jj <- (C+_jj + (C+_jj^2 + 4 rho gamma)^{1/2}) / 2

    The last step is the proximal operator of the entropy, which keeps C_jj positive (`proximal`).
    `adam` instead applies Adam to m, the strict lower triangle of C and log C_jj, with the gradient
    of the entropy. The setting `estimator` of the run selects the estimates.

    Noise keeps the iterates from converging at a constant step. With `average`, the reported
    Gaussian is the mean of at least the last half of the iterates.

    Cost: K draws and B rows per step: K B d + K d^2, and B d^2 with estimator `price`.
    """

    id: ClassVar[str] = "advi"
    title: ClassVar[str] = "ADVI"
    reference: ClassVar[str] = (
        "Kucukelbir, Tran, Ranganath, Gelman and Blei, Automatic differentiation variational "
        "inference, JMLR 2017; Domke, Provable smoothness guarantees for black-box variational "
        "inference, ICML 2020"
    )
    curvature: ClassVar[Curvature] = "factor"
    defaults: ClassVar[dict[str, Any]] = {"expectation": "stochastic", "samples": 8}

    update: Literal["proximal", "adam"] = "proximal"
    """Treatment of the entropy: a proximal step, or Adam on all parameters."""
    average: bool = True
    """Whether to report the average of the later iterates instead of the last one."""

    @property
    def rotation_invariant(self) -> bool:
        return False

    @classmethod
    def limitation(cls, spec: "RunSpec") -> str:
        return "" if spec.expectation == "stochastic" else "needs expectation 'stochastic'"

    def init(self, model: Model, mean: Array, scale: Scale) -> State:
        factor = initial_factor(model.backend, model.d, scale)
        memory = _start(model.backend.xp, mean, factor.lower)
        return self.evaluate(model, 0, mean, factor, memory=memory)

    def evaluate(
        self, model: Model, iteration: int, mean: Array, factor: Factor, **carried: Any
    ) -> State:
        # The gradient belongs to the current iterate, not to the average that is reported.
        now = Parameters(*carried["memory"][:2])
        current = CovarianceFactor(model.backend, now.lower)
        oracle = model.oracle(now.mean, current, self.curvature, iteration)
        return State(iteration, mean, factor, oracle, **carried)

    def propose(self, state: State, model: Model, rho: float) -> Proposal:
        now, first, second, sums, older = _unpack(state.memory)
        if self.update == "proximal":
            new = self._proximal_step(state, model, rho, now)
        else:
            new, first, second = self._adam_step(state, model, rho, now, first, second)
        # The average begins at the second last power of two, so that it covers at least half of
        # the iterates at any time and needs no knowledge of when the run ends.
        count = state.iteration + 1
        if count & (count - 1) == 0:
            sums, older = Window.empty(model.backend.xp, new), sums
        sums, older = sums.add(new), older.add(new)
        shown = older.mean() if self.average else new
        memory = _pack(new, first, second, sums, older)
        return Proposal(shown.mean, CovarianceFactor(model.backend, shown.lower), memory)

    def _proximal_step(
        self, state: State, model: Model, rho: float, now: "Parameters"
    ) -> "Parameters":
        backend, xp = model.backend, model.backend.xp
        lower = now.lower - rho * backend.lower(state.oracle.curvature)
        scales = diagonal(xp, lower)
        grown = 0.5 * (scales + xp.sqrt(scales * scales + 4.0 * rho * model.gamma))
        lower = lower + backend.identity(model.d) * (grown - scales)
        return Parameters(now.mean - rho * state.oracle.gradient, lower)

    def _adam_step(
        self,
        state: State,
        model: Model,
        rho: float,
        now: "Parameters",
        first: "Parameters",
        second: "Parameters",
    ) -> "tuple[Parameters, Parameters, Parameters]":
        backend, xp = model.backend, model.backend.xp
        identity, scales = backend.identity(model.d), diagonal(xp, now.lower)
        # The diagonal is a logarithm, so its gradient is multiplied by C_jj.
        force = backend.lower(state.oracle.curvature)
        force = force + identity * (diagonal(xp, force) * (scales - 1.0) - model.gamma)
        gradient = Parameters(state.oracle.gradient, force)
        count = state.iteration + 1
        first = _blend(DECAY_FIRST, first, gradient)
        second = _blend(DECAY_SECOND, second, Parameters(*(part * part for part in gradient)))
        shares = 1.0 - DECAY_FIRST**count, 1.0 - DECAY_SECOND**count
        moves = [
            rho * (a / shares[0]) / (xp.sqrt(b / shares[1]) + EPSILON)
            for a, b in zip(first, second, strict=True)
        ]
        lower = now.lower - moves[1]
        grown = scales * xp.exp(-diagonal(xp, moves[1]))
        lower = lower + identity * (grown - diagonal(xp, lower))
        return Parameters(now.mean - moves[0], lower), first, second


class Parameters(NamedTuple):
    """Mean and lower triangular factor, or a quantity for each of their entries."""

    mean: Array
    lower: Array


class Window(NamedTuple):
    """Sum of iterates and their number."""

    total: Parameters
    size: float

    @classmethod
    def empty(cls, xp: Any, like: Parameters) -> "Window":
        """Return a window without iterates."""
        return cls(Parameters(*(xp.zeros_like(part) for part in like)), 0.0)

    def add(self, iterate: Parameters) -> "Window":
        """Return the window with one more iterate."""
        sums = (a + b for a, b in zip(self.total, iterate, strict=True))
        return Window(Parameters(*sums), self.size + 1.0)

    def mean(self) -> Parameters:
        """Return the average."""
        return Parameters(*(part / self.size for part in self.total))


def _blend(decay: float, average: Parameters, value: Parameters) -> Parameters:
    pairs = zip(average, value, strict=True)
    return Parameters(*(decay * a + (1.0 - decay) * b for a, b in pairs))


def _start(xp: Any, mean: Array, lower: Array) -> tuple[Any, ...]:
    now = Parameters(mean, lower)
    zeros, empty = Parameters(*(xp.zeros_like(part) for part in now)), Window.empty(xp, now)
    return _pack(now, zeros, zeros, empty, empty)


# A checkpoint stores the memory, so it is a flat tuple of arrays and numbers.


def _pack(
    now: Parameters, first: Parameters, second: Parameters, sums: Window, older: Window
) -> tuple[Any, ...]:
    windows = (*sums.total, sums.size, *older.total, older.size)
    return (*now, *first, *second, *windows)


def _unpack(
    memory: tuple[Any, ...],
) -> tuple[Parameters, Parameters, Parameters, Window, Window]:
    parts = [Parameters(*memory[k : k + 2]) for k in (0, 2, 4, 6, 9)]
    sums, older = Window(parts[3], memory[8]), Window(parts[4], memory[11])
    return parts[0], parts[1], parts[2], sums, older
