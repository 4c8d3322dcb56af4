"""Prepare a data set for runs: load it, split it, map labels, scale it and write one file.

Means and scales are computed from the training rows only.
"""

import contextlib
import importlib.metadata
import os
import pkgutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gvibench.datasets.encode import reject_constant
from gvibench.datasets.source import Source
from gvibench.datasets.split import split_rows
from gvibench.datasets.targets import signs
from gvibench.errors import UserError
from gvibench.spec.catalogue import find
from gvibench.spec.memory import data_mb
from gvibench.spec.run import DataSpec
from gvibench.store.own_columns import INTERCEPT
from gvibench.store.own_files import inspect
from gvibench.store.prepared import KIND
from gvibench.store.zarrzip import Group, write_zip

__all__ = ["build"]

Floats = NDArray[np.float64]

SPARSE_BELOW = 0.5
"""Share of non-zero cells below which CSR takes less space on disk than a dense array."""


def build(spec: DataSpec, out: Path, memory_mb: int = 0) -> None:
    """Prepare the data of a complete spec and write them to `out`.

    Parameters
    ----------
    spec
        Complete spec.
    out
        File to write.
    memory_mb
        Memory of the job in MB; 0 means the memory of this machine.
    """
    entry = find(spec)
    is_drawn = spec.split in {"sklearn", "random"}
    has_sizes = spec.train_size is not None or spec.test_size is not None
    if set(spec.options) != set(entry.settings) or (is_drawn and not has_sizes):
        raise ValueError(f"the spec of data set '{spec.dataset}' is not complete")
    if spec.path is not None:
        _validate_memory(spec, memory_mb)
    source: Source = pkgutil.resolve_name(entry.loader)(entry, spec)
    x, raw_y, offset, own_test_rows = _stack(source)
    _validate_size(spec, *x.shape)
    is_classes = source.targets == "classes"
    y, labels = signs(spec, raw_y, source.labels) if is_classes else (raw_y, {})
    train, test = split_rows(spec, len(y), own_test_rows, y if is_classes else None)
    _validate_split(spec, y[train], len(test), is_classes)
    names = list(source.feature_names) or [f"x{k}" for k in range(1, x.shape[1] + 1)]

    attrs: dict[str, Any] = {
        "kind": KIND,
        "spec": spec.canonical(),
        "n_train": len(train),
        "n_test": len(test),
        "labels": labels,
        "target_kind": source.targets,
        "encoding": dict(source.encoding),
        "source": entry.source,
        "source_sha256": dict(source.sha256),
        "versions": _versions(),
    }
    train_x, test_x = x[train], x[test]
    if spec.scale == "standardize":
        if source.own:
            reject_constant(x, names, f"{spec.path}")
        train_x, test_x = _dense(train_x), _dense(test_x)
        mean, scale = _moments(train_x)
        attrs |= {"mean": mean.tolist(), "scale": scale.tolist()}
        train_x, test_x = (train_x - mean) / scale, (test_x - mean) / scale
    if spec.intercept:
        train_x, test_x = _with_ones(train_x), _with_ones(test_x)
        names.append(INTERCEPT)
    attrs |= {"d": train_x.shape[1], "feature_names": names}

    root = Group(attrs)
    _put_rows(root.group("train"), train_x, y[train], None if offset is None else offset[train])
    _put_rows(root.group("test"), test_x, y[test], None if offset is None else offset[test])
    write_zip(out, root)


