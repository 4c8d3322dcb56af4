"""Store prepared data in the user's cache."""

from pathlib import Path

from gvibench.datasets.build import build
from gvibench.datasets.fetch import sha256_of
from gvibench.registry import DATASETS
from gvibench.spec.canonical import hash_text
from gvibench.spec.code import hash_code
from gvibench.spec.run import DataSpec
from gvibench.store.files import cache_dir

__all__ = ["prepared_path"]

PREPARED_VERSION = 2
"""Version of the prepared files. Increase it if the same spec produces a different file."""


def prepared_path(spec: DataSpec) -> Path:
    """Return the path of the prepared data of a complete spec. Prepare them if needed."""
    own_files = [Path(path).expanduser() for path in (spec.path, spec.test_path) if path]
    key = [str(PREPARED_VERSION), spec.canonical(), *(sha256_of(path) for path in own_files)]
    if spec.path is None and not DATASETS.is_built_in(spec.dataset):
        key.append(hash_code([DATASETS.module_of(spec.dataset)]))  # data set of a plug-in
    path = cache_dir() / "prepared" / f"{spec.dataset}-{hash_text(' '.join(key))}.zarr.zip"
    if not path.exists():
        build(spec, path)
    return path
