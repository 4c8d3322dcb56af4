"""Result of a fit: a Gaussian posterior with predictions, diagnostics and plots."""

import functools
import html
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gvibench import numerics
from gvibench.api.diagnostics import Diagnostics
from gvibench.api.posterior import Posterior
from gvibench.api.problem import Problem
from gvibench.errors import UserError
from gvibench.models.base import Model
from gvibench.models.protocols import Rows
from gvibench.registry import MODELS
from gvibench.spec.run import RunSpec
from gvibench.store.traces import Trace

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

__all__ = ["Fit"]

Floats = NDArray[np.float64]
SHOWN = 8
"""Maximum number of coefficients that the text of a fit shows."""


class Fit:
    """Gaussian approximation N(mean, covariance) of a posterior.

    The coefficients belong to the features as the model sees them: standardised unless
    `scale="none"`, and followed by the intercept. `feature_names` names them.
    """

    def __init__(self, problem: Problem, spec: RunSpec, posterior: Posterior, trace: Trace) -> None:
        self._problem = problem
        self._posterior = posterior
        self._trace = trace
        self.spec = spec
        """Settings of the run."""

    # The Gaussian

    @property
    def mean(self) -> Floats:
        """Mean of each coefficient."""
        return self._posterior.mean

    @functools.cached_property
    def covariance(self) -> Floats:
        """Covariance matrix of the coefficients."""
        return self._posterior.covariance()

    @functools.cached_property
    def sd(self) -> Floats:
        """Standard deviation of each coefficient."""
        return self._posterior.standard_deviations()

    @property
    def feature_names(self) -> list[str]:
        """Names of the coefficients."""
        return self._problem.feature_names

    @property
    def classes(self) -> tuple[Any, Any] | None:
        """Labels of the classes -1 and +1, or None for numbers."""
        return self._problem.targets.classes

    @property
    def model(self) -> str:
        """Name of the model."""
        return self.spec.model

    def draw(self, count: int = 1000, seed: int = 0) -> Floats:
        """Return draws from the Gaussian, with dimensions (draw, coefficient)."""
        return self._posterior.draw(count, seed)

    def in_original_units(self) -> tuple[Floats, Floats]:
        """Return mean and covariance of the coefficients of the features before scaling."""
        to_original = self._problem.scaling.to_original(len(self.mean))
        return to_original @ self.mean, to_original @ self.covariance @ to_original.T

    # How the fit went

    @property
    def status(self) -> str:
        """`converged`, `completed` or `stalled`."""
        return str(self._trace.attrs["status"])

    @property
    def reason(self) -> str:
        """Why the run ended."""
        return str(self._trace.attrs["reason"])

    @property
    def objective(self) -> float:
        """Value of the minimised objective."""
        return float(self._trace.scalars["objective"][-1])

    @property
    def elbo(self) -> float:
        """Evidence lower bound, minus infinity for an improper prior."""
        return -float(self._trace.scalars["neg_elbo"][-1])

    @property
    def evaluations(self) -> int:
        """Number of passes over the rows, including those of trial steps."""
        return int(self._trace.scalars["evaluations"][-1])

    @property
    def trace(self) -> "xr.Dataset":
        """Trace of the run as an xarray dataset, with what was done to the data as attributes."""
        from gvibench.api.runs import to_dataset

        return to_dataset(self._trace)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was chosen for you and done to the data."""
        return self._problem.notes

    # Predictions

    def predict_proba(self, X: Any, *, offset: Any = None) -> Floats:
        """Return the probability of each class, averaged over the Gaussian.

        Rows are observations. The columns belong to `classes[0]` and `classes[1]`.
        """
        if self.classes is None:
            raise UserError(f"model '{self.model}' has no classes: use predict")
        positive = self._response(X, offset)
        return np.column_stack([1.0 - positive, positive])

    def predict(self, X: Any, *, offset: Any = None) -> NDArray[Any]:
        """Return the more probable class, or the expected target of models without classes."""
        response = self._response(X, offset)
        if self.classes is None:
            return response
        return np.asarray(np.array(self.classes)[(response > 0.5).astype(int)])

    def _response(self, X: Any, offset: Any) -> Floats:
        given = self._problem.read(X, offset=offset)
        mean, variance = self._posterior.predictor(self._problem.design(given.values))
        if given.offset is not None:
            mean = mean + given.offset
        kind: type[Model] = MODELS.load(self.spec.model)
        loss = kind.build_loss(numerics.select("cpu"), self.spec.with_exact_expectations())
        return np.asarray(loss.response(mean, variance))

    # Diagnostics

    def diagnostics(
        self,
        X: Any = None,
        y: Any = None,
        *,
        offset: Any = None,
        draws: int = 100_000,
        seed: int = 0,
    ) -> Diagnostics:
        """Measure the distance from the posterior and, given test rows, the predictions.

        Parameters
        ----------
        X, y, offset : optional
            Test rows, their targets and their offset, as for `fit`.
        draws : int
            Number of draws for importance sampling; fewer if the data are large.
        seed : int
            Seed of the draws.
        """
        test = None
        if X is not None:
            given = self._problem.read(X, y, offset)
            if given.y is None:
                raise UserError("y is missing: give the targets of the test rows")
            y = self._problem.targets.of(given.y)
            test = Rows(self._problem.design(given.values), y, given.offset)
        return Diagnostics.of(
            self._problem, self.spec, self._posterior, test, draws=draws, seed=seed
        )

    # Views

    def plot(self, *, most: int = 20) -> "Figure":
        """Plot the coefficients that differ most from zero, with intervals of 95 %."""
        from gvibench.api.studies import NotebookFigure
        from gvibench.figures.coefficients import plot_coefficients

        figure = plot_coefficients(self.feature_names, self.mean, self.sd, most=most)
        figure.__class__ = NotebookFigure
        return figure

    def to_inference_data(self, draws: int = 1000, seed: int = 0) -> Any:
        """Return draws as ArviZ's inference data. Needs ArviZ."""
        try:
            import arviz
        except ImportError as error:
            raise UserError("to_inference_data needs ArviZ: pip install arviz") from error

        values = {"coefficients": self.draw(draws, seed)[None]}
        names: dict[str, Any] = {
            "coords": {"feature": self.feature_names},
            "dims": {"coefficients": ["feature"]},
        }
        if hasattr(arviz, "InferenceData"):  # before version 1
            return arviz.from_dict(posterior=values, **names)
        return arviz.from_dict({"posterior": values}, **names)

    def __repr__(self) -> str:
        rows = [f"  {name:<24.24} {mean:>10.4g} ± {sd:.3g}" for name, mean, sd in self._strongest()]
        hidden = len(self.mean) - len(rows)
        more = [f"  … and {hidden} more (fit.mean, fit.sd, fit.feature_names)"] if hidden else []
        notes = [f"  {note}" for note in self.notes]
        return "\n".join([*self._headlines(), *notes, *rows, *more])

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><th scope='row'>{html.escape(name)}</th><td>{mean:.4g}</td><td>{sd:.3g}</td></tr>"
            for name, mean, sd in self._strongest()
        )
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        head = "<tr><th>coefficient</th><th>mean</th><th>sd</th></tr>"
        return (
            f"<p>{html.escape(' '.join(self._headlines()))}</p><ul>{notes}</ul>"
            f"<table><thead>{head}</thead><tbody>{cells}</tbody></table>"
        )

    def _headlines(self) -> list[str]:
        n, d = self._problem.data.train_x.shape
        return [
            f"Gaussian posterior of {self.model} regression, {n} rows, {d} coefficients",
            f"{self.status} after {self.evaluations} evaluations of {self.spec.solver}, "
            + self._bound_text(),
        ]

    def _bound_text(self) -> str:
        if np.isfinite(self.elbo):
            return f"ELBO {self.elbo:.6g}"
        return f"objective {self.objective:.6g} (a flat prior has no ELBO)"

    def _strongest(self) -> list[tuple[str, float, float]]:
        """Return name, mean and sd of the coefficients furthest from zero."""
        order = np.argsort(-np.abs(self.mean) / self.sd)[:SHOWN]
        return [(self.feature_names[k], float(self.mean[k]), float(self.sd[k])) for k in order]
