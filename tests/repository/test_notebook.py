"""Execute the notebook, and compare its text with what the repository stores."""

import re
import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples/first_steps.ipynb"
MAX_BYTES = 200_000
NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")


def texts(notebook):
    """Return the text of the outputs, and whether each cell shows a picture.

    Standard error is left out: what Matplotlib logs there about the fonts of the
    machine is no result.
    """
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [
        (
            "".join(
                output.get("text", "") + output.get("data", {}).get("text/plain", "")
                for output in cell.outputs
                if output.get("name") != "stderr"
            ),
            any("image/png" in output.get("data", {}) for output in cell.outputs),
        )
        for cell in cells
    ]


@pytest.fixture(scope="module")
def stored():
    return nbformat.read(NOTEBOOK, as_version=4)


def test_the_stored_notebook_has_pictures_and_no_paths(stored):
    assert NOTEBOOK.stat().st_size < MAX_BYTES
    assert [picture for _, picture in texts(stored)].count(True) == 3
    for text, _ in texts(stored):
        assert str(ROOT) not in text
        assert "Traceback" not in text
    outputs = [output for cell in stored.cells for output in cell.get("outputs", [])]
    assert "stderr" not in {output.get("name") for output in outputs}


@pytest.mark.slow
def test_the_notebook_runs_and_gives_the_stored_results(stored, tmp_path):
    for name in ("Snakefile", "rules", "envs", "profiles", "config", "examples"):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    executed = nbformat.read(NOTEBOOK, as_version=4)
    folder = {"metadata": {"path": str(tmp_path / "examples")}}
    NotebookClient(executed, timeout=900, resources=folder).execute()
    for (found, has_picture), (expected, had_picture) in zip(
        texts(executed), texts(stored), strict=True
    ):
        assert has_picture == had_picture
        assert NUMBER.sub("#", found) == NUMBER.sub("#", expected)
        numbers = [list(map(float, NUMBER.findall(text))) for text in (found, expected)]
        # The last digits depend on the processor.
        assert numbers[0] == pytest.approx(numbers[1], rel=0.02, abs=0.02)
