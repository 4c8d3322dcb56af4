import errno
import json
import os
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
import zarr

from gvibench.analysis.gaps import final_values, gap
from gvibench.engine.optimum import NoOptimumError, find_optimum, unknown_optimum
from gvibench.errors import UserError
from gvibench.spec.canonical import hash_values
from gvibench.spec.metrics import CURVES as ALWAYS
from gvibench.spec.run import DataSpec, RunSpec
from gvibench.store.aggregate_writer import Layout
from gvibench.store.aggregates import open_aggregate
from gvibench.store.optima import write_optimum
from gvibench.store.traces import to_group, write_trace
from gvibench.store.zarrzip import Group, write_zip
from gvibench.study.aggregate import aggregate
from gvibench.study.cleanup import find_bad_traces
from gvibench.study.parallel import Dask
from problems import go, prepared, spec

CURVES = [*ALWAYS, "factor_norm", "objective_exact"]


def entry(trace, path, group=None, **changes):
    return {
        "path": str(path),
        "group": group,
        "dataset": "test",
        "solver": trace.spec["solver"],
        "seed": trace.spec["seed"],
        "choice": None,
        "beta_choice": None,
        "tuned_fields": [],
        "spec_hash": trace.attrs["spec_hash"],
        "code_hash": trace.attrs["code_hash"],
        "optimum": None,
        "exact_optimum": None,
        **changes,
    }


@pytest.fixture
def study(tmp_path):
    """Runs of different lengths; one diverged, and one has an additional metric."""
    traces = [
        go(solver="vn", seed=0, iterations=10),
        go(solver="vn", seed=1, iterations=25, record_every=5),
        go(solver="gd", seed=0, step=100.0),
        go(solver="sr-vn", seed=0, iterations=3, gamma=0.5, record=("factor_norm",)),
    ]
    entries = []
    for k, trace in enumerate(traces):
        write_trace(tmp_path / f"{k}.zarr.zip", trace)
        entries.append(entry(trace, tmp_path / f"{k}.zarr.zip"))
    return traces, entries


def write_manifest(folder, entries):
    path = folder / "manifest.json"
    head = {"study": "s", "title": "", "gap": "optimum", "records": 100, "curves": CURVES}
    path.write_text(json.dumps({**head, "runs": entries}))
    return path


def combine(folder, entries, **options):
    aggregate(write_manifest(folder, entries), folder / "out.zarr.zip", **options)
    with xr.open_dataset(folder / "out.zarr.zip") as dataset:
        return dataset.load()


def test_each_curve_is_stored_in_the_records_of_its_run(study, tmp_path):
    traces, entries = study
    dataset = combine(tmp_path, entries)
    assert dataset["objective"].dims == dataset["iteration"].dims == ("run", "record")
    # The arrays are as long as the longest run, not as the longest schedule.
    assert dataset.sizes["record"] == max(len(trace.iteration) for trace in traces)
    for k, trace in enumerate(traces):
        for name in ("iteration", *ALWAYS):
            values = trace.iteration if name == "iteration" else trace.scalars[name]
            assert np.array_equal(dataset[name][k, : len(values)], values)
            assert dataset[name][k, len(values) :].isnull().all()
    assert dataset["factor_norm"][:3].isnull().all()


def test_plain_xarray_shows_names_and_settings(study, tmp_path):
    traces, entries = study
    combine(tmp_path, entries)
    with xr.open_zarr(f"zip::{tmp_path / 'out.zarr.zip'}", consolidated=False) as dataset:
        assert dataset["solver"].values.tolist() == ["vn", "vn", "gd", "sr-vn"]
        assert dataset["status"].values.tolist()[2] == "diverged"
        specs = dataset["spec"].isel(configuration=dataset["configuration_index"]).values
        for trace, text in zip(traces, specs.tolist(), strict=True):
            assert json.loads(text) == {**trace.spec, "seed": None}


def test_runs_are_in_shards_and_shards_in_compressed_chunks(study, tmp_path):
    _, entries = study
    dataset = combine(tmp_path, entries * 75, dask=Dask(settings={"runs_per_task": 130}))
    assert np.array_equal(dataset["objective"][:4], dataset["objective"][-4:], equal_nan=True)
    with zarr.storage.ZipStore(tmp_path / "out.zarr.zip") as store:
        array = zarr.open_group(store, mode="r")["objective"]
        assert (array.shards[0], array.chunks[0], array.shape[0]) == (200, 100, 300)
        assert [type(codec).__name__ for codec in array.compressors] == ["ZstdCodec"]


