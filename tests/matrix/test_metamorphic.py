"""Changes that must not affect the conclusions of a study, such as names and orders."""

import re
from pathlib import Path

import pytest
import xarray as xr

from gvibench.report.findings import best_sentences
from gvibench.store.aggregates import open_aggregate
from gvibench.tables.performance import values_of
from matrix.driver import plan_of, run_plan

STUDY = {
    "datasets": {"wdbc": {"train_size": 150}},
    "solvers": {"vn": {}, "sr-vn": {}, "bw-gd": {"step": [0.001, 0.01]}},
    "step": [0.1, 0.3],
    "init_scale": 0.3,
    "iterations": 120,
    "seeds": 3,
    "figures": [],
    "tables": ["performance"],
}


def dataset_of(folder, study, monkeypatch):
    """Run a study and return its aggregate."""
    folder.mkdir()
    monkeypatch.chdir(folder)
    outcome = run_plan(plan_of({"s": study}))
    assert outcome.failures == []
    with open_aggregate(Path("results/s/aggregate.zarr.zip")) as dataset:
        return dataset.load()


def conclusions(dataset):
    """Return the sentences on the best solvers, without times, which differ between runs."""
    return [
        re.sub(r"(evaluations) \([-+.\de]+ s\)", r"\1", sentence)
        for sentence in best_sentences(values_of(dataset))
    ]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        return dataset_of(tmp_path_factory.mktemp("base") / "study", STUDY, patch)


def winners(dataset):
    return [re.search(r"\*\*(.*?)\*\* \((.*?)\)", line).groups() for line in conclusions(dataset)]


@pytest.mark.slow
def test_relabelling_solvers(base, tmp_path, monkeypatch):
    names = {"vn": "zeta", "sr-vn": "alpha", "bw-gd": "mid"}
    solvers = {names[key]: {"solver": key, **more} for key, more in STUDY["solvers"].items()}
    other = dataset_of(tmp_path / "study", {**STUDY, "solvers": solvers}, monkeypatch)
    titles = {"zeta": "VN", "alpha": "SR-VN", "mid": "BW-GD"}
    renamed = [
        re.sub(r"\b(zeta|alpha|mid)\b", lambda match: titles[match.group()], line)
        for line in conclusions(other)
    ]
    assert list(map(_unordered, renamed)) == list(map(_unordered, conclusions(base)))


def _unordered(sentence):
    """Return the sorted words, because the order of solvers depends on their names."""
    return sorted(re.split(r"[ ,;.]+", sentence))


@pytest.mark.slow
def test_permuting_seeds(base, tmp_path, monkeypatch):
    other = dataset_of(tmp_path / "study", {**STUDY, "seeds": [2, 0, 1]}, monkeypatch)
    assert conclusions(other) == conclusions(base)


@pytest.mark.slow
def test_permuting_runs(base):
    order = list(range(base.sizes["run"]))[::-1]
    reversed_runs = base.isel(run=order)
    assert sorted(map(_unordered, conclusions(reversed_runs))) == sorted(
        map(_unordered, conclusions(base))
    )


@pytest.mark.slow
@pytest.mark.parametrize("run", [0, 7, -1])
def test_duplicating_a_run(base, run):
    doubled = xr.concat([base, base.isel(run=[run])], dim="run", data_vars="minimal")
    assert conclusions(doubled) == conclusions(base)


@pytest.mark.slow
@pytest.mark.parametrize("every", [2, 5, "log"])
def test_recording_less_often(base, every, tmp_path, monkeypatch):
    other = dataset_of(tmp_path / "study", {**STUDY, "record_every": every}, monkeypatch)
    assert winners(other) == winners(base)


@pytest.mark.slow
def test_adding_an_unrelated_data_set(base, tmp_path, monkeypatch):
    datasets = {**STUDY["datasets"], "synthetic": {"options": {"n": 80, "d": 3}}}
    other = dataset_of(tmp_path / "study", {**STUDY, "datasets": datasets}, monkeypatch)
    assert [line for line in conclusions(other) if line.startswith("wdbc")] == conclusions(base)


@pytest.mark.slow
def test_packing_runs(base, tmp_path, monkeypatch):
    other = dataset_of(tmp_path / "study", {**STUDY, "pack": 3}, monkeypatch)
    assert winners(other) == winners(base)
