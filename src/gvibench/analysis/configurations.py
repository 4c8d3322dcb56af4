"""Group the runs of an aggregate into configurations.

A configuration is a problem, a solver and its settings; its runs differ only in their seeds.
Objectives are comparable within a problem. Figures show each problem as one panel. The other
settings that vary distinguish the lines within a panel.
"""

import json
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from gvibench.spec.run import ProblemSpec
from gvibench.spec.starts import START_FIELDS, start_name
from gvibench.spec.statuses import UNUSABLE

__all__ = [
    "EXACT",
    "START",
    "Configuration",
    "Floats",
    "Runs",
    "by_run",
    "configurations",
    "problem_codes",
    "solver_title",
    "specs_of",
    "unique",
    "usable",
    "with_fields",
]

Floats = NDArray[np.float64]
Runs = NDArray[np.intp]

EXACT = "objective_exact"
APPROXIMATION = ("expectation", "pieces", "piece_degree", "nodes")
"""Fields of the expectation, part of the problem unless its exact objective is recorded."""
CONFIGURED = ("solver", "seed", "step", "step_rule", "init_scale")
"""Fields with an attribute of their own in `Configuration`."""
START = "start"
"""Name under which a named start is shown among the fields of a problem."""


def unique(values: Iterable[Any]) -> list[Any]:
    """Return the distinct values in the order in which they first appear."""
    return list(dict.fromkeys(values))


def usable(dataset: xr.Dataset) -> NDArray[np.bool_]:
    """Return a mask of the runs that neither diverged nor failed."""
    return ~np.isin(dataset["status"].values.astype(str), UNUSABLE)


@dataclass(frozen=True, eq=False)
class Configuration:
    """Runs that differ only in their seed."""

    dataset: str
    """Name of the data set in the study."""
    panel: str
    """Name of the problem: the data set, the other problem fields that vary, and a named start."""
    problem: str
    """Key of the problem and the named start. Configurations with equal keys are compared."""
    solver: str
    """Name of the solver in the study."""
    title: str
    """Title of the solver."""
    line: str
    """Title of the solver and the other method fields that vary."""
    solver_id: str
    """Registered name of the solver."""
    identity: str
    """Spec without its seed. It breaks ties independently of labels."""
    varied: dict[str, Any]
    """Varying fields that `panel` and `line` include, with their values."""
    panel_fields: tuple[str, ...]
    """Names of the varying fields that `panel` includes."""
    step: float
    step_rule: str
    init_scale: float
    tuned: bool
    """Whether the tuning stage chose the step or the initial scale."""
    tuned_scale: bool
    """Whether the tuning stage chose the initial scale."""
    runs: Runs
    """Positions of the runs in the aggregate."""
    usable: Runs
    """Positions of the runs that neither diverged nor failed."""
    endings: Counter[str]
    """Number of runs by status."""

    @property
    def spec(self) -> dict[str, Any]:
        """Spec without its seed."""
        spec: dict[str, Any] = json.loads(self.identity)
        return spec

    @property
    def step_size(self) -> float:
        """Step size that was set, NaN if the solver has none or the step rule searches for it."""
        return math.nan if self.step_rule in {"auto", "none"} else self.step

    @property
    def unusable(self) -> int:
        """Number of runs that diverged or failed."""
        return len(self.runs) - len(self.usable)

    def panel_without(self, *fields: str) -> str:
        """Return the name of the panel without the given fields."""
        kept = {field: self.varied[field] for field in self.panel_fields if field not in fields}
        return with_fields(self.dataset, kept)


def configurations(dataset: xr.Dataset) -> list[Configuration]:
    """Group the runs that differ only in their seed, in the order of the study.

    Duplicate runs are counted once.
    """
    present, members = _members(dataset)
    all_specs = specs_of(dataset)
    specs = [all_specs[k] for k in present]
    first = np.array([runs[0] for runs in members])
    columns = ("dataset", "solver", "tuned", "tuned_scale")
    labels = {name: dataset[name].values[first].tolist() for name in columns}
    pairs = list(zip(labels["dataset"], labels["solver"], strict=True))
    starts = dataset.attrs.get("starts", [])
    problems = [_problem_fields(spec) | _start_field(starts, spec) for spec in specs]
    methods = [_method_fields(spec, problem) for spec, problem in zip(specs, problems, strict=True)]
    panel_fields = _varied(problems, [name for name, _ in pairs])
    line_fields = _line_fields(methods, pairs)
    solvers = unique((label, spec["solver"]) for (_, label), spec in zip(pairs, specs, strict=True))
    titles = _titles(dataset, solvers)
    is_usable, status = usable(dataset), dataset["status"].values
    result = []
    for k, spec in enumerate(specs):
        (name, solver), runs = pairs[k], members[k]
        panel_values = {field: problems[k].get(field) for field in panel_fields[name]}
        line_values = {
            field: methods[k][field] for field in line_fields[solver] if field in methods[k]
        }
        result.append(
            Configuration(
                dataset=name,
                panel=with_fields(name, panel_values),
                problem=_problem_key(name, problems[k]),
                solver=solver,
                title=titles[solver, spec["solver"]],
                line=with_fields(titles[solver, spec["solver"]], line_values),
                solver_id=spec["solver"],
                identity=json.dumps(spec, sort_keys=True),
                varied=panel_values | line_values,
                panel_fields=tuple(panel_values),
                step=spec["step"],
                step_rule=spec["step_rule"],
                init_scale=spec["init_scale"],
                tuned=labels["tuned"][k],
                tuned_scale=labels["tuned_scale"][k],
                runs=runs,
                usable=runs[is_usable[runs]],
                endings=Counter(status[runs].tolist()),
            )
        )
    return _in_order(dataset, result)