def _versions() -> dict[str, str]:
    """Return the versions of the installed packages that read, split and scale data."""
    installed = {}
    for name in ("gvibench", "numpy", "pyarrow", "scipy", "scikit-learn"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            installed[name] = importlib.metadata.version(name)
    return installed


def _stack(source: Source) -> tuple[Any, NDArray[Any], Floats | None, int]:
    """Return all rows in one table, and the number of the data set's own test rows at its end."""
    table, test = source.table, source.test
    if test is None:
        return table.x, table.y, table.offset, 0
    import scipy.sparse

    parts = [table.x, test.x]
    sparse = any(scipy.sparse.issparse(part) for part in parts)
    x = scipy.sparse.vstack(parts, format="csr") if sparse else np.vstack(parts)
    y = np.concatenate([table.y, test.y])
    if table.offset is None or test.offset is None:
        return x, y, None, len(test.y)
    return x, y, np.concatenate([table.offset, test.offset]), len(test.y)


def _validate_memory(spec: DataSpec, memory_mb: int) -> None:
    """Raise UserError before a file is read if its rows do not fit into the memory of the job."""
    rows = columns = 0
    for path in (spec.path, spec.test_path):
        facts = inspect(spec.dataset, path) if path is not None else None
        if facts is not None and facts.rows_estimate and facts.columns:
            rows += facts.rows_estimate
            columns = max(columns, facts.columns - len(spec.drop) - 1)
    needed, machine = data_mb(rows, columns), _machine_bytes() // 10**6
    available = min(memory_mb or machine, machine)
    if needed > available:
        raise UserError(
            f"data set '{spec.dataset}': {spec.path} has about {rows} rows and needs {needed} MB "
            f"of memory, but the job has {available} MB: raise mem_mb of the rule 'prepare_data', "
            "drop columns, or use fewer rows"
        )


def _machine_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _validate_size(spec: DataSpec, rows: int, columns: int) -> None:
    """Raise UserError if the dense rows would not fit into memory.

    A single wrong column number in a small sparse file is enough for that.
    """
    needed = rows * columns * np.dtype(np.float64).itemsize
    memory = _machine_bytes()
    if needed > memory:
        raise UserError(
            f"data set '{spec.dataset}' has {rows} rows and {columns} columns; a run needs "
            f"{needed / 1e9:.0f} GB for them, but this machine has {memory / 1e9:.0f} GB: check "
            "the column numbers, or use fewer rows"
        )


def _validate_split(spec: DataSpec, train_y: Floats, test_rows: int, is_classes: bool) -> None:
    if len(train_y) == 0 or (test_rows == 0 and spec.split != "none"):
        raise UserError(
            f"data set '{spec.dataset}': the split leaves {len(train_y)} training and {test_rows} "
            "test rows, but at least 1 of each is needed: change train_size or test_size"
        )
    if is_classes and len(np.unique(train_y)) < 2:
        raise UserError(
            f"data set '{spec.dataset}': all {len(train_y)} training rows have the same label: "
            f"use more rows, another split_seed or split 'random'"
        )


def _moments(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean and scale of each column, chosen so that constant columns become zero."""
    mean, scale = x.mean(axis=0), x.std(axis=0)
    constant = (np.ptp(x, axis=0) == 0) | (scale == 0)  # a tiny scale underflows to zero
    return np.where(constant, x[0], mean), np.where(constant, 1.0, scale)


def _dense(x: Any) -> NDArray[np.float64]:
    return x if isinstance(x, np.ndarray) else np.asarray(x.toarray())


def _with_ones(x: Any) -> Any:
    ones = np.ones((x.shape[0], 1))
    if isinstance(x, np.ndarray):
        return np.hstack([x, ones])
    import scipy.sparse

    return scipy.sparse.hstack([x, ones], format="csr")


def _put_rows(group: Group, x: Any, y: Floats, offset: Floats | None) -> None:
    group.put("y", y, ["row"])
    if offset is not None:
        group.put("offset", offset, ["row"])
    cells = x.shape[0] * x.shape[1]
    nonzeros = np.count_nonzero(x) if isinstance(x, np.ndarray) else x.nnz
    if nonzeros >= SPARSE_BELOW * cells:
        group.put("x", _dense(x), ["row", "feature"])
        return
    import scipy.sparse

    csr = scipy.sparse.csr_array(x)
    csr.sum_duplicates()
    group.put("data", csr.data, ["nonzero"])
    group.put("indices", csr.indices.astype(np.int32), ["nonzero"])
    group.put("indptr", csr.indptr.astype(np.int64), ["row_start"])
