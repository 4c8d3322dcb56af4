"""Describe what will be done to the user's own data, and check it before anything runs."""

from dataclasses import dataclass

from gvibench.errors import UserError, suggest
from gvibench.spec.catalogue import target_kind
from gvibench.spec.run import DataSpec
from gvibench.store.delimited import is_number
from gvibench.store.labels import find_label, sort_levels
from gvibench.store.own_columns import Roles, roles_of
from gvibench.store.own_files import Column, OwnFile, family_of, inspect

__all__ = ["OwnData", "describe", "read_own_data"]

MAX_SHOWN = 8
"""Maximum number of names in a list."""


@dataclass(frozen=True)
class OwnData:
    """The user's own file, with the use of each column."""

    spec: DataSpec
    file: OwnFile
    test_file: OwnFile | None
    roles: Roles

    @property
    def nominal(self) -> list[Column]:
        """Columns that become one-hot columns."""
        return [
            column
            for column in self._features()
            if not column.numeric or column.name in self.spec.categorical
        ]

    def _features(self) -> list[Column]:
        return [column for column in self.file.details if column.name in self.roles.features]

    @property
    def feature_count(self) -> int | None:
        """Number of features without the intercept."""
        if self.file.kind == "svmlight":
            return self.file.columns
        if not self.file.details:
            return len(self.roles.features) or None
        nominal = {column.name: column for column in self.nominal}
        numeric = sum(column.name not in nominal for column in self._features())
        return numeric + sum(_one_hot(column) for column in nominal.values())

    def sizes(self) -> tuple[int | None, int | None, int | None, int | None]:
        """Return the numbers of rows, test rows and features, and an estimate of the rows."""
        test_rows: int | None = self.file.test_rows
        estimate = self.file.rows_estimate
        if self.test_file is not None:
            test_rows = self.test_file.rows
            estimate = (estimate or 0) + (self.test_file.rows_estimate or 0)
        return self.file.rows, test_rows, self.feature_count, estimate

    def labels(self) -> list[str] | None:
        """Return the labels of the target in increasing order, or None if they are unknown."""
        for column in self.file.details:
            if column.name == self.roles.target and column.levels is not None:
                return list(sort_levels(column.levels))
        return None

    def positive(self) -> str:
        """Return the label that becomes +1, in words."""
        labels = self.labels()
        return self.spec.positive or (labels[-1] if labels else "the larger label")

    def validate_targets(self) -> None:
        """Raise UserError if the targets are known and do not fit the model."""
        kind, labels = target_kind(self.spec), self.labels()
        where = f"data set '{self.spec.dataset}': {self.spec.path}"
        count = self.file.labels if labels is None else len(labels)
        if kind == "classes" and count not in {None, 2}:
            found = "one label" if count == 1 else "more than two different labels"
            column = f" in column '{self.roles.target}'" if self.roles.target else ""
            advice = ", or set 'target' to another column" if self.roles.target else ""
            raise UserError(
                f"{where} has {found}{column} instead of two; for real targets use model "
                f"'linear'{advice}"
            )
        if labels is None:
            return
        wanted = self.spec.positive
        if wanted is not None and find_label(wanted, labels) is None:
            raise UserError(
                f"{where}: no row has the label '{wanted}' that 'positive' names"
                f"{suggest(wanted, labels)}; the labels of column '{self.roles.target}' are "
                f"{' and '.join(labels)}"
            )
        text = [label for label in labels if not is_number(label)]
        if kind != "classes" and text:
            noun = "real numbers" if kind == "real" else kind
            raise UserError(
                f"{where}: column '{self.roles.target}' is the target and has the text "
                f"'{text[0]}', but the targets are {noun}: choose another target, or a model of "
                "two classes"
            )


def read_own_data(spec: DataSpec) -> OwnData | None:
    """Return what is known about the user's own files, or None if one does not exist."""
    if spec.path is None:
        return None
    file = inspect(spec.dataset, spec.path)
    test_file = inspect(spec.dataset, spec.test_path) if spec.test_path is not None else None
    if file is None or (spec.test_path is not None and test_file is None):
        return None
    if test_file is not None and family_of(file) != family_of(test_file):
        raise UserError(
            f"data set '{spec.dataset}': 'path' and 'test_path' have different formats: use two "
            "svmlight files, two .npz files or two tables"
        )
    return OwnData(spec, file, test_file, roles_of(spec, file))


def describe(spec: DataSpec) -> str:
    """Return one line about what will be done to the user's own file."""
    own = read_own_data(spec)
    if own is None or (own.file.kind == "parquet" and not own.file.names):
        return f"{spec.dataset}: {spec.path}"
    nominal = {column.name: _one_hot(column) for column in own.nominal}
    numeric = [name for name in own.roles.features if name not in nominal]
    words = [f"{own.file.rows or f'about {own.file.rows_estimate}'} rows", _target(own)]
    if numeric:
        words.append(_listed("numeric", numeric))
    if nominal:
        words.append(_listed("one-hot", [f"{name} ({count})" for name, count in nominal.items()]))
    if spec.drop:
        words.append(_listed("dropped", list(spec.drop)))
    if own.roles.offset:
        words.append(f"offset: {own.roles.offset}")
    words.append("standardised" if spec.scale == "standardize" else "not standardised")
    words.append("with intercept" if spec.intercept else "without intercept")
    words.append(_split(spec))
    return f"{spec.dataset}: {spec.path}: {'; '.join(words)}"


def _target(own: OwnData) -> str:
    name = own.roles.target or ("y" if own.file.kind == "npz" else "label")
    kind = target_kind(own.spec)
    return f"target: {name} ({f'+1 is {own.positive()}' if kind == 'classes' else kind})"


def _listed(title: str, names: list[str]) -> str:
    more = f", … ({len(names)} in all)" if len(names) > MAX_SHOWN else ""
    return f"{title}: {', '.join(names[:MAX_SHOWN])}{more}"


def _split(spec: DataSpec) -> str:
    sizes = [
        f"{name} {size:g}"
        for name, size in (("train_size", spec.train_size), ("test_size", spec.test_size))
        if size is not None
    ]
    return " ".join(["split:", spec.split, *sizes])


def _one_hot(column: Column) -> int:
    return max(1, column.seen - 1)
