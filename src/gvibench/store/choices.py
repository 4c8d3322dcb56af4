"""The files in which the tuning stage keeps what it chose: their format, written and read."""

import json
from collections.abc import Iterable, Mapping
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
"""The fields of a run that the tuning stage can choose."""
NUMBERS = ("step", "init_scale", "trials", "diverged", "iterations", "seconds")


@dataclass(frozen=True)
class Choice:
    """The chosen step and initial scale, and the cost of finding them."""

    step: float
    init_scale: float
    objective: float | None
    """Mean final objective of its trials; nothing if no step worked."""
    trials: int
    diverged: int
    iterations: int
    seconds: float
    note: str = ""
    """One short phrase for tables, e.g. that the step is the largest tried."""
    failed: str | None = None
    """One sentence, if no step worked."""


def write_choice(path: Path, choice: Choice, details: Mapping[str, Any]) -> None:
    """Write a choice as JSON, with the details of how it was found."""
    with atomic_path(path) as part:
        part.write_text(json.dumps({**asdict(choice), **details}, indent=1) + "\n")


def read_choice(path: Path) -> Choice:
    """Read the choice of a step and an initial scale."""
    values = _read(path)
    for name in NUMBERS:
        if not _is_number(values.get(name)):
            raise _invalid(path, f"no number '{name}'")
    objective, note, failed = (values.get(name) for name in ("objective", "note", "failed"))
    if not (objective is None or _is_number(objective)):
        raise _invalid(path, "'objective' is not a number")
    if not (isinstance(note, str) and isinstance(failed, str | None)):
        raise _invalid(path, "no text 'note' or 'failed'")
    numbers = {name: values[name] for name in NUMBERS}
    return Choice(**numbers, objective=objective, note=note, failed=failed)


def read_choices(paths: Iterable[Path]) -> dict[str, float]:
    """Return the fields of a run that the given files have chosen."""
    chosen: dict[str, float] = {}
    for path in paths:
        values = _read(path)
        chosen |= {name: values[name] for name in CHOSEN if _is_number(values.get(name))}
    return chosen


def read_failure(paths: Iterable[Path]) -> str:
    """Return why no step worked, or nothing if one did."""
    found = [values["failed"] for values in map(_read, paths) if values.get("failed")]
    return str(found[0]) if found else ""


def read_beta_note(path: Path) -> str:
    """Return a short phrase if the chosen beta is the first or last candidate."""
    values = _read(path)
    beta, edge = values.get("beta"), values.get("edge")
    if not (_is_number(beta) and edge in (None, "smallest", "largest")):
        raise _invalid(path, "no 'beta' or 'edge'")
    return f"beta {beta:g} is the {edge} candidate" if edge else ""


def _read(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise _invalid(path, str(error)) from error
    if not isinstance(values, dict):
        raise _invalid(path, "no mapping")
    return values


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _invalid(path: Path, why: str) -> UserError:
    return UserError(
        f"{path} is not a choice of the tuning stage ({why}): delete it and choose again"
    )
