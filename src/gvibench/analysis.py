"""What tables, figures and the summary ask an aggregate: gaps, efforts and who is best.

Diverged runs are results too: they are counted, but their values enter no mean, no band and no
best value seen. In arrays along `run` they are NaN.
"""

import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from gvibench.errors import UserError
from gvibench.spec import ProblemSpec
from gvibench.xarray_backend import GvibenchBackend
from gvibench.zarrzip import open_zip

__all__ = [
    "Band",
    "Configuration",
    "Ranking",
    "band_over_iterations",
    "band_over_seconds",
    "completed",
    "configurations",
    "final",
    "gap",
    "iterations_to",
    "open_aggregate",
    "reference",
    "seconds_to",
    "seeds_over",
    "seeds_over_iterations",
    "solver_title",
    "unique",
]

Floats = NDArray[np.float64]
Runs = NDArray[np.intp]

# Spelled out: importing `gvibench.aggregate` would tie every figure to the code of the runs.
KIND = "gvibench aggregate"
BOUNDED = ("objective", "neg_elbo", "train_elbo_paper")
"""Metrics that an optimum may be known of."""
EXACT = "objective_exact"
LOWEST_AT_OPTIMUM = ("objective", "neg_elbo")
HIGHER_IS_BETTER = ("test_accuracy",)
ROUNDING = 1e-10
"""Values this little below their reference (relative) are as good as it."""
TIE = 1e-8
"""Mean gaps below this many nats are equally good: what is left is rounding."""
TIE_LEVEL = 1e-4
"""Among equals the one that reaches this gap in the fewest iterations is best."""

# A panel of a figure shows one problem; these fields tell problems apart that share a data set.
# How expectations are taken is a matter of the method: such runs are compared in one panel.
PANEL_FIELDS = ("model", "beta", "gamma", "sigma", "pieces", "piece_degree", "nodes")
CONFIGURED = ("solver", "seed", "step", "init_scale")
"""Fields that have a place of their own in a `Configuration`."""


def open_aggregate(path: str | Path) -> xr.Dataset:
    """Open the aggregate of a study; variables are read when they are used."""
    with open_zip(path) as root:
        root.check_chunks()
    try:
        dataset = xr.open_dataset(path, engine=GvibenchBackend)
    except Exception as error:  # Zarr and xarray have many ways to say that metadata are wrong
        raise UserError(
            f"{path} cannot be read as an aggregate ({error}): delete the file and make it again"
        ) from error
    if dataset.attrs.get("kind") != KIND:
        dataset.close()
        raise UserError(f"{path} is not an aggregate of gvibench: give the file of a study")
    return dataset


def unique(values: Iterable[Any]) -> list[Any]:
    """Return the distinct values in the order in which they first appear."""
    return list(dict.fromkeys(values))


def completed(dataset: xr.Dataset) -> NDArray[np.bool_]:
    """Say of each run whether it did not diverge."""
    return np.asarray(dataset["status"].values != "diverged")


# Configurations


@dataclass(frozen=True, eq=False)
class Configuration:
    """Runs that differ in their seed only."""

    dataset: str
    """The data set's name in the study."""
    panel: str
    """The data set's name, with the other fields of the problem that vary in the study."""
    problem: str
    """All that an optimum depends on; objectives are comparable where this is equal."""
    solver: str
    """The solver's name in the study."""
    line: str
    """The solver's name for readers, with the other fields of the method that vary."""
    solver_id: str
    varied: dict[str, Any]
    """The fields behind `panel` and `line`."""
    step: float
    init_scale: float
    tuned: bool
    runs: Runs
    """Where its runs are in the aggregate."""
    completed: Runs
    """Those that did not diverge."""

    @property
    def diverged(self) -> int:
        """How many runs diverged."""
        return len(self.runs) - len(self.completed)

    def panel_without(self, *fields: str) -> str:
        """Return what the panel is called if these fields are shown in another way."""
        left = {
            field: value
            for field, value in self.varied.items()
            if _is_of_panel(field) and field not in fields
        }
        return _named(self.dataset, left)


