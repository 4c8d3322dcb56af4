"""Code hashes: which modules they cover, and which edits they ignore."""

import json
import subprocess
import sys

import pytest

from gvibench.registry import DATASETS, EXPECTATIONS, FIGURES, MODELS, SOLVERS, TABLES
from gvibench.spec.code import closure, hash_code
from gvibench.study import code_hash
from gvibench.study.config import load_config
from gvibench.study.defaults import complete_data
from gvibench.study.expand import expand

BASE = {"stages", "store", "spec"}
COMPUTE = {"engine", "steps", "solvers", "models", "numerics"}
SHOW = {"report", "figures", "tables", "analysis"}


def folders(*targets, ignored=()):
    """Return the folders and top-level modules of gvibench that the hash of a stage covers."""
    modules = closure(targets, (*code_hash.NUMBERS_UNCHANGED, *ignored))
    return {name.split(".")[1].partition(":")[0] for name in modules if name != "gvibench"}


@pytest.mark.parametrize(
    ("stage", "used", "allowed"),
    [
        ("prepare", DATASETS, {"datasets"}),
        ("optimum", MODELS, COMPUTE - {"solvers", "steps"}),
        ("beta", MODELS, COMPUTE - {"solvers", "steps"}),
        ("run", SOLVERS, COMPUTE),
        ("run", EXPECTATIONS, COMPUTE),
        ("tune", SOLVERS, COMPUTE),
        ("choose", None, {"engine"}),
        ("table", TABLES, SHOW - {"report", "figures"}),
        ("figure", FIGURES, SHOW - {"report", "tables"}),
        ("summary", None, SHOW),
        ("page", TABLES, SHOW),
    ],
)
def test_the_hash_of_a_stage_stays_in_its_column(stage, used, allowed):
    for name in used.built_in if used else [None]:
        targets = [f"gvibench.stages:{stage}", *([used.module_of(name)] if used else [])]
        assert folders(*targets) <= allowed | BASE, name


def test_aggregation_depends_on_its_own_part_of_the_plan_only():
    ignored = (*code_hash.NUMBERS_UNCHANGED, *code_hash.PLANNING)
    modules = closure(["gvibench.stages:aggregate"], ignored)
    assert {name.split(".")[1] for name in modules if "." in name} <= {
        *BASE,
        "stages:aggregate",
        "study",
    }
    assert {name for name in modules if ".study." in name} == {
        "gvibench.study.aggregate",
        "gvibench.study.aggregate_columns",
        "gvibench.study.aggregate_measures",
        "gvibench.study.aggregate_paths",
    }


def test_planning_does_not_import_numerics():
    assert folders("gvibench.study.expand") <= {"study", "store", "spec"}


