"""Files of gvibench in words, for people at a terminal."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gvibench.errors import UserError
from gvibench.spec.run import suggest
from gvibench.store.describe import counted, describe, settings_line
from gvibench.store.files import is_remote
from gvibench.store.kinds import ARCHIVE, OPTIMUM, PAGE, PREPARED, TRACE, kind_of
from gvibench.store.traces import PACKED, read_trace, read_traces
from gvibench.store.zarrzip import open_zip

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["description"]

SHOWN_NAMES = 8
"""Names of data sets or solvers that are listed; of more, only the number is."""


def description(path: str) -> str:
    """Return what a person wants to know about a file; refuse what gvibench did not write."""
    if not is_remote(path):
        _refuse_missing(Path(path))
    kind = kind_of(path)
    if kind is None:
        raise UserError(f"{path} is not a file of gvibench")
    if kind not in DESCRIPTIONS:
        raise UserError(f"{path} is a {kind}, which this version does not show")
    return DESCRIPTIONS[kind](path)


def _refuse_missing(path: Path) -> None:
    if path.is_dir():
        aggregate = path / "aggregate.zarr.zip"
        hint = aggregate if aggregate.is_file() else "one of its files"
        raise UserError(f"{path} is a folder: give {hint}")
    if not path.exists():
        near = [one.name for one in path.parent.glob("*")] if path.parent.is_dir() else []
        raise UserError(f"{path} does not exist{suggest(path.name, near)}")
    if not path.is_file():
        raise UserError(f"{path} is not a file of gvibench")


def _packed(path: str) -> str:
    traces = read_traces(path)
    first = f"{counted(len(traces), 'run')} in one file: {_endings(traces)}"
    return "\n\n".join([first, *(describe(trace) for trace in traces)])


def _round(path: str) -> str:
    from gvibench.engine.tuning import read_round

    grid, share, _, traces = read_round(Path(path))
    spec = traces[0].spec if traces else {}
    lines = [
        f"tuning round of {spec.get('solver')} on {spec.get('data', {}).get('dataset')}",
        f"  {counted(len(traces), 'trial')} of {spec.get('iterations')} iterations: "
        f"{_endings(traces)}",
        f"  steps  {_numbers(grid.steps)}",
        f"  scales {_numbers(grid.scales)}",
    ]
    if share < 1:
        lines.append(f"  on {share:.2%} of the training rows")
    finite = [trace for trace in traces if trace.attrs["status"] not in {"diverged", "failed"}]
    if finite:
        best = min(finite, key=lambda trace: float(trace.scalars["objective"][-1]))
        lines.append(
            f"  lowest objective {best.scalars['objective'][-1]:.8g} at step "
            f"{best.spec['step'] * share:g}, scale {best.spec['init_scale']:g}, "
            f"seed {best.spec['seed']}"
        )
    return "\n".join(lines)


def _endings(traces: Iterable[Any]) -> str:
    return _counts(trace.attrs["status"] for trace in traces)


def _counts(words: Iterable[str]) -> str:
    return ", ".join(f"{number} {word}" for word, number in Counter(words).most_common())


def _numbers(values: Iterable[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _optimum(path: str) -> str:
    from gvibench.engine.optimum import read_optimum
    from gvibench.models import METRICS

    optimum = read_optimum(path)
    attrs = optimum.attrs
    spec = json.loads(attrs["spec"])
    data = spec.pop("data")
    lines = [optimum.summary(), ""]
    lines += [f"  {name:20}{attrs[name]:16.10g}" for name in METRICS if name in attrs]
    lines += ["", "  data:    " + settings_line(data), "  problem: " + settings_line(spec)]
    lines.append(f"  mean of {counted(len(optimum.mean), 'feature')}")
    if optimum.covariance_factor is not None:
        shape = " x ".join(map(str, optimum.covariance_factor.shape))
        lines.append(f"  covariance factor {shape}")
    return "\n".join(lines)


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
    from gvibench.analysis.configurations import open_aggregate

    with open_aggregate(path) as dataset:
        return _study(dataset)


def _archive(path: str) -> str:
    from gvibench.analysis.configurations import open_aggregate
    from gvibench.store.aggregates import locate_aggregate

    with locate_aggregate(Path(path)) as aggregate, open_aggregate(aggregate) as dataset:
        return f"exported {_study(dataset)}"


def _study(dataset: "xr.Dataset") -> str:
    attrs = dataset.attrs
    title = f" ({attrs['title']})" if attrs.get("title") else ""
    variables = [str(name) for name in dataset.data_vars if "iteration" in dataset[name].dims]
    return "\n".join(
        [
            f"study {attrs.get('study')}{title}: {counted(dataset.sizes['run'], 'run')} x "
            f"{counted(dataset.sizes['iteration'], 'recorded iteration')}",
            f"  {_counts(dataset['status'].values.tolist())}",
            f"  data sets: {_names(dataset['dataset'].values.tolist())}",
            f"  solvers:   {_names(dataset['solver'].values.tolist())}",
            f"  gaps from: {attrs.get('gap')}",
            f"  recorded:  {', '.join(variables)}",
        ]
    )


def _names(values: Iterable[str]) -> str:
    found = list(dict.fromkeys(values))
    more = f" and {len(found) - SHOWN_NAMES} more" if len(found) > SHOWN_NAMES else ""
    return ", ".join(found[:SHOWN_NAMES]) + more


def _checkpoint(path: str) -> str:
    with open_zip(path) as group:
        iteration = group.attrs.get("iteration")
    return f"checkpoint of a run at iteration {iteration}: the command that started it resumes here"


DESCRIPTIONS: dict[str, Callable[[str], str]] = {
    TRACE.name: lambda path: describe(read_trace(path)),
    PACKED: _packed,
    OPTIMUM.name: _optimum,
    PREPARED.name: _prepared,
    "gvibench aggregate": _aggregate,
    "gvibench tuning round": _round,
    "gvibench checkpoint": _checkpoint,
    ARCHIVE.name: _archive,
    PAGE.name: lambda path: f"report page of gvibench: open {path} in a browser",
}
"""By kind."""