def specs_of(dataset: xr.Dataset) -> list[dict[str, Any]]:
    """Return the spec of each configuration of an aggregate, without its seed."""
    return [json.loads(text) for text in dataset["spec"].values.tolist()]


def by_run(dataset: xr.Dataset, values: Sequence[Any]) -> NDArray[Any]:
    """Return values of configurations for each run."""
    return np.asarray(np.array(values)[dataset["configuration_index"].values])


def problem_codes(dataset: xr.Dataset) -> NDArray[np.intp]:
    """Return a number for each run that is equal for runs with comparable objectives."""
    specs = specs_of(dataset)
    keys = [""] * len(specs)
    for k, runs in zip(*_members(dataset), strict=True):
        name = str(dataset["dataset"].values[runs[0]])
        keys[k] = _problem_key(name, _problem_fields(specs[k]))
    return by_run(dataset, np.unique(keys, return_inverse=True)[1].tolist())


def _members(dataset: xr.Dataset) -> tuple[list[int], list[Runs]]:
    """Return the configurations that have runs, and the positions of their runs.

    A selection of runs may have none of some configurations. Duplicate runs are left out.
    """
    index, seeds = dataset["configuration_index"].values, dataset["seed"].values
    pairs = np.stack([index, seeds], axis=1)
    distinct = np.sort(np.unique(pairs, axis=0, return_index=True)[1])
    ordered = distinct[np.argsort(index[distinct], kind="stable")]
    present, counts = np.unique(index[ordered], return_counts=True)
    return present.tolist(), np.split(ordered, np.cumsum(counts)[:-1])


def _in_order(dataset: xr.Dataset, configs: list[Configuration]) -> list[Configuration]:
    """Return configurations in the order of the config, if it is known, or of the aggregate."""
    order: dict[str, list[str]] = dataset.attrs.get("order", {})
    position = {
        name: {label: k for k, label in enumerate(order.get(name, []))}
        for name in ("dataset", "solver")
    }
    last = len(configs)
    return sorted(
        configs,
        key=lambda config: (
            position["dataset"].get(config.dataset, last),
            position["solver"].get(config.solver, last),
        ),
    )


def _line_fields(
    methods: Sequence[Mapping[str, Any]], pairs: Sequence[tuple[str, str]]
) -> dict[str, list[str]]:
    """Return, by solver, the method fields that vary on any data set."""
    fields_by_solver: dict[str, list[str]] = {}
    for (_, solver), fields in _varied(methods, pairs).items():
        fields_by_solver[solver] = unique([*fields_by_solver.get(solver, []), *fields])
    return fields_by_solver


def _titles(dataset: xr.Dataset, solvers: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the title of each label and solver id. Duplicate titles get the label appended."""
    titles = {pair: solver_title(dataset, *pair) for pair in solvers}
    labels: dict[str, set[str]] = {}
    for (label, _), title in titles.items():
        labels.setdefault(title, set()).add(label)
    return {
        pair: title if len(labels[title]) == 1 else f"{title} [{pair[0]}]"
        for pair, title in titles.items()
    }


def solver_title(dataset: xr.Dataset, label: str, solver_id: str) -> str:
    """Return the name of a solver for readers.

    A label that the study has chosen itself stays as it is. Where a data set replaces a solver
    (`sr-vn` by `sr-vn-rotated`), the title is that of the replacement.
    """
    titles: dict[str, dict[str, str]] = dataset.attrs.get("solver_titles", {})
    return titles.get(label, {}).get(solver_id, label)


def _has_exact_objective(spec: Mapping[str, Any]) -> bool:
    """Return whether the objective of a run is recorded with exact expectations."""
    return spec["expectation"] in {"exact", "stochastic"} or EXACT in spec["record"]


def _problem_fields(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that define the problem. Data fields have the prefix `data.`."""
    left_out = {"data", *(APPROXIMATION if _has_exact_objective(spec) else ())}
    data = {f"data.{name}": value for name, value in spec["data"].items()}
    return data | {name: spec[name] for name in ProblemSpec.names() if name not in left_out}


def _start_field(starts: Sequence[Mapping[str, Any]], spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the name of the start of a run in a study with named starts."""
    return {START: start_name(starts, spec)} if starts else {}


def _method_fields(spec: Mapping[str, Any], problem: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that belong neither to the problem nor to `CONFIGURED`."""
    left_out = {"data", *problem, *CONFIGURED, *(START_FIELDS if START in problem else ())}
    return {name: value for name, value in spec.items() if name not in left_out}


def _problem_key(name: str, problem: Mapping[str, Any]) -> str:
    """Return a key that is equal for runs with comparable objectives."""
    return json.dumps([name, problem], sort_keys=True)


def _varied(
    fields: Sequence[Mapping[str, Any]], labels: Sequence[Hashable]
) -> dict[Any, list[str]]:
    """Return, by label, the fields that differ between the runs of that label."""
    by_label: dict[Hashable, list[Mapping[str, Any]]] = {}
    for label, values in zip(labels, fields, strict=True):
        by_label.setdefault(label, []).append(values)
    return {
        label: [
            field
            for field in unique(field for values in members for field in values)
            if any(values.get(field) != members[0].get(field) for values in members)
        ]
        for label, members in by_label.items()
    }


def with_fields(name: str, fields: Mapping[str, Any]) -> str:
    """Return a name followed by fields and their values, for readers."""
    words = [f"{field.removeprefix('data.')} {_word(value)}" for field, value in fields.items()]
    return ", ".join([name, *words])


def _word(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={_word(item)}" for name, item in value.items()) or "default"
    if isinstance(value, list):
        return "+".join(map(_word, value)) or "none"
    if isinstance(value, float):  # Six digits are not enough to distinguish all values.
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return "none" if value is None else str(value)
