"""Read and write reference optima."""

import json
import math
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from gvibench.errors import UserError
from gvibench.spec.metrics import METRICS
from gvibench.store.zarrzip import Group, open_zip, write_zip

__all__ = ["Optimum", "read_optimum", "write_optimum"]

KIND = "gvibench optimum"
REQUIRED = frozenset(METRICS) - {"test_nll_at_mean", "grad_norm"} | {"smoothness"}
"""Attributes that the analysis needs."""
NOT_FINITE = ("inf", "-inf", "nan")


@dataclass(frozen=True)
class Optimum:
    """Optimal Gaussian of a problem, its metrics and its residuals."""

    mean: np.ndarray
    covariance_factor: np.ndarray | None
    """Lower triangular C with C C' = V; None if the problem was reduced or V is zero."""
    attrs: dict[str, Any]
    """Spec, hashes, metrics and residuals, by name."""

    @property
    def error(self) -> str:
        """Reason why the optimum is unknown, empty if it is known."""
        return str(self.attrs.get("error", ""))

    def summary(self) -> str:
        """Return a description in one line."""
        if self.error:
            return self.error
        attrs = self.attrs
        return (
            f"optimum of {json.loads(attrs['spec'])['data']['dataset']}: objective "
            f"{attrs['objective']:.10g}, |g| {attrs['gradient_residual']:.1e}, "
            f"|gamma V^-1 - H| / |H| {attrs['curvature_residual']:.1e}, "
            f"{attrs['iterations']} iterations"
        )


def write_optimum(path: str | os.PathLike[str], optimum: Optimum) -> None:
    """Write an optimum as one Zarr zip file."""
    attrs = {name: _to_json(value) for name, value in optimum.attrs.items()}
    group = Group({"kind": KIND, **attrs})
    group.put("mean", optimum.mean, ["feature"], long_name="mean of q")
    if optimum.covariance_factor is not None:
        dims = ["feature", "feature_"]
        name = "lower triangular C, C C' = V"
        group.put("covariance_factor", optimum.covariance_factor, dims, long_name=name)
    write_zip(path, group)


def _to_json(value: Any) -> Any:
    # JSON has neither infinity nor NaN, so store text that float() can parse.
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def read_optimum(path: str | os.PathLike[str]) -> Optimum:
    """Read an optimum that `write_optimum` has written."""
    with open_zip(path) as group:
        attrs = dict(group.attrs)
        if attrs.pop("kind", None) != KIND:
            raise UserError(
                f"{path} is not a gvibench optimum: delete the file and run snakemake again"
            )
        arrays = group.read_all()
    if missing := REQUIRED - set(attrs) | {"mean"} - set(arrays):
        raise UserError(f"{path} has no '{min(missing)}': delete the file and run snakemake again")
    attrs = {name: float(value) if value in NOT_FINITE else value for name, value in attrs.items()}
    return Optimum(arrays["mean"], arrays.get("covariance_factor"), attrs)
