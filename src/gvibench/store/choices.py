"""Read and write the choices of the tuning stage."""

import json
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gvibench.errors import UserError
from gvibench.store.files import atomic_path

__all__ = [
    "CHOSEN",
    "Choice",
    "read_beta_note",
    "read_choice",
    "read_choices",
    "read_failure",
    "write_choice",
]

CHOSEN = ("step", "init_scale", "beta")
"""Fields of a run that the tuning stage can choose."""
NUMBERS = ("step", "init_scale", "trials", "diverged", "iterations", "seconds")
"""Fields of a choice that are always numbers."""


@dataclass(frozen=True)
class Choice:
    """Chosen step size and initial scale, and the cost of finding them."""

    step: float
    init_scale: float
    objective: float | None
    """Mean final objective of the trials with these values; None if no step worked."""
    trials: int
    diverged: int
    iterations: int
    seconds: float
    note: str = ""
    """Short note for tables, e.g. that the step is the largest tried."""
    failed: str | None = None
    """Reason why no step worked, in one sentence; None if a step worked."""


def write_choice(path: Path, choice: Choice, details: Mapping[str, Any]) -> None:
    """Write a choice as JSON, with details of the search."""
    with atomic_path(path) as part:
        part.write_text(json.dumps({**asdict(choice), **details}, indent=1) + "\n")


def read_choice(path: Path) -> Choice:
    """Read and validate the choice of a step size and an initial scale."""
    values = _read(path)
    for name in NUMBERS:
        if not _is_number(values.get(name)):
            raise _invalid(path, f"'{name}' is not a number")
    objective, note, failed = (values.get(name) for name in ("objective", "note", "failed"))
    if not (objective is None or _is_number(objective)):
        raise _invalid(path, "'objective' is not a number")
    if not (isinstance(note, str) and isinstance(failed, str | None)):
        raise _invalid(path, "'note' or 'failed' is not text")
    numbers = {name: values[name] for name in NUMBERS}
    return Choice(**numbers, objective=objective, note=note, failed=failed)


def read_choices(paths: Iterable[Path], fields: Collection[str] = CHOSEN) -> dict[str, float]:
    """Return the values chosen in the given files, limited to `fields`.

    A run uses them as they are, so each value must be a positive number.
    """
    chosen: dict[str, float] = {}
    for path in paths:
        values = _read(path)
        names = ("beta",) if "beta" in values else ("step", "init_scale")
        for name in names:
            if not (_is_number(values.get(name)) and 0 < values[name] < math.inf):
                raise _invalid(path, f"'{name}' is not a positive number")
        chosen |= {name: float(values[name]) for name in names if name in fields}
    return chosen


def read_failure(paths: Iterable[Path]) -> str:
    """Return the reason why no step worked, or an empty string if a step worked."""
    reasons = [values["failed"] for values in map(_read, paths) if values.get("failed")]
    return str(reasons[0]) if reasons else ""


def read_beta_note(path: Path) -> str:
    """Return a short note if the chosen beta is the smallest or largest candidate."""
    values = _read(path)
    beta, edge = values.get("beta"), values.get("edge")
    if not (_is_number(beta) and edge in (None, "smallest", "largest")):
        raise _invalid(path, "'beta' or 'edge' is missing or invalid")
    return f"beta {beta:g} is the {edge} candidate" if edge else ""


def _read(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise _invalid(path, str(error)) from error
    if not isinstance(values, dict):
        raise _invalid(path, "it is not a mapping")
    return values


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _invalid(path: Path, why: str) -> UserError:
    return UserError(
        f"{path} is not a choice of the tuning stage ({why}): delete the file and run snakemake "
        "again"
    )
