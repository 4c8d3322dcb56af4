"""Test that only data sets from files and servers need the extra `data`, with a clear message."""

import sys

import numpy as np
import pytest
from loading import load

from gvibench.cli.main import main
from gvibench.datasets.build import build
from gvibench.datasets.split import split_rows
from gvibench.errors import UserError
from gvibench.spec.run import DataSpec
from gvibench.store.prepared import read_prepared
from gvibench.study.config import load_config
from gvibench.study.expand import expand
from gvibench.study.yaml_file import read_yaml
from workflow.project import ROOT

EXTRA = r"needs: pip install 'gvibench\[data\]'"


@pytest.fixture(autouse=True)
def _without_the_extra(monkeypatch):
    for name in list(sys.modules):
        if name.partition(".")[0] in {"sklearn", "pooch", "tqdm"}:
            monkeypatch.delitem(sys.modules, name)
    for name in ("sklearn", "pooch", "tqdm"):
        monkeypatch.setitem(sys.modules, name, None)  # an import raises ImportError


def test_the_default_study_does_not_need_the_extra(tmp_path):
    plan = expand(load_config(read_yaml(ROOT / "config/config.yaml")))
    assert {job.spec.dataset for job in plan.data.values()} >= {"wdbc", "digits-odd-even"}
    for number, job in enumerate(plan.data.values()):
        build(job.spec, tmp_path / f"{number}.zarr.zip")
        assert read_prepared(tmp_path / f"{number}.zarr.zip").train_x.shape[0] > 100


def test_svmlight_files_need_the_extra(own_file):
    with pytest.raises(UserError, match=f"reading svmlight files {EXTRA}"):
        load({"dataset": "mine", "path": str(own_file)})


def test_downloads_need_the_extra(monkeypatch, tmp_path):
    monkeypatch.setenv("GVIBENCH_CACHE", str(tmp_path))
    monkeypatch.setenv("GVIBENCH_DATA", "http://127.0.0.1:9")
    with pytest.raises(UserError, match=f"downloading http.*/phishing {EXTRA}"):
        load({"dataset": "phishing"})


def test_stratified_splits_need_the_extra():
    strata = np.where(np.arange(100) % 3 == 0, 1.0, -1.0)
    spec = DataSpec(dataset="toy", split="random", test_size=0.2)
    with pytest.raises(UserError, match=f"split 'random' {EXTRA}"):
        split_rows(spec, 100, 0, strata)


def test_wrong_sizes_are_not_blamed_on_the_extra():
    spec = DataSpec(dataset="toy", split="sklearn", train_size=99, test_size=2)
    with pytest.raises(UserError, match="100 rows of 'toy' into train_size 99 and test_size 2"):
        split_rows(spec, 100, 0, None)


def test_a_command_prints_one_sentence(own_file, capsys, tmp_path):
    words = f"run --dataset mine --path {own_file} --solver vn --step 0.1 --beta 1 --iterations 1"
    assert main([*words.split(), "--out", str(tmp_path / "t.zarr.zip")]) == 2
    printed = capsys.readouterr().err.strip()
    assert printed.endswith("reading svmlight files needs: pip install 'gvibench[data]'")
    assert "\n" not in printed
