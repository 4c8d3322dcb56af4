"""Turn named columns into a matrix: numbers stay numbers, nominal columns become one-hot columns.

An `Encoding` is learnt from training data and applied to any rows with the same columns.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gvibench.datasets.read import MAX_VALUE
from gvibench.errors import UserError, suggest
from gvibench.store.delimited import check_names, is_number
from gvibench.store.labels import sort_levels

__all__ = ["Encoding", "as_levels", "finite_numbers", "reject_constant"]

Floats = NDArray[np.float64]
NO_VALUE = "no value"
FILL_IN = "fill in or remove these rows, or drop the column"


@dataclass(frozen=True)
class Encoding:
    """Columns of a matrix of features and how they follow from named columns."""

    columns: tuple[tuple[str, tuple[str, ...] | None], ...]
    """Name of each column, and the sorted levels of a nominal column (None: numeric). The first
    level has no one-hot column."""

    @classmethod
    def learn(
        cls,
        columns: Mapping[str, NDArray[Any]],
        *,
        categorical: Collection[str] = (),
        where: str = "data",
    ) -> Self:
        """Return the encoding of columns that hold numbers or text.

        Parameters
        ----------
        columns
            Columns of equal length by name.
        categorical
            Numeric columns to treat as nominal. Text columns are nominal in any case.
        where
            Source of the columns, for messages.
        """
        check_names(categorical, columns, "categorical", where)
        if not columns:
            raise UserError(f"{where} has no columns for features: drop fewer columns")
        found: list[tuple[str, tuple[str, ...] | None]] = []
        for name, values in columns.items():
            if name in categorical or not _is_numeric(values):
                found.append((name, _levels(values, name, where)))
            else:
                finite_numbers(values, name, where)
                found.append((name, None))
        encoding = cls(tuple(found))
        names = encoding.feature_names
        if len(set(names)) < len(names):
            twice = next(name for k, name in enumerate(names) if name in names[:k])
            raise UserError(f"{where} has two features '{twice}': rename a column")
        return encoding

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of the matrix, e.g. `age` and `job=admin`."""
        return [feature for names in self.features_of.values() for feature in names]

    @property
    def features_of(self) -> dict[str, list[str]]:
        """Names of the columns of the matrix that follow from each column."""
        return {
            name: [name] if levels is None else [f"{name}={level}" for level in levels[1:]]
            for name, levels in self.columns
        }

    @property
    def nominal(self) -> dict[str, tuple[str, ...]]:
        """Levels of the nominal columns."""
        return {name: levels for name, levels in self.columns if levels is not None}

    def apply(self, columns: Mapping[str, NDArray[Any]], *, where: str = "data") -> Floats:
        """Return the rows as a matrix. Ignore columns that are not part of the encoding."""
        check_names([name for name, _ in self.columns], columns, "path", where)
        rows = len(next(iter(columns.values())))
        matrix = np.zeros((rows, len(self.feature_names)))
        place = 0
        for name, levels in self.columns:
            if levels is None:
                matrix[:, place] = finite_numbers(columns[name], name, where)
                place += 1
                continue
            numbers = _level_numbers(columns[name], levels, name, where)
            chosen = np.flatnonzero(numbers > 0)
            matrix[chosen, place + numbers[chosen] - 1] = 1.0
            place += len(levels) - 1
        return matrix

    def to_dict(self) -> dict[str, Any]:
        """Return the encoding as plain data, ready for JSON."""
        return {
            "columns": [
                {"name": name, "kind": "numeric"}
                if levels is None
                else {"name": name, "kind": "nominal", "levels": list(levels)}
                for name, levels in self.columns
            ]
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the encoding that `to_dict` describes."""
        return cls(
            tuple(
                (column["name"], tuple(column["levels"]) if column["kind"] == "nominal" else None)
                for column in values["columns"]
            )
        )


def as_levels(values: NDArray[Any]) -> list[str | None]:
    """Return values as text, None where they are missing. Whole numbers have no decimals."""
    known: dict[Any, str | None] = {}
    return [known[value] if value in known else _as_level(value, known) for value in values]


def _as_level(value: Any, known: dict[Any, str | None]) -> str | None:
    text: str | None
    if value is None or type(value).__name__ in {"NAType", "NaTType"} or bool(value != value):
        text = None
    elif isinstance(value, (float, np.floating)) and float(value).is_integer():
        text = str(int(value))
    else:
        text = str(value).strip() or None
    if text is not None:
        known[value] = text
    return text


def reject_constant(x: Floats, names: Sequence[str], where: str) -> None:
    """Raise UserError if a column has the same value in all rows, so it cannot be standardised."""
    constant = np.flatnonzero(np.ptp(x, axis=0) == 0)
    if len(constant):
        first = constant[0]
        value = x[0, first] + 0.0  # not -0
        more = f" (and {len(constant) - 1} more columns)" if len(constant) > 1 else ""
        raise UserError(
            f"{where}: column '{names[first]}' has the value {value:g} in all rows{more}: "
            "drop it, or set scale: none; 'intercept' adds a column of ones"
        )


def _is_numeric(values: NDArray[Any]) -> bool:
    return np.asarray(values).dtype.kind in "biuf"


def finite_numbers(values: NDArray[Any], name: str, where: str) -> Floats:
    """Return a column as finite numbers."""
    if not _is_numeric(values):
        text = next((level for level in as_levels(values) if level and not is_number(level)), "")
        raise UserError(
            f"{where}: column '{name}' should be numeric, but has the text '{text}': correct the "
            "cell, or list the column under 'categorical' or 'drop'"
        )
    numbers = np.asarray(values, dtype=np.float64)
    for wrong, problem in ((np.isnan(numbers), NO_VALUE), (np.isinf(numbers), "an infinite value")):
        if wrong.any():
            raise UserError(_problem(where, name, wrong, problem))
    large = np.abs(numbers) > MAX_VALUE
    if large.any():
        problem = f"a value above {MAX_VALUE:g}"
        advice = "products of such values overflow, so scale the columns first"
        raise UserError(_problem(where, name, large, problem, advice))
    return numbers


def _problem(
    where: str, name: str, wrong: NDArray[np.bool_], problem: str, advice: str = FILL_IN
) -> str:
    count = int(np.count_nonzero(wrong))
    rows = "1 row" if count == 1 else f"{count} rows"
    return (
        f"{where}: column '{name}' has {problem} in {rows}, first in data row "
        f"{int(np.argmax(wrong)) + 1}: {advice}"
    )


def _texts(values: NDArray[Any], name: str, where: str) -> list[str]:
    texts = as_levels(values)
    missing = np.array([text is None for text in texts])
    if missing.any():
        raise UserError(_problem(where, name, missing, NO_VALUE))
    return texts  # type: ignore[return-value]


def _levels(values: NDArray[Any], name: str, where: str) -> tuple[str, ...]:
    texts = _texts(values, name, where)
    levels = set(texts)
    if len(levels) == 1:
        raise UserError(f"{where}: column '{name}' is '{texts[0]}' in all rows: drop it")
    if len(levels) == len(texts) > 2:
        raise UserError(
            f"{where}: column '{name}' is nominal and has a different value in each of its "
            f"{len(texts)} rows, e.g. '{texts[0]}': drop it"
        )
    return sort_levels(levels)


def _level_numbers(
    values: NDArray[Any], levels: Sequence[str], name: str, where: str
) -> NDArray[np.intp]:
    """Return the position of each value among the levels."""
    positions = {level: position for position, level in enumerate(levels)}
    texts = _texts(values, name, where)
    unknown = next((k for k, text in enumerate(texts) if text not in positions), None)
    if unknown is not None:
        raise UserError(
            f"{where}: column '{name}' has the value '{texts[unknown]}' in data row {unknown + 1}, "
            f"which the training data do not have{suggest(texts[unknown], levels)}: correct it, or "
            "remove these rows"
        )
    return np.array([positions[text] for text in texts], dtype=np.intp)
