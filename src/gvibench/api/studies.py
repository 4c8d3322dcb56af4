"""Load studies and plot the gaps of runs and studies, which are xarray datasets."""

import functools
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from gvibench.api.settings import plain, validate_names
from gvibench.datasets.cache import prepared_path
from gvibench.engine.optimum import NoOptimumError, find_optimum
from gvibench.errors import UserError
from gvibench.registry import MODELS
from gvibench.spec.metrics import COSTS
from gvibench.spec.run import ProblemSpec, RunSpec
from gvibench.spec.validate import parse
from gvibench.store.aggregate_writer import ragged
from gvibench.store.aggregates import KIND, open_study
from gvibench.store.prepared import read_prepared
from gvibench.study.config import Style
from gvibench.study.plan import solver_title

__all__ = ["NOTEBOOK_DPI", "NotebookFigure", "as_study", "load_study", "plot_gap"]


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

    Notes
    -----
    Prints what the study contains and what to try next.
    """
    study = open_study(path)
    print(_introduction(study))
    return study


def _introduction(study: xr.Dataset) -> str:
    """Return what a study contains and what to try next."""
    datasets = list(dict.fromkeys(study["dataset"].values.tolist()))
    solvers = list(dict.fromkeys(study["solver"].values.tolist()))
    name = study.attrs.get("study", "")
    return (
        f"study {name!r}: {study.sizes['run']} runs of {', '.join(solvers)} on "
        f"{', '.join(datasets)}; values are read when they are used\n"
        "next, with study = load_study(...):\n"
        "  gvibench.plot_gap(study)                         # gap by cost, band over seeds\n"
        f"  study.where(study.solver == {solvers[0]!r}, drop=True)  # runs of one solver\n"
        '  study["objective"].load()                        # a curve per run, in memory\n'
        '  study[["dataset", "solver", "seed", "status"]].to_dataframe()'
    )


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

    validate_names(style, set(Style.model_fields))
    if gap not in {"optimum", "best-seen"}:
        raise UserError(f"gap should be 'optimum' or 'best-seen', got '{gap}'")
    dataset = _study_of(data, gap)
    parsed = parse(Style, plain(style), "plot_gap").model_dump(mode="json")
    if ax is not None:
        for name in ("width", "font_size"):
            if name in style:
                raise UserError(f"{name} has no effect on given axes: leave out {name} or ax")
        curves.draw_gap(ax, dataset, parsed["center"])
        return ax.figure
    with theme(parsed):
        figure = curves.plot_gap(dataset, parsed).figure
        figure.draw_without_rendering()  # compute the layout while the settings are in effect
    figure.__class__ = NotebookFigure
    return figure


class NotebookFigure(Figure):
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
    if gap == "best-seen":
        return as_study(runs, None)
    return as_study(runs, [_optimal_objective(_spec_of(run)) for run in runs])


def _spec_of(run: xr.Dataset) -> RunSpec:
    return parse(RunSpec, run.attrs["spec"], "run")


def as_study(runs: Sequence[xr.Dataset], optima: Sequence[float] | None) -> xr.Dataset:
    """Return runs as an aggregate with the variables that gaps need.

    `optima` are the optimal objectives of the runs (NaN: unknown). Without them, gaps are measured
    from the lowest objective of all runs.
    """
    specs = [_spec_of(run) for run in runs]
    names = ["objective", *COSTS]
    curves = ragged(
        [run["iteration"].values for run in runs],
        [{name: run[name].values for name in names} for run in runs],
        names,
    )
    identities = [json.dumps({**spec.to_dict(), "seed": None}, sort_keys=True) for spec in specs]
    settings = list(dict.fromkeys(identities))
    columns = {
        "optimum_objective": [np.nan for _ in runs] if optima is None else list(optima),
        "dataset": [spec.data.dataset for spec in specs],
        "solver": [spec.solver for spec in specs],
        "seed": [spec.seed for spec in specs],
        "configuration_index": [settings.index(identity) for identity in identities],
        "status": [run.attrs["status"] for run in runs],
        "iterations_done": [run.attrs["iterations_done"] for run in runs],
        "tuned": [False for _ in runs],
        "tuned_scale": [False for _ in runs],
    }
    variables: dict[str, Any] = {name: ("run", values) for name, values in columns.items()}
    variables |= {name: (("run", "record"), rows) for name, rows in curves.items()}
    variables["spec"] = ("configuration", settings)
    titles = {name: {name: solver_title(name, name)} for name in {spec.solver for spec in specs}}
    gap = "best-seen" if optima is None else "optimum"
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
