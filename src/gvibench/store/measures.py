"""Read and write the measures of Gaussians: one JSON file per problem or per block of runs."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gvibench.errors import UserError
from gvibench.spec.measures import BINS, MEASURES, TEXTS
from gvibench.store.files import atomic_path

__all__ = ["Measures", "read_measures", "write_measures"]

KIND = "gvibench measures"

Measures = dict[str, Any]
"""Measures of one Gaussian by name, with `seed` and `notes`."""


def write_measures(
    path: str | os.PathLike[str], results: Sequence[Mapping[str, Any]], code_hash: str
) -> None:
    """Write the measures of Gaussians, with null in place of NaN."""
    content = {
        "kind": KIND,
        "code_hash": code_hash,
        "results": [
            {name: _to_json(value) for name, value in result.items()} for result in results
        ],
    }
    with atomic_path(Path(path)) as part:
        part.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n")


def _to_json(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_measures(path: str | os.PathLike[str], code_hash: str | None = None) -> list[Measures]:
    """Read the measures of Gaussians. Missing numbers are NaN.

    With a `code_hash`, raise UserError if other code has written the file.
    """
    try:
        content = json.loads(Path(path).read_text())
        if content["kind"] != KIND:
            raise ValueError(f"its kind is {content['kind']}")
        results = [_complete(result) for result in content["results"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(
            f"{path} is not a file of measures ({error}): delete the file and run snakemake again"
        ) from error
    if code_hash is not None and content.get("code_hash") != code_hash:
        raise UserError(
            f"{path} was written by a different version of the code: delete the file and run "
            "snakemake again"
        )
    return results


def _complete(result: Mapping[str, Any]) -> Measures:
    numbers = {name: result.get(name) for name in MEASURES}
    return {
        "seed": result["seed"],
        **{name: math.nan if value is None else float(value) for name, value in numbers.items()},
        **{name: [float(value) for value in result.get(name) or []] for name in BINS},
        **{name: str(result.get(name) or "") for name in TEXTS},
        "notes": dict(result["notes"]),
    }
