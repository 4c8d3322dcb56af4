"""Build the table of scores: area under the ECDF and rank of each entry, with intervals."""

import numpy as np
import pandas as pd
import xarray as xr

from gvibench.analysis.configurations import unique
from gvibench.analysis.costs import COSTS
from gvibench.analysis.outcomes import other_limits, study_outcomes
from gvibench.analysis.scores import (
    HEADLINES,
    bootstrap,
    letters,
    nearest_target,
    reached_shares,
    tie_groups,
    ties,
)
from gvibench.spec.messages import counted
from gvibench.spec.scoring import ScoreSettings
from gvibench.spec.statuses import UNUSABLE
from gvibench.tables.formats import Block, Table, number, with_full_cells

__all__ = ["build", "scores_table", "sizes_text"]


TUNING = (
    " Scores leave out the cost of the tuning trials, which is shown per instance (median): each "
    "iteration of a trial counts like an iteration of the run."
)


def build(dataset: xr.Dataset) -> Table:
    """Return a table with a row for each entry of a study, best first."""
    return scores_table(*study_outcomes(dataset))


def scores_table(outcomes: xr.Dataset, settings: ScoreSettings) -> Table:
    """Return a table with a row for each entry, best first."""
    result = bootstrap(outcomes, settings.budget, settings.draws, least=settings.least)
    names = result["entry"].values.tolist()
    groups = letters(tie_groups(names, ties(result["beats"])))
    ordered = outcomes.sel(entry=names)
    headlines = unique(nearest_target(outcomes, target) for target in HEADLINES)
    status = ordered["status"].transpose("entry", "instance").values.astype(str)
    ranks = {name: result[name].values for name in ("rank", "rank_low", "rank_high")}
    values = pd.DataFrame(
        {
            "entry": names,
            "other_limit": ordered["other_limit"].values,
            **{name: result[name].values for name in ("score", "score_low", "score_high")},
            **{name: rank.astype(int) for name, rank in ranks.items()},
            "tie_groups": [groups[name] for name in names],
            **{
                f"reached_{target:g}": reached_shares(ordered, target, settings.budget).values
                for target in headlines
            },
            "tuning_cost": _tuning_costs(ordered),
            "instances": outcomes.sizes["instance"],
            "failed": np.isin(status, UNUSABLE).sum(axis=1),
            "missing": (status == "").sum(axis=1),
        }
    )
    caption = _caption(outcomes, settings)
    noun = COSTS[outcomes.attrs["cost"]].noun
    return Table(values, [with_full_cells(lambda: _block(values, headlines, caption, noun))])


def sizes_text(outcomes: xr.Dataset) -> str:
    """Return the numbers of problems, instances and targets in words."""
    problems = len(unique(outcomes["problem"].values.tolist()))
    parts = [
        counted(problems, "problem"),
        counted(outcomes.sizes["instance"], "instance"),
        counted(outcomes.sizes["target"], "target"),
    ]
    return f"{parts[0]}, {parts[1]} and {parts[2]}"


def _caption(outcomes: xr.Dataset, settings: ScoreSettings) -> str:
    noun = COSTS[outcomes.attrs["cost"]].noun
    low, high = min(settings.targets), max(settings.targets)
    limits, has_tuning = other_limits(outcomes), bool((outcomes["tuning_cost"] > 0).any())
    return (
        f"Scores over {sizes_text(outcomes)}. Score: area under the share of targets reached "
        f"against the logarithm of the {noun}, from {settings.least:g} to {settings.budget:g}, "
        "between 0 and 1. Problems have equal weights, then their instances, then the targets. A "
        f"target is an objective gap, {high:g} to {low:g} nat, that is reached when the gap is at "
        "most the target for the first time. Runs that diverged or failed, and missing runs, reach "
        "no target. Brackets: 95% intervals of a bootstrap over problems and their instances "
        f"({settings.draws} samples). Entries with a letter of their ties in common are not "
        "separable: the probability that one has the higher score lies between 0.025 and 0.975."
        f"{f' *: {limits}.' if limits else ''}{TUNING if has_tuning else ''}"
    )


def _tuning_costs(outcomes: xr.Dataset) -> list[float]:
    """Return the median cost of tuning of each entry, NaN if it is not known."""
    costs = outcomes["tuning_cost"].transpose("entry", "instance").values
    known = [row[~np.isnan(row)] for row in costs]
    return [float(np.median(row)) if len(row) else np.nan for row in known]


def _tuning_cells(values: pd.DataFrame, noun: str) -> dict[str, list[str]]:
    """Return a column with the cost of tuning if an entry was tuned."""
    if not (values["tuning_cost"] > 0).any():
        return {}
    cells = ["–" if np.isnan(cost) else number(cost, 5) for cost in values["tuning_cost"]]
    return {f"{noun} of tuning": cells}


def _block(values: pd.DataFrame, headlines: list[float], caption: str, noun: str) -> Block:
    rows = values.to_dict("records")
    cells = {
        "solver": [f"{row['entry']}{' *' if row['other_limit'] else ''}" for row in rows],
        "score": [number(row["score"], 3) for row in rows],
        "95% interval": [_interval(row["score_low"], row["score_high"], 3) for row in rows],
        "rank": [str(row["rank"]) for row in rows],
        "95% interval ": [_interval(row["rank_low"], row["rank_high"]) for row in rows],
        "ties": [row["tie_groups"] for row in rows],
        **{
            f"reached {target:g} nat": [f"{100 * row[f'reached_{target:g}']:.0f}%" for row in rows]
            for target in headlines
        },
        **_tuning_cells(values, noun),
        "diverged or failed": [f"{row['failed']}/{row['instances']}" for row in rows],
    }
    if values["missing"].any():
        cells["missing"] = [f"{row['missing']}/{row['instances']}" for row in rows]
    return Block(caption, pd.DataFrame(cells))


def _interval(low: float, high: float, digits: int = 6) -> str:
    return f"[{number(low, digits)}, {number(high, digits)}]"