def test_spec_fields_that_vary_are_coordinates(study, tmp_path):
    _, entries = study
    dataset = combine(tmp_path, entries)
    assert dataset["solver"].values.tolist() == ["vn", "vn", "gd", "sr-vn"]
    assert dataset["gamma"].values.tolist() == [1.0, 1.0, 1.0, 0.5]
    assert dataset["spec_iterations"].values.tolist() == [10, 25, 20, 3]
    assert dataset["status"].values.tolist() == ["completed", "completed", "diverged", "completed"]
    assert dataset["spec_record"].values.tolist() == ["[]", "[]", "[]", '["factor_norm"]']
    assert "threads" in dataset
    assert "spec_nodes" not in dataset


OTHERS = {
    **{"path": "a.npz", "test_path": "b.npz", "split": "random", "split_seed": 1},
    **{"train_size": 9, "test_size": 9, "scale": "standardize", "intercept": True},
    **{"target": "c", "positive": "yes", "drop": ["a"], "categorical": ["b"], "offset": "e"},
    **{"options": {"n": 9}, "model": "linear", "beta": 9.0, "gamma": 9.0, "sigma": 9.0},
    **{"basis_condition": 9.0, "passes": 9.0},
    **{"prior": {"mean": 9.0, "precision": None}},
    **{"expectation": "stochastic", "pieces": 9, "piece_degree": "linear", "nodes": 9},
    **{"batch": 9, "samples": 9, "minibatches": "epoch", "estimator": "stl"},
    **{"solver_options": {"kernel": "centred"}, "form": "dense"},
    **{
        "step": 9.0,
        "step_rule": "auto",
        "step_options": {"shrink": 0.9},
        "init_scale": 9.0,
        "mean_scale": 9.0,
        "iterations": 9,
    },
    **{"seconds": 9.0, "tolerance": 9.0, "record_every": 9, "test_every": 9},
    **{"record": ["factor_norm"]},
    **{"snapshots": 9, "threads": 9, "device": "cpu", "dtype": "float32"},
}
"""A value other than the default for each field that does not identify a run."""


def test_spec_fields_do_not_replace_metrics_or_other_coordinates(tmp_path):
    named = {"data", "dataset", "solver", "seed"}
    assert {*RunSpec.names(), *DataSpec.names()} == {*OTHERS, *named}
    trace = go(iterations=3)
    values = {
        **trace.spec,
        **{name: OTHERS[name] for name in RunSpec.names() if name in OTHERS},
    }
    values["data"] |= {name: OTHERS[name] for name in DataSpec.names() if name in OTHERS}
    other = replace(trace, attrs={**trace.attrs, "spec": json.dumps(values)})
    entries = []
    for k, run in enumerate((trace, other)):
        write_trace(tmp_path / f"{k}.zarr.zip", run)
        entries.append(entry(run, tmp_path / f"{k}.zarr.zip", spec_hash=hash_values(run.spec)))
    dataset = combine(tmp_path, entries)
    plain = {"step", "step_rule", "init_scale", "beta", "gamma", "expectation", "model"}
    for name in OTHERS:
        prefix = "spec_data_" if name in DataSpec.names() else "spec_"
        assert dataset.coords[name if name in plain else prefix + name].dims == ("run",)
    for name in ALWAYS:
        assert np.array_equal(dataset[name][0], trace.scalars[name]), name
    for name in ("device", "threads"):
        assert dataset[name][1] == trace.attrs[name]


def test_packed_and_single_runs_give_the_same_aggregate(study, tmp_path):
    traces, entries = study
    pack = Group({"kind": "gvibench packed traces"})
    for trace in traces[:2]:
        pack.groups[f"seed-{trace.spec['seed']}"] = to_group(trace)
    write_zip(tmp_path / "pack.zarr.zip", pack)
    packed = [
        entry(trace, tmp_path / "pack.zarr.zip", f"seed-{trace.spec['seed']}")
        for trace in traces[:2]
    ]
    assert combine(tmp_path, packed + entries[2:]).identical(combine(tmp_path, entries))


