"""What `gvibench new` makes works, and the example in the repository is made by it."""

from pathlib import Path

import pytest

from gvibench import registry
from gvibench.cli import main
from gvibench.conformance import examine

EXAMPLE = Path(__file__).parents[1] / "examples/my_solver"
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
