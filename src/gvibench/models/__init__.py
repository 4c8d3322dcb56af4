"""Models: rows and a loss become an objective, its gradient g and its curvature H."""

import importlib
from typing import Any

import numpy as np

from gvibench.errors import UserError
from gvibench.models.base import METRICS, Model, Oracle, Rows, Sampling
from gvibench.numerics import Backend, expectations
from gvibench.spec.run import ProblemSpec, RunSpec

__all__ = [
    "METRICS",
    "MODULES",
    "Model",
    "Oracle",
    "Rows",
    "build",
    "model_class",
    "modules_of",
    "validate_targets",
]

# As text, so that a run depends only on the code of its own model.
MODULES = {
    "logistic": "gvibench.models.logistic:LogisticModel",
    "linear": "gvibench.models.linear:LinearModel",
    "non-convex": "gvibench.models.non_convex:NonConvexModel",
}


def modules_of(spec: ProblemSpec) -> tuple[str, ...]:
    """Return the modules that define the model of `spec` and its expectation."""
    model = MODULES[spec.model].partition(":")[0]
    if spec.model == "linear":  # its expectations are closed forms of its own
        return (model,)
    # What a stochastic run records is deterministic, and then nothing less than exact.
    used = {"exact" if spec.expectation == "stochastic" else spec.expectation}
    if isinstance(spec, RunSpec) and "objective_exact" in spec.record:
        used.add("exact")
    return (model, *(module for name in sorted(used) for module in expectations.MODULES[name]))


def model_class(name: str) -> type[Model]:
    """Return the class of the model called `name`."""
    module, _, attribute = MODULES[name].partition(":")
    found: Any = getattr(importlib.import_module(module), attribute)
    return found  # type: ignore[no-any-return]


def validate_targets(spec: ProblemSpec, *, real: bool) -> None:
    """Refuse real targets for a model of two classes."""
    if real and spec.model != "linear":
        raise UserError(
            f"model '{spec.model}' needs two classes, but the targets of '{spec.data.dataset}' are "
            "real numbers: use model 'linear'"
        )


def build(
    spec: RunSpec, backend: Backend, train: Rows, test: Rows, *, multiplicity: int = 1
) -> Model:
    """Return the model of one run on the given rows."""
    kind = model_class(spec.model)
    validate_targets(spec, real=not np.all(np.abs(train.y) == 1))
    sampling = (
        Sampling(spec.batch, spec.samples, spec.seed) if spec.expectation == "stochastic" else None
    )
    exact = None
    if "objective_exact" in spec.record:
        exact = kind.build_loss(backend, spec.model_copy(update={"expectation": "exact"}))
    return kind(
        backend,
        kind.build_loss(backend, spec),
        train,
        test,
        beta=spec.beta,
        gamma=spec.gamma,
        sampling=sampling,
        multiplicity=multiplicity,
        exact_loss=exact,
    )
