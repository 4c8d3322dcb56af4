"""Write the page of the scored problems: the card of each, and the costs of the entries on it."""

import math

import xarray as xr

from gvibench.analysis.scores import expected_run_time
from gvibench.benchmark.protocol import RELEASE
from gvibench.study.config import Study
from gvibench.study.dataset_cards import card

__all__ = ["problems_page"]


def problems_page(study: Study, outcomes: xr.Dataset) -> str:
    """Return the page, with the costs of a study of track A."""
    budget, hardest = float(outcomes.attrs["budget"]), float(outcomes["target"].values.min())
    times = expected_run_time(outcomes, budget).sel(target=hardest)
    lines = [
        f"# Problems of {RELEASE}",
        "",
        "This page shows the card of each scored problem, as `gvibench datasets NAME` prints it, "
        f"and the expected number of passes over the data to {hardest:g} nat in track A without "
        "tuning: the passes of all runs, where a run that does not reach it counts "
        f"{budget:g}, divided by the number of runs that do. Entries that never reach it are left "
        "out.",
        "",
    ]
    for problem, settings in study.datasets.items():
        dataset = settings.dataset or problem
        of_problem = times.sel(problem=problem)
        costs = {str(name): float(of_problem.sel(entry=name)) for name in times["entry"].values}
        reached = sorted((cost, name) for name, cost in costs.items() if math.isfinite(cost))
        listed = ", ".join(f"{name} {cost:.4g}" for cost, name in reached) or "none"
        lines += [
            f"## {problem}",
            "",
            "```text",
            card(dataset),
            "```",
            "",
            f"Passes: {listed}.",
            "",
        ]
    return "\n".join(lines)
