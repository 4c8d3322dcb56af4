"""Approximate the posterior of a regression model on the user's data by a Gaussian."""

from typing import Any

import numpy as np

from gvibench.api.posterior import Posterior
from gvibench.api.problem import read_problem
from gvibench.api.result import Fit
from gvibench.engine.execute import Clock, backend_of, build_trace
from gvibench.engine.run import Run
from gvibench.errors import UserError

__all__ = ["fit", "split_settings"]

DEFAULTS: dict[str, Any] = {
    "mean_scale": 0.0,
    "init_scale": 0.1,
    "iterations": 1000,
    "tolerance": 1e-2,
}
"""Settings of a fit that differ from those of a run. The tolerance keeps the Gaussian within about
one percent of a posterior standard deviation of the optimum."""
PROBLEM_SETTINGS = (
    *("beta", "prior", "sigma", "scale", "intercept", "positive"),
    *("drop", "categorical", "offset", "feature_names"),
)
"""Settings of `read_problem`."""


def fit(X: Any, y: Any = None, *, model: str = "auto", solver: str = "vn", **settings: Any) -> Fit:
    """Approximate the posterior of a regression model by a Gaussian.

    Parameters
    ----------
    X : array, data frame, mapping of columns, or path
        Rows with their features. Text columns are one-hot encoded; missing values are rejected. A
        path may lead to a CSV, Parquet, `.npz` or LIBSVM file.
    y : array or str, optional
        Targets, or the name of their column in X. A file may contain them: in its last column, or
        in the array `y`.
    model : str
        `logistic`, `probit`, `linear`, `poisson` or the model of a plug-in. `auto` is `logistic` if
        y has two different values, and `linear` otherwise.
    solver : str
        Name of a solver (see `gvibench solvers`).
    **settings
        About the data: `scale` ("standardize" or "none"), `intercept` (default: True), `positive`
        (the value of y that becomes +1; default: the larger one), `drop` and `categorical` (names
        of columns), `offset` (an array, or a column of X: a known part of the linear predictor) and
        `feature_names` (of a matrix).

        About the model: `beta` (prior precision of all coefficients; default: 1, for `linear`
        1 / var(y)), `prior` (mean and precision of single coefficients, as in a config) and `sigma`
        (noise of `linear`; default: estimated by least squares).

        About the run: all settings of `gvibench run --help` with underscores, e.g. `step`, `gamma`,
        `seed`, `iterations` and `tolerance`.

    Returns
    -------
    Fit
        Gaussian with its mean and covariance, predictions, diagnostics and plots.

    Examples
    --------
    >>> import numpy as np
    >>> import gvibench as gvi
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> fit = gvi.fit(X, [0, 0, 1, 0, 1, 1])
    >>> fit.predict_proba([[5.0]]).round(2)
    array([[0.17, 0.83]])
    """
    about_problem, about_run = split_settings(settings)
    problem = read_problem(X, y, model=model, **about_problem)
    spec = problem.spec({**DEFAULTS, "solver": solver, **about_run})
    with backend_of(spec) as backend:
        run = Run(spec, problem.data, backend)
        clock = Clock()
        run.start(warm_up=False)
        while run.is_active:
            run.step()
        trace = build_trace(run, problem.data, clock, "", exclusive=False)
        last = run.recorder.last
        mean, lower = (
            np.asarray(backend.to_host(values))
            for values in (last.mean, last.factor.covariance_lower())
        )
    trace.attrs["data"] = dict(problem.data.attrs)
    if run.status in {"diverged", "failed"}:
        raise UserError(f"the fit {run.status} ({run.reason}): use step='auto' or another solver")
    if run.reduction is not None:
        mean = run.reduction.lift(mean)
    return Fit(problem, spec, Posterior(mean, lower, run.reduction), trace)


def split_settings(settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings of the problem, and all others."""
    about_problem = {name: settings[name] for name in PROBLEM_SETTINGS if name in settings}
    return about_problem, {
        name: value for name, value in settings.items() if name not in about_problem
    }
