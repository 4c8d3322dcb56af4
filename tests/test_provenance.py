import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gvibench
from gvibench.engine.execute import run_code_hash
from gvibench.spec.code import code_hash, machine, versions
from gvibench.study.config import load_config
from gvibench.study.expand import expand

HASHES = """
import sys
from gvibench.engine.execute import run_code_hash
from gvibench.spec.run import DataSpec, RunSpec
import gvibench
for solver in ("vn", "sr-vn", "sr-vn-rotated"):
    for model in ("logistic", "linear"):
        for expectation in ("exact", "stochastic" if model == "linear" else "piecewise"):
            print(solver, model, expectation, run_code_hash(RunSpec(
                data=DataSpec(dataset="wdbc"), beta=1.0, solver=solver, model=model, step=0.1,
                expectation=expectation)))
"""


@pytest.fixture
def copy(tmp_path):
    """A copy of the package that a test may edit."""
    shutil.copytree(Path(gvibench.__file__).parent, tmp_path / "gvibench")
    return tmp_path


def hashes(copy, code=HASHES):
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=copy,
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(copy), "PATH": "/usr/bin:/bin"},
    )
    return dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())


def changed(before, after):
    return {key for key in before if before[key] != after[key]}


def test_editing_code_changes_the_hashes_of_the_runs_that_use_it(copy):
    before = hashes(copy)
    package = copy / "gvibench"

    def edit(name, old="__all__", new="x = 1\n__all__"):
        path = package / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        after = hashes(copy)
        path.write_text(text)
        return changed(before, after)

    everything = set(before)
    assert edit("solvers/vn.py") == {key for key in everything if key.startswith("vn ")}
    assert edit("solvers/sr_vn.py") == {key for key in everything if key.startswith("sr-vn")}
    assert edit("solvers/sr_vn_rotated.py") == {
        key for key in everything if key.startswith("sr-vn-rotated")
    }
    assert edit("models/linear.py") == {key for key in everything if " linear " in key}
    assert edit("numerics/expectations/piecewise.py") == {
        key for key in everything if key.endswith("piecewise")
    }
    assert edit("numerics/expectations/compiled/exact.py") == {
        key for key in everything if " logistic exact" in key
    }
    for shared in (
        "engine/execute.py",
        "engine/run.py",
        "engine/recorder.py",
        "numerics/gaussian.py",
        "models/base.py",
        "store/traces.py",
        "numerics/expectations/compiled/oracle_many_features.py",
    ):
        assert edit(shared) == everything
    assert edit("cli/main.py") == set()
    assert edit("engine/optimum.py") == set()


def test_runs_on_the_cpu_do_not_depend_on_the_code_for_devices(copy):
    code = HASHES.replace("expectation=expectation)", "expectation=expectation, device='cpu')")
    anywhere, on_cpu = hashes(copy), hashes(copy, code)
    path = copy / "gvibench/numerics/cuda_backend.py"
    path.write_text(path.read_text() + "x = 1\n")
    assert hashes(copy, code) == on_cpu
    assert changed(anywhere, hashes(copy)) == set(anywhere)


@pytest.mark.parametrize("device", ["auto", "cpu", "cuda"])
def test_a_planned_job_has_the_code_hash_of_its_run(device):
    study = {"datasets": ["wdbc"], "solvers": ["vn"], "step": 0.1, "device": device}
    for job in expand(load_config({"studies": {"s": study}})).runs.values():
        assert json.loads(job.text)["code_hash"] == run_code_hash(job.specs[0])
        assert job.entries()[0]["code_hash"] == run_code_hash(job.specs[0])


def test_comments_and_documentation_do_not_count(copy):
    before = hashes(copy)
    path = copy / "gvibench/solvers/vn.py"
    text = (
        path.read_text()
        .replace('"""VN: ', '"""Another text: ')
        .replace("        backend = model", "        # a comment\n\n        backend = model")
    )
    path.write_text(text)
    assert hashes(copy) == before


def test_unknown_modules_do_no_harm():
    assert code_hash(["gvibench.spec.run"]) == code_hash(["gvibench.spec.run", "gvibench.spec.run"])
    assert code_hash(["gvibench.spec.run"]) != code_hash(["gvibench.store.traces"])


def test_versions_and_machine_are_plain_text():
    assert versions()["numpy"].count(".") >= 1
    assert all(isinstance(value, str) for value in {**versions(), **machine()}.values())
