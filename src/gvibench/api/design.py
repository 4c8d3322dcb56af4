"""Choose a model for targets, and turn features into the design matrix of a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gvibench.errors import UserError

__all__ = ["Scaling", "Targets", "read_targets"]

Floats = NDArray[np.float64]
BLOCK_BYTES = 2**20
"""Size of the blocks of rows that are standardised together, so that they stay in the cache."""


@dataclass(frozen=True)
class Scaling:
    """Map from features to the columns of a design matrix."""

    mean: Floats | None
    """Means of the training rows; None if features are used as they are."""
    scale: Floats | None
    """Standard deviations of the training rows."""
    intercept: bool
    """Whether a column of ones follows the features."""

    @classmethod
    def learn(cls, x: Floats, names: Sequence[str], scale: str, *, intercept: bool) -> "Scaling":
        """Compute means and standard deviations. Raise UserError for a constant column."""
        if scale not in {"standardize", "none"}:
            raise UserError(f"scale should be 'standardize' or 'none', got {scale!r}")
        if scale == "none":
            return cls(None, None, intercept)
        mean = x.mean(axis=0)
        squares = np.zeros_like(mean)
        for block in _blocks(x):
            centred = block - mean
            squares += np.einsum("ij,ij->j", centred, centred)
        deviation = np.sqrt(squares / len(x))
        # Rounding leaves a tiny deviation in a column whose values are equal.
        constant = np.flatnonzero(deviation <= 1e-15 * np.abs(mean))
        if len(constant):
            raise UserError(
                f"X: column '{names[constant[0]]}' has the same value in all {len(x)} rows: remove "
                "it, or use scale='none'"
            )
        return cls(mean, deviation, intercept)

    def apply(self, x: Floats) -> Floats:
        """Return the design matrix of rows. It is `x` itself if there is nothing to do."""
        if self.mean is None and not self.intercept:
            return x
        rows, columns = x.shape
        design = np.empty((rows, columns + self.intercept))
        if self.mean is None or self.scale is None:
            design[:, :columns] = x
        else:
            start = 0
            for block in _blocks(x):
                part = design[start : start + len(block), :columns]
                np.subtract(block, self.mean, out=part)
                part /= self.scale
                start += len(block)
        if self.intercept:
            design[:, columns] = 1.0
        return design

    def to_original(self, size: int) -> Floats:
        """Return the matrix that maps coefficients to those of the features before scaling."""
        matrix = np.eye(size)
        if self.mean is None or self.scale is None:
            return matrix
        columns = len(self.mean)
        matrix[:columns, :columns] /= self.scale
        if not self.intercept:
            raise UserError("without an intercept, centred features have no original units")
        matrix[columns, :columns] = -self.mean / self.scale
        return matrix

    def to_dict(self) -> dict[str, Any]:
        """Return the map as plain data, ready for JSON."""
        if self.mean is None or self.scale is None:
            return {"scale": "none", "intercept": self.intercept}
        return {
            "scale": "standardize",
            "means": self.mean.tolist(),
            "scales": self.scale.tolist(),
            "intercept": self.intercept,
        }


def _blocks(x: Floats) -> list[Floats]:
    size = max(1, BLOCK_BYTES // (8 * x.shape[1]))
    return [x[start : start + size] for start in range(0, len(x), size)]


@dataclass(frozen=True)
class Targets:
    """Targets as a model reads them."""

    y: Floats
    """-1 and +1 for two classes, otherwise numbers."""
    model: str
    classes: tuple[Any, Any] | None
    """Labels of -1 and +1; None for numbers."""

    def of(self, raw: NDArray[Any]) -> Floats:
        """Return the targets of other rows."""
        if self.classes is None:
            return _real(raw, self.model)
        texts = raw.astype(str)
        negative, positive = map(str, self.classes)
        unknown = (texts != negative) & (texts != positive)
        if unknown.any():
            row = int(np.argmax(unknown))
            raise UserError(
                f"y is {texts[row]} in row {row}, but the training data have {negative} and "
                f"{positive}"
            )
        return np.where(texts == positive, 1.0, -1.0)


MODELS_OF_NUMBERS = {"linear", "poisson"}


def read_targets(raw: NDArray[Any], model: str, positive: Any = None) -> Targets:
    """Return the targets, and the model that suits them if `model` is "auto".

    Two different values are classes (logistic), other numbers are real targets (linear).
    """
    missing = _missing(raw)
    if missing is not None:
        raise UserError(f"y has no value in row {missing}: remove the row")
    if model in MODELS_OF_NUMBERS:
        return Targets(_real(raw, model), model, None)
    distinct = np.unique(raw if raw.dtype.kind != "O" else raw.astype(str))
    if len(distinct) == 2:
        return _classes(raw, distinct, "logistic" if model == "auto" else model, positive)
    if len(distinct) == 1:
        raise UserError(f"y is {distinct[0]} in all {len(raw)} rows: a model needs other rows, too")
    if model == "auto" and positive is None and raw.dtype.kind in "biuf":
        return Targets(_real(raw, "linear"), "linear", None)
    name = "logistic" if model == "auto" else model
    raise UserError(
        f"y has {len(distinct)} different values, but model '{name}' needs two classes: use "
        "model='linear' for real targets and model='poisson' for counts"
    )


def _missing(raw: NDArray[Any]) -> int | None:
    """Return the first row without a target, or None."""
    if raw.dtype.kind == "f":
        missing = ~np.isfinite(raw)
    elif raw.dtype.kind == "O":
        missing = np.array([value is None or value != value for value in raw], dtype=bool)
    else:
        return None
    return int(np.argmax(missing)) if missing.any() else None


def _real(raw: NDArray[Any], model: str) -> Floats:
    if raw.dtype.kind not in "biuf":
        raise UserError(f"y has the type {raw.dtype}, but model '{model}' needs numbers")
    y = raw.astype(np.float64)
    if model == "poisson":
        wrong = (y < 0) | (y != np.floor(y))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise UserError(
                f"y is {y[row]:g} in row {row}, but model 'poisson' needs counts: 0, 1, 2, …"
            )
    return y


def _classes(raw: NDArray[Any], distinct: NDArray[Any], model: str, positive: Any) -> Targets:
    negative, larger = distinct.tolist()
    if positive is not None:
        named = [value for value in (negative, larger) if str(value) == str(positive)]
        if not named:
            raise UserError(
                f"positive is {positive!r}, but the values of y are {negative!r} and {larger!r}"
            )
        if named[0] == negative:
            negative, larger = larger, negative
    texts = raw.astype(str) if raw.dtype.kind == "O" else raw
    return Targets(np.where(texts == larger, 1.0, -1.0), model, (negative, larger))
