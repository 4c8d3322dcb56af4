"""Decide which columns of the user's own file are features, the target and the offset."""

from typing import NamedTuple

from gvibench.errors import UserError
from gvibench.spec.run import DataSpec
from gvibench.store.delimited import check_names
from gvibench.store.own_files import OwnFile

__all__ = ["INTERCEPT", "Roles", "roles_of"]

INTERCEPT = "intercept"
"""Name of the column of ones."""


class Roles(NamedTuple):
    """Names of columns by their use."""

    features: tuple[str, ...]
    target: str | None = None
    """Column of the target; None for arrays and svmlight files."""
    offset: str | None = None


def roles_of(spec: DataSpec, facts: OwnFile) -> Roles:
    """Return the use of each column. Raise UserError if a setting names no column of the file."""
    where = f"data set '{spec.dataset}': {spec.path}"
    named = {
        "target": (spec.target,) if spec.target is not None else (),
        "drop": spec.drop,
        "categorical": spec.categorical,
        "offset": (spec.offset,) if spec.offset is not None else (),
    }
    if facts.kind == "svmlight":
        for key, names in named.items():
            if names:
                raise UserError(
                    f"{where} is a svmlight file, which has no names of columns: remove '{key}', "
                    "or use a CSV file"
                )
        return Roles(())
    if not facts.names:  # a file that could not be inspected
        return Roles(())
    is_array = facts.kind == "npz"
    if is_array and spec.target is not None:
        raise UserError(f"{where}: the target of an .npz file is its array 'y': remove 'target'")
    for key, names in named.items():
        check_names(names, facts.names, key, where)
    used = [name for name in facts.names if name not in spec.drop and name != spec.offset]
    target = None
    if not is_array:
        target = spec.target or (used[-1] if used else None)
        if target in spec.categorical:
            raise UserError(
                f"{where}: column '{target}' is the target: remove it from 'categorical'"
            )
    features = tuple(name for name in used if name != target)
    if not features:
        raise UserError(f"{where} has no columns left for features: drop fewer columns")
    if spec.intercept and INTERCEPT in features:
        raise UserError(
            f"{where} has a column '{INTERCEPT}', and a column of ones is added: drop the column, "
            "or set intercept: false"
        )
    return Roles(features, target, spec.offset)
