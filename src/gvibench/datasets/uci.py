"""Load the UCI data sets in the folder `data`: compressed CSV files with nominal columns."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gvibench.datasets.encode import Encoding, as_levels
from gvibench.datasets.read import Table
from gvibench.datasets.source import Source
from gvibench.datasets.table import read_table
from gvibench.datasets.targets import check_targets
from gvibench.errors import UserError
from gvibench.spec.catalogue import Bundled, DatasetEntry, target_kind
from gvibench.spec.run import DataSpec
from gvibench.store.bundled import bundled_path
from gvibench.store.files import UNPACKING_ERRORS, open_raw

__all__ = ["load"]


def load(entry: DatasetEntry, spec: DataSpec) -> Source:
    """Load the table of `entry`, and encode its nominal columns as columns of zeros and ones."""
    table, kind = entry.table, target_kind(spec)
    assert table is not None
    _check(table)
    columns = read_table(bundled_path(table.file), skip=table.drop)
    targets = check_targets(columns.pop(table.target), kind, table.target, table.file)
    encoding = Encoding.learn(columns, categorical=table.categorical, where=table.file)
    y = _is_positive(targets, table.positive) if kind == "classes" else targets
    return Source(
        Table(encoding.apply(columns, where=table.file), y),
        labels=entry.labels if kind == "classes" else {},
        sha256={table.file.removesuffix(".bz2"): table.sha256},
        targets=kind,
        feature_names=encoding.feature_names,
        encoding={
            **encoding.to_dict(),
            "target": table.target,
            "offset": None,
            "dropped": sorted(table.drop),
        },
    )


def _is_positive(targets: NDArray[Any], positive: str) -> NDArray[np.float64]:
    """Return 1 for rows of the class `positive` and 0 for the others."""
    return np.array([level == positive for level in as_levels(targets)], dtype=np.float64)


def _check(table: Bundled) -> None:
    """Raise UserError if the file is missing or differs from the published one."""
    path = bundled_path(table.file)
    try:
        with open_raw(path) as stream:
            found = hashlib.sha256(stream.read()).hexdigest()
    except UNPACKING_ERRORS as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"cannot read {path}: {reason}; install gvibench again") from error
    if found != table.sha256:
        raise UserError(
            f"{path} is corrupt: its content has the SHA-256 {found[:12]}… instead of "
            f"{table.sha256[:12]}…; install gvibench again"
        )
