"""Describe gvibench files as text for the terminal."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gvibench.errors import UserError, suggest
from gvibench.spec.messages import counted
from gvibench.spec.statuses import UNUSABLE
from gvibench.store.describe import describe_trace, settings_line
from gvibench.store.kinds import ARCHIVE, OPTIMUM, PAGE, PREPARED, TRACE, kind_of
from gvibench.store.remote import is_remote
from gvibench.store.traces import PACKED, read_trace, read_traces
from gvibench.store.zarrzip import open_zip

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["description"]

MAX_NAMES = 8
"""Maximum number of data sets or solvers listed by name."""


def description(path: str) -> str:
    """Return a description of a file. Raise an error if gvibench did not write it."""
    if not is_remote(path):
        _validate_path(Path(path))
    kind = kind_of(path)
    if kind is None:
        raise UserError(f"{path} is not a gvibench file")
    if kind not in DESCRIPTIONS:
        raise UserError(f"{path} is a {kind}, which this version cannot describe")
    return DESCRIPTIONS[kind](path)


def _validate_path(path: Path) -> None:
    if path.is_dir():
        aggregate = path / "aggregate.zarr.zip"
        hint = aggregate if aggregate.is_file() else "one of its files"
        raise UserError(f"{path} is a folder: give {hint}")
    if not path.exists():
        names = [file.name for file in path.parent.glob("*")] if path.parent.is_dir() else []
        raise UserError(f"{path} does not exist{suggest(path.name, names)}")
    if not path.is_file():
        raise UserError(f"{path} is not a gvibench file")


def _packed(path: str) -> str:
    traces = read_traces(path)
    headline = f"{counted(len(traces), 'run')} in one file: {_endings(traces)}"
    return "\n\n".join([headline, *(describe_trace(trace) for trace in traces)])


def _trials(path: str) -> str:
    from gvibench.store.trials import read_trials

    stored = read_trials(Path(path))
    trials = stored.trials
    lines = [
        f"tuning of {stored.title}",
        f"  {counted(len(trials), 'trial')} of up to "
        f"{counted(max((trial.iterations for trial in trials), default=0), 'iteration')}: "
        f"{_counts(trial.status for trial in trials)}",
        f"  steps  {_numbers(sorted({trial.step for trial in trials}))}",
        f"  scales {_numbers(sorted({trial.init_scale for trial in trials}))}",
    ]
    usable = [trial for trial in trials if trial.status not in UNUSABLE]
    if usable:
        best = min(usable, key=lambda trial: float(trial.objective[-1]))
        lines.append(
            f"  lowest objective {best.objective[-1]:.8g} at step {best.step:g}, "
            f"scale {best.init_scale:g}, seed {best.seed}"
        )
    return "\n".join(lines)


def _endings(traces: Iterable[Any]) -> str:
    return _counts(trace.attrs["status"] for trace in traces)


def _counts(words: Iterable[str]) -> str:
    return ", ".join(f"{number} {word}" for word, number in Counter(words).most_common())


def _numbers(values: Iterable[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _optimum(path: str) -> str:
    from gvibench.spec.metrics import METRICS
    from gvibench.store.optima import read_optimum

    optimum = read_optimum(path)
    attrs = optimum.attrs
    spec = json.loads(attrs["spec"])
    data = spec.pop("data")
    lines = [optimum.summary(), ""]
    lines += [f"  {name:20}{attrs[name]:16.10g}" for name in METRICS if name in attrs]
    lines += _certificate(attrs)
    lines += ["", "  data:    " + settings_line(data), "  problem: " + settings_line(spec)]
    lines.append(f"  mean of {counted(len(optimum.mean), 'feature')}")
    if optimum.covariance_factor is not None:
        shape = " x ".join(map(str, optimum.covariance_factor.shape))
        lines.append(f"  covariance factor {shape}")
    return "\n".join(lines)


def _certificate(attrs: Mapping[str, Any]) -> list[str]:
    """Return a line about the distance from the optimal objective; older files have none."""
    if "certificate" not in attrs:
        return []
    if reason := attrs["certificate_reason"]:
        return [f"  no certificate: {reason}"]
    return [f"  certificate: at most {attrs['certificate']:.1e} above the minimum"]


def _prepared(path: str) -> str:
    from gvibench.store.prepared import read_prepared

    data = read_prepared(path)
    attrs, values = data.attrs, json.loads(data.attrs["spec"])
    lines = [
        f"prepared data of {data.spec.dataset}: {len(data.train_y)} training rows, "
        f"{len(data.test_y)} test rows, {counted(data.train_x.shape[1], 'feature')}",
        "  data: " + settings_line(values),
    ]
    if attrs.get("labels"):
        lines.append("  labels: " + ", ".join(f"{k} = {v}" for k, v in attrs["labels"].items()))
    lines.append(f"  source: {attrs.get('source') or 'your own file'}")
    return "\n".join(lines)


def _aggregate(path: str) -> str:
    from gvibench.store.aggregates import open_aggregate

    with open_aggregate(path) as dataset:
        return _study(dataset)


def _archive(path: str) -> str:
    from gvibench.store.aggregates import locate_aggregate, open_aggregate

    with locate_aggregate(Path(path)) as aggregate, open_aggregate(aggregate) as dataset:
        return f"exported {_study(dataset)}"


def _study(dataset: "xr.Dataset") -> str:
    attrs = dataset.attrs
    title = f" ({attrs['title']})" if attrs.get("title") else ""
    variables = [str(name) for name in dataset.data_vars if "record" in dataset[name].dims]
    return "\n".join(
        [
            f"study {attrs.get('study')}{title}: {counted(dataset.sizes['run'], 'run')} x "
            f"{counted(dataset.sizes['record'], 'record')}",
            f"  {_counts(dataset['status'].values.tolist())}",
            f"  data sets: {_names(dataset['dataset'].values.tolist())}",
            f"  solvers:   {_names(dataset['solver'].values.tolist())}",
            f"  gaps from: {attrs.get('gap')}",
            f"  recorded:  {', '.join(variables)}",
        ]
    )


def _names(values: Iterable[str]) -> str:
    names = list(dict.fromkeys(values))
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more


def _checkpoint(path: str) -> str:
    with open_zip(path) as group:
        iteration = group.attrs.get("iteration")
    return (
        f"checkpoint of a run at iteration {iteration}: repeat the command of the run to resume it"
    )


DESCRIPTIONS: dict[str, Callable[[str], str]] = {
    TRACE.name: lambda path: describe_trace(read_trace(path)),
    PACKED: _packed,
    OPTIMUM.name: _optimum,
    PREPARED.name: _prepared,
    "gvibench aggregate": _aggregate,
    "gvibench tuning trials": _trials,
    "gvibench checkpoint": _checkpoint,
    ARCHIVE.name: _archive,
    PAGE.name: lambda path: f"gvibench report page: open {path} in a browser",
}
"""Function that describes a file, by the kind of file."""
