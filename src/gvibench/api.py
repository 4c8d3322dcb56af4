"""Provide the functions for notebooks: execute a run, load a study and plot gaps.

Runs and studies are xarray datasets.
"""

import functools
import io
import json
import tempfile
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from gvibench.datasets.cache import prepared_path
from gvibench.engine.execute import execute
from gvibench.engine.optimum import NoOptimumError, find_optimum
from gvibench.errors import UserError, suggest
from gvibench.registry import MODELS
from gvibench.spec.metrics import COSTS
from gvibench.spec.run import DataSpec, ProblemSpec, RunSpec
from gvibench.spec.validate import parse
from gvibench.store.aggregate_writer import ragged
from gvibench.store.aggregates import KIND, open_study
from gvibench.store.prepared import read_prepared
from gvibench.store.traces import write_trace
from gvibench.store.xarray_backend import GvibenchBackend
from gvibench.study.code_hash import run_hash
from gvibench.study.config import Style
from gvibench.study.defaults import complete_spec
from gvibench.study.plan import solver_title

__all__ = ["load_study", "plot_gap", "run"]


def run(
    dataset: str, solver: str, *, data_options: Mapping[str, Any] | None = None, **settings: Any
) -> xr.Dataset:
    """Execute one run and return its trace.

    Parameters
    ----------
    dataset : str
        Name of a data set (see `gvibench datasets`), or any name if `path` gives a file.
    solver : str
        Name of a solver (see `gvibench solvers`).
    data_options : mapping, optional
        Options of the data set.
    **settings
        Settings listed by `gvibench run --help`, with underscores: `step`, `iterations`, `beta`,
        `split_seed`, ... The defaults are the same as on the command line. NumPy scalars and
        `pathlib` paths are accepted.

    Returns
    -------
    xarray.Dataset
        Trace of the run, as `xarray.open_dataset` reads it. The attributes `status` and `reason`
        describe how the run ended; a run that diverges raises no error. Select variables by name:
        `trace["mean"]` is the mean of q, whereas `trace.mean` is a method of xarray.
    """
    known = (set(RunSpec.names()) | set(DataSpec.names())) - OWN_PARAMETERS
    _validate_names(settings, known)
    settings, options = _plain(settings), _plain(data_options or {})
    given = {name: settings.pop(name) for name in DataSpec.names() if name in settings}
    fields = {"dataset": dataset, **given, "options": options}
    spec = complete_spec(RunSpec, fields, {"solver": solver, **settings}, "run")
    data = read_prepared(prepared_path(spec.data))
    trace = execute(spec, data, code_hash=run_hash(spec))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.zarr.zip"
        write_trace(path, trace)
        return xr.load_dataset(path, engine=GvibenchBackend)


OWN_PARAMETERS = {"data", "dataset", "solver", "options"}
"""Fields that `run` takes as named parameters."""


def _validate_names(settings: Mapping[str, Any], known: set[str]) -> None:
    for name in settings:
        if name not in known:
            raise UserError(f"unknown setting '{name}'{suggest(name, sorted(known))}")


def _plain(value: Any) -> Any:
    """Return a value with NumPy scalars and paths replaced by types that JSON has."""
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_plain(inner) for inner in value)
    if isinstance(value, PathLike):
        return str(value)
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return value


def load_study(path: str | Path) -> xr.Dataset:
    """Return the aggregate of a finished study.

    Parameters
    ----------
    path : str or pathlib.Path
        Folder of the study in `results`, its `aggregate.zarr.zip` on a disk or in object storage,
        or an archive written by `gvibench export`.

    Returns
    -------
    xarray.Dataset
        Curves of all runs with the dimensions `run` and `record`, as Dask arrays that are read
        when they are computed. `iteration` is the iteration of each record. Settings that vary
        are coordinates along `run`.
    """
    return open_study(path)


