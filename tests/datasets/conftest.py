import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

_DATA = os.environ.get("GVIBENCH_DATA", "")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test starts with an empty cache and without a mirror."""
    monkeypatch.delenv("GVIBENCH_DATA", raising=False)
    monkeypatch.setenv("GVIBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def libsvm_data(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the real LIBSVM and MNIST files."""
    if not Path(_DATA).is_dir() or not _DATA:
        pytest.skip("GVIBENCH_DATA does not name a folder with the LIBSVM and MNIST files")
    monkeypatch.setenv("GVIBENCH_DATA", _DATA)
    return Path(_DATA)


@pytest.fixture
def write_svmlight() -> Callable[[Path, np.ndarray, np.ndarray], Path]:
    def write(path: Path, x: np.ndarray, y: np.ndarray) -> Path:
        lines = []
        for row, label in zip(x.tolist(), y.tolist(), strict=True):
            cells = (f"{column}:{value!r}" for column, value in enumerate(row, start=1) if value)
            lines.append(f"{label} {' '.join(cells)}\n")
        path.write_text("".join(lines))
        return path

    return write


@pytest.fixture
def sparse_rows() -> tuple[np.ndarray, np.ndarray]:
    """Sixty rows of seven columns, two cells in three zero, with labels 1 and 2."""
    rng = np.random.default_rng(1)
    x = np.where(rng.random((60, 7)) < 0.3, rng.standard_normal((60, 7)), 0.0)
    x[0] = 1.0  # every column occurs
    return x, np.where(rng.random(60) < 0.4, 1, 2)


@pytest.fixture
def own_file(tmp_path: Path, write_svmlight, sparse_rows) -> Path:
    """The sparse rows as a user's svmlight file."""
    return write_svmlight(tmp_path / "mine.svm", *sparse_rows)
