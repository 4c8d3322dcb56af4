"""Read posterior moments that the package ships, and draws of the user."""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gvibench.errors import UserError, one_sentence
from gvibench.store.shipped_posteriors import FOLDER, shipped

__all__ = ["Truth", "read_draws", "read_shipped"]

Floats = NDArray[np.float64]

EXPLAINED = "should contain 'draws' with the axes (draw, feature) or (chain, draw, feature)"
MIN_DRAWS = 100


@dataclass(frozen=True)
class Truth:
    """Moments of a posterior and their Monte Carlo errors, one value per feature."""

    mean: Floats
    sd: Floats
    mean_error: Floats
    sd_error: Floats
    source: str
    """Origin, in words."""


def read_shipped(fingerprint: str) -> Truth | None:
    """Return the shipped posterior of the problem with this fingerprint, or None."""
    for entry in shipped():
        if entry["fingerprint"] == fingerprint:
            with np.load(FOLDER / entry["file"], allow_pickle=False) as arrays:
                mean, sd = arrays["mean"], arrays["sd"]
                return Truth(mean, sd, arrays["mean_error"], arrays["sd_error"], entry["source"])
    return None


def read_draws(path: str | os.PathLike[str], features: int) -> Floats:
    """Return the draws in a file of the user as an array (chain, draw, feature)."""
    try:
        draws = _read_npz(path) if str(path).endswith(".npz") else _read_netcdf(path)
    except UserError:
        raise
    except Exception as error:  # NumPy, xarray and the NetCDF libraries raise many types
        raise UserError(f"cannot read the draws in {path}: {one_sentence(error)}") from error
    if draws.ndim == 2:
        draws = draws[None]
    if draws.ndim != 3 or draws.dtype.kind not in "fiu":
        raise UserError(f"{path} {EXPLAINED}, not an array with the shape {draws.shape}")
    if draws.shape[2] != features:
        raise UserError(
            f"the draws in {path} have {draws.shape[2]} features, but the problem has {features}: "
            "draw from the posterior of the prepared data, including the intercept"
        )
    if draws.shape[0] * draws.shape[1] < MIN_DRAWS:
        raise UserError(f"{path} has fewer than {MIN_DRAWS} draws: draw more")
    draws = np.asarray(draws, np.float64)
    if not np.isfinite(draws).all():
        raise UserError(f"the draws in {path} contain values that are not finite: remove them")
    if not (np.ptp(draws, axis=(0, 1)) > 0).all():
        raise UserError(f"a feature has the same value in all draws in {path}: draw again")
    return draws


def _read_npz(path: str | os.PathLike[str]) -> NDArray[Any]:
    with np.load(path, allow_pickle=False) as arrays:
        if "draws" not in arrays:
            raise UserError(f"{path} {EXPLAINED}, not {', '.join(arrays) or 'nothing'}")
        return np.asarray(arrays["draws"])


def _read_netcdf(path: str | os.PathLike[str]) -> NDArray[Any]:
    """Return the variable of a NetCDF file, from the group `posterior` if the file has one."""
    import xarray as xr

    try:
        dataset = xr.load_dataset(path, group="posterior")  # as ArviZ stores it
    except (OSError, KeyError, ValueError):
        try:
            dataset = xr.load_dataset(path)
        except ValueError as error:  # no installed library reads the file
            raise UserError(
                f"cannot read the draws in {path}: it is no NetCDF file, or one of a kind that "
                "needs another package: run pip install h5netcdf"
            ) from error
    names = ["draws"] if "draws" in dataset else [str(name) for name in dataset.data_vars]
    if len(names) != 1:
        found = ", ".join(names) or "nothing"
        raise UserError(f"{path} should contain one variable, or one called 'draws', not {found}")
    variable = dataset[names[0]]
    order = [dim for dim in ("chain", "draw") if dim in variable.dims]
    return np.asarray(variable.transpose(*order, ...).values)
