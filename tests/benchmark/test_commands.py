"""Test the commands `benchmark` and `score` as users call them."""

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gvibench.benchmark.enter import entry_config, require_rules
from gvibench.benchmark.instances import read_benchmark, study_of
from gvibench.cli.main import main
from gvibench.errors import Interrupted, UserError
from gvibench.solvers.sr_vn import SrVn
from gvibench.study.config import load_config

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Return a copy of the workflow with the config of the benchmark."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("Snakefile", "rules", "profiles", "envs"):
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / name)
    (folder / "config").mkdir()
    shutil.copy(ROOT / "config/benchmark.yaml", folder / "config")
    return folder


@pytest.fixture
def inside(project, monkeypatch):
    monkeypatch.chdir(project)
    return project


def traces(project):
    """Return the traces of new entries."""
    return sorted((project / "results/benchmark-entries").glob("*/*/runs/**/*.zarr.zip"))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["benchmark"], "name a solver, or use --export"),
        (["benchmark", "vnn"], "unknown solver 'vnn' .did you mean 'vn'"),
        (["benchmark", "vn", "--settings", "[1]"], "--settings should be a mapping"),
        (["benchmark", "vn", "--settings", "{a"], "--settings is not valid YAML"),
        (["benchmark", "vn", "--settings", "{stepp: 1}"], "'stepp' is fixed .*mean 'step'"),
        (["benchmark", "vn", "--settings", "{beta: 9}"], "'beta' is fixed by the track"),
        (["benchmark", "vn", "--settings", "{step: tuned}"], "'step' should be one value"),
        (["benchmark", "vn", "--settings", "{step: [0.1, 1]}"], "'step' should be one value"),
        (
            ["benchmark", "vn", "--settings", "{step: {rule: decay, step: [0.1, 1]}}"],
            "'step' should be one value",
        ),
        (["benchmark", "vn", "--settings", "{1: 2}"], "'1' is fixed by the track"),
        (["benchmark", "vn", "--settings", "{step: 2001-99-99}"], "--settings is not valid YAML"),
        (["benchmark", "bam"], "'bam' sets expectation to 'stochastic'.*use --track B or C"),
        (["benchmark", "advi", "--settings", "{step: 0.1}"], "'advi' sets expectation"),
        (["benchmark", "vn", "--name", "../../config/benchmark"], "config/benchmark"),
        (["benchmark", "vn", "--name", "my solver"], "my solver"),
        (["benchmark", "vnn", "--verify"], "'vnn' is not an entry of track A"),
        (["score", "nowhere"], "nowhere"),
    ],
)
def test_invalid_words_give_one_sentence(inside, capsys, words, sentence):
    assert main(words) == 2
    error = capsys.readouterr().err
    assert re.search(sentence, error), error
    assert len(error.strip().splitlines()) == 1
    assert not list(inside.glob("results/**/*.yaml"))


def test_a_changed_config_is_rejected(tmp_path, monkeypatch, capsys):
    """Results under other rules cannot be compared with the archive."""
    (tmp_path / "config").mkdir()
    text = (ROOT / "config/benchmark.yaml").read_text()
    changed = text.replace("passes: 1000.0", "passes: 2000.0")
    (tmp_path / "config/benchmark.yaml").write_text(changed)
    monkeypatch.chdir(tmp_path)
    for words in (["benchmark", "vn"], ["score", "."], ["benchmark", "--export", "problems"]):
        assert main(words) == 2
        assert "has other rules than gvi-bench" in capsys.readouterr().err


def test_a_solver_may_not_change_the_problems(monkeypatch):
    monkeypatch.chdir(ROOT)
    config = read_benchmark()
    monkeypatch.setattr(SrVn, "defaults", {"gamma": 0.5})
    values = entry_config("sr-vn", "A", {}, "mine")
    study = load_config(values).studies["mine"]
    with pytest.raises(UserError, match=r"'mine' sets gamma to '0\.5', but the track fixes"):
        require_rules(study, study_of(config, "A"))


def test_outside_a_clone_the_commands_say_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["benchmark", "vn"]) == 2
    assert "run the command in a clone of gvibench" in capsys.readouterr().err


@pytest.mark.slow
def test_a_new_solver_is_run_and_compared_with_the_archive(inside, capsys):
    """The first command is stopped. The second one keeps what the first one has finished."""
    words = ["benchmark", "vn", "--name", "half-steps", "--settings", "{step: 0.5}"]
    command = [sys.executable, "-m", "gvibench", *words]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as first:
        while len(traces(inside)) < 8:
            assert first.poll() is None
            time.sleep(0.2)
        first.terminate()
    assert first.returncode == Interrupted.TRY_AGAIN
    # Snakemake removes the outputs of the jobs that it has stopped.
    finished = {path: path.stat().st_mtime_ns for path in traces(inside)}
    assert len(finished) >= 4
    assert main(words) == 0
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    shown = capsys.readouterr().out
    assert "half-steps" in shown
    assert "VN-PD" in shown
    folder = inside / "results/benchmark-entries/track-a/half-steps"
    for name in ("comparison.csv", "comparison.png", "report/index.html"):
        assert (folder / name).stat().st_size > 0
    before = (folder / "aggregate.zarr.zip").stat().st_mtime_ns
    assert main(words) == 0  # nothing is run again
    assert (folder / "aggregate.zarr.zip").stat().st_mtime_ns == before


@pytest.mark.slow
def test_a_folder_of_an_adapter_is_scored(inside, tmp_path, capsys):
    assert main(["benchmark", "--export", str(tmp_path / "problems")]) == 0
    names = json.loads((tmp_path / "problems/problems.json").read_text())["instances"]["A"]
    chosen = [name for name in names if name.startswith("haberman.identity")]
    script = ROOT / "examples/adapters/plain_numpy.py"
    words = ["python", script, tmp_path / "problems", tmp_path / "out", *chosen]
    subprocess.run(words, check=True)
    assert main(["score", str(tmp_path / "out")]) == 0
    assert "(unverified)" in capsys.readouterr().out