def test_planning_loads_neither_numpy_nor_plotting(tmp_path):
    own = tmp_path / "credit.csv"
    own.write_text("age,job,pays\n" + "31,a,yes\n44,b,no\n" * 10)
    heavy = ("numpy", "scipy", "xarray", "pandas", "matplotlib", "dask", "sklearn", "numba")
    code = (
        "import sys; from pathlib import Path\n"
        "from gvibench.study.config import load_config\n"
        "from gvibench.study.expand import expand\n"
        f"own = {str(own)!r}\n"
        "data = {'wdbc': {}, 'leukemia': {}, 'mine': {'path': own, 'positive': 'yes'}}\n"
        "study = {'datasets': data, 'solvers': ['vn', 'sr-vn', 'ng-flow'],\n"
        "         'step': 'tuned', 'iterations': 10}\n"
        "plan = expand(load_config({'studies': {'s': study}}))\n"
        "[job.params for job in plan.runs.values()]\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("device", ["auto", "cpu", "cuda"])
def test_plan_manifest_and_hash_agree(device):
    study = {"datasets": ["wdbc"], "solvers": ["vn"], "step": 0.1, "device": device}
    for job in expand(load_config({"studies": {"s": study}})).runs.values():
        expected = code_hash.run_hash(job.specs[0])
        assert json.loads(job.params)["code_hash"] == expected
        assert job.manifest_rows()[0]["code_hash"] == expected


def test_each_solver_has_its_own_hash():
    study = {"datasets": ["wdbc"], "solvers": list(SOLVERS.built_in), "step": 0.1}
    runs = expand(load_config({"studies": {"s": study}})).runs.values()
    assert len({job.code_hash for job in runs}) == len(SOLVERS.built_in)


def test_cuda_code_counts_unless_the_run_is_on_the_cpu():
    targets = ["gvibench.stages:run", "gvibench.solvers.vn"]
    cuda = closure(targets, code_hash.NUMBERS_UNCHANGED)
    cpu = closure(targets, (*code_hash.NUMBERS_UNCHANGED, *code_hash.CUDA))
    assert {name for name in cuda - cpu if "cuda" in name}
    assert not {name for name in cpu if "cuda" in name}


def test_the_entry_of_a_data_set_is_part_of_its_hash():
    hashes = {
        code_hash.data_hash(complete_data({"dataset": name}))
        for name in ("australian_scale", "mushrooms", "phishing")  # one loader for all
    }
    assert len(hashes) == 3


PACKAGE = {
    "__init__.py": "",
    "entry.py": '''"""Docstring."""
import warnings
from typing import TYPE_CHECKING

from toy.errors import UserError
from toy.helper import VALUE
from toy.unused import OTHER

if TYPE_CHECKING:
    from toy.types import Kind

FILE = Path(__file__).with_name("data.txt")

def first(x: "Kind") -> int:
    """Docstring."""
    if x < 0:
        raise UserError(f"message {x}")
    print("progress")
    warnings.warn("warning")
    return x + VALUE + second(x)

def second(x):
    return 2 * x

def third():
    return OTHER
''',
    "helper.py": "VALUE = 1\n",
    "unused.py": "OTHER = 1\n",
    "types.py": "Kind = int\n",
    "errors.py": "class UserError(Exception): pass\n",
    "data.txt": "1",
}


@pytest.fixture
def toy(tmp_path):
    """Return a function that hashes an edited copy of a small package in a new process."""

    def hashed(target, name="entry.py", old="", new=""):
        folder = tmp_path / "toy"
        folder.mkdir(exist_ok=True)
        for file, text in PACKAGE.items():
            assert file != name or old in text
            (folder / file).write_text(text.replace(old, new, 1) if file == name else text)
        code = f"from gvibench.spec.code import hash_code; print(hash_code([{target!r}]))"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout

    return hashed


IGNORED = {
    "docstring of a module": ("entry.py", '"""Docstring."""', '"""Other."""'),
    "docstring of a function": ("entry.py", '    """Docstring."""', '    """Other."""'),
    "comment": ("entry.py", "def second", "# comment\ndef second"),
    "error message": ("entry.py", "message {x}", "other {x}"),
    "progress text": ("entry.py", "progress", "other"),
    "warning": ("entry.py", '"warning"', '"other"'),
    "types": ("types.py", "int", "float"),
}
COVERED = {
    "number": ("entry.py", "return x", "return 2 * x"),
    "condition of an error": ("entry.py", "x < 0", "x < 1"),
    "imported module": ("helper.py", "1", "2"),
    "data file": ("data.txt", "1", "2"),
}


@pytest.mark.parametrize("edit", IGNORED.values(), ids=IGNORED)
def test_edits_that_cannot_change_a_number_are_ignored(toy, edit):
    assert toy("toy.entry", *edit) == toy("toy.entry")


@pytest.mark.parametrize("edit", COVERED.values(), ids=COVERED)
def test_edits_that_can_change_a_number_are_covered(toy, edit):
    assert toy("toy.entry", *edit) != toy("toy.entry")


def test_a_function_depends_on_what_it_uses(toy):
    whole = toy("toy.entry:first")
    assert toy("toy.entry:first", "helper.py", "1", "2") != whole
    assert toy("toy.entry:first", "entry.py", "2 * x", "3 * x") != whole
    assert toy("toy.entry:first", "unused.py", "1", "2") == whole
    assert toy("toy.entry:first", "entry.py", "return OTHER", "return 3") == whole


def test_repeated_and_unknown_targets():
    assert hash_code(["gvibench.spec.run"]) == hash_code(["gvibench.spec.run", "gvibench.none"])
    assert hash_code(["gvibench.spec.run"]) != hash_code(["gvibench.store.traces"])
