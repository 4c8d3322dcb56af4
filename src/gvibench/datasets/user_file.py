"""Load the user's own files."""

from pathlib import Path

from gvibench.datasets.read import Table, read_npz, read_svmlight
from gvibench.datasets.source import Source, hashes_of
from gvibench.errors import UserError
from gvibench.spec.catalogue import DatasetEntry, is_npz
from gvibench.spec.run import DataSpec

__all__ = ["load"]


def load(entry: DatasetEntry, spec: DataSpec) -> Source:
    """Load the svmlight or `.npz` file `spec.path`, and `spec.test_path` if it is set."""
    paths = [Path(path).expanduser() for path in (spec.path, spec.test_path) if path is not None]
    npz = [is_npz(str(path)) for path in paths]
    if len(set(npz)) > 1:
        raise UserError(
            f"data set '{spec.dataset}': 'path' and 'test_path' must both be svmlight files or "
            "both be .npz files"
        )
    table, test = _read_npz_files(paths) if npz[0] else _read_svmlight_files(paths)
    if spec.split == "given" and test is None:
        raise UserError(
            f"{paths[0]} has no test rows, which split 'given' needs: add the arrays 'X_test' and "
            "'y_test', set 'test_path', or use another split"
        )
    if spec.split != "given" and test is not None:
        raise UserError(
            f"{paths[0]} has its own test rows: use split 'given', or remove them from the file"
        )
    regression = spec.options["target"] == "regression"
    return Source(table, test, sha256=hashes_of(paths), regression=regression)


def _read_svmlight_files(paths: list[Path]) -> tuple[Table, Table | None]:
    tables = read_svmlight(paths, zero_based="auto")
    return tables[0], tables[1] if len(tables) > 1 else None


def _read_npz_files(paths: list[Path]) -> tuple[Table, Table | None]:
    table, test = read_npz(paths[0])
    if len(paths) == 1:
        return table, test
    if test is not None:
        raise UserError(f"{paths[0]} has its own test rows: remove 'test_path'")
    test, _ = read_npz(paths[1])
    if test.x.shape[1] != table.x.shape[1]:
        raise UserError(
            f"{paths[0]} has {table.x.shape[1]} columns but {paths[1]} has {test.x.shape[1]}"
        )
    return table, test