def configurations(dataset: xr.Dataset) -> list[Configuration]:
    """Group the runs that differ in their seed only, in the order of the study."""
    specs = [json.loads(text) for text in dataset["spec"].values]
    flat = [_flatten(spec) for spec in specs]
    names: list[str] = dataset["dataset"].values.tolist()
    solvers: list[str] = dataset["solver"].values.tolist()
    tuned: list[bool] = dataset["tuned"].values.tolist()
    pairs = list(zip(names, solvers, strict=True))
    panel_fields = _varied(flat, names, _is_of_panel)
    line_fields: dict[str, list[str]] = {}
    for (_, solver), fields in _varied(flat, pairs, _is_of_line).items():
        line_fields[solver] = unique([*line_fields.get(solver, []), *fields])

    groups: dict[tuple[Any, ...], list[int]] = {}
    for run, fields_of_run in enumerate(flat):
        but_seed = json.dumps({**fields_of_run, "seed": None}, sort_keys=True)
        groups.setdefault((*pairs[run], tuned[run], but_seed), []).append(run)

    done = completed(dataset)
    found = []
    for (name, solver, is_tuned, _), members in groups.items():
        runs = np.array(members, dtype=np.intp)
        values = flat[members[0]]
        of_panel = {field: values[field] for field in panel_fields[name]}
        of_line = {field: values[field] for field in line_fields[solver]}
        found.append(
            Configuration(
                dataset=name,
                panel=_named(name, of_panel),
                problem=_problem_key(name, specs[members[0]]),
                solver=solver,
                line=_named(solver_title(solver, values["solver"]), of_line),
                solver_id=values["solver"],
                varied=of_panel | of_line,
                step=values["step"],
                init_scale=values["init_scale"],
                tuned=is_tuned,
                runs=runs,
                completed=runs[done[runs]],
            )
        )
    return found


def solver_title(label: str, solver_id: str) -> str:
    """Return a solver's name for readers; a label of the study's own stays as it is.

    Where a data set replaces a solver (`sr-vn` by `sr-vn-rotated`), the name says so.
    """
    from gvibench.solvers import solver_class

    try:
        return solver_class(solver_id).title if solver_class(label) else label
    except UserError:  # from a package that is not installed where the figure is drawn
        return label


def _flatten(spec: dict[str, Any]) -> dict[str, Any]:
    data = {f"data.{name}": value for name, value in spec["data"].items()}
    return data | {name: value for name, value in spec.items() if name != "data"}


def _is_of_panel(field: str) -> bool:
    return field in PANEL_FIELDS or field.startswith("data.")


def _is_of_line(field: str) -> bool:
    return not _is_of_panel(field) and field not in CONFIGURED


def _varied(
    specs: Sequence[dict[str, Any]], labels: Sequence[Any], wanted: Callable[[str], bool]
) -> dict[Any, list[str]]:
    """Return, by label, the wanted fields that differ between the specs of that label."""
    by_label: dict[Any, list[dict[str, Any]]] = {}
    for label, spec in zip(labels, specs, strict=True):
        by_label.setdefault(label, []).append(spec)
    return {
        label: [
            field
            for field, first in members[0].items()
            if wanted(field) and any(spec[field] != first for spec in members)
        ]
        for label, members in by_label.items()
    }


def _named(name: str, fields: dict[str, Any]) -> str:
    words = [f"{field.removeprefix('data.')} {_word(value)}" for field, value in fields.items()]
    return ", ".join([name, *words])


