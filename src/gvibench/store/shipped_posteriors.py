"""List the posteriors whose moments the package ships.

`posteriors/index.json` lists the problems. `benchmarks/posteriors.py` computes the moments. This
module does not import NumPy, so that planning a study is quick.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["FOLDER", "is_shipped", "shipped"]

FOLDER = Path(__file__).with_name("posteriors")


def shipped() -> list[dict[str, Any]]:
    """Return the descriptions of all shipped posteriors."""
    entries: list[dict[str, Any]] = json.loads((FOLDER / "index.json").read_text())["posteriors"]
    return entries


def is_shipped(problem: Mapping[str, Any]) -> bool:
    """Return whether a problem with these settings, as plain data, has a shipped posterior.

    The data of the problem may still differ, e.g. because of another split.
    """
    data = problem["data"]
    return any(
        entry["dataset"] == data["dataset"]
        and entry["options"].items() <= data["options"].items()
        and entry["model"] == problem["model"]
        and entry["beta"] == problem["beta"]
        and not data.get("path")
        for entry in shipped()
    )
