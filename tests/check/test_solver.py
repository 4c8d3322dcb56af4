"""Test that the built-in solvers conform and that each kind of mistake fails its check."""

import builtins

import numpy as np
import pytest

from gvibench.check.solver import check_solver
from gvibench.check.solver_checks import CHECKS
from gvibench.cli.main import main
from gvibench.errors import Diverged
from gvibench.numerics.gaussian import PrecisionFactor
from gvibench.registry import SOLVERS
from gvibench.solvers import vn
from gvibench.solvers.base import Proposal


@pytest.mark.parametrize("name", SOLVERS.built_in)
def test_built_in_solvers_conform(name, capsys):
    assert main(["check", "solver", name]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(CHECKS) + 1
    assert all(line.startswith("  ok") for line in lines[:-1])
    assert lines[-1] == f"{name} conforms"


class Nameless(vn.Vn):
    id = "vn"


class Undocumented(vn.Vn):
    """Has a docstring, but none for its option."""

    id = "broken"
    strength: float = 1.0


class WithoutDefault(vn.Vn):
    id = "broken"
    strength: float
    """Strength."""


class Ascending(vn.Vn):
    id = "broken"

    def step(self, state, model, rho):
        mean = state.mean + rho * state.oracle.gradient
        return self.advance(state, model, rho, Proposal(mean, state.factor, state.memory))


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
    """Keeps its memory in the module, not in the state."""

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
    """Uses the gradients of all runs in a batch."""

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


class LineSearch(vn.Vn):
    """Variational Newton that halves a step until the objective decreases (Armijo's rule)."""

    id = "line-search"
    adaptive = True

    def step(self, state, model, rho):
        before = self.objective(model, state)
        slope = float(model.fisher_norm(state.factor, state.oracle)) ** 2
        for _ in range(20):
            try:
                following = super().step(state, model, rho)
            except Diverged:
                pass
            else:
                if self.objective(model, following) <= before - 1e-4 * rho * slope:
                    return following
            rho *= 0.5
        return state._replace(iteration=state.iteration + 1)

    def objective(self, model, state):
        return float(model.objectives(state.mean, state.factor, state.oracle.value).objective)


BROKEN = [
    (Nameless, "has id, title and reference", "its id is 'vn', but it is installed as"),
    (Undocumented, "documents its options", "the option 'strength' has no docstring"),
    (
        WithoutDefault,
        "documents its options",
        "missing 1 required keyword-only argument: 'strength'",
    ),
    (Ascending, "descends on the linear model", "no step from 1"),
    (Disagreeing, "descends on the linear model", "below the optimum"),
    (Drifting, "stays at the optimum", "the mean has moved by 3e-05"),
    (Uncounted, "stays at the optimum", "does not increase `iteration`"),
    (Doubling, "keeps float32 and float64", "in a run in float32 the mean is float64"),
    (Looking, "stays on the device", "TransferError: __float__ of an array on"),
    (Random, "is reproducible to the bit", "two equal runs differ in 'objective'"),
    (Forgetful, "resumes to the bit", "stopped and resumed differs in 'objective'"),
    (Mixing, "supports batched runs", "differ in the mean from single runs"),
    (Raising, "reports divergence", "raised LinAlgError: no factor"),
]


@pytest.fixture
def install(add_plugin):
    def installed(solver, name="broken"):
        add_plugin("gvibench.solvers", name, f"{__name__}:{solver.__name__}")

    return installed


@pytest.mark.parametrize(("solver", "check", "message"), BROKEN)
def test_a_broken_solver_fails_the_right_check(install, monkeypatch, solver, check, message):
    install(solver)
    monkeypatch.setattr("gvibench.check.solver.CHECKS", {check: CHECKS[check]})
    report = check_solver("broken")
    assert not report.passed
    assert str(report).startswith(f"  FAIL  {check}: ")
    assert message in str(report)


def test_an_adaptive_solver_conforms(install):
    install(LineSearch, "line-search")
    report = check_solver("line-search")
    assert report.passed, str(report)


def test_the_exit_code_and_the_last_line_report_failures(install, monkeypatch, capsys):
    install(Undocumented)
    monkeypatch.setattr(
        "gvibench.check.solver.CHECKS",
        {
            check: CHECKS[check]
            for check in ("has id, title and reference", "documents its options")
        },
    )
    assert main(["check", "solver", "broken"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "broken fails 1 of 2 checks"
    assert main(["check", "solver", "srvn"]) == 2
    assert "did you mean 'sr-vn'?" in capsys.readouterr().err


def test_a_check_without_its_package_is_skipped(monkeypatch):
    real = builtins.__import__

    def without(name, *arguments):
        if name == "gvibench.check.strict_backend":
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    check = "stays on the device"
    monkeypatch.setattr("gvibench.check.solver.CHECKS", {check: CHECKS[check]})
    report = check_solver("vn")
    assert report.passed
    assert "-- " in str(report)
    assert "skipped, array-api-strict is not installed" in str(report)
