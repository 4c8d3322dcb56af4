"""Every solver of ours conforms, and each kind of mistake fails its own check."""

import builtins

import numpy as np
import pytest

from gvibench import registry, solvers
from gvibench.check.solver import examine
from gvibench.check.solver_checks import CHECKS
from gvibench.cli.main import main
from gvibench.numerics.gaussian import PrecisionFactor
from gvibench.solvers import vn


@pytest.mark.parametrize("name", solvers.MODULES)
def test_our_solvers_conform(name, capsys):
    assert main(["check", "solver", name]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(CHECKS) + 1
    assert all(line.startswith("  ok") for line in lines[:-1])
    assert lines[-1] == f"{name} conforms"


class Nameless(vn.Vn):
    id = "vn"


class Undocumented(vn.Vn):
    """Documents itself, but not its option."""

    id = "broken"
    strength: float = 1.0


class WithoutDefault(vn.Vn):
    id = "broken"
    strength: float
    """How strong."""


class Ascending(vn.Vn):
    id = "broken"

    def step(self, state, model, rho):
        mean = state.mean + rho * state.oracle.gradient
        return self.advance(state, model, rho, mean, state.factor, memory=state.memory)


class Disagreeing(vn.Vn):
    """Its factor is not the one that its oracle was evaluated at."""

    id = "broken"

    def step(self, state, model, rho):
        after = super().step(state, model, rho)
        return after._replace(factor=PrecisionFactor(model.backend, 0.5 * after.factor.lower))


class Drifting(vn.Vn):
    id = "broken"

    def step(self, state, model, rho):
        after = super().step(state, model, rho)
        return self.evaluate(
            model, after.iteration, after.mean + 1e-5, after.factor, memory=after.memory
        )


class Uncounted(vn.Vn):
    id = "broken"

    def step(self, state, model, rho):
        return super().step(state._replace(iteration=state.iteration - 1), model, rho)


class Doubling(vn.Vn):
    id = "broken"

    def step(self, state, model, rho):
        after = super().step(state, model, rho)
        return after._replace(mean=after.mean.astype(np.float64))


class Looking(vn.Vn):
    id = "broken"

    def step(self, state, model, rho):
        longest = float(model.backend.xp.max(model.backend.xp.abs(state.oracle.gradient)))
        return super().step(state, model, rho if longest < 1e30 else 0.5 * rho)


class Random(vn.Vn):
    id = "broken"

    def step(self, state, model, rho):
        return super().step(state, model, rho * np.random.default_rng().uniform(0.9, 1.0))


COUNT = []


class Forgetful(vn.Vn):
    """What it remembers is in the class, not in the state."""

    id = "broken"

    def init(self, model, mean, scale):
        COUNT.clear()
        return super().init(model, mean, scale)

    def step(self, state, model, rho):
        if state.iteration == 0:
            COUNT.clear()
        COUNT.append(state.iteration)
        return super().step(state, model, rho / (1 + len(COUNT)))


class Mixing(vn.Vn):
    """Takes the gradients of all runs for those of one."""

    id = "broken"
    supports_batching = True

    def step(self, state, model, rho):
        largest = model.backend.xp.max(model.backend.xp.abs(state.oracle.gradient))
        return super().step(state, model, rho / (1.0 + largest))


class Raising(vn.Vn):
    id = "broken"

    def step(self, state, model, rho):
        if rho > 10:
            raise np.linalg.LinAlgError("no factor")
        return super().step(state, model, rho)


BROKEN = [
    (Nameless, "says who it is", "its id is 'vn', it is installed as 'broken'"),
    (Undocumented, "documents its options", "the option 'strength' has no docstring"),
    (WithoutDefault, "documents its options", "'strength' is missing"),
    (Ascending, "descends on the linear model", "at no step"),
    (Disagreeing, "descends on the linear model", "below the optimum"),
    (Drifting, "stays at the optimum", "the mean has moved by 3e-05"),
    (Uncounted, "stays at the optimum", "does not count itself"),
    (Doubling, "keeps to float32 and float64", "in a run in float32 the mean is float64"),
    (Looking, "stays on the device", "TransferError: __float__ of an array on"),
    (Random, "repeats itself to the bit", "two equal runs differ in 'objective'"),
    (Forgetful, "resumes to the bit", "stopped and resumed differs in 'objective'"),
    (Mixing, "takes several runs at once", "differ in 'objective' from the same runs one by one"),
    (Raising, "reports divergence, raises nothing", "raised LinAlgError: no factor"),
]


@pytest.fixture
def install(monkeypatch):
    def as_broken(solver):
        target = {"broken": f"{__name__}:{solver.__name__}"}
        wanted = {"gvibench.solvers": target}
        monkeypatch.setattr(registry, "_installed", lambda group: wanted.get(group, {}))

    return as_broken


@pytest.mark.parametrize(("solver", "what", "sentence"), BROKEN)
def test_a_broken_solver_fails_the_right_check(install, monkeypatch, solver, what, sentence):
    install(solver)
    monkeypatch.setattr("gvibench.check.solver.CHECKS", {what: CHECKS[what]})
    verdict = examine("broken")
    assert not verdict.passed
    assert str(verdict).startswith(f"  FAIL  {what}: ")
    assert sentence in str(verdict)


def test_the_exit_code_and_the_last_line_tell(install, monkeypatch, capsys):
    install(Undocumented)
    monkeypatch.setattr(
        "gvibench.check.solver.CHECKS",
        {what: CHECKS[what] for what in ("says who it is", "documents its options")},
    )
    assert main(["check", "solver", "broken"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "broken fails 1 of 2 checks"
    assert main(["check", "solver", "srvn"]) == 2
    assert "did you mean 'sr-vn'?" in capsys.readouterr().err


def test_what_cannot_be_checked_is_said_to_be_left_out(monkeypatch):
    real = builtins.__import__

    def without(name, *arguments):
        if name == "gvibench.check.strict_backend":
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    what = "stays on the device"
    monkeypatch.setattr("gvibench.check.solver.CHECKS", {what: CHECKS[what]})
    verdict = examine("vn")
    assert verdict.passed
    assert "-- " in str(verdict)
    assert "left out, array-api-strict is not installed" in str(verdict)
