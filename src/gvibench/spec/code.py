"""Hash code: modules, everything they import from their own package, and the files they read.

The hash covers what can change a number. It ignores comments, layout, docstrings, messages
(arguments of exceptions, `print` and `warnings.warn`) and `TYPE_CHECKING` blocks, because these
cannot. Modules are located and parsed, never imported.
"""

import ast
import functools
import hashlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gvibench.spec.code_cache import CodeCache

__all__ = ["closure", "hash_code"]

_cache = CodeCache()

DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
MESSAGES = ("print", "warnings.warn")
"""Functions whose calls cannot change a number."""


@dataclass(frozen=True)
class Part:
    """Code of a module or of one function in it."""

    digest: str
    imports: tuple[str, ...]
    """Dotted names, which may be modules or objects in modules."""


def hash_code(targets: Iterable[str], ignored: Iterable[str] = ()) -> str:
    """Return the hash of the code that the targets use.

    Parameters
    ----------
    targets
        Names of modules, or `module:function` for one function of a module.
    ignored
        Modules and packages to leave out although they are imported somewhere.
    """
    return _hash_closure(tuple(targets), tuple(ignored))


@functools.cache  # thousands of runs share their code
def _hash_closure(targets: tuple[str, ...], ignored: tuple[str, ...]) -> str:
    whole = hashlib.sha256()
    for name in sorted(closure(targets, ignored)):
        whole.update(f"{name} {_part(name).digest}\n".encode())
    return whole.hexdigest()[:16]


def closure(targets: Iterable[str], ignored: Iterable[str] = ()) -> set[str]:
    """Return the targets and all modules of their packages that they import, at any depth.

    Imports inside functions are followed too.
    """
    pending = list(targets)
    packages = {name.partition(".")[0].partition(":")[0] for name in pending}
    left_out = tuple(ignored)
    seen: set[str] = set()
    while pending:
        name = pending.pop()
        if name in seen or _is_within(name, left_out) or not _part(name).digest:
            continue
        seen.add(name)
        pending += [used for used in _part(name).imports if used.partition(".")[0] in packages]
    return seen


def _is_within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


@functools.cache
def _part(name: str) -> Part:
    """Return the code of a module or `module:function`, empty for anything else."""
    module, _, function = name.partition(":")
    located = _locate(module)
    if located is None:
        return Part("", ())
    path, is_package = located
    source = path.read_bytes()
    key = hashlib.sha256(f"{name} {is_package} {_version()} ".encode() + source).hexdigest()
    found = _cache.get(key)
    if found is None:
        package = module if is_package else module.rpartition(".")[0]
        found = _parse(source, function, package)
        _cache.put(key, found)
    digest, imports, files = found
    whole = hashlib.sha256(digest.encode())
    for file in sorted(_files(files, path)):
        whole.update(file.name.encode() + file.read_bytes())
    return Part(whole.hexdigest(), tuple(imports))


@functools.cache
def _version() -> str:
    """Return the hash of this module and the version of Python, whose syntax trees differ."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest() + sys.version


def _parse(source: bytes, function: str, package: str) -> tuple[str, list[str], list[str]]:
    """Return the digest, the imports and the names of files of a module or of a function."""
    tree: ast.Module = _Simplified().visit(ast.parse(source))
    if function:
        tree = ast.Module(_used_by(tree, function), [])
    digest = hashlib.sha256(ast.dump(tree).encode()).hexdigest()
    return digest, list(_imports(tree, package)), list(_files_named(tree))


class _Simplified(ast.NodeTransformer):
    """Remove everything from a syntax tree that cannot change a number."""

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
        return super().visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        if isinstance(node.value, ast.Constant):  # docstring of a field
            return None
        is_call = isinstance(node.value, ast.Call)
        if is_call and ast.unparse(node.value.func) in MESSAGES:  # type: ignore[attr-defined]
            return None
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        # The reason of a divergence is part of the trace.
        if isinstance(node.exc, ast.Call) and ast.unparse(node.exc.func) != "Diverged":
            node.exc = node.exc.func
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        if ast.unparse(node.test).rpartition(".")[2] == "TYPE_CHECKING":
            return None
        return self.generic_visit(node)


def _used_by(tree: ast.Module, function: str) -> list[ast.stmt]:
    """Return a function and the statements of its module that define the names it uses."""
    defined: dict[str, ast.stmt] = {}
    for statement in tree.body:
        for name in _names_defined(statement):
            defined[name] = statement
    pending, used = [function], dict[str, ast.stmt]()
    while pending:
        name = pending.pop()
        if name in used or name not in defined:
            continue
        used[name] = defined[name]
        pending += [node.id for node in ast.walk(defined[name]) if isinstance(node, ast.Name)]
    return [used[name] for name in sorted(used)]


def _names_defined(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            for alias in names:
                yield alias.asname or alias.name
        case ast.Assign() | ast.AnnAssign():
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id


def _imports(tree: ast.AST, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            base = importlib.util.resolve_name(base, package) if node.level else base
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _files_named(tree: ast.AST) -> Iterator[str]:
    """Yield the names of files and folders that are read by `Path(__file__).with_name("...")`."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="with_name", value=beside),
                args=[ast.Constant(value=str() as name)],
            ) if ast.unparse(beside) == "Path(__file__)":
                yield name


def _files(names: Iterable[str], module: Path) -> Iterator[Path]:
    """Yield the files beside a module with these names, and those in folders with these names."""
    for path in map(module.with_name, names):
        if path.is_dir():
            yield from (file for file in path.rglob("*") if file.is_file())
        elif path.is_file():
            yield path


def _locate(name: str) -> tuple[Path, bool] | None:
    """Return the file of a module and whether it is a package.

    Return None for an object in a module and for modules that are not Python source.
    """
    package, *rest = name.split(".")
    spec = importlib.util.find_spec(package)
    if spec is None:
        return None
    if not spec.submodule_search_locations:
        return (Path(spec.origin), False) if spec.origin and not rest else None
    stem = Path(spec.submodule_search_locations[0], *rest)
    if (stem / "__init__.py").is_file():
        return stem / "__init__.py", True
    module = stem.with_name(f"{stem.name}.py")
    return (module, False) if rest and module.is_file() else None
