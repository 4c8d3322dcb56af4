"""Read and write rounds of the tuning stage, with one Zarr group per trial."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from gvibench.errors import UserError
from gvibench.store.traces import Trace, to_group, trace_from_group
from gvibench.store.zarrzip import Group, open_zip, write_zip

__all__ = ["TUNED", "Round", "read_round", "write_round"]

KIND = "gvibench tuning round"
TUNED = ("step", "init_scale")
"""Fields of a run that are tuned on a grid."""


class Round(NamedTuple):
    """Grid of a round and the traces of its trials."""

    steps: tuple[float, ...]
    scales: tuple[float, ...]
    share: float
    """Share of the training rows that the trials used."""
    extensions: dict[str, int]
    """Number of grid extensions, by field."""
    traces: list[Trace]


def write_round(path: Path, tuning_round: Round, names: list[str]) -> None:
    """Write a round, with one group per trace under the given names."""
    root = Group(
        {
            "kind": KIND,
            "steps": list(tuning_round.steps),
            "scales": list(tuning_round.scales),
            "share_of_rows": tuning_round.share,
            "extensions": tuning_round.extensions,
        }
    )
    for name, trace in zip(names, tuning_round.traces, strict=True):
        root.groups[name] = to_group(trace)
    write_zip(path, root)


def read_round(path: Path) -> Round:
    """Read a round that `write_round` has written."""
    with open_zip(path) as root:
        if root.attrs.get("kind") != KIND:
            raise UserError(
                f"{path} is not a gvibench tuning round: delete the file and run snakemake again"
            )
        try:
            steps, scales = (tuple(map(float, root.attrs[name])) for name in ("steps", "scales"))
            share = float(root.attrs["share_of_rows"])
            counts: Mapping[str, int] = root.attrs["extensions"]
            extensions = {field: int(counts[field]) for field in TUNED}
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"{path} has no valid grid ({error}): delete the file and run snakemake again"
            ) from error
        traces = [trace_from_group(root.group(name), f"{path} {name}") for name in root.names()]
        return Round(steps, scales, share, extensions, traces)
