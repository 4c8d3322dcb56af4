"""Processes of jobs that draw figures: imported libraries, garbage collection and large studies."""

import contextlib
import gc
import json
import os
import subprocess
import sys

import pytest

from figures.drawn import PAGE
from figures.made_aggregate import study, write_aggregate
from gvibench import figures, stages
from gvibench.analysis import process
from gvibench.analysis.process import light_process
from gvibench.registry import FIGURES, TABLES

JOB = """
import sys
from gvibench.stages import main
from gvibench.store import aggregates
aggregates.IN_MEMORY_BYTES = int(sys.argv[1])
assert main(sys.argv[2:]) == 0
print(sorted({"scipy", "dask"} & set(sys.modules)))
"""
LIBRARIES = ("xarray", "dask")


@pytest.fixture(scope="module")
def aggregate(tmp_path_factory):
    return write_aggregate(tmp_path_factory.mktemp("process"), study())


def python(code, *arguments, path=""):
    """Run code in a new process and return what it prints."""
    words = [sys.executable, "-c", code, *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), *sys.path])}
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=env)
    return done.stdout.strip()


def run_job(folder, aggregate, name, memory=10**9):
    """Draw a figure in a process. Return its libraries and its files."""
    folder.mkdir()
    job = {"figure": name, "study": "made", "style": PAGE, "code_hash": "c0de"}
    words = ["--job", json.dumps(job), "--aggregate", aggregate, "--out", folder / f"{name}.pdf"]
    return python(JOB, memory, "figure", *words), read(folder)


def read(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


slow = [
    pytest.param(name, marks=[pytest.mark.slow, pytest.mark.exhaustive])
    for name in FIGURES.built_in
    if name not in {"gap", "path", "bias", "calibration"}
]


@pytest.mark.parametrize("name", ["gap", *slow])
def test_a_job_imports_neither_scipy_nor_dask(tmp_path, aggregate, name):
    libraries, files = run_job(tmp_path / "job", aggregate, name)
    assert libraries == "[]"
    # This process has imported both, and draws the same.
    (tmp_path / "here").mkdir()
    job = {"figure": name, "study": "made", "style": PAGE, "code_hash": "c0de"}
    figures.draw(job, aggregate, tmp_path / "here" / f"{name}.pdf")
    assert "error" not in json.loads(files[f"{name}.json"])
    assert files == read(tmp_path / "here")


def test_jobs_of_large_studies_use_dask(tmp_path, aggregate):
    libraries, files = run_job(tmp_path / "job", aggregate, "gap", memory=0)
    assert "dask" in libraries
    assert "error" not in json.loads(files["gap.json"])


def test_a_seaborn_that_requires_scipy_gets_it(tmp_path):
    package = tmp_path / "seaborn"
    package.mkdir()
    # A module that is imported before the error must not remember that SciPy is missing.
    (package / "part.py").write_text("try:\n import scipy\nexcept ImportError:\n scipy = None\n")
    (package / "__init__.py").write_text("from . import part\nimport scipy\n")
    code = "from gvibench.figures.seaborn_import import import_seaborn\nimport_seaborn()\n"
    code += "import seaborn\n"
    code += "print(seaborn.__file__, seaborn.part.scipy.__name__, seaborn.scipy.__name__)"
    assert python(code, path=tmp_path) == f"{package / '__init__.py'} scipy scipy"


def test_libraries_are_available_again_after_a_job():
    code = "import gc\nfrom gvibench.analysis.process import light_process\n"
    code += "from gvibench.figures.seaborn_import import import_seaborn\n"
    code += "with light_process():\n assert not gc.isenabled()\n import_seaborn()\n"
    code += "import dask, scipy.stats, seaborn\nprint(gc.isenabled(), seaborn.relplot.__name__)"
    assert python(code) == "True relplot"


@pytest.mark.parametrize("imported", LIBRARIES)
def test_a_process_that_uses_the_libraries_is_not_changed(monkeypatch, imported):
    for name in LIBRARIES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, imported, sys)
    with light_process():
        assert gc.isenabled()
        assert {*LIBRARIES} & sys.modules.keys() == {imported}


@pytest.mark.parametrize("stage", ["table", "summary", "page"])
def test_jobs_of_small_studies_do_not_import_dask(tmp_path, aggregate, stage):
    """Their files are those of a process that uses Dask."""
    job = {"table": "performance", "study": "made", "code_hash": "c0de"}
    job |= {"tables": ["performance"], "figures": []}
    outs = [tmp_path / f"{memory}.csv" for memory in (10**9, 0)]
    words = ["--job", json.dumps(job), "--aggregate", aggregate, "--out"]
    light, large = (
        python(JOB, memory, stage, *words, out)
        for memory, out in zip((10**9, 0), outs, strict=True)
    )
    assert "dask" not in light
    assert "dask" in large
    assert outs[0].read_bytes() == outs[1].read_bytes()


def test_outputs_of_other_packages_may_use_dask(tmp_path, aggregate, monkeypatch):
    """A plug-in may import what it needs."""
    used = []
    monkeypatch.setattr(
        process, "light_process", lambda: used.append(1) or contextlib.nullcontext()
    )
    monkeypatch.setattr(TABLES, "is_built_in", lambda name: False)
    job = {"table": "performance", "study": "made", "code_hash": "c0de"}
    words = ["--job", json.dumps(job), "--aggregate", str(aggregate), "--out"]
    assert stages.main(["table", *words, str(tmp_path / "t.csv")]) == 0
    assert not used
