"""Estimate how the result of tuning depends on the number of trials.

The regret of a trial is its final objective above the lowest one of all solvers on the problem, as
a share of the decrease from the start to that. A trial that diverged has regret 1.
"""

import json
import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

__all__ = ["BUDGETS", "expected_best", "read_trials", "tuning_curves"]

BUDGETS = (1, 2, 4, 8, 16, 32)
"""Numbers of trials for which the expected result is shown."""
SMALLEST = 1e-12
"""Regret below which differences are rounding errors."""


def read_trials(study: Path) -> pd.DataFrame:
    """Return the trials of a finished study: problem, entry, step, objective and start."""
    rows = []
    for path in sorted(study.glob("tuning/*/*/*/choice.json")):
        problem, entry = path.parts[-4:-2]
        for point in json.loads(path.read_text())["points"]:
            kept = {name: point[name] for name in ("step", "objective", "start")}
            rows.append({"problem": problem, "entry": entry, **kept})
    return pd.DataFrame(rows, columns=["problem", "entry", "step", "objective", "start"])


def expected_best(values: Iterable[float], count: int) -> float:
    """Return the expected minimum of `count` of the values, drawn without replacement."""
    ordered = sorted(values)
    total = math.comb(len(ordered), count)
    # The k-th smallest value is the minimum if all others drawn are among the larger ones.
    return sum(
        value * (math.comb(len(ordered) - k - 1, count - 1) / total)
        for k, value in enumerate(ordered)
    )


def tuning_curves(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over problems of the expected log10 regret, by entry and tuning budget."""
    lowest = trials.groupby("problem")["objective"].transform("min")
    # Diverged trials have no start, and the start of a problem is the same for all of them.
    start = trials.groupby("problem")["start"].transform("max")
    regret = ((trials["objective"] - lowest) / (start - lowest)).fillna(1.0)
    logs = np.log10(regret.clip(SMALLEST, 1.0))
    rows = []
    for (entry, problem), part in logs.groupby([trials["entry"], trials["problem"]], sort=False):
        for count in BUDGETS:
            if count <= len(part):
                rows.append((entry, problem, count, expected_best(part, count)))
    table = pd.DataFrame(rows, columns=["entry", "problem", "trials", "log10_regret"])
    means = table.groupby(["entry", "trials"], sort=False)["log10_regret"].mean()
    return means.reset_index()
