"""Measure the optimum of a problem, or the final Gaussians of runs, on prepared data."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from gvibench import models, numerics
from gvibench.engine.measures import Gaussian, measure
from gvibench.engine.truth import analytic_truth, compare, fingerprint, from_draws
from gvibench.models.base import Model
from gvibench.numerics.gaussian import CovarianceFactor
from gvibench.spec.measures import MEASURES, TRUTH_MEASURES
from gvibench.spec.run import ProblemSpec, RunSpec
from gvibench.spec.statuses import UNUSABLE
from gvibench.store.optima import Optimum
from gvibench.store.prepared import Prepared
from gvibench.store.traces import Trace
from gvibench.store.truths import Truth, read_draws, read_shipped

__all__ = ["measure_optimum", "measure_runs"]

REDUCED = "the covariance of a problem with more features than rows is not stored"
NO_TRUTH = "no true posterior is known: set 'truth' of the data set to a file with draws"


def measure_optimum(
    spec: ProblemSpec, data: Prepared, optimum: Optimum, draws: Path | None = None
) -> list[dict[str, Any]]:
    """Return the measures of the optimum of a problem, as a list with one entry.

    Parameters
    ----------
    spec
        Problem with exact expectations.
    data
        Its data.
    optimum
        Its optimum, or the reason why there is none.
    draws
        The user's own draws from the posterior, if any.
    """
    judge = _Judge(spec, data, optimum, draws)
    reason = optimum.error or ("" if judge.optimum else REDUCED)
    return [judge.unknown(None, reason) if reason else judge.measure(None, judge.optimum)]


def measure_runs(
    spec: ProblemSpec,
    data: Prepared,
    traces: Sequence[Trace],
    optimum: Optimum | None,
    draws: Path | None = None,
) -> list[dict[str, Any]]:
    """Return the measures of the final Gaussian of each run. See `measure_optimum`."""
    judge = _Judge(spec, data, optimum, draws)
    results = []
    for trace in traces:
        reason = _unusable(trace)
        seed = trace.spec["seed"]
        if reason:
            results.append(judge.unknown(seed, reason))
        else:
            assert trace.mean is not None
            lower = trace.factors["covariance_factor"]
            results.append(judge.measure(seed, judge.gaussian(trace.mean[-1], lower)))
    return results


def _unusable(trace: Trace) -> str:
    """Return the reason why the final Gaussian of a run cannot be measured, or an empty string."""
    if trace.attrs["status"] in UNUSABLE:
        return f"the run {trace.attrs['status']}"
    if "reduced_factor" in trace.factors:
        return REDUCED
    if trace.mean is None or "covariance_factor" not in trace.factors:
        return "the run did not store its covariance: set record: [covariance_factor]"
    return ""


class _Judge:
    """Model of a problem with its optimum and its true posterior."""

    def __init__(
        self, spec: ProblemSpec, data: Prepared, optimum: Optimum | None, draws: Path | None
    ) -> None:
        values = {name: getattr(spec, name) for name in ProblemSpec.names()}
        run = RunSpec(**values, solver="vn", step=1.0)
        self.names = models.names_of(data)
        self.model = models.build(
            run, numerics.select("cpu"), *models.rows_of(data, spec), names=self.names
        )
        self.optimum: Gaussian | None = None
        if optimum is not None and optimum.covariance_factor is not None:
            self.optimum = self.gaussian(optimum.mean, optimum.covariance_factor)
        self._truth = _truth_of(self.model, draws)

    def gaussian(self, mean: np.ndarray, lower: np.ndarray) -> Gaussian:
        """Return a Gaussian, given the factor C with C C' = V."""
        factor = CovarianceFactor(self.model.backend, self.model.backend.asarray(lower))
        return Gaussian(np.asarray(mean, np.float64), factor)

    def unknown(self, seed: int | None, reason: str) -> dict[str, Any]:
        """Return NaN for all measures, with the reason."""
        return {
            "seed": seed,
            **dict.fromkeys(MEASURES, math.nan),
            "notes": dict.fromkeys(MEASURES, reason),
        }

    def measure(self, seed: int | None, q: Gaussian | None) -> dict[str, Any]:
        """Return all measures of a Gaussian."""
        assert q is not None
        with threadpool_limits(1):
            result = measure(self.model, *q, seed=seed or 0, optimum=self.optimum)
            compared, notes = self._compare(q)
        result["notes"] |= notes
        return {"seed": seed, **result, **compared}

    def _compare(self, q: Gaussian) -> tuple[Mapping[str, Any], dict[str, str]]:
        if self.model.gamma != 1:
            reason = f"with gamma {self.model.gamma:g}, q does not approximate the posterior"
        elif self._truth is None:
            reason = NO_TRUTH
        else:
            found = compare(self._truth, *q)
            return {**found, "worst": self._name(found["worst"])}, {}
        return dict.fromkeys(TRUTH_MEASURES, math.nan), dict.fromkeys(TRUTH_MEASURES, reason)

    def _name(self, column: int) -> str:
        return self.names[column]


def _truth_of(model: Model, draws: Path | None) -> Truth | None:
    """Return the true posterior: the user's, the exact one, or one that the package ships."""
    if draws is not None:
        found = read_draws(draws, model.d)
        return from_draws(found, f"{found.shape[0] * found.shape[1]} draws of {draws.name}")
    if type(model).penalty is not Model.penalty:
        return None
    return analytic_truth(model) or read_shipped(fingerprint(model))