@pytest.mark.parametrize("workers", [1, 2])
def test_any_number_of_shards_and_workers_gives_the_same_aggregate(study, tmp_path, workers):
    _, entries = study
    plain = combine(tmp_path, entries * 3)
    local = {"workers": workers}
    dask = Dask(settings={"local": local, "runs_per_task": 5, "dashboard": False})
    sharded = combine(tmp_path, entries * 3, dask=dask)
    assert sharded.drop_attrs(deep=False).identical(plain.drop_attrs(deep=False))
    again = tmp_path / "again"
    again.mkdir()
    combine(again, entries * 3, dask=dask)
    assert (again / "out.zarr.zip").read_bytes() == (tmp_path / "out.zarr.zip").read_bytes()


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_aggregate(study, tmp_path, monkeypatch, dask_scheduler):
    _, entries = study
    monkeypatch.chdir(tmp_path)  # the workers have another working directory
    relative = [{**entry, "path": entry["path"].rpartition("/")[2]} for entry in entries * 5]
    plain = combine(tmp_path, relative, dask=Dask(settings={"runs_per_task": 3}))
    settings = {"runs_per_task": 3, "scheduler_address": dask_scheduler}
    assert combine(tmp_path, relative, dask=Dask(settings=settings)).identical(plain)


def test_nothing_is_left_behind_by_a_failed_aggregation(study, tmp_path):
    _, entries = study
    (tmp_path / "3.zarr.zip").unlink()
    before = {*tmp_path.iterdir(), tmp_path / "manifest.json"}
    with pytest.raises(UserError, match="1 trace is bad"):
        combine(tmp_path, entries, dask=Dask(settings={"runs_per_task": 1}))
    assert set(tmp_path.iterdir()) == before


def test_a_full_disk_is_an_error_in_one_sentence(study, tmp_path, monkeypatch):
    _, entries = study

    def full(*_args, **_kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Layout, "write_shard", full)
    with pytest.raises(UserError, match=r"cannot write .*out\.zarr\.zip: No space left"):
        combine(tmp_path, entries)
    assert not list(tmp_path.glob(".out*"))


def test_a_missing_shard_is_an_error_in_one_sentence(study, tmp_path):
    _, entries = study
    combine(tmp_path, entries, dask=Dask(settings={"runs_per_task": 2}))
    with (
        zipfile.ZipFile(tmp_path / "out.zarr.zip") as whole,
        zipfile.ZipFile(tmp_path / "part.zarr.zip", "w") as part,
    ):
        for name in whole.namelist():
            if name != "objective/c/1/0":
                part.writestr(whole.getinfo(name), whole.read(name))
    with (
        pytest.raises(
            UserError, match=r"part\.zarr\.zip is damaged \('objective/c/1/0' is missing"
        ),
        open_aggregate(tmp_path / "part.zarr.zip"),
    ):
        pass


def test_a_damaged_shard_is_reported_when_it_is_used(study, tmp_path):
    _, entries = study
    combine(tmp_path, entries)
    path = tmp_path / "out.zarr.zip"
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo("objective/c/0/0")
    content = bytearray(path.read_bytes())
    content[info.header_offset + 30 + len(info.filename) + 40] ^= 1
    path.write_bytes(content)
    with open_aggregate(path) as dataset:
        assert np.isfinite(dataset["test_nll"][0, 0])  # other curves can be read
    message = r"out\.zarr\.zip is damaged .*delete the file"
    with pytest.raises(UserError, match=message), open_aggregate(path) as dataset:
        dataset["objective"].load()


def test_the_message_lists_all_bad_traces(study, tmp_path):
    _, entries = study
    (tmp_path / "0.zarr.zip").unlink()
    (tmp_path / "1.zarr.zip").write_bytes(b"")
    entries[2]["spec_hash"] = "0" * 16
    entries[3]["code_hash"] = "0" * 16
    with pytest.raises(UserError) as caught:
        combine(tmp_path, entries)
    for k, sentence in enumerate(
        (
            "does not exist",
            "is truncated",
            "does not match the settings of this run",
            "was written by a different version",
        )
    ):
        assert f"{k}.zarr.zip {sentence}" in str(caught.value)
    assert "4 traces are bad" in str(caught.value)
    assert not (tmp_path / "out.zarr.zip").exists()
    assert len(find_bad_traces(entries)) == 4