def plot_gap(
    data: xr.Dataset | Sequence[xr.Dataset],
    *,
    gap: Literal["optimum", "best-seen"] = "optimum",
    ax: Axes | None = None,
    **style: Any,
) -> Figure | SubFigure:
    """Plot the objective gap against model evaluations, like the figure `gap` of a study.

    The figure has a panel per problem, a line per solver and a band over seeds.

    Parameters
    ----------
    data : xarray.Dataset or sequence of xarray.Dataset
        A study, or the traces of one or more runs.
    gap : {"optimum", "best-seen"}
        Reference of the gaps of runs: the exact optimum, which is computed if it exists, or the
        lowest objective of all given runs. Ignored for a study, which has its own setting.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into, for a single problem.
    **style
        `center` ("median", "mean" or "geometric") and, without `ax`, `width` ("column" or "page")
        and `font_size`, as in a config.

    Returns
    -------
    matplotlib.figure.Figure
        The new figure, or the figure of `ax`. Notebooks show a new figure with any Matplotlib
        backend.
    """
    from gvibench.figures import curves
    from gvibench.figures.theme import theme

    _validate_names(style, set(Style.model_fields))
    if gap not in {"optimum", "best-seen"}:
        raise UserError(f"gap should be 'optimum' or 'best-seen', got '{gap}'")
    dataset = _study_of(data, gap)
    parsed = parse(Style, _plain(style), "plot_gap").model_dump(mode="json")
    if ax is not None:
        for name in ("width", "font_size"):
            if name in style:
                raise UserError(f"{name} has no effect on given axes: leave out {name} or ax")
        curves.draw_gap(ax, dataset, parsed["center"])
        return ax.figure
    with theme(parsed):
        figure = curves.plot_gap(dataset, parsed).figure
        figure.draw_without_rendering()  # compute the layout while the settings are in effect
    figure.__class__ = _NotebookFigure
    return figure


class _NotebookFigure(Figure):
    """Figure that notebooks show without `%matplotlib inline`."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png", dpi=NOTEBOOK_DPI, bbox_inches="tight")
        return content.getvalue()


NOTEBOOK_DPI = 144


def _study_of(data: xr.Dataset | Sequence[xr.Dataset], gap: str) -> xr.Dataset:
    """Return a study unchanged, and runs as a study."""
    runs = [data] if isinstance(data, xr.Dataset) else list(data)
    if not runs:
        raise UserError("there is nothing to plot: give a study or at least one run")
    if len(runs) == 1 and runs[0].attrs.get("kind") == KIND:
        return runs[0]
    return _as_study(runs, gap)


def _as_study(runs: Sequence[xr.Dataset], gap: str) -> xr.Dataset:
    """Return runs as an aggregate with the variables that gaps need."""
    specs = [parse(RunSpec, run.attrs["spec"], "run") for run in runs]
    names = ["objective", *COSTS]
    curves = ragged(
        [run["iteration"].values for run in runs],
        [{name: run[name].values for name in names} for run in runs],
        names,
    )
    identities = [json.dumps({**spec.to_dict(), "seed": None}, sort_keys=True) for spec in specs]
    settings = list(dict.fromkeys(identities))
    from_optimum = gap == "optimum"
    columns = {
        "optimum_objective": [
            _optimal_objective(spec) if from_optimum else np.nan for spec in specs
        ],
        "dataset": [spec.data.dataset for spec in specs],
        "solver": [spec.solver for spec in specs],
        "seed": [spec.seed for spec in specs],
        "configuration_index": [settings.index(identity) for identity in identities],
        "status": [run.attrs["status"] for run in runs],
        "iterations_done": [run.attrs["iterations_done"] for run in runs],
        "tuned": [False for _ in runs],
    }
    variables: dict[str, Any] = {name: ("run", values) for name, values in columns.items()}
    variables |= {name: (("run", "record"), rows) for name, rows in curves.items()}
    variables["spec"] = ("configuration", settings)
    titles = {name: {name: solver_title(name, name)} for name in {spec.solver for spec in specs}}
    attrs = {"kind": KIND, "gap": gap, "solver_titles": titles}
    dataset = xr.Dataset(variables, attrs=attrs)
    return dataset.set_coords("iteration")


def _optimal_objective(spec: RunSpec) -> float:
    """Return the optimal objective of a run's problem, or NaN if there is no optimum."""
    problem = spec.problem()
    if not MODELS.load(problem.model).convex or not problem.penalises:
        return np.nan
    return _compute_optimum(problem.canonical())


@functools.cache
def _compute_optimum(problem: str) -> float:
    spec = parse(ProblemSpec, problem, "problem")
    try:
        optimum = find_optimum(spec, read_prepared(prepared_path(spec.data)))
    except NoOptimumError:  # the axis label then names the best value seen as reference
        return np.nan
    return float(optimum.attrs["objective"])