def _word(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={_word(item)}" for name, item in value.items()) or "default"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _problem_key(name: str, spec: dict[str, Any]) -> str:
    """Return what runs have in common whose objectives are comparable."""
    fields = {field: spec[field] for field in ProblemSpec.model_fields}
    if spec["expectation"] == "stochastic" or EXACT in spec["record"]:  # recorded exactly
        defaults = ProblemSpec.model_fields
        fields |= {name: defaults[name].default for name in ("pieces", "piece_degree", "nodes")}
        fields["expectation"] = "exact"
    return json.dumps([name, fields], sort_keys=True)


# Gaps


def gap(dataset: xr.Dataset, metric: str) -> xr.DataArray:
    """Return how far each run is from the best, along its iterations: (run, iteration).

    The objectives are measured from the optimum if the study asks for it and it is known, else,
    like the test metrics, from the best value that any run on the same problem has seen. A run
    that records `objective_exact` is measured by it, so that expectations can be compared. What is
    below its reference by rounding only is zero. The optimum of the objective is no minimum of
    `train_elbo_paper`, whose gap may be negative.
    """
    best = reference(dataset, metric)[:, np.newaxis]
    values = np.asarray(_measured(dataset, metric) - best)
    if metric in HIGHER_IS_BETTER:
        values = -values
    values[~completed(dataset)] = np.nan
    values[(values < 0) & (values >= -ROUNDING * (1 + np.abs(best)))] = 0.0
    if metric in LOWEST_AT_OPTIMUM and (values < 0).any():
        count = int((values < 0).any(axis=1).sum())
        warnings.warn(
            f"{metric}: {count} runs got below the optimum they are measured from, "
            f"by up to {-np.nanmin(values):.2g}",
            stacklevel=2,
        )
    return xr.DataArray(
        values,
        dims=("run", "iteration"),
        coords={"iteration": dataset["iteration"]},
        name=f"{metric}_gap",
        attrs={"units": dataset[metric].attrs.get("units", "1")},
    )


def _measured(dataset: xr.Dataset, metric: str) -> Floats:
    """Return the values that gaps of a metric are made of."""
    values = np.asarray(dataset[metric].values)
    if metric != "objective" or EXACT not in dataset:
        return values
    return np.where(_has_exact(dataset)[:, np.newaxis], dataset[EXACT].values, values)


def _has_exact(dataset: xr.Dataset) -> NDArray[np.bool_]:
    """Say of each run whether it has recorded its objective with exact expectations."""
    if EXACT not in dataset:
        return np.zeros(dataset.sizes["run"], dtype=bool)
    return np.asarray(np.isfinite(dataset[EXACT].values).any(axis=1))


def reference(dataset: xr.Dataset, metric: str) -> Floats:
    """Return what each run's gap is measured from."""
    if metric not in BOUNDED or dataset.attrs["gap"] != "optimum":
        return _best_seen(dataset, metric)
    optimum = np.asarray(dataset[f"optimum_{metric}"].values)
    if metric == "objective" and f"optimum_{EXACT}" in dataset:
        exact = np.asarray(dataset[f"optimum_{EXACT}"].values)
        optimum = np.where(_has_exact(dataset), exact, optimum)
    known = np.isfinite(optimum)
    return optimum if known.all() else np.where(known, optimum, _best_seen(dataset, metric))


def _best_seen(dataset: xr.Dataset, metric: str) -> Floats:
    values = _measured(dataset, metric)
    done = completed(dataset)
    best = partial(np.fmax.reduce, initial=-np.inf)
    if metric not in HIGHER_IS_BETTER:
        best = partial(np.fmin.reduce, initial=np.inf)
    keys = [
        _problem_key(name, json.loads(spec))
        for name, spec in zip(dataset["dataset"].values, dataset["spec"].values, strict=True)
    ]
    of_problem: dict[str, list[int]] = {}
    for run, key in enumerate(keys):
        of_problem.setdefault(key, []).append(run)
    seen = np.full(len(keys), np.nan)
    for runs in of_problem.values():
        found = best(values[[run for run in runs if done[run]]], axis=None)
        seen[runs] = found if np.isfinite(found) else np.nan
    return seen


def final(values: Floats) -> Floats:
    """Return the last known value of each row; NaN where there is none."""
    known = ~np.isnan(values)
    last = values.shape[1] - 1 - known[:, ::-1].argmax(axis=1)
    return np.asarray(values[np.arange(len(values)), last])


def iterations_to(dataset: xr.Dataset, level: float) -> xr.DataArray:
    """Return the recorded iteration from which on a run's objective gap is at most `level`."""
    iteration = np.asarray(dataset["iteration"].values, dtype=float)
    reached, first = _first_reached(dataset, level)
    return xr.DataArray(np.where(reached, iteration[first], np.nan), dims="run")


def seconds_to(dataset: xr.Dataset, level: float) -> xr.DataArray:
    """Return the solver time from which on a run's objective gap is at most `level`."""
    seconds = np.asarray(dataset["seconds"].values)
    reached, first = _first_reached(dataset, level)
    found = seconds[np.arange(len(first)), first]
    return xr.DataArray(np.where(reached, found, np.nan), dims="run", attrs={"units": "s"})


def _first_reached(dataset: xr.Dataset, level: float) -> tuple[NDArray[np.bool_], Runs]:
    gaps = gap(dataset, "objective").values
    within, recorded = gaps <= level, np.isfinite(gaps)
    # To reach a level is to stay there: an oscillating run that touches it has not arrived.
    left_again = np.logical_or.accumulate((recorded & ~within)[:, ::-1], axis=1)[:, ::-1]
    stays = within & ~left_again
    return np.asarray(stays.any(axis=1)), np.asarray(stays.argmax(axis=1))


# Who is best


@dataclass(frozen=True)
class Ranking:
    """What makes one configuration better than another.

    Fewer diverged seeds, then the lower mean of the final objective gaps, then fewer iterations
    to a small gap: a step that often fails is no good step, however well it does otherwise.
    """

    gaps: Floats
    """Final objective gap of each run."""
    efforts: Floats
    """Iterations to a small gap, of each run."""

    @classmethod
    def of(cls, dataset: xr.Dataset) -> "Ranking":
        """Return the ranking for the runs of a study."""
        gaps = final(gap(dataset, "objective").values)
        return cls(gaps, np.asarray(iterations_to(dataset, TIE_LEVEL).values))

    def key(self, configuration: Configuration) -> tuple[float, ...]:
        """Return what to sort by: the best configuration has the lowest."""
        runs = configuration.completed
        if len(runs) == 0:
            return (1.0, np.inf, np.inf, configuration.step)
        efforts = np.nan_to_num(self.efforts[runs], nan=np.inf)
        return (
            configuration.diverged / len(configuration.runs),
            max(float(np.mean(self.gaps[runs])), TIE),
            float(np.mean(efforts)),
            configuration.step,
        )

    def best(
        self, candidates: Iterable[Configuration], within: Callable[[Configuration], Any]
    ) -> dict[Any, Configuration]:
        """Return the best candidate of each group, groups being told apart by `within`."""
        found: dict[Any, Configuration] = {}
        for candidate in candidates:
            group = within(candidate)
            if group not in found or self.key(candidate) < self.key(found[group]):
                found[group] = candidate
        return found

    def best_lines(self, candidates: Iterable[Configuration]) -> list[Configuration]:
        """Return the best step and initial scale of every solver in every panel."""
        return list(self.best(candidates, lambda one: (one.panel, one.line)).values())


# Bands over seeds


@dataclass(frozen=True)
class Band:
    """Mean, minimum and maximum over seeds along an axis."""

    at: Floats
    mean: Floats
    low: Floats
    high: Floats


def band_over_iterations(values: xr.DataArray, configuration: Configuration) -> Band:
    """Return the band over the seeds of a configuration that did not diverge."""
    return _band(*seeds_over_iterations(values, configuration))


def seeds_over_iterations(
    values: xr.DataArray, configuration: Configuration
) -> tuple[Floats, Floats]:
    """Return the recorded iterations and a row of values for every seed that did not diverge.

    A run that stopped before the others stays where it stopped.
    """
    rows = values.values[configuration.completed]
    recorded = ~np.isnan(rows).all(axis=0)
    at = np.asarray(values["iteration"].values, dtype=float)[recorded]
    return at, _carry_forward(rows[:, recorded])


def bands_over_seconds(
    dataset: xr.Dataset,
) -> Callable[[xr.DataArray, Configuration], Band]:
    """Return a function that puts values against the solver time of their runs."""
    seconds = np.asarray(dataset["seconds"].values)
    return lambda values, configuration: band_over_seconds(values, seconds, configuration)


def band_over_seconds(
    values: xr.DataArray, seconds: Floats, configuration: Configuration, points: int = 200
) -> Band:
    """Return the band at common times, up to the time at which the first seed stopped."""
    return _band(*seeds_over(seconds, values, configuration, points))


def seeds_over(
    clock: Floats, values: xr.DataArray, configuration: Configuration, points: int = 200
) -> tuple[Floats, Floats]:
    """Return common times, up to that at which the first seed stopped, and a row for every seed.

    The clock (run, iteration) counts what each run has spent: seconds, or passes over the data.
    Between two records a run has the value of the earlier one. The band begins at the first step
    of the fastest seed, twice: with the values of the start, which a logarithmic axis has no
    other place for, and with those after the step.
    """
    curves = []
    for run in configuration.completed:
        known = ~np.isnan(values.values[run]) & ~np.isnan(clock[run])
        curves.append((clock[run, known], values.values[run, known]))
    curves = [(times, found) for times, found in curves if len(times) > 1]
    if not curves:
        return np.empty(0), np.empty((1, 0))
    start = min(times[1] for times, _ in curves)
    stop = min(times[-1] for times, _ in curves)
    grid = np.geomspace(start, stop, points) if start > 0 else np.array([stop])
    grid[0], grid[-1] = start, stop  # exactly: rounding must not fall short of a record
    rows = [
        np.append(found[0], found[np.searchsorted(times, grid, side="right") - 1])
        for times, found in curves
    ]
    return np.append(grid[0], grid), np.array(rows)


def _band(at: Floats, rows: Floats) -> Band:
    if len(rows) == 0:
        return Band(np.empty(0), np.empty(0), np.empty(0), np.empty(0))
    return Band(at, rows.mean(axis=0), rows.min(axis=0), rows.max(axis=0))


def _carry_forward(rows: Floats) -> Floats:
    """Fill what is not known with the last value known before it; every row starts known."""
    known = np.where(np.isnan(rows), 0, np.arange(rows.shape[1]))
    return np.asarray(np.take_along_axis(rows, np.maximum.accumulate(known, axis=1), axis=1))