def test_only_tuned_fields_may_differ_from_the_plan(tmp_path):
    trace = go(step=0.02)
    write_trace(tmp_path / "t.zarr.zip", trace)
    choice = {"step": 0.02, "init_scale": 1.0, "objective": 1.0, "trials": 6}
    choice |= {"diverged": 0, "iterations": 60, "seconds": 0.5, "note": "", "failed": None}
    (tmp_path / "choice.json").write_text(json.dumps(choice))
    expected = hash_values({**trace.spec, "step": None, "init_scale": None})
    tuned = entry(
        trace,
        tmp_path / "t.zarr.zip",
        choice=str(tmp_path / "choice.json"),
        tuned_fields=["init_scale", "step"],
        spec_hash=expected,
    )
    dataset = combine(tmp_path, [tuned])
    assert dataset["tuned"].values.tolist() == [True]
    assert dataset["tuning_trials"].values.tolist() == [6]
    assert not find_bad_traces([tuned])
    assert find_bad_traces([{**tuned, "spec_hash": "0" * 16}])


def test_an_invalid_manifest_is_an_error(tmp_path):
    (tmp_path / "m.json").write_text("[]")
    with pytest.raises(UserError, match="is not the manifest"):
        aggregate(tmp_path / "m.json", tmp_path / "out.zarr.zip")


def test_the_aggregate_contains_iterates_and_optima(tmp_path):
    settings = {"record": ("covariance_factor_path",), "snapshots": 4, "solver": "vn"}
    traces = [
        go(prepared(d=4), iterations=10, **settings),
        go(prepared(d=2), iterations=30, **settings),
        go(prepared(d=3), iterations=5, solver="vn"),
    ]
    optimum = find_optimum(spec().problem(), prepared(d=4))
    write_optimum(tmp_path / "optimum.zarr.zip", optimum)
    entries = []
    for k, trace in enumerate(traces):
        write_trace(tmp_path / f"{k}.zarr.zip", trace)
        best = str(tmp_path / "optimum.zarr.zip") if k == 0 else None
        entries.append(entry(trace, tmp_path / f"{k}.zarr.zip", optimum=best))
    dataset = combine(tmp_path, entries)
    first, second, third = (dataset.isel(run=k) for k in range(3))
    count = len(traces[0].snapshot)
    assert np.array_equal(first["snapshot_iteration"][:count], traces[0].snapshot)
    assert np.array_equal(first["path_mean"][:count], traces[0].mean)
    assert np.array_equal(
        first["path_covariance_factor"][:count], traces[0].factors["covariance_factor_path"]
    )
    assert np.array_equal(first["optimum_mean"], optimum.mean)
    assert np.array_equal(first["optimum_covariance_factor"], optimum.covariance_factor)
    assert first["smoothness"] == optimum.attrs["smoothness"]
    second_path = second["path_mean"][: len(traces[1].snapshot)]
    assert np.array_equal(second_path[:, :2], traces[1].mean)
    assert np.isnan(second_path[:, 2:]).all()
    assert np.isnan(third["path_mean"]).all()
    assert dataset["d"].values.tolist() == [4, 2, 3]


def test_runs_with_a_bound_are_measured_by_the_exact_objective(tmp_path):
    problem = spec().problem()
    bound = problem.replace(expectation="piecewise", pieces=4)
    for name, of in (("exact", problem), ("bound", bound)):
        write_optimum(tmp_path / f"{name}.zarr.zip", find_optimum(of, prepared()))
    settings = {"solver": "vn", "step": 0.5, "iterations": 60}
    approximate = {"expectation": "piecewise", "pieces": 4, "record": ("objective_exact",)}
    traces = [go(**settings), go(**settings, **approximate)]
    exact, own = str(tmp_path / "exact.zarr.zip"), str(tmp_path / "bound.zarr.zip")
    entries = []
    for k, (trace, optimum, exact_optimum) in enumerate(
        zip(traces, (exact, own), (None, exact), strict=True)
    ):
        write_trace(tmp_path / f"{k}.zarr.zip", trace)
        entries.append(
            entry(trace, tmp_path / f"{k}.zarr.zip", optimum=optimum, exact_optimum=exact_optimum)
        )
    combine(tmp_path, entries)
    with open_aggregate(tmp_path / "out.zarr.zip") as dataset:
        gaps = final_values(gap(dataset, "objective"))
        own_gap = dataset["objective"][1, -1] - dataset["optimum_objective"][1]
    assert gaps[0] < 1e-9
    assert abs(own_gap) < 1e-9
    # Minimising the bound gives a positive gap that is smaller than the error of the bound.
    assert 1e-6 < gaps[1] < 1.0


