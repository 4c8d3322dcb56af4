"""Test the cache of compiled kernels."""

import math

import pytest

from gvibench.numerics.expectations import build
from gvibench.numerics.expectations.compiled import loader
from gvibench.numerics.expectations.compiled.object_code import UnsupportedObjectError


@pytest.fixture(autouse=True)
def _no_loaded_kernels():
    loader.load_expectation.cache_clear()
    yield
    loader.load_expectation.cache_clear()


def reload(name):
    loader.load_expectation.cache_clear()
    return build(name)(0.3, 2.0)


def test_a_kernel_is_compiled_once(empty_cache):
    first = build("exact")(0.3, 2.0)
    (file,) = (empty_cache / "kernels").iterdir()
    written = file.stat().st_mtime_ns
    assert reload("exact") == first
    assert file.stat().st_mtime_ns == written


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        lambda whole: whole[:-1],
        lambda whole: b"x" + whole[1:],
        lambda whole: whole[:50] + b"x" + whole[51:],
    ],
)
def test_a_damaged_file_is_replaced(empty_cache, damage):
    expected = build("gauss-hermite")(0.3, 2.0)
    (file,) = (empty_cache / "kernels").iterdir()
    damaged = damage(file.read_bytes())
    file.write_bytes(damaged)
    assert reload("gauss-hermite") == expected
    assert file.read_bytes() != damaged


@pytest.mark.usefixtures("unwritable_cache")
def test_an_unwritable_cache_is_ignored():
    f0, _, _ = build("gauss-hermite")(0.0, 0.0)
    assert f0 == pytest.approx(math.log(2))


def test_llvm_links_what_cannot_be_mapped(monkeypatch):
    def refuse(code, entry):
        raise UnsupportedObjectError("not supported here")

    mapped = build("exact")(0.3, 2.0)
    monkeypatch.setattr(loader, "map_object", refuse)
    assert reload("exact") == mapped
