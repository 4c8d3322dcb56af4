"""Read an aggregate and group its runs: one configuration per problem, solver and settings.

Objectives are comparable within a problem. A problem is shown as one panel of a figure; the other
settings that vary are part of the line.
"""

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from gvibench.errors import UserError
from gvibench.spec.endings import UNUSABLE
from gvibench.spec.run import ProblemSpec
from gvibench.store.xarray_backend import GvibenchBackend
from gvibench.store.zarrzip import open_zip

__all__ = [
    "EXACT",
    "KIND",
    "Configuration",
    "Floats",
    "Runs",
    "configurations",
    "open_aggregate",
    "problem_key",
    "solver_title",
    "unique",
    "usable",
]

Floats = NDArray[np.float64]
Runs = NDArray[np.intp]

# Spelled out: importing `gvibench.study.aggregate` would tie every figure to the code of the runs.
KIND = "gvibench aggregate"
EXACT = "objective_exact"
APPROXIMATION = ("expectation", "pieces", "piece_degree", "nodes")
"""How expectations are taken: part of the problem unless its objective is recorded exactly."""
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
            f"{path} cannot be read as an aggregate ({error}): delete the file and run snakemake "
            "again"
        ) from error
    if dataset.attrs.get("kind") != KIND:
        dataset.close()
        raise UserError(f"{path} is not an aggregate of gvibench: give the file of a study")
    return dataset


def unique(values: Iterable[Any]) -> list[Any]:
    """Return the distinct values in the order in which they first appear."""
    return list(dict.fromkeys(values))


def usable(dataset: xr.Dataset) -> NDArray[np.bool_]:
    """Return for each run whether it neither diverged nor failed."""
    return ~np.isin(dataset["status"].values.astype(str), UNUSABLE)


@dataclass(frozen=True, eq=False)
class Configuration:
    """Runs that differ in their seed only."""

    dataset: str
    """Name of the data set in the study."""
    panel: str
    """Name of the problem: the data set, with the other fields of the problem that vary."""
    problem: str
    """Everything an optimum depends on; objectives are comparable where this is equal."""
    solver: str
    """Name of the solver in the study."""
    line: str
    """Title of the solver, with the other fields of the method that vary."""
    solver_id: str
    identity: str
    """The spec without its seed, which breaks ties independently of names."""
    varied: dict[str, Any]
    """The fields behind `panel` and `line`."""
    panel_fields: tuple[str, ...]
    """The names of those behind `panel`."""
    step: float
    init_scale: float
    tuned: bool
    runs: Runs
    """Positions of the runs in the aggregate."""
    usable: Runs
    """Positions of the runs that neither diverged nor failed."""
    endings: Counter[str]
    """Number of runs by status."""

    @property
    def unusable(self) -> int:
        """Number of runs that diverged or failed."""
        return len(self.runs) - len(self.usable)

    def panel_without(self, *fields: str) -> str:
        """Return the panel's name if these fields are shown in another way."""
        left = {field: self.varied[field] for field in self.panel_fields if field not in fields}
        return _named(self.dataset, left)


def configurations(dataset: xr.Dataset) -> list[Configuration]:
    """Group the runs that differ in their seed only, in the order of the study.

    A run that is listed twice counts once.
    """
    texts: list[str] = dataset["spec"].values.tolist()
    specs = [json.loads(text) for text in texts]
    pairs = list(
        zip(dataset["dataset"].values.tolist(), dataset["solver"].values.tolist(), strict=True)
    )
    problems = [_problem_fields(spec) for spec in specs]
    methods = [_method_fields(spec, own) for spec, own in zip(specs, problems, strict=True)]
    panel_fields = _varied(problems, [name for name, _ in pairs])
    line_fields: dict[str, list[str]] = {}
    for (_, solver), fields in _varied(methods, pairs).items():
        line_fields[solver] = unique([*line_fields.get(solver, []), *fields])
    titles = _titles(
        unique((label, spec["solver"]) for (_, label), spec in zip(pairs, specs, strict=True))
    )
    done, status = usable(dataset), dataset["status"].values

    result = []
    for (name, solver, is_tuned, identity), members in _groups(
        dataset, texts, specs, pairs
    ).items():
        first = members[0]
        runs = np.array(members, dtype=np.intp)
        of_panel = {field: problems[first].get(field) for field in panel_fields[name]}
        of_line = {
            field: methods[first][field] for field in line_fields[solver] if field in methods[first]
        }
        result.append(
            Configuration(
                dataset=name,
                panel=_named(name, of_panel),
                problem=problem_key(name, specs[first]),
                solver=solver,
                line=_named(titles[solver, specs[first]["solver"]], of_line),
                solver_id=specs[first]["solver"],
                identity=identity,
                varied=of_panel | of_line,
                panel_fields=tuple(of_panel),
                step=specs[first]["step"],
                init_scale=specs[first]["init_scale"],
                tuned=is_tuned,
                runs=runs,
                usable=runs[done[runs]],
                endings=Counter(status[runs].tolist()),
            )
        )
    return result


