import json

import numpy as np
import pytest
import xarray as xr

from gvibench import aggregate as module
from gvibench.aggregate import aggregate, check
from gvibench.errors import UserError
from gvibench.traces import group_name, to_group, write_trace
from gvibench.zarrzip import Group, write_zip
from test_run import go


def entry(trace, path, group=None, **changes):
    return {
        "path": str(path),
        "group": group,
        "dataset": "test",
        "solver": trace.spec["solver"],
        "seed": trace.spec["seed"],
        "choice": None,
        "opened": [],
        "spec_hash": trace.attrs["spec_hash"],
        "code_hash": trace.attrs["code_hash"],
        "optimum": None,
        **changes,
    }


@pytest.fixture
def study(tmp_path):
    """Ragged runs, one of them diverged, one with an extra record."""
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
    path.write_text(json.dumps({"study": "s", "title": "", "gap": "optimum", "runs": entries}))
    return path


def combine(folder, entries, **options):
    aggregate(write_manifest(folder, entries), folder / "out.zarr.zip", **options)
    with xr.open_dataset(folder / "out.zarr.zip") as dataset:
        return dataset.load()


def test_every_number_is_where_it_belongs(study, tmp_path):
    traces, entries = study
    dataset = combine(tmp_path, entries)
    assert dataset["objective"].dims == ("run", "iteration")
    for k, trace in enumerate(traces):
        for name, values in trace.scalars.items():
            row = dataset[name][k]
            assert np.array_equal(row.sel(iteration=trace.iteration), values)
            others = ~dataset["iteration"].isin(trace.iteration)
            assert row[others].isnull().all()
    assert dataset["factor_norm"][:3].isnull().all()


def test_spec_fields_that_vary_are_coordinates(study, tmp_path):
    _, entries = study
    dataset = combine(tmp_path, entries)
    assert dataset["solver"].values.tolist() == ["vn", "vn", "gd", "sr-vn"]
    assert dataset["gamma"].values.tolist() == [1.0, 1.0, 1.0, 0.5]
    assert dataset["iterations"].values.tolist() == [10, 25, 20, 3]
    assert dataset["status"].values.tolist() == ["completed", "completed", "diverged", "completed"]
    assert dataset["record"].values.tolist() == ["[]", "[]", "[]", '["factor_norm"]']
    assert "threads" in dataset
    assert "nodes" not in dataset


def test_packed_runs_are_the_same_as_single_ones(study, tmp_path):
    traces, entries = study
    pack = Group({"kind": "gvibench packed traces"})
    for trace in traces[:2]:
        pack.groups[group_name(trace.spec["seed"])] = to_group(trace)
    write_zip(tmp_path / "pack.zarr.zip", pack)
    packed = [
        entry(trace, tmp_path / "pack.zarr.zip", group_name(trace.spec["seed"]))
        for trace in traces[:2]
    ]
    assert combine(tmp_path, packed + entries[2:]).identical(combine(tmp_path, entries))


def test_chunks_and_dask_change_nothing(study, tmp_path, monkeypatch):
    _, entries = study
    plain = combine(tmp_path, entries * 3)
    monkeypatch.setattr(module, "RUNS_PER_TASK", 5)
    monkeypatch.setattr(module, "IN_PROCESS", 0)
    assert combine(tmp_path, entries * 3).identical(plain)


def test_bad_traces_are_all_named(study, tmp_path):
    _, entries = study
    (tmp_path / "0.zarr.zip").unlink()
    (tmp_path / "1.zarr.zip").write_bytes(b"")
    entries[2]["spec_hash"] = "0" * 16
    entries[3]["code_hash"] = "0" * 16
    with pytest.raises(UserError) as caught:
        combine(tmp_path, entries)
    for k, sentence in enumerate(
        ("does not exist", "is cut off", "is of another run", "was made by other code")
    ):
        assert f"{k}.zarr.zip {sentence}" in str(caught.value)
    assert "4 traces are bad" in str(caught.value)
    assert not (tmp_path / "out.zarr.zip").exists()
    assert len(check(entries)) == 4


def test_a_tuned_run_may_have_any_step_but_nothing_else(tmp_path):
    from gvibench.spec import hash_values

    trace = go(step=0.02)
    write_trace(tmp_path / "t.zarr.zip", trace)
    choice = {"step": 0.02, "init_scale": 1.0, "objective": 1.0, "trials": 6}
    choice |= {"diverged": 0, "iterations": 60, "seconds": 0.5}
    (tmp_path / "choice.json").write_text(json.dumps(choice))
    expected = hash_values({**trace.spec, "step": None, "init_scale": None})
    tuned = entry(
        trace,
        tmp_path / "t.zarr.zip",
        choice=str(tmp_path / "choice.json"),
        opened=["init_scale", "step"],
        spec_hash=expected,
    )
    dataset = combine(tmp_path, [tuned])
    assert dataset["tuned"].values.tolist() == [True]
    assert dataset["tuning_trials"].values.tolist() == [6]
    assert not check([tuned])
    assert check([{**tuned, "spec_hash": "0" * 16}])


def test_a_file_that_is_no_manifest(tmp_path):
    (tmp_path / "m.json").write_text("[]")
    with pytest.raises(UserError, match="is not the manifest"):
        aggregate(tmp_path / "m.json", tmp_path / "out.zarr.zip")
