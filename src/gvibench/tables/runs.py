"""Build the table of runs: settings, final values, and hashes of spec and code."""

import numpy as np
import pandas as pd
import xarray as xr

from gvibench.analysis.configurations import by_run, configurations, specs_of
from gvibench.analysis.gaps import computed, final, gap
from gvibench.spec.metrics import COSTS
from gvibench.tables.formats import Block, Table, number, step_text, with_full_cells

__all__ = ["build", "values_of"]

TRIALS = ("rejected_steps", "screened_steps", "indefinite_steps")
FINAL = (
    "objective",
    "neg_elbo",
    "train_elbo_paper",
    "test_nll",
    "test_nll_at_mean",
    "test_accuracy",
    "grad_norm",
    *COSTS,
)
OPTIMAL = ("objective", "train_elbo_paper", "test_nll", "test_accuracy")


def build(dataset: xr.Dataset) -> Table:
    """Return a table with a row for each run."""
    values = values_of(dataset)
    return Table(values, [with_full_cells(lambda: _block(values))])


def values_of(dataset: xr.Dataset) -> pd.DataFrame:
    """Return a row for each run, with numbers in full precision."""
    sources = by_run(dataset, [spec["data"]["dataset"] for spec in specs_of(dataset)])
    columns = {
        name: dataset[name].values
        for name in ("dataset", "solver", "solver_id", "step", "step_rule", "init_scale", "seed")
    }
    columns["step"] = _labels(dataset, "step_size").astype(float)
    columns["source"] = np.array(sources)
    columns["problem"] = _labels(dataset, "panel")
    columns["method"] = _labels(dataset, "line")
    for name in ("status", "reason", "iterations_done", "n_train", "n_test", "d", *TRIALS):
        columns[name] = dataset[name].values
    lazy = {name: final(dataset[name]) for name in FINAL}
    columns |= computed({**lazy, "gap": final(gap(dataset, "objective"))})
    columns |= {f"optimum_{name}": dataset[f"optimum_{name}"].values for name in OPTIMAL}
    for name in ("spec_hash", "code_hash", "device"):
        columns[name] = dataset[name].values
    return pd.DataFrame(columns)


def _labels(dataset: xr.Dataset, name: str) -> np.ndarray:
    """Return an attribute of its configuration for each run."""
    labels = np.empty(dataset.sizes["run"], dtype=object)
    for config in configurations(dataset):
        labels[config.runs] = getattr(config, name)
    return labels


def _block(values: pd.DataFrame) -> Block:
    cells = {
        "data set": values["problem"],
        "solver": values["method"],
        "step": list(map(step_text, values["step"], values["step_rule"])),
        "C0": values["init_scale"].map(number),
        "seed": values["seed"].map(str),
        "ended": values["status"],
        "iterations": values["iterations_done"].map(str),
        "evaluations": values["evaluations"].map(number),
        "objective": values["objective"].map(lambda value: number(value, 10)),
        "seconds": values["seconds"].map(lambda value: number(value, 3)),
        "spec": values["spec_hash"],
    }
    caption = "All runs with their final values and the hashes of their specs."
    return Block(caption, pd.DataFrame(cells), text_columns=2)
