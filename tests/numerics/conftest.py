"""Share the simulated GPU, and a cache and a random generator for each test."""

import numpy as np
import pytest

from numerics.cuda_on_cpu import kernels_on_cpu, stand_in

__all__ = ["kernels_on_cpu", "stand_in"]


@pytest.fixture
def rng():
    return np.random.default_rng(20250101)


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """An empty cache folder."""
    monkeypatch.setenv("GVIBENCH_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def unwritable_cache(tmp_path, monkeypatch):
    """A cache folder that cannot be created, because a file has its name."""
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("GVIBENCH_CACHE", str(tmp_path / "file"))
