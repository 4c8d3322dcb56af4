"""Test `gvibench show` on each kind of file and on files of other programs."""

import zipfile
from pathlib import Path

import pytest

from figures.made_aggregate import Run, write_aggregate
from gvibench import stages
from gvibench.cli.main import main
from gvibench.study.config import load_config
from gvibench.study.expand import expand

SMALL = ["--dataset", "synthetic", "--data-option", "n=60", "--data-option", "d=3"]
STUDY = {
    "datasets": {"synthetic": {"options": {"n": 60, "d": 3}}},
    "solvers": ["vn"],
    "iterations": 3,
    "seeds": 2,
    "pack": 2,
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(capsys, path):
    capsys.readouterr()
    assert main(["show", str(path)]) == 0
    return capsys.readouterr().out


def plan_of(**settings):
    plan = expand(load_config({"studies": {"s": {**STUDY, **settings}}}))
    for job in plan.data.values():
        assert stages.main(["prepare", "--job", job.params, "--out", job.path]) == 0
    return plan


def test_an_optimum(capsys):
    assert main(["optimum", *SMALL, "--out", "o.zarr.zip"]) == 0
    text = shown(capsys, "o.zarr.zip")
    assert text.startswith("optimum of synthetic: objective")
    assert "beta" in text
    assert "mean of 3 features" in text


def test_prepared_data(capsys):
    assert main(["prepare", *SMALL, "--out", "p.zarr.zip"]) == 0
    text = shown(capsys, "p.zarr.zip")
    assert "prepared data of synthetic: 48 training rows, 12 test rows, 3 features" in text


def test_a_packed_trace(capsys):
    (job,) = plan_of(step=0.1).runs.values()
    words = ["--job", job.params, "--data", job.data.path, "--out", job.path]
    assert stages.main(["run", *words]) == 0
    text = shown(capsys, job.path)
    assert text.startswith("2 runs in one file: 2 ")
    assert text.count("vn on synthetic") == 2


def test_the_trials_of_a_tuning_job(capsys):
    (tuning,) = plan_of(step="tuned").tuning.values()
    words = ["--job", tuning.params, "--data", tuning.data.path, "--out", tuning.choice]
    assert stages.main(["tune", *words]) == 0
    text = shown(capsys, tuning.trials)
    assert text.startswith("tuning of vn on synthetic")
    assert "steps  0.0001, " in text
    assert "lowest objective" in text


def test_an_aggregate_an_archive_and_a_page(capsys, folder):
    made = folder / "made"
    made.mkdir()
    path = write_aggregate(made, [Run([20.0, 12.0]), Run([20.0, 11.0], seed=1)])
    assert "2 runs x 2 records" in shown(capsys, path)
    for name in ("summary.md", "config.yaml"):
        (made / name).write_text(name)
    assert main(["export", "made", "--out", "a.zip"]) == 0
    assert shown(capsys, "a.zip").startswith("exported study")
    assert main(["compare", "made", "made", "--out", "c.html"]) == 0
    assert "open c.html in a browser" in shown(capsys, "c.html")


def zipped(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("thesis.txt", "years of work")


@pytest.mark.parametrize(
    ("name", "make", "sentence"),
    [
        ("README.md", lambda path: path.write_text("# Mine"), "is not a gvibench file"),
        ("t.zarr.zip", lambda path: path.write_bytes(b"PK\x03\x04"), "is not a gvibench file"),
        ("any.zip", zipped, "is not a gvibench file"),
        ("page.html", lambda path: path.write_text("<html>"), "is not a gvibench file"),
        ("empty", lambda path: path.touch(), "is not a gvibench file"),
        ("folder", lambda path: path.mkdir(), "is a folder"),
        ("missing", lambda path: None, "does not exist"),
    ],
)
def test_files_of_other_programs_are_not_called_corrupt(capsys, name, make, sentence):
    make(Path(name))
    assert main(["show", name]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"gvibench: {name} {sentence}")
    assert "delete" not in message


@pytest.mark.parametrize("name", ["README.md", "any.zip"])
def test_no_command_suggests_deleting_a_file_of_another_program(capsys, name):
    (zipped if name.endswith("zip") else lambda path: path.write_text("# Mine"))(Path(name))
    run = ["run", *SMALL, "--solver", "vn", "--step", "0.1", "--out", "t.zarr.zip"]
    for words in ([*run, "--data", name], ["compare", name, name, "--out", "c.html"]):
        assert main(words) == 2
        assert "delete" not in capsys.readouterr().err


def test_a_similar_file_name_is_suggested(capsys):
    Path("trace.zarr.zip").touch()
    assert main(["show", "trac.zarr.zip"]) == 2
    assert "did you mean 'trace.zarr.zip'?" in capsys.readouterr().err
