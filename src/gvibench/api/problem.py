"""Build the problem of a fit from the user's data: features, targets, model and prior."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gvibench.api.design import Scaling, Targets, read_targets
from gvibench.api.inputs import Features, read_inputs
from gvibench.api.settings import plain, validate_names
from gvibench.errors import UserError
from gvibench.registry import MODELS
from gvibench.spec.run import DataSpec, RunSpec
from gvibench.store.prepared import Prepared
from gvibench.study.defaults import complete_problem

__all__ = ["Problem", "read_problem"]

Floats = NDArray[np.float64]
NAME = "data"
"""Name of the user's data in specs and plots."""
DEFAULT_BETA = 1.0
"""Prior precision of coefficients of standardised features."""
FIXED = {"data", "model", "sigma", "beta", "prior", "solver", "seed"}
"""Fields of a run that are not among the other settings."""


@dataclass(frozen=True)
class Problem:
    """Rows, model and prior of a fit, and what was done to the user's data."""

    features: Features
    scaling: Scaling
    targets: Targets
    data: Prepared
    fields: Mapping[str, Any]
    """Model, prior and noise, as fields of a run."""
    notes: tuple[str, ...]
    """Sentences about what was chosen for the user."""

    @property
    def feature_names(self) -> list[str]:
        """Names of the coefficients."""
        return [*self.features.names, *(["intercept"] if self.scaling.intercept else [])]

    def spec(self, settings: Mapping[str, Any]) -> RunSpec:
        """Return the run with the given settings on these data."""
        validate_names(settings, set(RunSpec.names()) - FIXED | {"solver", "seed"})
        values = {**self.fields, **plain(settings)}
        return complete_problem(RunSpec, self.data.spec, values, "settings")


def read_problem(
    X: Any,
    y: Any,
    *,
    model: str = "auto",
    beta: float | None = None,
    prior: Mapping[str, Any] | None = None,
    sigma: float | None = None,
    scale: str = "standardize",
    intercept: bool = True,
    positive: Any = None,
    drop: Collection[str] = (),
    categorical: Collection[str] = (),
    offset: Any = None,
    feature_names: Collection[str] | None = None,
) -> Problem:
    """Read the user's data and choose what is left open. `fit` documents the parameters."""
    if model != "auto":
        MODELS.load(model)
    if scale not in {"standardize", "none"}:
        raise UserError(f"scale should be 'standardize' or 'none', got {scale!r}")
    given = read_inputs(
        X, y, drop=drop, categorical=categorical, offset=offset, feature_names=feature_names
    )
    targets = read_targets(given.y, model, positive)
    if len(targets.y) < 2:
        raise UserError("X has one row, but a fit needs at least two")
    scaling = Scaling.learn(
        given.features, standardize=scale == "standardize", intercept=intercept
    )
    design = scaling.apply(given.features.x)
    notes = [_model_note(targets, model)]
    fields: dict[str, Any] = {"model": targets.model, "beta": DEFAULT_BETA}
    if targets.model == "linear":
        fields |= _linear_fields(design, targets.y, given.offset, sigma, intercept, notes)
    if beta is not None or prior is not None:
        fields.pop("prior", None)
    fields |= {name: value for name, value in (("beta", beta), ("prior", prior)) if value is not None}
    spec = DataSpec(dataset=NAME, split="given", scale=scale, intercept=intercept)
    names = [*given.features.names, *(["intercept"] if intercept else [])]
    attrs = {"feature_names": names, "d": design.shape[1]}
    data = Prepared(
        spec,
        design,
        targets.y,
        design[:0],
        targets.y[:0],
        attrs,
        train_offset=given.offset,
        test_offset=None if given.offset is None else given.offset[:0],
    )
    return Problem(given.features, scaling, targets, data, fields, tuple(notes))


def _model_note(targets: Targets, asked: str) -> str:
    chosen = "chosen because of the values of y" if asked == "auto" else "as asked for"
    if targets.classes is None:
        return f"model {targets.model} ({chosen})"
    negative, positive = targets.classes
    return f"model {targets.model} ({chosen}): {positive!r} is +1, {negative!r} is -1"


def _linear_fields(
    design: Floats,
    y: Floats,
    offset: Floats | None,
    sigma: float | None,
    intercept: bool,
    notes: list[str],
) -> dict[str, Any]:
    """Return noise and prior of a linear model in the units of y."""
    given = y if offset is None else y - offset
    variance = float(np.var(given))
    if variance == 0:
        raise UserError("y is the same in all rows: a model needs other rows, too")
    if sigma is None:
        sigma = _residual_sd(design, given)
        notes.append(f"sigma {sigma:.3g}, the residual standard deviation of least squares")
    notes.append(f"prior precision 1 / var(y) = {1 / variance:.3g}")
    fields: dict[str, Any] = {"sigma": float(sigma), "beta": 1.0 / variance}
    if intercept:
        fields["prior"] = {"mean": {"intercept": float(np.mean(given))}}
        notes.append(f"prior mean of the intercept: the mean of y, {np.mean(given):.3g}")
    return fields


def _residual_sd(design: Floats, y: Floats) -> float:
    rows, columns = design.shape
    if rows <= columns:
        raise UserError(
            f"sigma cannot be estimated from {rows} rows and {columns} columns: give sigma"
        )
    coefficients = np.linalg.lstsq(design, y)[0]
    residual = y - design @ coefficients
    sigma = float(np.sqrt(residual @ residual / (rows - columns)))
    if not sigma > 1e-10 * float(np.std(y)):
        raise UserError("the features determine y exactly, so sigma cannot be estimated: give it")
    return sigma
