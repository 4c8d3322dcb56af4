"""The trace of a run: one Zarr zip file. The only code that knows its layout."""

import json
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gvibench.errors import UserError
from gvibench.store.zarrzip import Group, StoredGroup, open_zip, write_zip

__all__ = [
    "PACKED",
    "SCALARS",
    "Trace",
    "check_attributes",
    "group_name",
    "read_trace",
    "read_traces",
    "to_group",
    "trace_from_group",
    "write_trace",
]

KIND = "gvibench trace"
PACKED = "gvibench packed traces"
"""Kind of a file with one trace per group."""
FORMAT = 1
REQUIRED_ATTRIBUTES = (
    "spec",
    "spec_hash",
    "code_hash",
    "status",
    "reason",
    "iterations_done",
    "step_used",
    "solver_form",
    "device",
    "dtype",
    "threads",
    "exclusive",
    "versions",
)

SCALARS: dict[str, tuple[str, str]] = {
    "objective": ("objective the solvers descend", "nat"),
    "neg_elbo": ("negative evidence lower bound", "nat"),
    "train_elbo_paper": ("train ELBO as the paper prints it (no trace term)", "nat"),
    "test_nll": ("expected negative log-likelihood under q, sum over the test rows", "nat"),
    "test_nll_at_mean": ("negative log-likelihood at the mean, average over the test rows", "nat"),
    "test_accuracy": ("fraction of test rows classified rightly by the mean", "1"),
    "grad_norm": ("Fisher-Rao norm of the gradient", "1"),
    "seconds": ("solver time, recording excluded", "s"),
    "cov_eig_min": ("smallest eigenvalue of the covariance", "1"),
    "cov_eig_max": ("largest eigenvalue of the covariance", "1"),
    "factor_norm": ("Frobenius norm of the covariance factor", "1"),
    "sign_flips": ("sign changes on the factor's diagonal so far", "1"),
    "data_passes": ("passes over the training rows so far", "1"),
    "flow_time": ("sum of the steps so far", "1"),
    "objective_exact": ("objective with exact expectations", "nat"),
}
"""Long name and unit of everything recorded along `iteration`."""

ALWAYS = tuple(SCALARS)[:8]


@dataclass(frozen=True)
class Trace:
    """What one run leaves behind."""

    iteration: np.ndarray
    """The recorded iterations."""
    scalars: dict[str, np.ndarray]
    """Along `iteration`."""
    attrs: dict[str, Any]
    snapshot: np.ndarray | None = None
    """The iterations whose mean was kept."""
    mean: np.ndarray | None = None
    """(snapshot, feature)."""
    factors: dict[str, np.ndarray] = field(default_factory=dict)
    """`covariance_factor`, `covariance_factor_path` or, of a reduced run, `reduced_factor`."""

    @property
    def spec(self) -> dict[str, Any]:
        """The run's specification as a mapping."""
        spec: dict[str, Any] = json.loads(self.attrs["spec"])
        return spec


_FACTOR_LAYOUT: dict[str, tuple[tuple[str, ...], str]] = {
    "covariance_factor": (
        ("feature", "feature_"),
        "lower triangular C of the last iterate, C C' = V",
    ),
    "covariance_factor_path": (
        ("snapshot", "feature", "feature_"),
        "lower triangular C of the kept iterates, C C' = V",
    ),
    "reduced_factor": (
        ("reduced", "reduced_"),
        "lower triangular factor of the last covariance in the basis of the rows",
    ),
}


def write_trace(path: str | os.PathLike[str], trace: Trace) -> None:
    """Write the trace as one file, whole or not at all."""
    write_zip(path, to_group(trace))


def to_group(trace: Trace) -> Group:
    """Return the trace as a Zarr group."""
    group = Group({"kind": KIND, "format": FORMAT, **trace.attrs})
    group.put("iteration", trace.iteration, ["iteration"], long_name="iteration", units="1")
    for name, values in trace.scalars.items():
        long_name, units = SCALARS[name]
        group.put(name, values, ["iteration"], long_name=long_name, units=units)
    if trace.snapshot is not None and trace.mean is not None:
        kept = {"long_name": "kept iteration", "units": "1"}
        group.put("snapshot", trace.snapshot, ["snapshot"], **kept)
        group.put("mean", trace.mean, ["snapshot", "feature"], long_name="mean of q", units="1")
    for name, values in trace.factors.items():
        dims, long_name = _FACTOR_LAYOUT[name]
        group.put(name, values, dims, long_name=long_name, units="1")
    return group


def group_name(seed: int) -> str:
    """Return the name of a run's group in a packed file."""
    return f"seed-{seed}"


def read_trace(path: str | os.PathLike[str]) -> Trace:
    """Read and check a trace; whatever is wrong with it is said in one sentence."""
    with open_zip(path) as group:
        return trace_from_group(group, str(path))


def read_traces(path: str | os.PathLike[str]) -> list[Trace]:
    """Read the traces in a file: one, or all of a packed one."""
    with open_zip(path) as root:
        if root.attrs.get("kind") != PACKED:
            return [trace_from_group(root, str(path))]
        return [trace_from_group(root.group(name), f"{path} {name}") for name in root.names()]


def check_attributes(group: StoredGroup, where: str) -> dict[str, Any]:
    """Return the attributes of the trace in a Zarr group if it is one; `where` names it."""
    attrs = group.attrs
    if attrs.get("kind") != KIND:
        raise UserError(f"{where} is not a trace of gvibench: give a file that a run wrote")
    if attrs.get("format") != FORMAT:
        raise UserError(
            f"{where} has trace format {attrs.get('format')}, this version reads {FORMAT}: make "
            "the file again"
        )
    if missing := [name for name in REQUIRED_ATTRIBUTES if name not in attrs]:
        raise UserError(f"{where} lacks the attribute '{missing[0]}': make the file again")
    try:
        spec = json.loads(attrs["spec"])
    except (TypeError, ValueError) as error:
        raise UserError(f"{where} has a spec that is not JSON: make the file again") from error
    if not isinstance(spec, dict) or not isinstance(attrs["iterations_done"], int):
        raise UserError(f"{where} has attributes of the wrong type: make the file again")
    return attrs


def trace_from_group(group: StoredGroup, where: str) -> Trace:
    """Read and check the trace in a Zarr group; `where` names it in messages."""
    attrs = check_attributes(group, where)
    arrays = group.read_all()
    if missing := [name for name in ("iteration", *ALWAYS) if name not in arrays]:
        raise UserError(f"{where} lacks the variable '{missing[0]}': make the file again")
    iteration = arrays.pop("iteration")
    if iteration.ndim != 1 or len(iteration) == 0 or iteration[0] != 0:
        raise UserError(f"{where} does not start at iteration 0: make the file again")
    scalars = {name: values for name, values in arrays.items() if name in SCALARS}
    for name, values in scalars.items():
        if values.shape != iteration.shape:
            raise UserError(
                f"{where}: '{name}' has another length than 'iteration': make the file again"
            )
    return Trace(
        iteration=iteration,
        scalars=scalars,
        attrs=attrs,
        snapshot=arrays.get("snapshot"),
        mean=arrays.get("mean"),
        factors={name: arrays[name] for name in _FACTOR_LAYOUT if name in arrays},
    )
