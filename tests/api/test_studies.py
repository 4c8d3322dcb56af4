"""Test the functions for notebooks."""

import ast
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
import xarray as xr
from matplotlib import pyplot
from matplotlib.figure import Figure

import gvibench
from figures.made_aggregate import Run, write_aggregate
from gvibench.cli.main import main
from gvibench.errors import UserError
from gvibench.store.zip_store import ZipRangeStore
from gvibench.study.aggregate import aggregate
from gvibench.study.parallel import Dask

SMALL = {"dataset": "synthetic", "data_options": {"n": 60, "d": 3}, "iterations": 30}


def test_run_gives_the_same_trace_as_the_command(tmp_path):
    trace = gvibench.run(solver="sr-vn", step=0.05, split_seed=3, **SMALL)
    out = tmp_path / "t.zarr.zip"
    words = ["--dataset", "synthetic", "--data-option", "n=60", "--data-option", "d=3"]
    words += ["--solver", "sr-vn", "--step", "0.05", "--split-seed", "3", "--iterations", "30"]
    assert main(["run", *words, "--out", str(out)]) == 0
    with xr.open_dataset(out) as expected:
        assert trace.attrs["spec_hash"] == expected.attrs["spec_hash"]
        assert trace.drop_vars("seconds").equals(expected.drop_vars("seconds"))


@pytest.mark.parametrize("name", ["stp", "stepp"])
def test_a_misspelt_setting_is_reported_with_a_suggestion(name):
    with pytest.raises(UserError, match=rf"unknown setting '{name}' \(did you mean 'step'\?\)"):
        gvibench.run(solver="vn", **{name: 0.1}, **SMALL)
    run = gvibench.run(solver="vn", step=0.1, **SMALL)
    with pytest.raises(UserError, match=r"unknown setting 'widht' \(did you mean 'width'\?\)"):
        gvibench.plot_gap(run, widht="column")  # codespell:ignore