def test_all_files_of_a_row_are_relative_to_the_root(tmp_path, monkeypatch):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    trace = go(expectation="piecewise", record=("objective_exact",))
    write_trace(folder / "t.zarr.zip", trace)
    for name, expectation in (("own", "piecewise"), ("exact", "exact")):
        problem = spec(expectation=expectation).problem()
        write_optimum(folder / f"{name}.zarr.zip", find_optimum(problem, prepared()))
    choice = {"step": 0.01, "init_scale": 1.0, "objective": 1.0, "trials": 6}
    choice |= {"diverged": 0, "iterations": 60, "seconds": 0.5, "note": "", "failed": None}
    (folder / "choice.json").write_text(json.dumps(choice))
    (folder / "beta.json").write_text(json.dumps({"beta": 0.5, "edge": None}))
    files = {"choice": "choice.json", "beta_choice": "beta.json"}
    files |= {"optimum": "own.zarr.zip", "exact_optimum": "exact.zarr.zip"}
    monkeypatch.chdir(tmp_path)
    dataset = combine(tmp_path, [entry(trace, "t.zarr.zip", **files)], root=folder)
    assert np.isfinite(dataset["optimum_objective_exact"]).all()


def tuned_entry(folder, name, note="", edge=None):
    """Write a run with its choices and return its entry."""
    trace = go()
    write_trace(folder / f"{name}.zarr.zip", trace)
    choice = {"step": 0.01, "init_scale": 1.0, "objective": None, "trials": 6, "diverged": 0}
    choice |= {"iterations": 60, "seconds": 0.5, "note": note, "failed": None}
    (folder / f"{name}.json").write_text(json.dumps(choice))
    (folder / f"{name}-beta.json").write_text(json.dumps({"beta": 10.0, "edge": edge}))
    paths = {"choice": f"{name}.json", "beta_choice": f"{name}-beta.json"}
    return entry(
        trace,
        folder / f"{name}.zarr.zip",
        **{key: str(folder / path) for key, path in paths.items()},
    )


def test_notes_of_tuning_are_combined_into_one_text(tmp_path):
    plain = go(seed=3)
    write_trace(tmp_path / "plain.zarr.zip", plain)
    edge = "step 100 is the largest tried, after 4 extensions"
    entries = [
        entry(plain, tmp_path / "plain.zarr.zip"),
        tuned_entry(tmp_path, "fine"),
        tuned_entry(tmp_path, "edge", note=edge),
        tuned_entry(tmp_path, "both", note="no step worked", edge="largest"),
    ]
    dataset = combine(tmp_path, entries)
    assert dataset["tuning_note"].values.tolist() == [
        "",
        "",
        edge,
        "no step worked; beta 10 is the largest candidate",
    ]
    assert "tuning_note" in dataset.coords


def test_an_unknown_optimum_is_aggregated_with_its_reason(tmp_path):
    trace = go(solver="vn", step=0.5, iterations=60)
    write_trace(tmp_path / "t.zarr.zip", trace)
    best = tmp_path / "optimum.zarr.zip"
    error = NoOptimumError("no optimum found for 'test'")
    write_optimum(best, unknown_optimum(spec().problem(), prepared(), error))
    entries = [
        entry(trace, tmp_path / "t.zarr.zip", optimum=str(best)),
        entry(trace, tmp_path / "t.zarr.zip"),
    ]
    combine(tmp_path, entries)
    with open_aggregate(tmp_path / "out.zarr.zip") as dataset:
        assert dataset["optimum_note"].values.tolist() == ["no optimum found for 'test'", ""]
        assert np.isnan(dataset["optimum_objective"]).all()
        assert np.isnan(dataset["smoothness"]).all()
        # Gaps fall back to the best value seen.
        assert np.isfinite(gap(dataset, "objective").values).all()


def test_an_exact_run_has_two_equal_objectives():
    trace = go(record=("objective_exact",), model="non-convex")
    assert trace.scalars["objective_exact"] == pytest.approx(trace.scalars["objective"], rel=1e-13)
