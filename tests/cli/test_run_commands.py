"""Test the commands run, optimum, prepare and show, and the lists of solvers and data sets."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

from gvibench.cli.main import main
from gvibench.store.optima import read_optimum
from gvibench.store.traces import read_trace

SYNTHETIC = ["--dataset", "synthetic", "--data-option", "n=60", "--data-option", "d=3"]


def gvibench(*words, **environment):
    return subprocess.run(
        [sys.executable, "-m", "gvibench", *map(str, words)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


def test_flags_and_spec_give_the_same_run(tmp_path, capsys):
    flags = [*SYNTHETIC, "--solver", "sr-vn", "--step", "5e-3", "--iterations", "20"]
    assert main(["run", *flags, "--out", str(tmp_path / "a.zarr.zip")]) == 0
    assert "sr-vn on synthetic: completed (20 iterations done" in capsys.readouterr().out
    first = read_trace(tmp_path / "a.zarr.zip")
    spec = first.attrs["spec"]
    assert main(["run", "--spec", spec, "--out", str(tmp_path / "b.zarr.zip")]) == 0
    second = read_trace(tmp_path / "b.zarr.zip")
    assert second.attrs["spec_hash"] == first.attrs["spec_hash"]
    assert np.array_equal(first.scalars["objective"], second.scalars["objective"])


def test_flags_set_all_parts_of_the_spec(tmp_path):
    out = tmp_path / "t.zarr.zip"
    flags = {
        "--solver": "svgd-density",
        "--solver-option": "kernel=centred",
        "--step": "1e-3",
        "--beta": "0.25",
        "--gamma": "0.5",
        "--expectation": "piecewise",
        "--pieces": "10",
        "--init-scale": "0.5",
        "--mean-scale": "2",
        "--device": "cpu",
        "--record-every": "3",
        "--test-every": "2",
        "--split-seed": "7",
        "--seed": "4",
        "--iterations": "6",
        "--test-size": "0.3",
    }
    words = [word for pair in flags.items() for word in pair]
    code = main(["run", *SYNTHETIC, *words, "--record", "factor_norm", "--out", str(out)])
    assert code == 0
    spec = read_trace(out).spec
    assert spec["solver_options"] == {"kernel": "centred"}
    assert spec["data"]["options"]["n"] == 60
    assert spec["data"]["split_seed"] == 7
    assert spec["data"]["test_size"] == 0.3
    assert spec["record"] == ["factor_norm"]
    numbers = {"step": 1e-3, "beta": 0.25, "gamma": 0.5, "pieces": 10, "init_scale": 0.5}
    numbers |= {"mean_scale": 2.0, "record_every": 3, "test_every": 2, "seed": 4, "iterations": 6}
    assert numbers.items() <= spec.items()
    assert read_trace(out).iteration.tolist() == [0, 3, 6]


def test_defaults_come_from_the_data_set(libsvm_data, tmp_path):
    out = tmp_path / "t.zarr.zip"
    words = ["--dataset", "australian_scale", "--solver", "bw-gd", "--iterations", "1"]
    assert main(["run", *words, "--out", str(out)]) == 0
    spec = read_trace(out).spec
    assert spec["beta"] == 1e-5
    assert spec["step_rule"] == "auto"
    words += ["--step", "paper", "--force"]
    assert main(["run", *words, "--out", str(out)]) == 0
    spec = read_trace(out).spec
    assert (spec["step_rule"], spec["step"]) == ("constant", 4.4e-3)


def test_prepared_data_file(tmp_path):
    data, out = tmp_path / "data.zarr.zip", tmp_path / "t.zarr.zip"
    assert main(["prepare", *SYNTHETIC, "--out", str(data)]) == 0
    run = [*SYNTHETIC, "--solver", "vn", "--step", "0.1", "--data", str(data), "--out", str(out)]
    done = gvibench("run", *run, "--iterations", "2")
    assert done.returncode == 0, done.stderr


def test_show_describes_a_trace(tmp_path, capsys):
    out = tmp_path / "t.zarr.zip"
    main(["run", *SYNTHETIC, "--solver", "vn", "--step", "0.1", "--out", str(out)])
    capsys.readouterr()
    assert main(["show", str(out)]) == 0
    text = capsys.readouterr().out
    assert "vn on synthetic" in text
    assert "test_accuracy" in text


def test_the_optimum_is_below_all_objectives(tmp_path):
    best, out = tmp_path / "o.zarr.zip", tmp_path / "t.zarr.zip"
    assert main(["optimum", *SYNTHETIC, "--out", str(best)]) == 0
    main(["run", *SYNTHETIC, "--solver", "vn", "--step", "0.5", "--out", str(out)])
    optimum, trace = read_optimum(best), read_trace(out)
    assert optimum.attrs["grad_norm"] < 1e-12
    assert trace.scalars["objective"].min() >= optimum.attrs["objective"] - 1e-9
    with xr.open_dataset(best) as dataset:
        assert dataset["covariance_factor"].shape == (3, 3)


@pytest.mark.parametrize("expectation", ["gauss-hermite", "piecewise"])
def test_optimum_of_approximate_expectations(tmp_path, expectation):
    out = tmp_path / "o.zarr.zip"
    words = ["optimum", "--dataset", "wdbc", "--expectation", expectation, "--out", str(out)]
    assert main(words) == 0
    assert read_optimum(out).attrs["grad_norm"] < 1e-10


def test_optimum_of_a_regression(tmp_path):
    out = tmp_path / "o.zarr.zip"
    words = [*SYNTHETIC, "--data-option", "targets=real", "--model", "linear"]
    assert main(["optimum", *words, "--out", str(out)]) == 0
    assert np.isnan(read_optimum(out).attrs["test_accuracy"])


def test_lists(capsys):
    assert main(["datasets"]) == 0
    assert "australian_scale" in capsys.readouterr().out
    assert main(["solvers"]) == 0
    solvers, _, rules = capsys.readouterr().out.partition("\nstep rules:\n")
    for line in ("vn   .* any ", "ng-flow .* not auto ", "laplace .* no step "):
        assert re.search(f"^{line}", solvers, re.MULTILINE)
    for line in ("constant ", "decay ", "auto ", " +shrink = 0.5: ", " +decay = required: "):
        assert re.search(f"^{line}", rules, re.MULTILINE)


def test_a_diverged_run_is_a_success(tmp_path):
    out = tmp_path / "t.zarr.zip"
    words = [*SYNTHETIC, "--solver", "gd", "--step", "100", "--out", str(out)]
    assert main(["run", *words]) == 0
    assert read_trace(out).attrs["status"] == "diverged"


RUN = ["--solver", "vn", "--step", "0.1"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--dataset", "wdbcc", *RUN], "unknown data set 'wdbcc' (did you mean 'wdbc'?)"),
        (["run", *SYNTHETIC, "--solver", "vm", "--step", "1"], "unknown solver 'vm'"),
        (["run", *SYNTHETIC, "--solver", "ng-flow"], "'step' is missing"),
        (["run", *SYNTHETIC, "--step", "1"], "'solver' is missing"),
        (["run", *RUN], "'dataset' is missing"),
        (["run", *SYNTHETIC, "--solver", "vn", "--step", "0"], "'step' should be greater than 0"),
        (["run", *SYNTHETIC, "--solver", "vn", "--step", "abc"], "'step' should be"),
        (["run", *SYNTHETIC, *RUN, "--solver-option", "x"], "--solver-option takes NAME=VALUE"),
        (["run", *SYNTHETIC, *RUN, "--solver-option", "x=1"], "unknown key 'x'"),
        (["run", *SYNTHETIC, *RUN, "--data-option", "size=1"], "unknown option 'size'"),
        (["run", *SYNTHETIC, *RUN, "--device", "cuda"], "device 'cuda'"),
        (["run", *SYNTHETIC, *RUN, "--data", "missing.zarr.zip"], "missing.zarr.zip"),
        (["run", "--spec", "{"], "--spec: "),
        (["run", "--spec", "{}", "--step", "3"], "leave out --step, or --spec"),
        (["run", *SYNTHETIC, *RUN, "--init-scale", "1e-300"], "between 1e-100 and 1e+100"),
        (["run", "--spec", json.dumps({"step": 1})], "is missing"),
        (["optimum", *SYNTHETIC, "--model", "non-convex"], "no unique optimum"),
        (["optimum", *SYNTHETIC, "--beta", "0"], "with beta = 0"),
    ],
)
def test_invalid_input_gives_one_line_and_writes_nothing(tmp_path, words, message):
    done = gvibench(*words, "--out", tmp_path / "new" / "out.zarr.zip")
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.startswith("gvibench: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_output_is_reported_before_the_run(tmp_path):
    (tmp_path / "t.zarr.zip").mkdir()
    done = gvibench("run", *SYNTHETIC, *RUN, "--out", tmp_path / "t.zarr.zip")
    assert done.returncode == 2
    assert "it is a folder" in done.stderr


def test_run_imports_no_heavy_package(tmp_path):
    data, out = tmp_path / "data.zarr.zip", tmp_path / "t.zarr.zip"
    main(["prepare", *SYNTHETIC, "--out", str(data)])
    words = ["run", *SYNTHETIC, *RUN, "--iterations", "1", "--data", str(data), "--out", str(out)]
    code = (
        "import sys\nfrom gvibench.cli.main import main\n"
        f"assert main({words!r}) == 0\n"
        "heavy = {'xarray', 'pandas', 'sklearn', 'matplotlib', 'dask', 'seaborn', 'snakemake',"
        " 'pooch', 'numba', 'zarr'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    main(words)  # compiles the kernels if necessary
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
