"""Build the problem of a fit from the user's data: features, targets, model and prior."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gvibench.api.design import Scaling, Targets, read_targets
from gvibench.api.inputs import FeatureMap, Inputs, Values, read_inputs
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

    features: FeatureMap
    scaling: Scaling
    targets: Targets
    data: Prepared
    fields: Mapping[str, Any]
    """Model, prior and noise, as fields of a run."""
    offset_column: str | None
    """Column of the offset, if the user has named one."""
    notes: tuple[str, ...]
    """Sentences about what was chosen for the user."""

    @property
    def feature_names(self) -> list[str]:
        """Names of the coefficients."""
        return list(self.data.attrs["feature_names"])

    def design(self, values: Values) -> Floats:
        """Return the design matrix of other rows."""
        return self.scaling.apply(self.features.apply(values))

    def read(self, X: Any, y: Any = None, offset: Any = None) -> Inputs:
        """Read other rows. They have an offset if and only if the training rows have one."""
        if offset is None:
            offset = self.offset_column
        given = read_inputs(X, y, offset)
        if (given.offset is None) != (self.data.train_offset is None):
            advice = "give" if given.offset is None else "leave out"
            raise UserError(f"{advice} the offset, as in the training data")
        return given

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
    scale: Literal["standardize", "none"] = "standardize",
    intercept: bool = True,
    positive: Any = None,
    drop: Collection[str] = (),
    categorical: Collection[str] = (),
    offset: Any = None,
    feature_names: Collection[str] = (),
) -> Problem:
    """Read the user's data and choose what is left open. `fit` documents the parameters."""
    if model != "auto":
        MODELS.load(model)
    given = read_inputs(X, y, offset, as_text=categorical)
    if given.y is None:
        raise UserError("y is missing: give the targets, or the name of their column in X")
    targets = read_targets(given.y, model, positive)
    if given.rows < 2:
        raise UserError("X has one row, but a fit needs at least two")
    features = FeatureMap.learn(
        given.values, categorical=categorical, drop=drop, names=feature_names or given.names
    )
    x = features.apply(given.values)
    scaling = Scaling.learn(x, features.names, scale, intercept=intercept)
    design = scaling.apply(x)
    notes = [_model_note(targets, model), *_data_notes(features, scaling, drop)]
    fields: dict[str, Any] = {"model": targets.model, "beta": DEFAULT_BETA}
    if targets.model == "linear":
        residual = targets.y if given.offset is None else targets.y - given.offset
        fields["sigma"] = _noise(design, residual, notes) if sigma is None else sigma
        if beta is None and prior is None:
            fields |= _prior_in_units(residual, intercept, notes)
    elif beta is None and prior is None:
        notes.append(f"prior N(0, {1 / DEFAULT_BETA:g}) for each coefficient")
    chosen = {"beta": beta, "prior": prior}
    fields |= {name: value for name, value in chosen.items() if value is not None}
    data = _prepared(design, targets, given.offset, features, scaling)
    column = offset if isinstance(offset, str) else None
    return Problem(features, scaling, targets, data, fields, column, tuple(notes))


def _prepared(
    design: Floats,
    targets: Targets,
    offset: Floats | None,
    features: FeatureMap,
    scaling: Scaling,
) -> Prepared:
    """Return the rows as prepared data without test rows, with all that was done to them."""
    attrs = {
        "feature_names": [*features.names, *(["intercept"] if scaling.intercept else [])],
        "d": design.shape[1],
        "labels": dict(zip(("-1", "+1"), map(str, targets.classes or ()), strict=False)),
        "encoding": {} if features.encoding is None else features.encoding.to_dict(),
        **scaling.to_dict(),
    }
    scale: Literal["none", "standardize"] = "none" if scaling.mean is None else "standardize"
    return Prepared(
        DataSpec(dataset=NAME, split="none", scale=scale, intercept=scaling.intercept),
        design,
        targets.y,
        design[:0],
        targets.y[:0],
        attrs,
        train_offset=offset,
        test_offset=None if offset is None else offset[:0],
    )


def _model_note(targets: Targets, asked: str) -> str:
    chosen = f"model {targets.model}"
    if asked == "auto":
        values = "two values" if targets.classes else "more than two values"
        chosen += f", because y has {values}"
    if targets.classes is None:
        return chosen
    return f"{chosen}; +1 is {targets.classes[1]!r}, -1 is {targets.classes[0]!r}"


def _data_notes(features: FeatureMap, scaling: Scaling, drop: Collection[str]) -> list[str]:
    """Return what was done to the columns."""
    notes = []
    if drop:
        notes.append(f"dropped: {', '.join(drop)}")
    nominal = features.encoding.nominal if features.encoding is not None else {}
    for name, levels in nominal.items():
        notes.append(f"{name}: {len(levels)} levels, one-hot without {levels[0]!r}")
    done = "features standardised" if scaling.mean is not None else "features as given"
    return [*notes, f"{done}, {'with' if scaling.intercept else 'without'} intercept"]


def _prior_in_units(y: Floats, intercept: bool, notes: list[str]) -> dict[str, Any]:
    """Return the prior of a linear model in the units of y."""
    variance = float(np.var(y))
    notes.append(f"prior precision 1 / var(y) = {1 / variance:.3g}")
    if not intercept:
        return {"beta": 1.0 / variance}
    centre = float(np.mean(y))
    notes.append(f"prior mean of the intercept: the mean of y, {centre:.3g}")
    return {"beta": 1.0 / variance, "prior": {"mean": {"intercept": centre}}}


def _noise(design: Floats, y: Floats, notes: list[str]) -> float:
    """Return the residual standard deviation of least squares."""
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
    notes.append(f"sigma {sigma:.3g}, the residual standard deviation of least squares")
    return sigma
