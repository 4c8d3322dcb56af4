"""Execute one run of a data set of the catalogue or of a file."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import xarray as xr

from gvibench.api.settings import plain, validate_names
from gvibench.datasets.cache import prepared_path
from gvibench.engine.execute import execute
from gvibench.spec.run import DataSpec, RunSpec
from gvibench.store.prepared import read_prepared
from gvibench.store.traces import Trace, write_trace
from gvibench.store.xarray_backend import GvibenchBackend
from gvibench.study.code_hash import run_hash
from gvibench.study.defaults import complete_spec

__all__ = ["run", "to_dataset"]


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
    validate_names(settings, known)
    settings, options = plain(settings), plain(data_options or {})
    given = {name: settings.pop(name) for name in DataSpec.names() if name in settings}
    fields = {"dataset": dataset, **given, "options": options}
    spec = complete_spec(RunSpec, fields, {"solver": solver, **settings}, "run")
    data = read_prepared(prepared_path(spec.data))
    return to_dataset(execute(spec, data, code_hash=run_hash(spec)))


def to_dataset(trace: Trace) -> xr.Dataset:
    """Return a trace as xarray reads it from a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.zarr.zip"
        write_trace(path, trace)
        return xr.load_dataset(path, engine=GvibenchBackend)


OWN_PARAMETERS = {"data", "dataset", "solver", "options"}
"""Fields that `run` takes as named parameters."""
