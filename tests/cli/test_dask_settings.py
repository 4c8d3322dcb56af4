"""Test that invalid settings of Dask are rejected with one sentence before anything runs."""

import pytest
import yaml

from gvibench.cli.main import main

STUDY = {"datasets": ["wdbc"], "solvers": ["vn"], "step": 0.1}
INVALID = {
    "two places": (
        {"local": {}, "slurm": {}},
        "has local and slurm: choose one of them (at dask)",
    ),
    "memory": (
        {"local": {"memory": "2 potatoes"}},
        "'dask.local.memory' is not a size of memory: write for example 2GB",
    ),
    "range": (
        {"slurm": {"workers": {"min": 5, "max": 2}}},
        "min 5 is larger than max 2",
    ),
    "time": (
        {"slurm": {"walltime": "1h"}},
        "'dask.slurm.walltime' is not a time: write for example \"01:00:00\"",
    ),
    "no workers": ({"local": {"workers": 0}}, "'dask.local.workers'"),
    "misspelt key": (
        {"scheduler_adress": "tcp://host:8786"},
        "unknown key 'dask.scheduler_adress' (did you mean 'scheduler_address'?)",
    ),
    "misspelt key of workers": (
        {"local": {"worker": 2}},
        "unknown key 'dask.local.worker' (did you mean 'workers'?)",
    ),
    "misspelt key of Slurm": (
        {"slurm": {"partitions": "long"}},
        "unknown key 'dask.slurm.partitions' (did you mean 'partition'?)",
    ),
    "misspelt key of a range": (
        {"slurm": {"workers": {"mini": 1}}},
        "unknown key 'dask.slurm.workers.mini' (did you mean 'min'?)",
    ),
}


@pytest.fixture
def plan(tmp_path):
    def run(dask):
        path = tmp_path / "config.yaml"
        path.write_text(yaml.safe_dump({"studies": {"s": STUDY}, "dask": dask}))
        return main(["plan", str(path)])

    return run


@pytest.mark.parametrize("case", INVALID)
def test_invalid_settings_give_one_sentence(plan, capsys, case):
    dask, message = INVALID[case]
    assert plan(dask) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert message in line


@pytest.mark.parametrize(
    "dask",
    [
        {},
        {"local": {"workers": 2, "memory": "1.5 GiB"}, "runs_per_task": 4, "retries": 0},
        {"slurm": {"workers": {"min": 0, "max": 32}, "cores": 4, "walltime": "1-00:00:00"}},
        {"scheduler_address": "tcp://host:8786", "dashboard": False},
    ],
)
def test_valid_settings(plan, dask):
    assert plan(dask) == 0
