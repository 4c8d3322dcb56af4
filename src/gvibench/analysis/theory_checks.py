"""What the runs of a study say about the claims of `theory`: one measurement for every run.

A claim speaks of a run only if its assumptions hold there. Where they do not, or where what is
needed was not recorded, the measurement says so in a few words and no bound is drawn.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from gvibench.analysis.configurations import Configuration, configurations
from gvibench.analysis.gaps import ROUNDING
from gvibench.analysis.theory import (
    Bound,
    Constants,
    bw_step,
    first_violation,
    fisher_inverse_floor,
    lambert_step,
    looseness,
    measured_rate,
    pl_constant,
    squared_wasserstein,
)

__all__ = ["CLAIMS", "Claim", "Inequality", "Measurement", "Verdict", "measure"]

Floats = NDArray[np.float64]

CONVEX = ("logistic", "linear")
SAME_POINT = 1e-8
"""Gaussians closer than this, relative to their size, are one as far as anybody can tell."""


@dataclass(frozen=True)
class Verdict:
    """Whether an inequality held wherever it was looked at."""

    held: bool
    violated_at: int | None = None
    """The first recorded iteration at which it did not."""


@dataclass(frozen=True)
class Claim:
    """A claimed bound beside what was measured."""

    name: str
    quantity: str
    """What is bounded."""
    iteration: Floats
    values: Floats
    unit: str = "iteration"
    """What rates are per."""
    not_applicable: str = ""
    """Why the claim says nothing about this run; empty if it does."""
    printed_step: float = math.nan
    """The largest permissible step as it is printed."""
    needed_step: float = math.nan
    """The largest permissible step that the argument supports, with the run's own constants."""
    claimed_rate: float = math.nan
    bound: Floats | None = None
    verdict: Verdict | None = None
    orders_loose: float = math.nan
    """By how many orders of magnitude the last value was below its bound."""
    measured_rate: float = math.nan
    iterations_printed: float = math.nan
    """Iterations claimed, at the best step, for what the run gained: as printed."""
    iterations_needed: float = math.nan
    """The same as the argument needs it."""


@dataclass(frozen=True)
class Inequality:
    """The PL inequality with one constant."""

    constant: float
    verdict: Verdict


@dataclass(frozen=True)
class Measurement:
    """All that one run says about the theory."""

    configuration: Configuration
    seed: int
    missing: str
    """What kept the run from being measured; empty if nothing did."""
    constants: Constants | None = None
    claim: Claim | None = None
    """Nothing for solvers that no claim speaks of."""
    pl_printed: Inequality | None = None
    pl_valid: Inequality | None = None
    pl_measured: float = math.nan
    """The largest constant with which the PL inequality held throughout."""
    fisher: Verdict | None = None
    """The lemma on the Fisher matrix, where iterates were kept."""

    @property
    def failures(self) -> list[str]:
        """What is claimed and not so, in plain words."""
        found, reason = [], self.claim.not_applicable if self.claim else ""
        if self.claim and reason and self.configuration.step <= self.claim.printed_step:
            found.append(f"the step is permissible as printed, but {reason}")
        for name, verdict in (
            ("the claimed bound", self.claim.verdict if self.claim else None),
            ("the PL inequality with the printed constant", _of(self.pl_printed)),
            ("the PL inequality with the valid constant", _of(self.pl_valid)),
            ("the printed lemma on the Fisher matrix", self.fisher),
        ):
            if verdict is not None and not verdict.held:
                found.append(f"{name} fails, first at iteration {verdict.violated_at}")
        return found

    @property
    def findings(self) -> list[str]:
        """The failures, or why the run could not be measured."""
        return [f"not measured: {self.missing}"] if self.missing else self.failures


def _of(inequality: Inequality | None) -> Verdict | None:
    return None if inequality is None else inequality.verdict


def measure(dataset: xr.Dataset) -> list[Measurement]:
    """Measure every run of a study, in the order of the study."""
    found = []
    for one in configurations(dataset):
        for run in one.runs.tolist():
            reader = _Run(dataset, one, run)
            blank = Measurement(one, reader.value("seed"), reader.missing())
            found.append(blank if blank.missing else _measured(blank, reader))
    return found


