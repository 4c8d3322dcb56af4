import os
from pathlib import Path

import pytest

_DATA = os.environ.get("GVIBENCH_DATA", "")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache for each test, without a mirror."""
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
