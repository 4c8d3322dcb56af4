"""Score a trace folder, which any library in any language can write.

`docs/benchmark/trace-format.md` describes the format. The objective of each record is recomputed
from its mean and covariance, so that only costs and times are taken on trust.
"""

import shlex
import subprocess  # nosec B404
import tempfile
from pathlib import Path

import numpy as np
import xarray as xr

from gvibench.benchmark.entries import Ending, entry_outcomes
from gvibench.benchmark.instances import (
    SEARCH,
    InstanceSpec,
    arrays_of,
    export,
    league_instances,
    study_of,
)
from gvibench.engine.rescore import recompute, verify_objective
from gvibench.errors import UserError
from gvibench.store.problem_folders import Instance
from gvibench.store.trace_folders import Card, read_card, read_trace, trace_files
from gvibench.study.config import Config

__all__ = ["repeat", "score_folder"]

OTHER_DIVERGENCE = "other divergence"
BELOW = 1e-9
"""Relative amount by which rounding may move an objective below its certified optimum."""


def score_folder(folder: Path, config: Config) -> tuple[Card, xr.Dataset]:
    """Return the card and the outcomes of a trace folder; raise UserError if it is not valid."""
    card = read_card(folder)
    listed = league_instances(config, card.track, card.league)
    runs = {
        name: _read(path, card, listed[name]) for name, path in trace_files(folder, listed).items()
    }
    limit = OTHER_DIVERGENCE if card.other_divergence else ""
    study = study_of(config, card.track)
    return card, entry_outcomes(card.name, runs, list(listed.values()), study, limit)


def _read(path: Path, card: Card, each: InstanceSpec) -> Ending:
    instance = arrays_of(each)
    trace = read_trace(path, card, instance)
    values = recompute(instance, trace.mean, trace.covariance_factor)
    verify_objective(each.name, trace.objective, values)
    gap = values - instance.optimum
    _require_above_optimum(path, instance, gap)
    return Ending(trace.cost, trace.seconds, gap, trace.status, trace.reason)


def _require_above_optimum(path: Path, instance: Instance, gap: np.ndarray) -> None:
    if len(gap) and np.nanmin(gap) < -BELOW * (1.0 + abs(instance.optimum)):
        raise UserError(
            f"{path}: record {int(np.nanargmin(gap))} is {-np.nanmin(gap):.1e} nat below the "
            "certified optimum, which is not possible: report this to the authors of gvibench"
        )


def _words(command: str, **places: object) -> list[str]:
    """Return the words of a command with its placeholders replaced."""
    try:
        words = shlex.split(command.format(**places))
    except (KeyError, IndexError, ValueError) as error:
        raise UserError(
            f"the command '{command}' has an invalid placeholder or quote ({error}): use only "
            "{problems}, {out} and {instances}"
        ) from error
    if not words:
        raise UserError("the command of --verify is empty: name the program that wrote the folder")
    return words


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
    _, claimed = score_folder(folder, config)
    names = claimed["instance"].values[claimed["reason"].values[0] != "no trace"]
    count = max(1, round(share * len(names)))
    chosen = sorted(np.random.default_rng(seed).choice(names, count, replace=False).tolist())
    with tempfile.TemporaryDirectory() as scratch:
        problems, out = Path(scratch, "problems"), Path(scratch, "out")
        export(problems, config, [name.partition(SEARCH)[0] for name in chosen])
        words = _words(command, problems=problems, out=out, instances=" ".join(chosen))
        try:
            subprocess.run(words, check=True)  # nosec B603
        except (OSError, subprocess.CalledProcessError) as error:
            raise UserError(f"the command '{words[0]}' failed: {error}") from error
        repeated = score_folder(out, config)[1]
    return claimed.sel(instance=chosen), repeated.sel(instance=chosen)
