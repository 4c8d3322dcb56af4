"""Data sets: a catalogue, raw files, and prepared files that hold exactly what a run sees.

Only `prepare` and what it calls need scikit-learn and the raw data; a run reads the prepared
file through `gvibench.store.prepared`.
"""

from pathlib import Path

from gvibench.datasets.catalogue import complete, modules_of
from gvibench.spec.run import DataSpec

__all__ = ["prepare", "prepared_path"]

PREPARED_VERSION = 1
"""Raise it when the same spec would give another file: the cache then starts anew."""


def prepare(spec: DataSpec, out: str | Path) -> None:
    """Load, split and scale the data of `spec` and write them to `out`."""
    from gvibench.datasets.build import build

    build(complete(spec), Path(out))


def prepared_path(spec: DataSpec) -> Path:
    """Return the prepared file of `spec` in the user's cache, making it if it is not there."""
    from gvibench.datasets.fetch import sha256_of
    from gvibench.spec.code import code_hash
    from gvibench.spec.run import canonical_json, hash_text
    from gvibench.store.files import cache_dir

    spec = complete(spec)
    own_files = [Path(path).expanduser() for path in (spec.path, spec.test_path) if path]
    key = [str(PREPARED_VERSION), canonical_json(spec), *(sha256_of(path) for path in own_files)]
    if others := [name for name in modules_of(spec) if not name.startswith("gvibench.")]:
        key.append(code_hash(others))  # of another package, which has no version here
    path = cache_dir() / "prepared" / f"{spec.dataset}-{hash_text(' '.join(key))}.zarr.zip"
    if not path.exists():
        prepare(spec, path)
    return path
