"""Provide the solver to be checked, and the small problems for its conformance tests."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gvibench import models
from gvibench.engine.execute import execute
from gvibench.models.base import Model
from gvibench.models.protocols import Rows
from gvibench.numerics.base import Backend
from gvibench.solvers.base import Solver
from gvibench.spec.run import DataSpec, RunSpec
from gvibench.store.prepared import Prepared
from gvibench.store.traces import Trace

__all__ = [
    *("BETA", "DATA", "FEATURES", "HUGE_STEP", "ROWS", "SMALL_STEP", "STEPS"),
    *("CheckFailed", "CheckSkipped", "Subject", "build_model", "made_data", "made_rows"),
]

STEPS = (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4)
SMALL_STEP, HUGE_STEP = 1e-3, 1e3
ROWS, FEATURES, BETA = 40, 4, 0.5
DATA = DataSpec(dataset="conformance")


class CheckFailed(Exception):  # noqa: N818  (a result, not an error)
    """The solver does not meet a requirement."""


class CheckSkipped(Exception):  # noqa: N818  (a result, not an error)
    """The check cannot be run here."""


@dataclass
class Subject:
    """Solver to be checked."""

    name: str
    kind: type[Solver]
    step: float = STEPS[-1]
    """Step at which the solver descends, set by the check that finds it."""

    @property
    def is_stochastic(self) -> bool:
        """Whether the solver uses draws from q."""
        return self.kind.defaults.get("expectation") == "stochastic"

    def spec(self, **changes: Any) -> RunSpec:
        """Return the spec of a short run of the solver."""
        rule = "constant" if self.kind.has_step else "none"
        usual = {"step": self.step, "step_rule": rule, "iterations": 10, "device": "cpu"}
        values = {**usual, **self.kind.defaults, **changes}
        return RunSpec(data=DATA, beta=BETA, solver=self.name, **values)

    def run(self, **changes: Any) -> Trace:
        """Execute a short run of the solver and return its trace."""
        spec = self.spec(**changes)
        return execute(spec, made_data(spec.model == "linear"))


def made_data(real: bool) -> Prepared:
    train, test = made_rows(real, seed=0), made_rows(real, seed=1)
    return Prepared(DATA, train.x, train.y, test.x, test.y, {})


def made_rows(real: bool, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((ROWS, FEATURES))
    y = x @ np.arange(1.0, FEATURES + 1) / FEATURES + rng.standard_normal(ROWS)
    return Rows(x, y if real else np.where(y > 0, 1.0, -1.0))


def build_model(spec: RunSpec, backend: Backend, rows: Rows | None = None) -> Model:
    train = made_rows(spec.model == "linear", seed=0) if rows is None else rows
    return models.build(spec, backend, train, train)
