"""Read the manifest of a study, which lists its runs, and open the traces of the runs."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gvibench.errors import UserError
from gvibench.spec.canonical import hash_values
from gvibench.store.traces import check_attributes
from gvibench.store.zarrzip import StoredGroup, open_zip

__all__ = ["OPTIONAL_PATHS", "ManifestRow", "open_verified", "read_manifest"]

ManifestRow = dict[str, Any]
"""One run in the manifest."""
OPTIONAL_PATHS = ("choice", "beta_choice", "optimum", "exact_optimum")
ROW_KEYS = frozenset(
    {
        *("path", "group", "dataset", "solver", "seed", "spec_hash", "code_hash", "tuned_fields"),
        *OPTIONAL_PATHS,
    }
)


def read_manifest(path: Path) -> dict[str, Any]:
    """Read and validate a manifest."""
    try:
        manifest: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(
            f"{path} is not the manifest of a study ({error}): delete the file and run snakemake "
            "again"
        ) from error
    if not _is_manifest(manifest):
        raise UserError(
            f"{path} is not the manifest of a study: delete the file and run snakemake again"
        )
    return manifest


def _is_manifest(values: Any) -> bool:
    return (
        isinstance(values, dict)
        and {"study", "title", "gap", "records", "curves", "runs"} <= set(values)
        and isinstance(values["records"], int)
        and isinstance(values["curves"], list)
        and isinstance(values["runs"], list)
        and len(values["runs"]) > 0
        and all(map(_is_row, values["runs"]))
    )


def _is_row(values: Any) -> bool:
    return (
        isinstance(values, dict)
        and set(values) >= ROW_KEYS
        and all(isinstance(values[name], str) for name in ("path", "dataset", "solver"))
        and all(isinstance(values[name], str | None) for name in ("group", *OPTIONAL_PATHS))
        and isinstance(values["tuned_fields"], list)
    )


@contextlib.contextmanager
def open_verified(row: ManifestRow) -> Iterator[tuple[StoredGroup, str]]:
    """Open the trace of a run and compare its hashes with the manifest.

    Yield the group of the trace and its location for error messages.
    """
    name = row["group"]
    where = row["path"] if name is None else f"{row['path']} {name}"
    with open_zip(row["path"]) as root:
        group = root if name is None else root.group(name)
        attrs = check_attributes(group, where)
        spec = json.loads(attrs["spec"])
        spec |= dict.fromkeys(row["tuned_fields"])
        if hash_values(spec) != row["spec_hash"]:
            raise UserError(f"{where} does not match the settings of this run in the config")
        if attrs["code_hash"] != row["code_hash"]:
            raise UserError(f"{where} was written by a different version of the code")
        yield group, where
