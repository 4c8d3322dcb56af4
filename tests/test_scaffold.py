"""What `gvibench new` makes works, and the example in the repository is made by it."""

import os
import site
import subprocess
import venv

import pytest

from gvibench import registry
from gvibench.check.solver import examine
from gvibench.cli.main import main
from reader import ROOT, blocks

EXAMPLE = ROOT / "examples/my_solver"
OWN = "src/my_solver/solver.py"
"""The only file of the example that is not as the scaffold makes it."""


def files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and not {"__pycache__", ".pytest_cache"} & set(path.parts)
    }


def test_the_example_is_the_scaffold_with_another_solver(tmp_path, capsys):
    assert main(["new", "solver", "my-solver", "--into", str(tmp_path / "deep")]) == 0
    assert "gvibench check solver my-solver" in capsys.readouterr().out
    made, example = files(tmp_path / "deep/my_solver"), files(EXAMPLE)
    assert made.pop(OWN) != example.pop(OWN)
    assert made == example


def test_a_new_solver_conforms_as_it_is(tmp_path, monkeypatch):
    assert main(["new", "solver", "grand-vn-2", "--into", str(tmp_path)]) == 0
    written = files(tmp_path / "grand_vn_2")
    assert not any("my-solver" in text or "my_solver" in text for text in written.values())
    assert not any("MySolver" in text for text in written.values())
    assert "tests/test_grand_vn_2.py" in written
    monkeypatch.syspath_prepend(tmp_path / "grand_vn_2/src")
    found = {"gvibench.solvers": {"grand-vn-2": "grand_vn_2.solver:GrandVn2"}}
    monkeypatch.setattr(registry, "_installed", lambda group: found.get(group, {}))
    verdict = examine("grand-vn-2")
    assert verdict.passed, str(verdict)


def environment(folder):
    """Make an environment like the one of the tests, into which packages may be installed."""
    venv.create(folder, with_pip=False)
    [packages] = (folder / "lib").glob("python*/site-packages")
    # Named apart: the path files in a shared folder, such as that of gvibench, are not read.
    (packages / "shared.pth").write_text("\n".join([*site.getsitepackages(), str(ROOT / "src")]))
    for name in ("pip", "gvibench", "pytest", "snakemake"):
        script = folder / "bin" / name
        script.write_text(f'#!/bin/sh\nexec "{folder}/bin/python" -m {name} "$@"\n')
        script.chmod(0o755)
    return {
        **os.environ,
        "HOME": str(folder.parent),
        "PATH": os.pathsep.join([str(folder / "bin"), os.environ["PATH"]]),
        # There is no network: what is needed to build the package is here. (To pip, 0 means that
        # nothing is isolated.)
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        "PYTEST_ADDOPTS": "",
    }


@pytest.mark.slow
def test_the_readme_of_a_new_package_works_outside_the_clone(tmp_path):
    assert main(["new", "solver", "grand-vn", "--into", str(tmp_path)]) == 0
    (tmp_path / "gvibench").symlink_to(ROOT)  # ~/gvibench of the README
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
    ("name", "sentence"),
    [
        ("My_Solver", "is no name for a solver"),
        ("a--b", "is no name for a solver"),
        ("1st", "is no name for a solver"),
        ("a.b", "is no name for a solver"),
        ("vn/../x", "is no name for a solver"),
        ("", "is no name for a solver"),
        ("class", "'class' is a word of Python"),
        ("match", "'match' is a word of Python"),
        ("json", "'json' is the name of an installed package"),
        ("numpy", "'numpy' is the name of an installed package"),
        ("gvibench", "'gvibench' is the name of an installed package"),
        ("sr-vn", "'sr-vn' is a solver of gvibench"),
        ("taken", "taken is there already"),
    ],
)
def test_names_that_will_not_do(tmp_path, capsys, name, sentence):
    (tmp_path / "taken").mkdir()
    assert main(["new", "solver", name, "--into", str(tmp_path)]) == 2
    assert sentence in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
