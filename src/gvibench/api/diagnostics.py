"""Measures of a fit: its distance from the posterior and the quality of its predictions."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gvibench import models, numerics
from gvibench.api.posterior import Posterior
from gvibench.api.problem import Problem
from gvibench.engine.measures import measure
from gvibench.models.protocols import Rows
from gvibench.numerics.gaussian import CovarianceFactor
from gvibench.spec.run import RunSpec

__all__ = ["Diagnostics"]

LABELS = {
    "neg_elbo": "negative ELBO",
    "log_evidence": "log evidence",
    "evidence_gap": "evidence gap (KL to the posterior)",
    "ess": "effective sample size / draws",
    "k_hat": "Pareto k-hat",
    "pred_nll": "predictive NLL per row",
    "brier": "Brier score",
    "auc": "AUC",
    "ece": "calibration error",
}
"""Measures in the text of the diagnostics."""


class Diagnostics(Mapping[str, Any]):
    """Measures by name; their text is a short report."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    @classmethod
    def of(
        cls,
        problem: Problem,
        spec: RunSpec,
        posterior: Posterior,
        test: Rows | None,
        *,
        draws: int,
        seed: int,
    ) -> "Diagnostics":
        """Measure a posterior on the training rows and, if given, on test rows of the design."""
        data, backend = problem.data, numerics.select("cpu")
        train, none = models.rows_of(data, spec)
        test = none if test is None else test
        mean, multiplicity = posterior.mean, 1
        if posterior.reduction is not None:
            reduction, multiplicity = posterior.reduction, posterior.reduction.multiplicity
            train = train._replace(x=reduction.train_x)
            test = test._replace(x=posterior.coordinates(test.x))
            mean = posterior.reduced_mean()
        exact = spec.with_exact_expectations().replace(record=())
        model = models.build(
            exact,
            backend,
            train,
            test,
            multiplicity=multiplicity,
            names=problem.feature_names,
        )
        factor = CovarianceFactor(backend, posterior.lower)
        return cls(measure(model, mean, factor, seed=seed, draws=draws))

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        lines = [
            f"{label:<36} {self._values[name]:.5g}{self._comment(name)}"
            for name, label in LABELS.items()
            if name in self._values and np.isfinite(self._values[name])
        ]
        return "\n".join(lines)

    def _comment(self, name: str) -> str:
        if name == "k_hat":
            return f" ({self._values['reading']})"
        error = self._values.get(f"{name}_error")
        return "" if error is None else f" ± {error:.1g}"
