"""Read and write traces: one Zarr zip file per run, or one group per run in a packed file."""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gvibench.errors import UserError
from gvibench.spec.metrics import CURVES
from gvibench.spec.run import group_names
from gvibench.store.zarrzip import Group, StoredGroup, open_zip, write_zip

__all__ = [
    "PACKED",
    "SCALARS",
    "Trace",
    "check_attributes",
    "read_trace",
    "read_traces",
    "to_group",
    "trace_from_group",
    "write_packed",
    "write_trace",
]

KIND = "gvibench trace"
PACKED = "gvibench packed traces"
"""Kind of a file with one trace per group."""
FORMAT = 2
REQUIRED_ATTRIBUTES = (
    "spec",
    "spec_hash",
    "code_hash",
    "status",
    "reason",
    "iterations_done",
    "step_used",
    "rejected_steps",
    "screened_steps",
    "indefinite_steps",
    "results",
    "solver_form",
    "device",
    "dtype",
    "threads",
    "exclusive",
    "versions",
)

SCALARS: dict[str, tuple[str, str]] = {
    "objective": ("objective that the solvers minimise", "nat"),
    "neg_elbo": ("negative evidence lower bound", "nat"),
    "train_elbo_paper": ("train ELBO as the paper prints it (no trace term)", "nat"),
    "test_nll": ("expected negative log-likelihood under q, sum over the test rows", "nat"),
    "test_nll_at_mean": ("negative log-likelihood at the mean, average over the test rows", "nat"),
    "test_accuracy": ("fraction of test rows that the mean classifies correctly", "1"),
    "grad_norm": ("Fisher-Rao norm of the gradient", "1"),
    "evaluations": ("model evaluations so far, trial steps included", "1"),
    "data_passes": ("passes over the training rows so far, one for each draw", "1"),
    "seconds": ("solver time, recording excluded", "s"),
    "step": ("step size that led to the iterate, zero at the start", "1"),
    "cov_eig_min": ("smallest eigenvalue of the covariance", "1"),
    "cov_eig_max": ("largest eigenvalue of the covariance", "1"),
    "factor_norm": ("Frobenius norm of the covariance factor", "1"),
    "sign_flips": ("sign changes on the factor's diagonal so far", "1"),
    "flow_time": ("sum of the steps so far", "1"),
    "objective_exact": ("objective with exact expectations", "nat"),
}
"""Long name and unit of each curve."""


@dataclass(frozen=True)
class Trace:
    """Result of one run."""

    iteration: np.ndarray
    """Recorded iterations."""
    scalars: dict[str, np.ndarray]
    """Values at the recorded iterations, by name."""
    attrs: dict[str, Any]
    snapshot: np.ndarray | None = None
    """Iterations whose mean is stored."""
    mean: np.ndarray | None = None
    """Stored means, with dimensions (snapshot, feature)."""
    factors: dict[str, np.ndarray] = field(default_factory=dict)
    """Factors by name: `covariance_factor`, `covariance_factor_path`, `reduced_factor`."""

    @property
    def spec(self) -> dict[str, Any]:
        """Specification of the run as a mapping."""
        spec: dict[str, Any] = json.loads(self.attrs["spec"])
        return spec


_FACTOR_LAYOUT: dict[str, tuple[tuple[str, ...], str]] = {
    "covariance_factor": (
        ("feature", "feature_"),
        "lower triangular C of the last iterate, C C' = V",
    ),
    "covariance_factor_path": (
        ("snapshot", "feature", "feature_"),
        "lower triangular C of the stored iterates, C C' = V",
    ),
    "reduced_factor": (
        ("reduced", "reduced_"),
        "lower triangular factor of the last covariance in the basis of the rows",
    ),
}


def write_trace(path: str | os.PathLike[str], trace: Trace) -> None:
    """Write a trace to one file, atomically."""
    write_zip(path, to_group(trace))


