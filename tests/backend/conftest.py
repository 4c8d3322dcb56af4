import importlib.util
import shutil
import sys

import cuda_on_cpu
import pytest

from gvibench.numerics import cuda_backend


@pytest.fixture(scope="session")
def kernels_on_cpu(tmp_path_factory):
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    return cuda_on_cpu.build(tmp_path_factory.mktemp("cuda"))


@pytest.fixture
def stand_in(kernels_on_cpu, monkeypatch, tmp_path):
    """A machine with two devices, as far as the code under test can tell."""
    modules = cuda_on_cpu.cupy_stand_in(kernels_on_cpu)
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: name in modules or find_spec(name)
    )
    monkeypatch.setattr(cuda_backend, "_potrf", cuda_on_cpu.potrf_stand_in)
    monkeypatch.setenv("GVIBENCH_CACHE", str(tmp_path))
    _forget()
    yield modules["cupy"]
    _forget()


def _forget():
    for cached in ("why_unavailable", "_claimed_device", "_module", "_constant"):
        getattr(cuda_backend, cached).cache_clear()
    while cuda_backend._locks:
        lock = cuda_backend._locks.pop()
        if lock is not None:
            lock.close()
