"""Score a trace folder, which any library in any language can write.

`docs/benchmark/trace-format.md` describes the format. The objective of each record is recomputed
from its mean and covariance, so that only costs and times are taken on trust.
"""

import re
import shlex
import subprocess  # nosec B404
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr

from gvibench.benchmark.entries import Records, entry_outcomes
from gvibench.benchmark.instances import (
    SEARCH,
    InstanceSpec,
    arrays_of,
    budget_of,
    export,
    league_instances,
    study_of,
)
from gvibench.engine.endings import Descent
from gvibench.engine.rescore import recompute, verify_objective
from gvibench.errors import UserError
from gvibench.store.problem_folders import Instance
from gvibench.store.trace_folders import (
    Card,
    InstanceTrace,
    read_card,
    read_trace,
    trace_files,
)
from gvibench.study.config import Config

__all__ = ["Submission", "repeat", "score_folder"]

OTHER_DIVERGENCE = "other divergence"
BELOW = 1e-9
"""Relative amount by which rounding may move an objective below its certified optimum."""


class Submission(NamedTuple):
    """A valid trace folder."""

    card: Card
    outcomes: xr.Dataset
    traces: list[str]
    """Names of the instances that have a trace."""


def score_folder(folder: Path, config: Config) -> Submission:
    """Read and score a trace folder; raise UserError if it is not valid."""
    card = read_card(folder)
    listed = league_instances(config, card.track, card.league)
    study = study_of(config, card.track)
    runs = {
        name: _read(path, card, listed[name], budget_of(study))
        for name, path in trace_files(folder, listed).items()
    }
    limit = OTHER_DIVERGENCE if card.other_divergence else ""
    outcomes = entry_outcomes(card.name, runs, list(listed.values()), study, limit)
    return Submission(card, outcomes, list(runs))


def _read(path: Path, card: Card, each: InstanceSpec, budget: float) -> Records:
    instance = arrays_of(each)
    trace = read_trace(path, card, instance)
    values = recompute(instance, trace.mean, trace.covariance_factor)
    verify_objective(each.name, trace.objective, values)
    gap = values - instance.optimum
    _require_above_optimum(path, instance, gap)
    return Records(trace.cost, trace.seconds, gap, *_ending(trace, values, budget))


def _ending(trace: InstanceTrace, values: np.ndarray, budget: float) -> tuple[str, str]:
    """Return the status and the reason of a run by the rules for runs of gvibench.

    These stop at the budget, and those that end above their start have failed.
    """
    within = values[trace.cost <= budget]
    status, reason = trace.status, trace.reason
    if len(within) < len(values):
        status, reason = "completed", ""
    if status == "completed" and len(within):
        descent = Descent.start(float(values[0]), float(np.finfo(float).eps))
        if descent.ends_above_start(float(within[-1])):
            first, last = f"{values[0]:.6g}", f"{within[-1]:.6g}"
            return "failed", f"objective {last} above the starting one, {first}"
    return status, reason


def _require_above_optimum(path: Path, instance: Instance, gap: np.ndarray) -> None:
    known = gap[np.isfinite(gap)]
    if len(known) and known.min() < -BELOW * (1.0 + abs(instance.optimum)):
        raise UserError(
            f"{path}: record {int(np.nanargmin(gap))} is {-known.min():.1e} nat below the "
            "certified optimum, which is not possible: report this to the authors of gvibench"
        )


def _words(command: str, places: Mapping[str, list[str]]) -> list[str]:
    """Return the words of a command with its placeholders replaced."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UserError(f"the command '{command}' has an invalid quote ({error})") from error
    if not words:
        raise UserError("the command of --verify is empty: name the program that wrote the folder")
    replaced = []
    for word in words:
        for name in re.findall(r"\{(.*?)\}", word):
            if name not in places:
                listed = ", ".join(f"{{{place}}}" for place in places)
                raise UserError(
                    f"the command '{command}' has an invalid placeholder '{{{name}}}': use only "
                    f"{listed}"
                )
        # A placeholder alone may stand for several words.
        if (alone := word.strip("{}")) in places and word == f"{{{alone}}}":
            replaced += places[alone]
        else:
            for name, values in places.items():
                word = word.replace(f"{{{name}}}", " ".join(values))
            replaced.append(word)
    return replaced


def repeat(
    folder: Path, command: str, config: Config, share: float = 0.05, seed: int | None = None
) -> tuple[xr.Dataset, xr.Dataset]:
    """Run the command of a submission again on a random share of its instances.

    Parameters
    ----------
    folder
        Trace folder.
    command
        Command with the placeholders `{problems}`, `{out}` and `{instances}`: the folder of the
        problems, the folder to write, and the names of the instances.
    config
        Config of the benchmark.
    share
        Share of the instances.
    seed
        Seed of the choice (default: another choice each time).

    Returns
    -------
    Outcomes of the submission and of the repetition on these instances.
    """
    card, claimed, names = score_folder(folder, config)
    count = max(1, round(share * len(names)))
    chosen = sorted(np.random.default_rng(seed).choice(names, count, replace=False).tolist())
    with tempfile.TemporaryDirectory() as scratch:
        problems, out = Path(scratch, "problems"), Path(scratch, "out")
        export(problems, config, [name.partition(SEARCH)[0] for name in chosen])
        words = _words(
            command, {"problems": [str(problems)], "out": [str(out)], "instances": chosen}
        )
        try:
            subprocess.run(words, check=True)  # nosec B603
        except (OSError, subprocess.CalledProcessError) as error:
            raise UserError(f"the command '{words[0]}' failed: {error}") from error
        repeated, outcomes, _ = score_folder(out, config)
    if (repeated.track, repeated.league) != (card.track, card.league):
        raise UserError(
            f"the command wrote runs of track {repeated.track}, league '{repeated.league}', but "
            f"{folder} has track {card.track}, league '{card.league}': use the command that wrote "
            "the folder"
        )
    return claimed.sel(instance=chosen), outcomes.sel(instance=chosen)
