"""Check before a study starts that the packages of the extra `data` are installed where needed."""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from gvibench.errors import UserError
from gvibench.spec.catalogue import find
from gvibench.spec.run import DataSpec
from gvibench.store.files import cache_dir
from gvibench.study.own_data import read_own_data
from gvibench.study.plan import Plan

__all__ = ["require_data_extra"]

LIBSVM_LOADER = "gvibench.datasets.libsvm:load"
TITLES = {"sklearn": "scikit-learn", "pooch": "pooch", "pyarrow": "pyarrow"}
"""Packages of the extra by the names with which they are imported.

The last one, tqdm, only shows the progress of downloads.
"""


def require_data_extra(plan: Plan) -> None:
    """Raise UserError if unfinished data jobs need packages of the extra that are not installed.

    The packages are searched for, but not imported.
    """
    missing = {name for name in TITLES if find_spec(name) is None}
    for job in plan.data.values() if missing else ():
        if Path(job.path).exists():
            continue
        for name, reason in _packages(job.spec):
            if name in missing:
                raise UserError(
                    f"data set '{job.spec.dataset}' needs {TITLES[name]} for {reason}, and it is "
                    "not installed: pip install 'gvibench[data]'"
                )


def _packages(spec: DataSpec) -> Iterator[tuple[str, str]]:
    """Yield the packages that preparing a data set needs, each with its purpose."""
    entry = find(spec)
    own = read_own_data(spec)
    kinds = {file.kind for file in (own.file, own.test_file) if file} if own else set()
    if "svmlight" in kinds:
        yield "sklearn", "reading svmlight files"
    if "parquet" in kinds:
        yield "pyarrow", "reading Parquet files"
    if entry.loader == LIBSVM_LOADER or spec.options.get("source") == "libsvm":
        yield "sklearn", "reading LIBSVM files"
    mirror = os.environ.get("GVIBENCH_DATA", "")
    is_folder = mirror and not mirror.startswith(("http://", "https://"))
    files = entry.files if spec.options.get("source") != "libsvm" else entry.alternative_files
    if not is_folder and any(not (cache_dir() / "raw" / file.name).exists() for file in files):
        yield "pooch", "downloading files"
