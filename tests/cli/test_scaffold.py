"""Test that the package created by `gvibench new` works."""

import os
import site
import subprocess
import venv

import pytest

from gvibench.check.solver import check_solver
from gvibench.cli.main import main
from reader import ROOT, blocks


def files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and not {"__pycache__", ".pytest_cache"} & set(path.parts)
    }


def test_a_new_solver_conforms(tmp_path, monkeypatch, add_plugin, capsys):
    folder = tmp_path / "deep"
    assert main(["new", "solver", "grand-vn-2", "--into", str(folder)]) == 0
    assert "gvibench check solver grand-vn-2" in capsys.readouterr().out
    written = files(folder / "grand_vn_2")
    assert not any("my-solver" in text or "my_solver" in text for text in written.values())
    assert not any("MySolver" in text for text in written.values())
    assert "tests/test_grand_vn_2.py" in written
    monkeypatch.syspath_prepend(folder / "grand_vn_2/src")
    add_plugin("gvibench.solvers", "grand-vn-2", "grand_vn_2.solver:GrandVn2")
    report = check_solver("grand-vn-2")
    assert report.passed, str(report)


def environment(folder):
    """Create a virtual environment with the packages of this one, and return its variables."""
    venv.create(folder, with_pip=False)
    [packages] = (folder / "lib").glob("python*/site-packages")
    # gvibench is listed separately because path files in the other folders are not read.
    (packages / "shared.pth").write_text("\n".join([*site.getsitepackages(), str(ROOT / "src")]))
    for name in ("pip", "gvibench", "pytest", "snakemake"):
        script = folder / "bin" / name
        script.write_text(f'#!/bin/sh\nexec "{folder}/bin/python" -m {name} "$@"\n')
        script.chmod(0o755)
    return {
        **os.environ,
        "HOME": str(folder.parent),
        "PATH": os.pathsep.join([str(folder / "bin"), os.environ["PATH"]]),
        # Build without network access. (For pip, 0 means no build isolation.)
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        "PYTEST_ADDOPTS": "",
    }


@pytest.mark.slow
def test_the_commands_in_the_readme_of_a_new_package_work(tmp_path):
    assert main(["new", "solver", "grand-vn", "--into", str(tmp_path)]) == 0
    (tmp_path / "gvibench").symlink_to(ROOT)  # the README uses ~/gvibench
    variables, package = environment(tmp_path / "environment"), tmp_path / "grand_vn"
    text = "set -eu\n" + "\n".join(block.text for block in blocks(package / "README.md"))
    done = subprocess.run(
        ["bash", "-c", text],
        cwd=package,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "grand-vn conforms" in done.stdout
    assert "1 passed" in done.stdout
    assert "grand-vn: 8 runs: 8 done; " in done.stdout
    assert (package / "results/grand-vn/report/index.html").is_file()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("My_Solver", "invalid solver name"),
        ("a--b", "invalid solver name"),
        ("1st", "invalid solver name"),
        ("a.b", "invalid solver name"),
        ("vn/../x", "invalid solver name"),
        ("", "invalid solver name"),
        ("class", "'class' is a Python keyword"),
        ("match", "'match' is a Python keyword"),
        ("json", "'json' is the name of an installed package"),
        ("numpy", "'numpy' is the name of an installed package"),
        ("gvibench", "'gvibench' is the name of an installed package"),
        ("sr-vn", "'sr-vn' is a built-in solver"),
        ("taken", "taken already exists"),
    ],
)
def test_unusable_names_are_rejected(tmp_path, capsys, name, message):
    (tmp_path / "taken").mkdir()
    assert main(["new", "solver", name, "--into", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
