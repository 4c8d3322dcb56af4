"""Load the user's own files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from gvibench.datasets.encode import Encoding, finite_numbers
from gvibench.datasets.read import Arrays, Table, read_npz, read_svmlight
from gvibench.datasets.source import Source, hashes_of
from gvibench.datasets.table import read_table
from gvibench.datasets.targets import check_targets
from gvibench.errors import UserError
from gvibench.spec.catalogue import DatasetEntry, target_kind
from gvibench.spec.run import DataSpec
from gvibench.store.delimited import check_names
from gvibench.store.own_columns import Roles, roles_of
from gvibench.store.own_files import OwnFile, family_of, inspect

__all__ = ["load"]

Columns = Mapping[str, NDArray[Any]]


def load(entry: DatasetEntry, spec: DataSpec) -> Source:
    """Load the file `spec.path`, and `spec.test_path` if it is set."""
    paths = [Path(path).expanduser() for path in (spec.path, spec.test_path) if path is not None]
    files = [_inspect(spec, path) for path in paths]
    if len({family_of(file) for file in files}) > 1:
        raise UserError(
            f"data set '{spec.dataset}': 'path' and 'test_path' have different formats: use two "
            "svmlight files, two .npz files or two tables"
        )
    if files[0].rows == 1 and spec.split != "given":
        raise UserError(
            f"data set '{spec.dataset}': {spec.path} has 1 row, but at least 2 are needed, to "
            "train and to test: add rows"
        )
    loaders = {"svmlight": _load_svmlight, "npz": _load_npz}
    source = loaders.get(files[0].kind, _load_tables)(spec, paths, files[0])
    if spec.split == "given" and source.test is None:
        raise UserError(
            f"{paths[0]} has no test rows, which split 'given' needs: set 'test_path', add the "
            "arrays 'X_test' and 'y_test' to an .npz file, or use another split"
        )
    if spec.split != "given" and source.test is not None:
        raise UserError(
            f"{paths[0]} has its own test rows: use split 'given', or remove them from the file"
        )
    return source


def _inspect(spec: DataSpec, path: Path) -> OwnFile:
    facts = inspect(spec.dataset, str(path))
    if facts is None:
        raise UserError(f"{path} does not exist: correct 'path'")
    return facts


# Tables and arrays with named columns


def _load_tables(spec: DataSpec, paths: list[Path], facts: OwnFile) -> Source:
    roles = roles_of(spec, facts)
    columns = read_table(paths[0], as_text=spec.categorical, skip=spec.drop)
    train = _Part(columns, _column(columns, roles.target, "target", paths[0]), str(paths[0]))
    encoding = _learn(spec, train, roles)
    test = None
    if len(paths) > 1:
        nominal = [name for name, levels in encoding.columns if levels is not None]
        columns = read_table(paths[1], as_text=nominal, skip=spec.drop)
        test = _Part(columns, _column(columns, roles.target, "target", paths[1]), str(paths[1]))
    return _encode(spec, paths, (train, test), encoding, roles)


def _load_npz(spec: DataSpec, paths: list[Path], facts: OwnFile) -> Source:
    arrays, test_arrays = read_npz(paths[0])
    roles = roles_of(spec, facts._replace(names=arrays.feature_names))
    if len(paths) > 1:
        if test_arrays is not None:
            raise UserError(f"{paths[0]} has its own test rows: remove 'test_path'")
        test_arrays, _ = read_npz(paths[1])
        if test_arrays.x.shape[1] != arrays.x.shape[1]:
            raise UserError(
                f"{paths[0]} has {arrays.x.shape[1]} columns but {paths[1]} has "
                f"{test_arrays.x.shape[1]}"
            )
    train = _part_of_arrays(arrays, arrays.feature_names, paths[0])
    test = None
    if test_arrays is not None:
        test = _part_of_arrays(test_arrays, arrays.feature_names, paths[-1])
    return _encode(spec, paths, (train, test), _learn(spec, train, roles), roles)


class _Part(NamedTuple):
    """Training rows or test rows."""

    columns: Columns
    targets: NDArray[Any]
    where: str
    """Name of the file, for messages."""
    offset: NDArray[Any] | None = None
    """Offset of arrays, if it is not one of the columns."""


def _part_of_arrays(arrays: Arrays, names: Sequence[str], path: Path) -> _Part:
    columns = {name: arrays.x[:, place] for place, name in enumerate(names)}
    return _Part(columns, arrays.y, str(path), arrays.offset)


def _column(columns: Columns, name: str | None, key: str, path: Path) -> NDArray[Any]:
    assert name is not None
    check_names([name], columns, key, str(path))
    return columns[name]


def _learn(spec: DataSpec, part: _Part, roles: Roles) -> Encoding:
    features = {name: part.columns[name] for name in roles.features}
    return Encoding.learn(features, categorical=spec.categorical, where=part.where)


def _encode(
    spec: DataSpec,
    paths: list[Path],
    parts: tuple[_Part, _Part | None],
    encoding: Encoding,
    roles: Roles,
) -> Source:
    train, test = (
        None if part is None else _encode_part(spec, part, encoding, roles) for part in parts
    )
    assert train is not None
    if test is not None and (train.offset is None) != (test.offset is None):
        raise UserError(f"data set '{spec.dataset}': only one of the two parts has an offset")
    done = {
        **encoding.to_dict(),
        "target": roles.target or "y",
        "offset": roles.offset or ("offset" if train.offset is not None else None),
        "dropped": list(spec.drop),
    }
    return Source(
        train,
        test,
        sha256=hashes_of(paths),
        targets=target_kind(spec),
        feature_names=encoding.feature_names,
        encoding=done,
        own=True,
    )


def _encode_part(spec: DataSpec, part: _Part, encoding: Encoding, roles: Roles) -> Table:
    offset = part.offset
    if roles.offset is not None:
        offset = _column(part.columns, roles.offset, "offset", Path(part.where))
    if offset is not None:
        offset = finite_numbers(offset, roles.offset or "offset", part.where)
    targets = check_targets(part.targets, target_kind(spec), roles.target or "y", part.where)
    return Table(encoding.apply(part.columns, where=part.where), targets, offset)


# svmlight


def _load_svmlight(spec: DataSpec, paths: list[Path], facts: OwnFile) -> Source:
    roles_of(spec, facts)
    tables = read_svmlight(paths, zero_based="auto")
    kind = target_kind(spec)
    for table, path in zip(tables, paths, strict=True):
        check_targets(table.y, kind, "label", str(path))
    test = tables[1] if len(tables) > 1 else None
    return Source(tables[0], test, sha256=hashes_of(paths), targets=kind)
