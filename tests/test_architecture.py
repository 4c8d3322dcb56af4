"""The layers of the package: contract, picture, cycles, sizes, and the way of a number."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import grimp
import pytest

import gvibench

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/gvibench"
DESIGN = (ROOT / "docs/design.md").read_text()
WAY = (ROOT / "docs/way-of-a-number.md").read_text()
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "templates" not in path.parts)
DATA = {"entries.py", "uci_entries.py"}
"""Modules that are tables of data and may be longer."""


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("gvibench", exclude_type_checking_imports=True, cache_dir=None)


def contracts():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    return settings["contracts"]


def layers():
    (contract,) = [entry for entry in contracts() if entry["type"] == "layers"]
    return [layer.replace("gvibench.", "") for layer in contract["layers"]]


def test_the_picture_is_the_contract():
    picture = re.search(r"## Layers.*?```text\n(.*?)```", DESIGN, re.S).group(1)
    rows = [re.split(r"\s{2,}", line)[0] for line in picture.splitlines()]
    assert rows == layers()


def test_the_layers_cover_the_package():
    names = {name for layer in layers() for name in layer.split(" | ")}
    assert names == {module.name for module in pkgutil.iter_modules(gvibench.__path__)} - {
        "__main__"
    }


def test_few_modules_are_loose():
    assert len(list(PACKAGE.glob("*.py"))) <= 8


def test_contracts_are_kept():
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_there_is_no_import_cycle(graph):
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    finished: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, f"cycle: {' -> '.join([*path, module])}"
        if module not in finished:
            for imported in sorted(imports[module]):
                visit(imported, (*path, module))
            finished.add(module)

    for module in sorted(imports):
        visit(module, ())


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_and_functions_are_short(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 350 or path.name in DATA
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            docstring = ast.get_docstring(node, clean=False)
            body = node.end_lineno - node.lineno + 1
            length = body - (len(docstring.splitlines()) if docstring else 0)
            assert length <= 50, node.name


def walk():
    """Return the rows of the table in docs/way-of-a-number.md: file, function, next."""
    table = WAY.partition("## Through the code")[2]
    return re.findall(r"^\| \d+ \| `(.*?)` \| `(.*?)` \| `(.*?)` \|$", table, re.M)


@pytest.mark.parametrize(("file", "function", "following"), walk())
def test_the_way_of_a_number_exists(file, function, following):
    if file.endswith(".smk"):
        text = (ROOT / file).read_text()
        assert re.search(rf"^(rule {function}:|    {function} = )", text, re.M)
        assert following in text
        return
    module = file.removeprefix("src/").removesuffix(".py").removesuffix("/__init__")
    found = importlib.import_module(module.replace("/", "."))
    for name in function.split("."):
        found = vars(found)[name] if inspect.isclass(found) else getattr(found, name)
    assert following in inspect.getsource(getattr(found, "func", found))


def test_the_way_of_a_number_is_short():
    files = [file for file, _, _ in walk()]
    assert len(set(files)) == 22, "the page states this number"
    assert len(files) - len(set(files)) <= 6
    assert files[0] == "rules/common.smk"
    assert files[-1].startswith("src/gvibench/figures")


HEAVY = (
    *("pydantic", "xarray", "pandas", "sklearn", "matplotlib", "seaborn", "dask", "distributed"),
    *("zarr", "scipy.linalg", "scipy.sparse", "numba", "llvmlite", "yaml", "snakemake", "cupy"),
)


def loaded_by(*words, cwd=None):
    """Return the modules that a command imports."""
    command = [sys.executable, "-X", "importtime", *words]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True)
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line}


def test_the_run_path_is_lean(tmp_path):
    from gvibench.datasets.build import build
    from gvibench.study.config import load_config
    from gvibench.study.expand import expand

    study = {"datasets": ["wdbc"], "solvers": ["sr-vn"], "step": 0.1, "seeds": 1, "iterations": 3}
    config = {"studies": {"s": {**study, "device": "cpu"}}, "results": str(tmp_path)}
    (job,) = expand(load_config(config)).runs.values()
    build(job.data.spec, Path(job.data.path))
    words = ["-m", "gvibench.stages", "run", "--job", job.params, "--data", job.data.path]
    out = str(tmp_path / "trace.zarr.zip")
    loaded_by(*words, "--out", out)  # compiles the kernels if they are not cached
    modules = loaded_by(*words, "--out", out)
    assert not {name for name in HEAVY if name in modules}
    folders = {name.split(".")[1] for name in modules if name.startswith("gvibench.")}
    assert folders <= {
        *("stages", "engine", "steps", "solvers", "models", "numerics", "store", "spec"),
        *("registry", "errors"),
    }