class _Gaps(NamedTuple):
    """The objective gap along a run."""

    at: Floats
    values: Floats
    floor: float
    """Up to here gaps are rounding."""


def _measured(blank: Measurement, run: "_Run") -> Measurement:
    constants = run.constants()
    optimum = run.value("optimum_objective")
    iteration, objective, grad_norm = run.along("objective", "grad_norm")
    gaps = _Gaps(iteration, objective - optimum, ROUNDING * (1 + abs(optimum)))
    claim_of = CLAIMS.get(blank.configuration.solver_id)

    def with_constant(mu: float) -> Inequality:
        needed, floor = 2 * mu * gaps.values, 2 * mu * gaps.floor
        return Inequality(mu, _verdict(iteration, first_violation(needed, grad_norm**2, floor)))

    return replace(
        blank,
        constants=constants,
        claim=claim_of(run, constants, gaps) if claim_of else None,
        pl_printed=with_constant(constants.printed_pl),
        pl_valid=with_constant(constants.valid_pl),
        pl_measured=pl_constant(gaps.values, grad_norm, gaps.floor),
        fisher=_fisher_lemma(run, constants),
    )


def _verdict(iteration: Floats, place: int | None) -> Verdict:
    return Verdict(place is None, None if place is None else int(iteration[place]))


def _fisher_lemma(run: "_Run", constants: Constants) -> Verdict | None:
    """Compare the paper's bound on the inverse Fisher matrix with what it was at the snapshots."""
    if not run.has_path:
        return None
    at, _, factors = run.path()
    smallest = np.array([fisher_inverse_floor(factor) for factor in factors])
    printed = np.full(len(smallest), constants.printed_fisher_floor)
    return _verdict(at, first_violation(printed, smallest, 0.0))


# The three claims


def _sr_vn(run: "_Run", constants: Constants, gaps: _Gaps) -> Claim:
    contraction = constants.contraction(run.step)
    first, last = (max(float(gaps.values[k]), gaps.floor) for k in (0, -1))
    printed, needed = constants.complexities(last / first)
    claim = Claim(
        name="SR-VN",
        quantity="objective gap",
        iteration=gaps.at,
        values=gaps.values,
        printed_step=constants.printed_step,
        needed_step=constants.needed_step,
        measured_rate=measured_rate(*gaps),
        iterations_printed=printed,
        iterations_needed=needed,
    )
    if contraction <= 0:
        return replace(claim, not_applicable="eta is not positive")
    if contraction >= 1:
        return replace(claim, not_applicable="2 eta delta is not below 1")
    return _compared(claim, Bound.of_contraction(contraction), gaps.at, gaps.floor)


def _flow(run: "_Run", constants: Constants, gaps: _Gaps) -> Claim:
    time = run.step * gaps.at
    claim = Claim(
        name="flow",
        quantity="objective gap",
        iteration=gaps.at,
        values=gaps.values,
        unit="time",
        measured_rate=measured_rate(time, gaps.values, gaps.floor),
    )
    return _compared(claim, Bound(2 * constants.printed_pl), time, gaps.floor)


def _bw_gd(run: "_Run", constants: Constants, _: _Gaps) -> Claim:
    claim = Claim(
        name="Wasserstein",
        quantity="squared Wasserstein distance",
        iteration=np.empty(0),
        values=np.empty(0),
        printed_step=lambert_step(constants.delta, constants.smoothness),
        needed_step=bw_step(constants.smoothness, constants.lambda_min),
    )
    if not run.has_path:
        return replace(claim, not_applicable="covariance_factor_path was not recorded")
    if (optimum := run.optimum()) is None:
        return replace(claim, not_applicable="the covariance of the optimum is not known")
    mean, factor = optimum
    at, means, factors = run.path()
    values = np.array(
        [
            squared_wasserstein(*iterate, mean, factor)
            for iterate in zip(means, factors, strict=True)
        ]
    )
    floor = SAME_POINT**2 * float((mean**2).sum() + (factor**2).sum())
    rate = measured_rate(at, values, floor)
    claim = replace(claim, iteration=at, values=values, measured_rate=rate)
    if run.step > claim.needed_step:
        return replace(claim, not_applicable="the step is too long")
    return _compared(claim, Bound(constants.delta * run.step), at, floor)