def _groups(
    dataset: xr.Dataset,
    texts: Sequence[str],
    specs: Sequence[dict[str, Any]],
    pairs: Sequence[tuple[str, str]],
) -> dict[tuple[str, str, bool, str], list[int]]:
    tuned: list[bool] = dataset["tuned"].values.tolist()
    groups: dict[tuple[str, str, bool, str], list[int]] = {}
    seen: set[tuple[Any, ...]] = set()
    for run, text in enumerate(texts):
        if (key := (*pairs[run], tuned[run], text)) in seen:
            continue
        seen.add(key)
        identity = json.dumps({**specs[run], "seed": None}, sort_keys=True)
        groups.setdefault((*pairs[run], tuned[run], identity), []).append(run)
    return groups


def _titles(solvers: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the title of each label and solver id; equal ones are told apart by the label."""
    titles = {pair: solver_title(*pair) for pair in solvers}
    labels: dict[str, set[str]] = {}
    for (label, _), title in titles.items():
        labels.setdefault(title, set()).add(label)
    return {
        pair: title if len(labels[title]) == 1 else f"{title} [{pair[0]}]"
        for pair, title in titles.items()
    }


def solver_title(label: str, solver_id: str) -> str:
    """Return a solver's name for readers; a label of the study's own stays as it is.

    Where a data set replaces a solver (`sr-vn` by `sr-vn-rotated`), the name says so.
    """
    from gvibench.solvers import solver_class

    try:
        return solver_class(solver_id).title if solver_class(label) else label
    except UserError:  # from a package that is not installed where the figure is drawn
        return label


def is_measured_exactly(spec: Mapping[str, Any]) -> bool:
    """Return whether the objective of a run is known with exact expectations."""
    return spec["expectation"] in {"exact", "stochastic"} or EXACT in spec["record"]


def _problem_fields(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that tell problems apart, those of the data with a prefix."""
    left_out = {"data", *(APPROXIMATION if is_measured_exactly(spec) else ())}
    data = {f"data.{name}": value for name, value in spec["data"].items()}
    own = {name: spec[name] for name in ProblemSpec.model_fields if name not in left_out}
    return data | own


def _method_fields(spec: Mapping[str, Any], problem: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in spec.items()
        if name != "data" and name not in problem and name not in CONFIGURED
    }


def problem_key(name: str, spec: Mapping[str, Any]) -> str:
    """Return what runs have in common whose objectives are comparable."""
    return json.dumps([name, _problem_fields(spec)], sort_keys=True)


def _varied(
    fields: Sequence[Mapping[str, Any]], labels: Sequence[Hashable]
) -> dict[Any, list[str]]:
    """Return, by label, the fields that differ between the runs of that label."""
    by_label: dict[Hashable, list[Mapping[str, Any]]] = {}
    for label, of_run in zip(labels, fields, strict=True):
        by_label.setdefault(label, []).append(of_run)
    return {
        label: [
            field
            for field in unique(field for of_run in members for field in of_run)
            if any(of_run.get(field) != members[0].get(field) for of_run in members)
        ]
        for label, members in by_label.items()
    }


def _named(name: str, fields: Mapping[str, Any]) -> str:
    words = [f"{field.removeprefix('data.')} {_word(value)}" for field, value in fields.items()]
    return ", ".join([name, *words])


def _word(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={_word(item)}" for name, item in value.items()) or "default"
    if isinstance(value, list):
        return "+".join(map(_word, value)) or "none"
    if isinstance(value, float):  # different numbers must not share a name
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return "none" if value is None else str(value)
