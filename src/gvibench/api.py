"""What a notebook needs: one run, a finished study, and the figure of the gaps.

Everything else is in the datasets that these return, and xarray's to do.
"""

import functools
import io
import tempfile
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import matplotlib
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from gvibench.analysis.configurations import KIND, open_aggregate
from gvibench.datasets import prepared_path
from gvibench.engine.execute import execute
from gvibench.engine.optimum import NoOptimumError, find_optimum
from gvibench.errors import UserError
from gvibench.spec.run import DataSpec, ProblemSpec, RunSpec, parse, suggest
from gvibench.store.aggregates import locate_aggregate
from gvibench.store.prepared import read_prepared
from gvibench.store.traces import write_trace
from gvibench.store.xarray_backend import GvibenchBackend
from gvibench.study.config import Style
from gvibench.study.defaults import complete_spec

__all__ = ["load_study", "plot_gap", "run"]


def run(
    dataset: str, solver: str, *, data_options: Mapping[str, Any] | None = None, **settings: Any
) -> xr.Dataset:
    """Do one run and return its trace, as `xarray.open_dataset` would open it.

    A run that diverges is a result, too: look at the attributes `status` and `reason`. Variables
    are taken by name, `trace["objective"]`: `trace.mean` is a method of xarray, `trace["mean"]`
    the means of q.

    Parameters
    ----------
    dataset
        A name of `gvibench datasets`, or any name for a file of your own given as `path`.
    solver
        A name of `gvibench solvers`.
    data_options
        Options of the data set.
    **settings
        All that `gvibench run --help` lists, with underscores: `step`, `iterations`, `beta`,
        `split_seed`, ... What is not given is what it would be on the command line. Numbers may
        be NumPy's, and files may be paths.
    """
    _refuse_unknown(settings, (set(RunSpec.model_fields) | set(DataSpec.model_fields)) - NOT_GIVEN)
    settings, options = _plain(settings), _plain(data_options or {})
    given = {name: settings.pop(name) for name in DataSpec.model_fields if name in settings}
    data = {"dataset": dataset, **given, "options": options}
    spec = complete_spec(RunSpec, data, {"solver": solver, **settings}, "run")
    trace = execute(spec, read_prepared(prepared_path(spec.data)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.zarr.zip"
        write_trace(path, trace)
        return xr.load_dataset(path, engine=GvibenchBackend)


NOT_GIVEN = {"data", "dataset", "solver", "options"}
"""Fields that have a parameter of their own."""


def _refuse_unknown(settings: Mapping[str, Any], known: set[str]) -> None:
    for name in settings:
        if name not in known:
            raise UserError(f"unknown setting '{name}'{suggest(name, sorted(known))}")


def _plain(value: Any) -> Any:
    """Return NumPy's numbers and paths as what Python and JSON have for them."""
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_plain(inner) for inner in value)
    if isinstance(value, PathLike):
        return str(value)
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return value.item()
    return value


def load_study(path: str | Path) -> xr.Dataset:
    """Return the aggregate of a finished study: its runs × their iterations, and all settings.

    Parameters
    ----------
    path
        The study's folder in `results`, its `aggregate.zarr.zip`, or what `gvibench export` made.
    """
    with locate_aggregate(Path(path)) as aggregate, open_aggregate(aggregate) as dataset:
        return dataset.load()


def plot_gap(
    shown: xr.Dataset | Sequence[xr.Dataset],
    *,
    gap: Literal["optimum", "best-seen"] = "optimum",
    ax: Axes | None = None,
    **style: Any,
) -> Figure | SubFigure:
    """Draw the objective gap against iterations, as the figure `gap` of a study does.

    Notebooks show the figure that is returned, whatever backend Matplotlib uses.

    Parameters
    ----------
    shown
        A study, or the traces of one or more runs: a panel per problem, a line per solver, a band
        over seeds.
    gap
        What gaps of runs are measured from: the exact optimum, which is found if there is one, or
        the best value that any of them has seen. A study has its own setting.
    ax
        Axes to draw into, with their own legend; only for a single problem. The figure they
        belong to is returned.
    **style
        `center` ("median", "mean" or "geometric"), and without `ax` also `width` ("column" or
        "page") and `font_size`, as in a config.
    """
    from gvibench.figures.curves import draw_gaps, over_iterations, plot_gaps
    from gvibench.figures.style import settings

    _refuse_unknown(style, set(Style.model_fields))
    if gap not in {"optimum", "best-seen"}:
        raise UserError(f"gap should be 'optimum' or 'best-seen', got '{gap}'")

    runs = [shown] if isinstance(shown, xr.Dataset) else list(shown)
    if not runs:
        raise UserError("there is nothing to plot: give a study or at least one run")
    is_study = len(runs) == 1 and runs[0].attrs.get("kind") == KIND
    dataset = runs[0] if is_study else _as_study(runs, gap)
    look = parse(Style, _plain(style), "plot_gap").model_dump(mode="json")
    if ax is not None:
        for name in ("width", "font_size"):
            if name in style:
                raise UserError(f"{name} has no effect on given axes: leave it out, or ax")
        draw_gaps(ax, dataset, over_iterations(), look["center"])
        return ax.figure
    with matplotlib.rc_context(settings(look)):
        figure, _ = plot_gaps(dataset, look, over_iterations())
        figure.draw_without_rendering()  # settles the layout while the settings hold
    figure.__class__ = (
        _ShownFigure  # the figure of a study, which no notebook shows, is a plain one
    )
    return figure


class _ShownFigure(Figure):
    """A figure that notebooks show; Matplotlib's own need `%matplotlib inline`."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png", dpi=NOTEBOOK_DPI, bbox_inches="tight")
        return content.getvalue()


NOTEBOOK_DPI = 144


def _as_study(runs: Sequence[xr.Dataset], gap: str) -> xr.Dataset:
    """Return runs in the form of an aggregate, as far as gaps need it."""
    specs = [parse(RunSpec, run.attrs["spec"], "run") for run in runs]
    # `aggregate` does more than is wanted here: it reads files and compares hashes.
    curves = [run["objective"] for run in runs]
    objective = xr.concat(curves, dim="run", join="outer", combine_attrs="drop_conflicts")
    known = gap == "optimum"
    of_run = {
        "optimum_objective": [_optimal_objective(spec) if known else np.nan for spec in specs],
        "dataset": [spec.data.dataset for spec in specs],
        "solver": [spec.solver for spec in specs],
        "seed": [spec.seed for spec in specs],
        "spec": [spec.canonical() for spec in specs],
        "status": [run.attrs["status"] for run in runs],
        "iterations_done": [run.attrs["iterations_done"] for run in runs],
        "tuned": [False for _ in runs],
    }
    variables = {name: ("run", values) for name, values in of_run.items()}
    return xr.Dataset({"objective": objective, **variables}, attrs={"kind": KIND, "gap": gap})


def _optimal_objective(spec: RunSpec) -> float:
    """Return the objective at the optimum of a run's problem; NaN if none exists or is found."""
    problem = spec.problem()
    if problem.model == "non-convex" or problem.beta == 0:
        return np.nan
    return _found_optimum(problem.canonical())


@functools.cache
def _found_optimum(problem: str) -> float:
    spec = parse(ProblemSpec, problem, "problem")
    try:
        found = find_optimum(spec, read_prepared(prepared_path(spec.data)))
    except NoOptimumError:  # the axis then says that gaps are measured from the best value seen
        return np.nan
    return float(found.attrs["objective"])