def _compared(claim: Claim, bound: Bound, time: Floats, floor: float) -> Claim:
    above = bound.at(time, claim.values[0])
    return replace(
        claim,
        claimed_rate=bound.rate,
        bound=above,
        verdict=_verdict(claim.iteration, first_violation(claim.values, above, floor)),
        orders_loose=looseness(claim.values, above, floor),
    )


CLAIMS: dict[str, Callable[["_Run", Constants, _Gaps], Claim]] = {
    "sr-vn": _sr_vn,
    "ng-flow": _flow,
    "bw-gd": _bw_gd,
}
"""By solver id."""


# Reading


class _Run:
    """One run of an aggregate."""

    def __init__(self, dataset: xr.Dataset, configuration: Configuration, run: int) -> None:
        self._dataset = dataset
        self._run = run
        self._spec: dict[str, Any] = json.loads(dataset["spec"].values[run])
        self.step = configuration.step

    def value(self, name: str) -> Any:
        """Return a number of the run."""
        return self._dataset[name].values[self._run].item()

    def missing(self) -> str:
        """Say what keeps the theory from speaking of this run, in a few words."""
        spec = self._spec
        if spec["model"] not in CONVEX:
            return "the model is not convex"
        if spec["gamma"] != 1:
            return "gamma is not 1"
        if spec["expectation"] != "exact":
            return "expectations are not exact"
        if spec["step_decay"] != 0:
            return "the step decays"
        if "smoothness" not in self._dataset or not math.isfinite(self.value("smoothness")):
            return "the study has no optimum"
        if not math.isfinite(self.value("optimum_objective")):
            return "the study has no optimum"
        for name in ("cov_eig_min", "factor_norm"):
            if name not in self._dataset or np.isnan(self._along(name)).all():
                return f"{name} was not recorded"
        if len(self.along("objective", "grad_norm")[0]) == 0:
            return "no finite objective was recorded"
        return ""

    def along(self, *names: str) -> tuple[Floats, ...]:
        """Return the recorded iterations and what was recorded at them."""
        rows = [self._along(name) for name in names]
        known = np.isfinite(rows).all(axis=0)
        iteration = np.asarray(self._dataset["iteration"].values, dtype=float)
        return iteration[known], *(row[known] for row in rows)

    def _along(self, name: str) -> Floats:
        return np.asarray(self._dataset[name].values[self._run], dtype=float)

    def constants(self) -> Constants:
        """Return the constants of the run, over its recorded iterates."""
        norms = self._along("factor_norm")
        return Constants(
            delta=float(self._spec["beta"]),
            smoothness=self.value("smoothness"),
            lambda_min=float(np.nanmin(self._along("cov_eig_min"))),
            xi_l=float(np.nanmin(norms)),
            xi_u=float(np.nanmax(norms)),
        )

    @property
    def has_path(self) -> bool:
        """Whether the covariance was kept along the way."""
        name = "path_covariance_factor"
        return name in self._dataset and bool(np.isfinite(self._corner(name)).any())

    def _corner(self, name: str) -> Floats:
        return np.asarray(self._dataset[name][self._run, :, 0, 0].values, dtype=float)

    def path(self) -> tuple[Floats, Floats, Floats]:
        """Return the iterations of the snapshots, their means and covariance factors."""
        kept = np.isfinite(self._corner("path_covariance_factor"))
        means = np.asarray(self._dataset["path_mean"][self._run].values)[kept]
        factors = np.asarray(self._dataset["path_covariance_factor"][self._run].values)[kept]
        d = int(np.isfinite(means[0]).sum())  # the rest fills up to the widest data set
        at = np.asarray(self._dataset["snapshot"].values, dtype=float)[kept]
        return at, means[:, :d], factors[:, :d, :d]

    def optimum(self) -> tuple[Floats, Floats] | None:
        """Return mean and covariance factor of the optimum, if they are known."""
        mean = np.asarray(self._dataset["optimum_mean"][self._run].values)
        factor = np.asarray(self._dataset["optimum_covariance_factor"][self._run].values)
        d = int(np.isfinite(mean).sum())
        return (mean[:d], factor[:d, :d]) if d else None
