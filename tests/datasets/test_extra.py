"""Test that only data sets from files and servers need the extra `data`, with a clear message."""

import subprocess
import sys

import numpy as np
import pytest
import yaml
from loading import load

from gvibench.cli.main import main
from gvibench.datasets.build import build
from gvibench.datasets.split import split_rows
from gvibench.errors import UserError
from gvibench.spec.run import DataSpec
from gvibench.store.prepared import read_prepared
from gvibench.study import extras
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


@pytest.mark.parametrize(
    ("config", "count"),
    [
        ("config/config.yaml", 3),
        pytest.param("config/benchmark.yaml", 28, marks=pytest.mark.slow),
    ],
)
def test_the_default_study_and_the_benchmark_do_not_need_the_extra(config, count, tmp_path):
    plan = expand(load_config(read_yaml(ROOT / config)))
    assert len({job.spec.dataset for job in plan.data.values()}) == count
    for number, job in enumerate(plan.data.values()):
        build(job.spec, tmp_path / f"{number}.zarr.zip")
        assert read_prepared(tmp_path / f"{number}.zarr.zip").train_x.shape[0] >= 50


def test_svmlight_files_need_the_extra(own_file):
    with pytest.raises(UserError, match=f"reading svmlight files {EXTRA}"):
        load({"dataset": "mine", "path": str(own_file)})


def test_downloads_need_the_extra(monkeypatch, tmp_path):
    monkeypatch.setenv("GVIBENCH_CACHE", str(tmp_path))
    monkeypatch.setenv("GVIBENCH_DATA", "http://127.0.0.1:9")
    with pytest.raises(UserError, match=f"downloading http.*/phishing {EXTRA}"):
        load({"dataset": "phishing"})


def test_wrong_sizes_are_not_blamed_on_the_extra():
    spec = DataSpec(dataset="toy", split="sklearn", train_size=99, test_size=2)
    with pytest.raises(UserError, match="100 rows of 'toy' into 99 training and 2 test rows"):
        split_rows(spec, 100, 0, None)


DATA_THAT_NEED_THE_EXTRA = {
    "a LIBSVM data set": ({"phishing": {}}, "reading LIBSVM files"),
    "MNIST from LIBSVM": ({"mnist": {"options": {"source": "libsvm"}}}, "reading LIBSVM files"),
    "a download": ({"mnist": {}}, "downloading files"),
    "an svmlight file": ({"mine": {"path": "own.svm"}}, "reading svmlight files"),
}
OTHER_DATA = {
    "synthetic": {"model": "linear", "split": "random"},
    "wdbc": {"split": "sklearn"},
    "sonar": {"split": "random"},
    "mine": {"path": "own.npz"},
}


@pytest.fixture
def config_of(tmp_path, monkeypatch):
    """A function that writes the config of a study with given data sets."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GVIBENCH_DATA", raising=False)
    monkeypatch.setenv("GVIBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "own.svm").write_text("1 1:0.5\n-1 1:1\n" * 10)
    np.savez(tmp_path / "own.npz", X=np.ones((20, 1)), y=np.arange(20) % 2)

    def write(datasets):
        study = {"datasets": datasets, "solvers": ["vn"], "step": 0.1, "beta": 1.0}
        study |= {"iterations": 3, "seeds": 1}
        (tmp_path / "c.yaml").write_text(yaml.safe_dump({"studies": {"s": study}}))
        return tmp_path / "c.yaml"

    return write


@pytest.mark.parametrize("kind", DATA_THAT_NEED_THE_EXTRA)
def test_plan_names_the_missing_extra_in_one_sentence(config_of, capsys, kind):
    datasets, purpose = DATA_THAT_NEED_THE_EXTRA[kind]
    assert main(["plan", str(config_of(datasets))]) == 2
    printed = capsys.readouterr().err.strip()
    assert f"data set '{next(iter(datasets))}' needs " in printed
    assert f"for {purpose}, and it is not installed: pip install 'gvibench[data]'" in printed
    assert "\n" not in printed


@pytest.mark.parametrize("name", OTHER_DATA)
def test_plan_accepts_data_that_do_not_need_the_extra(config_of, name):
    assert main(["plan", str(config_of({name: OTHER_DATA[name]}))]) == 0


def test_plan_accepts_files_that_are_not_downloaded(config_of, monkeypatch, tmp_path):
    monkeypatch.setenv("GVIBENCH_DATA", str(tmp_path))
    assert main(["plan", str(config_of({"mnist": {}}))]) == 0


def test_plan_accepts_data_that_are_prepared_already(config_of, tmp_path):
    config = config_of({"phishing": {}})
    [path] = expand(load_config(read_yaml(config))).data
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).touch()
    assert main(["plan", str(config)]) == 0


def test_snakemake_names_the_missing_extra_before_the_first_job(config_of, tmp_path):
    """An import hook of a new process hides the packages, as if they were not installed."""
    config_of({"phishing": {}})
    (tmp_path / "hide.py").write_text(HIDE)
    words = ["-s", str(ROOT / "Snakefile"), "--configfile", "c.yaml", "--cores", "1"]
    done = subprocess.run(
        [sys.executable, "hide.py", *words], capture_output=True, text=True, check=False
    )
    output = done.stdout + done.stderr
    assert done.returncode != 0
    assert "needs scikit-learn for reading LIBSVM files" in output
    assert "rule prepare_data" not in output
    assert not list(tmp_path.glob("results/**/*.zarr.zip"))


HIDE = """
import sys
sys.modules.update(dict.fromkeys(["sklearn", "pooch", "tqdm"]))
from snakemake.cli import main
main()
"""


def test_a_command_prints_one_sentence(own_file, capsys, tmp_path):
    words = f"run --dataset mine --path {own_file} --solver vn --step 0.1 --beta 1 --iterations 1"
    assert main([*words.split(), "--out", str(tmp_path / "t.zarr.zip")]) == 2
    printed = capsys.readouterr().err.strip()
    assert printed.endswith("reading svmlight files needs: pip install 'gvibench[data]'")
    assert "\n" not in printed


def test_csv_files_do_not_need_the_extra(tmp_path):
    rows = [f"{k},{'ab'[k % 2]},{k % 3 % 2}" for k in range(30)]
    (tmp_path / "a.csv").write_text("\n".join(["x,kind,y", *rows]))
    source = load({"dataset": "mine", "path": str(tmp_path / "a.csv")})
    assert list(source.feature_names) == ["x", "kind=b"]


def test_the_plan_names_the_package_for_parquet_files(tmp_path, monkeypatch, capsys):
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    found = extras.find_spec
    monkeypatch.setattr(
        extras, "find_spec", lambda name: None if name == "pyarrow" else found(name)
    )
    data = {"mine": {"path": str(tmp_path / "a.parquet")}}
    config = {"studies": {"s": {"datasets": data, "solvers": ["vn"], "figures": []}}}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(config))
    assert main(["plan", str(tmp_path / "c.yaml")]) == 2
    assert "needs pyarrow for reading Parquet files" in capsys.readouterr().err
