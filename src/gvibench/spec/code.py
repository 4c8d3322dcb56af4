"""Where a number comes from: the code, the versions and the machine behind it."""

import ast
import contextlib
import functools
import hashlib
import importlib.util
import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["code_hash", "files_hash", "machine", "versions"]

DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
PACKAGES = ("gvibench", "numpy", "scipy", "numba", "cupy-cuda13x")


def code_hash(modules: Iterable[str], unused: Iterable[str] = ()) -> str:
    """Return the hash of the given modules and of all they import from their own packages.

    The hash is taken over syntax trees without docstrings, so that comments, layout and
    documentation can change without re-running a study.

    Parameters
    ----------
    modules
        Dotted names. Imports are followed wherever they stand, also inside functions, as long as
        they stay within the top-level packages named here.
    unused
        Modules that are imported somewhere, but not in the case at hand.
    """
    return _hash_of(tuple(modules), frozenset(unused))


@functools.cache  # thousands of runs share their code
def _hash_of(modules: tuple[str, ...], skipped: frozenset[str]) -> str:
    pending = list(modules)
    packages = {name.partition(".")[0] for name in pending}
    seen: set[str] = set()
    while pending:
        name = pending.pop()
        if name in seen or name in skipped:
            continue
        seen.add(name)
        _, imports = _digest_module(name)
        pending += [found for found in imports if found.partition(".")[0] in packages]
    whole = hashlib.sha256()
    for name in sorted(seen):
        whole.update(f"{name} {_digest_module(name)[0]}\n".encode())
    return whole.hexdigest()[:16]


def files_hash(paths: Iterable[Path]) -> str:
    """Return the hash of files that belong to the code without being Python."""
    whole = hashlib.sha256()
    for path in sorted(paths):
        whole.update(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return whole.hexdigest()[:16]


@functools.cache
def _digest_module(name: str) -> tuple[str, tuple[str, ...]]:
    """Return the hash of one module and the names it imports, which need not all be modules."""
    found = _find_module(name)
    if found is None:
        return "", ()
    path, is_package = found
    tree = ast.parse(path.read_bytes())
    package = name if is_package else name.rpartition(".")[0]
    imports: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            base = importlib.util.resolve_name(base, package) if node.level else base
            imports += [base, *(f"{base}.{alias.name}" for alias in node.names)]
        elif isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), tuple(imports)


def _find_module(name: str) -> tuple[Path, bool] | None:
    """Return the file of a module and whether it is a package, without importing anything.

    Nothing is returned for a class or function of a module, or for what is not Python source.
    """
    package, *rest = name.split(".")
    found = importlib.util.find_spec(package)
    if found is None:
        return None
    if not found.submodule_search_locations:
        return (Path(found.origin), False) if found.origin and not rest else None
    stem = Path(found.submodule_search_locations[0], *rest)
    if (stem / "__init__.py").is_file():
        return stem / "__init__.py", True
    module = stem.with_name(f"{stem.name}.py")
    return (module, False) if rest and module.is_file() else None


def versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages that shape a run's numbers."""
    known = {"python": platform.python_version()}
    for package in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            known[package] = version(package)
    return known


def machine() -> dict[str, str]:
    """Return the name and kind of the machine, and what a batch system gave to this process."""
    return {
        "host": platform.node(),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.release()}",
        "slurm_job": os.environ.get("SLURM_JOB_ID", ""),
        "cuda_visible_devices": os.environ.get("CUDA_VISIBLE_DEVICES", ""),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