def test_numpy_scalars_and_paths_are_accepted(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "rows.npz"
    np.savez(path, X=rng.standard_normal((40, 2)), y=rng.standard_normal(40) > 0)
    common = {"solver": "vn", "record": ["cov_eig_min"]}
    plain = gvibench.run(
        "rows", path=str(path), beta=0.5, step=0.5, iterations=5, intercept=True, **common
    )
    other = gvibench.run(
        "rows",
        path=path,
        beta=np.float32(0.5),
        step=np.array(0.5),
        iterations=np.int32(5),
        intercept=np.bool_(True),
        **common,
    )
    assert other.attrs["spec_hash"] == plain.attrs["spec_hash"]
    sizes = {"n": np.int64(60), "d": np.uint8(3)}
    assert (
        gvibench.run("synthetic", "vn", data_options=sizes, step=0.5, iterations=1).attrs["d"] == 3
    )
    assert lines(gvibench.plot_gap(plain, font_size=np.float64(9)))


def test_completion_lists_the_functions():
    words = "import gvibench; print(dir(gvibench)); from gvibench import *; print(run, plot_gap)"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert {"run", "load_study", "plot_gap", "__version__"} <= set(
        ast.literal_eval(done.stdout.splitlines()[0])
    )


def test_notebooks_show_the_figure_with_any_backend():
    figure = gvibench.plot_gap(gvibench.run(solver="vn", step=0.5, **SMALL))
    # IPython shows the image that `_repr_png_` returns.
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert isinstance(figure, Figure)


def test_gaps_are_drawn_into_given_axes(tmp_path):
    run = gvibench.run(solver="vn", step=0.5, **SMALL)
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert gvibench.plot_gap(run, ax=right) is figure
    (line,) = right.get_lines()
    (alone,) = lines(gvibench.plot_gap(run))
    assert np.array_equal(line.get_ydata(), alone.get_ydata())
    assert right.get_yscale() == "log"
    assert "optimum" in right.get_ylabel()
    assert not left.get_lines()
    other = gvibench.run("wdbc", "vn", step=0.5, iterations=3)
    with pytest.raises(UserError, match=r"there are 2 panels to draw .* and one ax"):
        gvibench.plot_gap([run, other], ax=left)
    with pytest.raises(UserError, match="width has no effect on given axes"):
        gvibench.plot_gap(run, ax=left, width="column")


def test_plotting_leaves_no_trace_in_matplotlib():
    run = gvibench.run(solver="vn", step=0.5, **SMALL)
    before = dict(matplotlib.rcParams), matplotlib.colors.to_hex("b"), pyplot.get_fignums()
    gvibench.plot_gap(run)
    after = dict(matplotlib.rcParams), matplotlib.colors.to_hex("b"), pyplot.get_fignums()
    assert after == before


def test_invalid_arguments_are_reported():
    with pytest.raises(UserError, match="gap should be"):
        gvibench.plot_gap(gvibench.run(solver="vn", step=0.1, **SMALL), gap="best")
    with pytest.raises(UserError, match="nothing to plot"):
        gvibench.plot_gap([])


def lines(figure):
    return [line for axes in figure.axes for line in axes.get_lines()]


def test_gaps_of_runs_are_measured_from_the_optimum():
    runs = [gvibench.run(solver=name, step=0.5, **SMALL) for name in ("vn", "sr-vn")]
    figure = gvibench.plot_gap(runs)
    assert [line.get_label() for line in lines(figure)] == ["VN", "SR-VN"]
    assert lines(figure)[0].get_ydata()[-1] < 1e-6
    assert "optimum" in figure.get_supylabel()
    # The gap of the better run to the best value seen is zero.
    seen = gvibench.plot_gap(runs, gap="best-seen", width="column")
    assert "best seen" in seen.get_supylabel()
    assert min(line.get_ydata()[-1] for line in lines(seen)) == 1e-12


def test_runs_of_different_lengths_and_a_diverged_one():
    long = gvibench.run(solver="vn", step=0.5, **SMALL)
    short = gvibench.run(solver="vn", step=0.5, seed=1, **(SMALL | {"iterations": 10}))
    broken = gvibench.run(solver="gd", step=100.0, **SMALL)
    assert broken.attrs["status"] == "diverged"
    figure = gvibench.plot_gap([long, short, broken])
    assert figure.axes[0].get_lines()


def test_a_study_is_loaded_and_plotted(tmp_path):
    path = write_aggregate(tmp_path, [Run([20.0, 12.0]), Run([20.0, 11.0], seed=1)])
    study = gvibench.load_study(path)
    assert study.sizes == {"run": 2, "record": 2, "configuration": 1}
    assert study.chunks == {"run": (2,), "record": (2,)}
    assert np.array_equal(lines(gvibench.plot_gap(study))[0].get_ydata(), [10.0, 1.5])
    with pytest.raises(UserError, match=r"is not a gvibench aggregate|not a zip file"):
        gvibench.load_study(__file__)
    with pytest.raises(UserError, match="does not exist"):
        gvibench.load_study(tmp_path / "nothing")


def test_a_selection_of_a_study_reads_only_its_shards(tmp_path, monkeypatch):
    write_aggregate(tmp_path, [Run([20.0, 12.0 - k], seed=k) for k in range(10)])
    out = tmp_path / "sharded.zarr.zip"
    aggregate(tmp_path / "manifest.json", out, dask=Dask(settings={"runs_per_task": 2}))
    study = gvibench.load_study(out)
    keys = []
    get = ZipRangeStore.get

    async def recorded(store, key, *words, **settings):
        keys.append(key)
        return await get(store, key, *words, **settings)

    monkeypatch.setattr(ZipRangeStore, "get", recorded)
    chosen = study["objective"].isel(run=[4, 5, 8]).min("record")
    assert keys == []
    assert chosen.drop_vars(list(chosen.coords)).values.tolist() == [8.0, 7.0, 4.0]
    assert set(keys) == {"objective/c/2/0", "objective/c/4/0"}


def test_importing_the_plugin_interface_is_light():
    code = (
        "import sys, gvibench.plugin;"
        "heavy = ('xarray', 'pandas', 'matplotlib', 'sklearn', 'dask', 'snakemake');"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_importing_the_package_and_the_run_path_is_light():
    code = (
        "import sys, gvibench, gvibench.stages, gvibench.engine.execute, gvibench.store.traces;"
        "heavy = ('xarray', 'pandas', 'matplotlib', 'gvibench.api', 'snakemake', 'rich');"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_code_hash_of_runs_does_not_include_the_api():
    from gvibench.spec.code import closure

    assert "gvibench.api" not in closure(["gvibench.stages:run", "gvibench.solvers.vn"])


def test_real_targets_in_a_file_need_no_option(tmp_path):
    x = np.random.default_rng(0).standard_normal((60, 2))
    np.savez(tmp_path / "mine.npz", X=x, y=x @ [1.0, 2.0] + 3.0)
    settings = {"path": str(tmp_path / "mine.npz"), "scale": "none", "beta": 1e-3}
    trace = gvibench.run("mine", "vn", model="linear", step=1.0, iterations=3, **settings)
    assert np.allclose(trace["mean"].values[-1], [1.0, 2.0, 3.0], atol=0.01)
