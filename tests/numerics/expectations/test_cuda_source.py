"""Test that the CUDA source compiles for devices and agrees with the CPU kernels."""

import re
import shutil
import subprocess

import numpy as np
import pytest

from gvibench.numerics import expectations
from gvibench.numerics.expectations.cuda import (
    COMPILE_OPTIONS,
    SOURCE_FILE,
    kernel_name,
)
from numerics import cuda_on_cpu

EXPECTATIONS = {
    "exact": [{}],
    "piecewise": [{}, {"pieces": 7, "degree": "linear"}],
    "gauss-hermite": [{}, {"nodes": 5}],
}
CASES = [(name, options) for name, cases in EXPECTATIONS.items() for options in cases]


@pytest.mark.parametrize("architecture", ["sm_80", "sm_86", "sm_90"])
def test_compiles_without_spills(architecture, tmp_path):
    if shutil.which("nvcc") is None:
        pytest.skip("needs nvcc")
    command = ["nvcc", *COMPILE_OPTIONS, "-cubin", f"-arch={architecture}", "-Xptxas", "-v"]
    done = subprocess.run(
        [*command, "-o", tmp_path / "kernels.cubin", SOURCE_FILE], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    report = done.stdout + done.stderr
    compiled = set(re.findall(r"Compiling entry function '(\w+)'", report))
    assert compiled == {kernel_name(e, t) for e in EXPECTATIONS for t in ("float64", "float32")}
    spills = re.findall(r"(\d+) bytes spill (?:stores|loads)", report)
    assert len(spills) == 2 * len(compiled)
    assert set(spills) == {"0"}
    registers = [int(count) for count in re.findall(r"Used (\d+) registers", report)]
    assert len(registers) == len(compiled)
    assert (
        max(registers) <= 64
    )  # allows half of a multiprocessor's threads with 128 threads per block


def points(dtype):
    rng = np.random.default_rng(5)
    size = 4000
    mu = rng.standard_normal(size) * 10.0 ** rng.uniform(-3, 4, size)
    s2 = 10.0 ** rng.uniform(-8, 9, size)
    s2[:200] = 0.0
    special = [0.0, -0.0, 1e-300, 1.0, -1.0, 800.0, -800.0, 1e30, -1e30, np.nan, np.inf, -np.inf]
    grid = np.array(np.meshgrid(special, special)).reshape(2, -1)
    with np.errstate(all="ignore"):
        return [np.concatenate(pair).astype(dtype) for pair in zip((mu, s2), grid, strict=True)]


def evaluate_on_cpu(library, expectation, mu, s2, blocks, threads):
    results = np.full((3, mu.size), -7.0, mu.dtype)
    table = expectation.table
    name = kernel_name(expectation.name, mu.dtype.name)
    arguments = (table, len(table), mu.size, mu, s2, *results)
    cuda_on_cpu.launch(library, name, (blocks,), (threads,), arguments)
    return results


@pytest.mark.parametrize(("name", "options"), CASES)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-6)])
def test_agrees_with_the_cpu_kernels(kernels_on_cpu, name, options, dtype, tolerance):
    expectation = expectations.build(name, **options)
    mu, s2 = points(dtype)
    expected = np.array(expectation(mu, s2))
    result = evaluate_on_cpu(kernels_on_cpu, expectation, mu, s2, 7, 64)
    assert np.isnan(result[:, ~np.isfinite(mu)]).all()
    np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(result), np.isinf(expected))
    finite = np.isfinite(expected)
    difference = np.abs(result[finite] - expected[finite])
    assert np.max(difference / np.maximum(1, np.abs(expected[finite]))) <= tolerance


@pytest.mark.parametrize("name", EXPECTATIONS)
def test_does_not_depend_on_the_grid(kernels_on_cpu, name):
    expectation = expectations.build(name)
    mu, s2 = points("float64")
    first = evaluate_on_cpu(kernels_on_cpu, expectation, mu, s2, 1, 1)
    for blocks, threads in [(1, 32), (3, 7), (65, 64), (2 * mu.size, 1)]:
        other = evaluate_on_cpu(kernels_on_cpu, expectation, mu, s2, blocks, threads)
        np.testing.assert_array_equal(other, first)


def test_no_points(kernels_on_cpu):
    empty = np.empty(0)
    result = evaluate_on_cpu(kernels_on_cpu, expectations.build("exact"), empty, empty, 1, 32)
    assert result.shape == (3, 0)
