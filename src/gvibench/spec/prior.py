"""Settings of a Gaussian prior other than N(0, I / beta)."""

from dataclasses import dataclass
from typing import Annotated, Any

from gvibench.spec.fields import Computable, NonNegative
from gvibench.spec.specs import Spec

__all__ = ["PriorSettings"]

Finite = Annotated[float, Computable()]


@dataclass(frozen=True, kw_only=True)
class PriorSettings(Spec):
    """Gaussian prior with its own mean or with different precisions, e.g. of the intercept."""

    mean: Finite | list[Finite] | dict[str, Finite] = 0.0
    """Mean of the prior: a number, one number per feature, or numbers by the names of features,
    where all others have mean 0."""
    precision: (
        NonNegative | list[NonNegative] | list[list[Finite]] | dict[str, NonNegative] | None
    ) = None
    """Inverse covariance of the prior: a number, which replaces `beta`; one number per feature; a
    full matrix; or numbers by the names of features, e.g. `{intercept: 0.01}`, where all others
    keep `beta`. A name is a feature, a column of your file or `intercept`. Precision 0 is a flat
    prior, with which the negative ELBO is infinite (default: `beta` for all features)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "mean", _with_floats(self.mean))
        precision = None if self.precision == {} else self.precision
        object.__setattr__(self, "precision", _with_floats(precision))

    def check(self) -> None:
        """Raise ValueError if the precision is not a covariance's inverse or sizes differ."""
        rows = self.precision if isinstance(self.precision, list) else []
        if rows and isinstance(rows[0], list):
            _check_matrix(rows)
        for name, values in (("mean", self.mean), ("precision", self.precision)):
            if values == []:
                raise ValueError(f"'{name}' is an empty list: give one number per feature")
        if rows and isinstance(self.mean, list) and len(rows) != len(self.mean):
            raise ValueError(
                f"'mean' has {len(self.mean)} numbers but 'precision' has {len(rows)}: give one "
                "per feature"
            )

    @property
    def is_default(self) -> bool:
        """Whether the prior is N(0, I / beta)."""
        return self.precision is None and self.mean in (0.0, {})

    @property
    def length(self) -> int | None:
        """Number of features, if the settings determine it."""
        lists = [values for values in (self.mean, self.precision) if isinstance(values, list)]
        return len(lists[0]) if lists else None

    @property
    def features(self) -> list[str]:
        """Names of features with settings of their own."""
        mappings = [values for values in (self.mean, self.precision) if isinstance(values, dict)]
        return list(dict.fromkeys(name for values in mappings for name in values))

    def penalises(self, beta: float) -> bool:
        """Return whether the precision is positive in some direction."""
        if self.precision is None:
            return beta > 0
        if isinstance(self.precision, dict):
            return beta > 0 or any(self.precision.values())
        return any(map(any, self.precision)) if self._is_matrix else any(self.precision)  # type: ignore[arg-type]

    def scaled(self, share: float) -> "PriorSettings":
        """Return the prior with its precision multiplied by a number."""
        return self.replace(precision=_times(share, self.precision))

    @property
    def _is_matrix(self) -> bool:
        return isinstance(self.precision, list) and isinstance(self.precision[0], list)


def _with_floats(value: Any) -> Any:
    # 1 and 1.0 are equal, so they must have the same canonical JSON.
    return _times(1.0, value)


def _times(factor: float, value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _times(factor, inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_times(factor, inner) for inner in value]
    return None if value is None else factor * float(value)


def _check_matrix(rows: list[Any]) -> None:
    size = len(rows)
    if not all(isinstance(row, list) and len(row) == size for row in rows):
        raise ValueError(f"'precision' should be a square matrix: {size} rows of {size} numbers")
    for i, row in enumerate(rows):
        for j in range(i):
            if row[j] != rows[j][i]:
                raise ValueError(
                    f"'precision' should be symmetric, but row {i + 1}, column {j + 1} has "
                    f"{row[j]:g} and row {j + 1}, column {i + 1} has {rows[j][i]:g}"
                )
    import numpy as np  # imported here, because most plans do not need it

    eigenvalues = np.linalg.eigvalsh(np.array(rows))
    if eigenvalues[0] < -size * np.finfo(float).eps * abs(eigenvalues).max():
        raise ValueError(
            f"'precision' should be positive semi-definite, but has the eigenvalue "
            f"{eigenvalues[0]:.3g}"
        )
