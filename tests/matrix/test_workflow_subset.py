"""A subset of the settings, run by Snakemake from the config to the report."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from matrix.driver import missing_files, plan_of
from matrix.recompute import check_performance, check_summary
from matrix.settings import BASE

ROOT = Path(__file__).parents[2]
STUDIES = {
    "cpu": {
        "device": "cpu",
        "figures": ["gap", "profile", "ecdf"],
        "tables": ["performance", "winners"],
    },
    "devices": {"vary": {"device": ["cpu", "auto"]}, "pack": 2},
    "seconds": {"vary": {"seconds": [1.0, 2.0]}, "figures": ["time"]},
    "cold": {"gamma": 0.01, "figures": ["gap"]},
    "bounds": {
        "expectation": "piecewise",
        "record": ["objective_exact"],
        "vary": {"pieces": [4, 10]},
        "figures": ["bias", "test"],
    },
    "plane": {
        "datasets": {"synthetic": {"options": {"n": 40, "d": 2, "targets": "real"}}},
        "model": "linear",
        "record": ["covariance_factor_path"],
        "figures": ["path"],
        "tables": ["performance", "datasets"],
    },
    "tuned": {
        "step": "tuned",
        "beta": "tuned",
        "tuning": {"rounds": 1, "seeds": [1000], "betas": [0.1, 1.0]},
        "solvers": {"vn": {}, "gd": {}},
    },
    "diverged": {"solvers": {"gd": {"step": [1e-4, 100.0]}}, "figures": ["sensitivity", "heatmap"]},
}


@pytest.mark.slow
def test_snakemake_runs_a_subset_of_the_settings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    studies = {name: {**BASE, **changes} for name, changes in STUDIES.items()}
    style = {"center": "geometric", "width": "column"}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({"studies": studies, "style": style}))
    command = [sys.executable, "-m", "snakemake", "-s", str(ROOT / "Snakefile"), "--cores", "2"]
    done = subprocess.run(
        [*command, "--configfile", "c.yaml"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    plan = plan_of(studies)
    for name in studies:
        assert missing_files(plan, name) == []
        assert check_performance("results", name) > 0
        assert check_summary("results", name) > 0
    # A second run has nothing to do.
    again = subprocess.run(
        [*command, "--configfile", "c.yaml", "--dry-run"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Nothing to be done" in again.stdout + again.stderr
