"""From a data set to the one file that runs read: load, split, map labels, scale, write.

Everything estimated from data (means, scales) comes from the training rows alone.
"""

import importlib.metadata
import os
import pkgutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gvibench.datasets.catalogue import find
from gvibench.datasets.loaders import Source
from gvibench.datasets.split import split_rows
from gvibench.errors import UserError
from gvibench.spec.run import DataSpec, canonical_json
from gvibench.store.prepared import KIND
from gvibench.store.zarrzip import Group, write_zip

__all__ = ["build"]

SPARSE_BELOW = 0.5
"""Share of non-zero cells under which CSR is the smaller form on disk."""


def build(spec: DataSpec, out: Path) -> None:
    """Write the prepared file of a complete spec."""
    entry = find(spec)
    source: Source = pkgutil.resolve_name(entry.loader)(entry, spec)
    x, raw_y, own_test_rows = _stack(source)
    _refuse_too_large(spec, *x.shape)
    y, labels = (raw_y, {}) if source.regression else _signs(spec, source, raw_y)
    train, test = split_rows(spec, len(y), own_test_rows, None if source.regression else y)
    _refuse_unusable(spec, y[train], len(test), source.regression)

    attrs: dict[str, Any] = {
        "kind": KIND,
        "spec": canonical_json(spec),
        "n_train": len(train),
        "n_test": len(test),
        "labels": labels,
        "source": entry.source,
        "source_sha256": dict(source.sha256),
        "versions": {
            name: importlib.metadata.version(name)
            for name in ("gvibench", "numpy", "scipy", "scikit-learn")
        },
    }
    train_x, test_x = x[train], x[test]
    if spec.scaling == "standardize":
        train_x, test_x = _dense(train_x), _dense(test_x)
        mean, scale = _moments(train_x)
        attrs |= {"mean": mean.tolist(), "scale": scale.tolist()}
        train_x, test_x = (train_x - mean) / scale, (test_x - mean) / scale
    if spec.intercept:
        train_x, test_x = _with_ones(train_x), _with_ones(test_x)
    attrs["d"] = train_x.shape[1]

    root = Group(attrs)
    _put_rows(root.group("train"), train_x, y[train])
    _put_rows(root.group("test"), test_x, y[test])
    write_zip(out, root)


def _stack(source: Source) -> tuple[Any, NDArray[np.float64], int]:
    """Return all rows below each other, the set's own test rows last, and how many those are."""
    if source.test is None:
        return source.table.x, source.table.y, 0
    import scipy.sparse

    parts = [source.table.x, source.test.x]
    sparse = any(scipy.sparse.issparse(part) for part in parts)
    x = scipy.sparse.vstack(parts, format="csr") if sparse else np.vstack(parts)
    return x, np.concatenate([source.table.y, source.test.y]), len(source.test.y)


def _signs(
    spec: DataSpec, source: Source, raw: NDArray[np.float64]
) -> tuple[NDArray[np.float64], dict[str, str]]:
    """Map two raw labels to ±1, the larger one to +1, and say what the signs mean."""
    found = np.unique(raw)
    if len(found) != 2:
        shown = ", ".join(f"{label:g}" for label in found[:5]) + (", …" if len(found) > 5 else "")
        raise UserError(
            f"data set '{spec.dataset}' has {len(found)} different labels ({shown}): "
            f"a binary one has exactly 2; for real targets use model 'linear'"
        )
    smaller, larger = found
    meaning = source.labels or {"+1": f"raw label {larger:g}", "-1": f"raw label {smaller:g}"}
    return np.where(raw == larger, 1.0, -1.0), dict(meaning)


def _refuse_too_large(spec: DataSpec, rows: int, columns: int) -> None:
    """Refuse what no run could hold: one absurd column number makes a small file that large."""
    needed = rows * columns * np.dtype(np.float64).itemsize
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > memory:
        raise UserError(
            f"data set '{spec.dataset}' has {rows} rows and {columns} columns, which take "
            f"{needed / 1e9:.0f} GB in a run and this machine has {memory / 1e9:.0f}: check the "
            "column numbers, or use fewer rows"
        )


def _refuse_unusable(
    spec: DataSpec, train_y: NDArray[np.float64], test_rows: int, regression: bool
) -> None:
    if len(train_y) == 0 or test_rows == 0:
        raise UserError(
            f"data set '{spec.dataset}': the split leaves {len(train_y)} training and {test_rows} "
            f"test rows; both need at least 1: change train_size or test_size"
        )
    if not regression and len(np.unique(train_y)) < 2:
        raise UserError(
            f"data set '{spec.dataset}': all {len(train_y)} training rows have the same label: "
            f"use more rows, another split_seed or split 'random'"
        )


def _moments(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what to subtract from and divide by; a constant column becomes exactly zero."""
    mean, scale = x.mean(axis=0), x.std(axis=0)
    constant = (np.ptp(x, axis=0) == 0) | (scale == 0)  # tiny spreads underflow to zero
    return np.where(constant, x[0], mean), np.where(constant, 1.0, scale)


def _dense(x: Any) -> NDArray[np.float64]:
    return x if isinstance(x, np.ndarray) else np.asarray(x.toarray())


def _with_ones(x: Any) -> Any:
    ones = np.ones((x.shape[0], 1))
    if isinstance(x, np.ndarray):
        return np.hstack([x, ones])
    import scipy.sparse

    return scipy.sparse.hstack([x, ones], format="csr")


def _put_rows(group: Group, x: Any, y: NDArray[np.float64]) -> None:
    group.put("y", y, ["row"])
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
