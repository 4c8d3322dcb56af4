"""Write, read and merge the outcomes of benchmark entries (see `gvibench.analysis.outcomes`)."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gvibench.errors import UserError
from gvibench.spec.starts import INSTANCE_FIELDS
from gvibench.store.zarrzip import Group, StoredGroup, open_zip, write_zip

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["merge_outcomes", "read_outcomes", "write_outcomes"]

KIND = "gvibench outcomes"
TEXTS = {
    **{"entry": "entry", "other_limit": "entry"},
    **{"instance": "instance", "problem": "instance", "setting": "instance"},
}
"""Text coordinates with their dimension."""
CODED = ("status", "reason")
"""Text variables with the dimensions `entry` and `instance`. Each distinct text is stored once."""
NUMBERS = {
    "cost": ("entry", "instance", "target"),
    "seconds": ("entry", "instance", "target"),
    "final_gap": ("entry", "instance"),
    "tuning_cost": ("entry", "instance"),
}
"""Numeric variables with their dimensions."""
TOLERANCE = 1e-9
"""Relative difference up to which two targets are equal."""


def write_outcomes(
    path: str | os.PathLike[str], outcomes: "xr.Dataset", attrs: Mapping[str, Any]
) -> None:
    """Write outcomes as one Zarr zip file, atomically.

    Parameters
    ----------
    path
        File to write.
    outcomes
        Dataset of `gvibench.analysis.outcomes.outcomes_of`.
    attrs
        Further attributes, which JSON can represent. They replace those of the dataset.
    """
    texts = {name: outcomes[name].values.astype(str).tolist() for name in TEXTS}
    group = Group({"kind": KIND, "attrs": {**outcomes.attrs, **attrs}, "texts": texts})
    group.put("target", outcomes["target"].values.astype(float), ["target"], units="nat")
    for name in INSTANCE_FIELDS:
        group.put(name, outcomes[name].values.astype(float), ["instance"])
    for name, dims in NUMBERS.items():
        values = outcomes[name].transpose(*dims).values.astype(float)
        group.put(name, values, dims)
    for name in CODED:
        values = outcomes[name].transpose("entry", "instance").values.astype(str)
        words, codes = np.unique(values, return_inverse=True)
        codes = codes.reshape(values.shape).astype(np.int32)
        group.put(name, codes, ["entry", "instance"])
        group.attrs.setdefault("words", {})[name] = words.tolist()
    write_zip(path, group)


def read_outcomes(path: str | os.PathLike[str]) -> "xr.Dataset":
    """Read outcomes that `write_outcomes` has written."""
    with open_zip(path) as group:
        if group.attrs.get("kind") != KIND:
            raise UserError(f"{path} is not a gvibench file of outcomes: use another file")
        try:
            return _dataset(group)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise UserError(
                f"{path} is damaged ({error}): use another file, or write it again"
            ) from error


def _dataset(group: StoredGroup) -> "xr.Dataset":
    import xarray as xr

    arrays = group.read_all()
    texts, words = group.attrs["texts"], group.attrs["words"]
    coordinates: dict[str, Any] = {
        name: (dim, np.array([str(word) for word in texts[name]], dtype=object))
        for name, dim in TEXTS.items()
    } | {name: ("instance", arrays[name]) for name in INSTANCE_FIELDS}
    variables: dict[str, Any] = {name: (dims, arrays[name]) for name, dims in NUMBERS.items()}
    for name in CODED:
        codes = arrays[name]
        if codes.size and codes.min() < 0:
            raise ValueError(f"'{name}' has an invalid code")
        variables[name] = (("entry", "instance"), np.array(words[name], dtype=object)[codes])
    return xr.Dataset(
        variables, coordinates | {"target": arrays["target"]}, dict(group.attrs["attrs"])
    )


def merge_outcomes(parts: Sequence["xr.Dataset"]) -> "xr.Dataset":
    """Return the entries of several datasets as one.

    All parts must have the same instances, in any order, and the same targets. The attributes are
    those of the first part, except those in which the parts differ.
    """
    import xarray as xr

    if not parts:
        raise UserError("there are no outcomes to merge: name one or more files")
    ordered = [part.sortby("target", ascending=False) for part in parts]
    first, aligned = ordered[0], []
    for part in ordered:
        _check_same(first, part)
        same_order = part.sel(instance=first["instance"].values)
        aligned.append(same_order.assign_coords(target=first["target"].values))
    names = [str(name) for part in parts for name in part["entry"].values]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise UserError(
            f"the entry '{repeated[0]}' appears more than once: rename one of them, or leave it out"
        )
    merged = xr.concat(aligned, "entry", join="exact", coords="minimal", compat="override")
    merged.attrs = {
        name: value
        for name, value in first.attrs.items()
        if all(part.attrs.get(name) == value for part in parts)
    }
    return merged


def _check_same(first: "xr.Dataset", part: "xr.Dataset") -> None:
    """Raise UserError if two datasets differ in their targets, instances, cost or budget."""
    entry = str(part["entry"].values[0]) if part.sizes["entry"] else "without entries"
    where = f"the outcomes of '{entry}' cannot be merged with the others"
    ours, theirs = first["target"].values, part["target"].values
    if len(ours) != len(theirs) or not np.allclose(ours, theirs, rtol=TOLERANCE, atol=0.0):
        raise UserError(f"{where}: their targets differ, so compute both with the same targets")
    names, others = ({str(name) for name in each["instance"].values} for each in (first, part))
    if different := sorted(names ^ others):
        owner = "missing" if different[0] in names else "not part of the others"
        raise UserError(
            f"{where}: the instance '{different[0]}' is {owner}, so run both on the same instances"
        )
    for name in ("cost", "budget"):
        values = [each.attrs.get(name) for each in (first, part)]
        if values[0] != values[1]:
            raise UserError(f"{where}: their {name} is {values[1]} instead of {values[0]}")