def write_packed(path: str | os.PathLike[str], traces: Iterable[Trace]) -> None:
    """Write traces of runs that differ in their seed or start to one file, atomically."""
    traces = list(traces)
    specs = [trace.spec for trace in traces]
    names = group_names([(s["mean_scale"], s["init_scale"], s["seed"]) for s in specs])
    root = Group({"kind": PACKED})
    for name, trace in zip(names, traces, strict=True):
        root.groups[name] = to_group(trace)
    write_zip(path, root)


def to_group(trace: Trace) -> Group:
    """Return a trace as a Zarr group."""
    group = Group({"kind": KIND, "format": FORMAT, **trace.attrs})
    group.put("iteration", trace.iteration, ["iteration"], long_name="iteration", units="1")
    for name, values in trace.scalars.items():
        long_name, units = SCALARS[name]
        group.put(name, values, ["iteration"], long_name=long_name, units=units)
    if trace.snapshot is not None and trace.mean is not None:
        labels = {"long_name": "stored iteration", "units": "1"}
        group.put("snapshot", trace.snapshot, ["snapshot"], **labels)
        group.put("mean", trace.mean, ["snapshot", "feature"], long_name="mean of q", units="1")
    for name, values in trace.factors.items():
        dims, long_name = _FACTOR_LAYOUT[name]
        group.put(name, values, dims, long_name=long_name, units="1")
    return group


def read_trace(path: str | os.PathLike[str]) -> Trace:
    """Read and validate a trace."""
    with open_zip(path) as group:
        return trace_from_group(group, str(path))


def read_traces(path: str | os.PathLike[str]) -> list[Trace]:
    """Read the traces in a file: one, or all traces of a packed file."""
    with open_zip(path) as root:
        if root.attrs.get("kind") != PACKED:
            return [trace_from_group(root, str(path))]
        return [trace_from_group(root.group(name), f"{path} {name}") for name in root.names()]


def check_attributes(group: StoredGroup, where: str) -> dict[str, Any]:
    """Validate and return the attributes of a trace. `where` is its location for messages."""
    attrs = group.attrs
    if attrs.get("kind") != KIND:
        raise UserError(f"{where} is not a gvibench trace: use a file that a run has written")
    if attrs.get("format") != FORMAT:
        raise UserError(
            f"{where} has trace format {attrs.get('format')}, but this version reads format "
            f"{FORMAT}: delete the file and run snakemake again"
        )
    if missing := [name for name in REQUIRED_ATTRIBUTES if name not in attrs]:
        raise UserError(
            f"{where} has no attribute '{missing[0]}': delete the file and run snakemake again"
        )
    try:
        spec = json.loads(attrs["spec"])
    except (TypeError, ValueError) as error:
        raise UserError(
            f"{where} has a spec that is not JSON: delete the file and run snakemake again"
        ) from error
    if not isinstance(spec, dict) or not isinstance(attrs["iterations_done"], int):
        raise UserError(
            f"{where} has attributes of the wrong type: delete the file and run snakemake again"
        )
    return attrs


def trace_from_group(group: StoredGroup, where: str) -> Trace:
    """Read and validate the trace in a Zarr group. `where` is its location for messages."""
    attrs = check_attributes(group, where)
    arrays = group.read_all()
    if missing := [name for name in ("iteration", *CURVES, "step") if name not in arrays]:
        raise UserError(
            f"{where} has no variable '{missing[0]}': delete the file and run snakemake again"
        )
    iteration = arrays.pop("iteration")
    if iteration.ndim != 1 or len(iteration) == 0 or iteration[0] != 0:
        raise UserError(
            f"{where} does not start at iteration 0: delete the file and run snakemake again"
        )
    scalars = {name: values for name, values in arrays.items() if name in SCALARS}
    for name, values in scalars.items():
        if values.shape != iteration.shape:
            raise UserError(
                f"{where}: '{name}' and 'iteration' differ in length: delete the file and run "
                "snakemake again"
            )
    return Trace(
        iteration=iteration,
        scalars=scalars,
        attrs=attrs,
        snapshot=arrays.get("snapshot"),
        mean=arrays.get("mean"),
        factors={name: arrays[name] for name in _FACTOR_LAYOUT if name in arrays},
    )
