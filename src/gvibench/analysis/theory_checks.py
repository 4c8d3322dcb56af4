"""Compare the runs of a study with the bounds of `theory`, one measurement per run.

A claim applies to a run only if its assumptions hold. If they do not, or if a required metric was
not recorded, the measurement contains the reason and no bound.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import xarray as xr

from gvibench.analysis.configurations import Configuration, Floats, configurations
from gvibench.analysis.gaps import ROUNDING
from gvibench.analysis.run_data import RunData
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

CURVES = ("objective", "grad_norm", "cov_eig_min", "factor_norm")
BLOCK_RUNS = 1000
"""Number of runs whose curves are in memory at a time."""
SAME_POINT = 1e-8
"""Relative distance below which two Gaussians count as equal."""


@dataclass(frozen=True)
class Verdict:
    """Whether an inequality held at all recorded iterations."""

    held: bool
    violated_at: int | None = None
    """First recorded iteration at which the inequality failed."""


@dataclass(frozen=True)
class Claim:
    """Claimed bound and the values measured in a run."""

    name: str
    quantity: str
    """Name of the bounded quantity."""
    iteration: Floats
    values: Floats
    unit: str = "iteration"
    """Unit of time of the rates."""
    not_applicable: str = ""
    """Reason why the claim does not apply to this run, empty if it does."""
    printed_step: float = math.nan
    """Largest permissible step as printed."""
    needed_step: float = math.nan
    """Largest permissible step that the proof supports, with the constants of the run."""
    claimed_rate: float = math.nan
    bound: Floats | None = None
    verdict: Verdict | None = None
    orders_loose: float = math.nan
    """Orders of magnitude between the last value and its bound."""
    measured_rate: float = math.nan
    iterations_printed: float = math.nan
    """Printed number of iterations, at the best step, for the reduction that the run reached."""
    iterations_needed: float = math.nan
    """Number of iterations for the same reduction that the proof supports."""


@dataclass(frozen=True)
class Inequality:
    """PL inequality with a given constant."""

    constant: float
    verdict: Verdict


@dataclass(frozen=True)
class Measurement:
    """Comparison of one run with the theory."""

    configuration: Configuration
    seed: int
    missing: str
    """Reason why the run was not measured, empty if it was."""
    constants: Constants | None = None
    claim: Claim | None = None
    """Claim about the solver of the run, or None if there is none."""
    pl_printed: Inequality | None = None
    pl_valid: Inequality | None = None
    pl_measured: float = math.nan
    """Largest constant with which the PL inequality held at all iterations."""
    fisher: Verdict | None = None
    """Check of the printed lemma on the Fisher matrix, if iterates were recorded."""

    @property
    def failures(self) -> list[str]:
        """Claims that do not hold for this run, in words."""
        failures, reason = [], self.claim.not_applicable if self.claim else ""
        if self.claim and reason and self.configuration.step <= self.claim.printed_step:
            failures.append(f"the step is permissible as printed, but {reason}")
        for name, verdict in (
            ("the claimed bound", self.claim.verdict if self.claim else None),
            ("the PL inequality with the printed constant", _verdict_of(self.pl_printed)),
            ("the PL inequality with the valid constant", _verdict_of(self.pl_valid)),
            ("the printed lemma on the Fisher matrix", self.fisher),
        ):
            if verdict is not None and not verdict.held:
                failures.append(f"{name} fails, first at iteration {verdict.violated_at}")
        return failures

    @property
    def findings(self) -> list[str]:
        """Failures of the run, or the reason why it was not measured."""
        return [f"not measured: {self.missing}"] if self.missing else self.failures


def _verdict_of(inequality: Inequality | None) -> Verdict | None:
    return None if inequality is None else inequality.verdict


def measure(dataset: xr.Dataset) -> list[Measurement]:
    """Return a measurement of each run, in the order of the study."""
    measurements: dict[int, Measurement] = {}
    configs = configurations(dataset)
    config_of = {run: config for config in configs for run in config.runs.tolist()}
    names = [name for name in CURVES if name in dataset]
    for start in range(0, dataset.sizes["run"], BLOCK_RUNS):
        block = dataset.isel(run=slice(start, start + BLOCK_RUNS))
        block = block.assign_coords(iteration=block["iteration"].compute())
        block = block.assign(block[names].compute())
        for run in range(start, start + block.sizes["run"]):
            if run in config_of:
                measurements[run] = _measure_run(config_of[run], RunData(block, run - start))
    return [measurements[run] for config in configs for run in config.runs.tolist()]


def _measure_run(config: Configuration, run: RunData) -> Measurement:
    blank = Measurement(config, run.value("seed"), run.why_not_measured())
    return blank if blank.missing else _measured(blank, run)


class _Gaps(NamedTuple):
    """Objective gap along a run."""

    at: Floats
    values: Floats
    floor: float
    """Value below which gaps are rounding errors."""


def _measured(blank: Measurement, run: RunData) -> Measurement:
    constants = run.constants()
    optimum = run.value("optimum_objective")
    iteration, objective, grad_norm = run.curves("objective", "grad_norm")
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


def _verdict(iteration: Floats, violation: int | None) -> Verdict:
    return Verdict(violation is None, None if violation is None else int(iteration[violation]))


def _fisher_lemma(run: RunData, constants: Constants) -> Verdict | None:
    """Check the printed bound on the inverse Fisher matrix at the snapshots."""
    if not run.has_path:
        return None
    at, _, factors = run.path()
    smallest = np.array([fisher_inverse_floor(factor) for factor in factors])
    printed = np.full(len(smallest), constants.printed_fisher_floor)
    return _verdict(at, first_violation(printed, smallest, 0.0))


# Claims by solver


def _sr_vn_claim(run: RunData, constants: Constants, gaps: _Gaps) -> Claim:
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


def _flow_claim(run: RunData, constants: Constants, gaps: _Gaps) -> Claim:
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


def _bw_gd_claim(run: RunData, constants: Constants, _: _Gaps) -> Claim:
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
    """Return the claim with its bound and the comparison of the measured values with it."""
    limits = bound.at(time, claim.values[0])
    return replace(
        claim,
        claimed_rate=bound.rate,
        bound=limits,
        verdict=_verdict(claim.iteration, first_violation(claim.values, limits, floor)),
        orders_loose=looseness(claim.values, limits, floor),
    )


CLAIMS: dict[str, Callable[[RunData, Constants, _Gaps], Claim]] = {
    "sr-vn": _sr_vn_claim,
    "ng-flow": _flow_claim,
    "bw-gd": _bw_gd_claim,
}
"""Functions that evaluate a claim, by solver id."""
