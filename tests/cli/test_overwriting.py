"""Test that commands do not overwrite files that gvibench did not write."""

import json
import zipfile
from pathlib import Path

import pytest

from figures.made_aggregate import Run, write_aggregate
from gvibench.cli.main import main
from gvibench.store import kinds

SMALL = ["--dataset", "synthetic", "--data-option", "n=60", "--data-option", "d=3"]
RUN = ["run", *SMALL, "--solver", "vn", "--step", "0.1", "--iterations", "2"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "made"
    folder.mkdir()
    write_aggregate(folder, [Run([20.0, 12.0]), Run([20.0, 11.0], seed=1)])
    for name in ("summary.md", "config.yaml"):
        (folder / name).write_text(name)
    return str(folder)


def commands(study):
    return {
        "run": (RUN, ".zarr.zip"),
        "optimum": (["optimum", *SMALL], ".zarr.zip"),
        "prepare": (["prepare", *SMALL], ".zarr.zip"),
        "compare": (["compare", study, study], ".html"),
        "export": (["export", study], ".zip"),
    }


NAMES = list(commands(""))


def other_zarr(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("zarr.json", json.dumps({"zarr_format": 3, "node_type": "group"}))


def other_zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "my notes")


OTHERS = {
    "text": lambda path: path.write_text("my notes"),
    "page": lambda path: path.write_text("<!doctype html><html><title>My notes</title></html>"),
    "zip": other_zip,
    "zarr": other_zarr,
    "empty": lambda path: path.touch(),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", OTHERS)
def test_a_file_of_another_kind_is_not_overwritten(study, capsys, name, kind):
    words, ending = commands(study)[name]
    out = Path(f"mine{ending}")
    OTHERS[kind](out)
    before = out.read_bytes()
    assert main([*words, "--out", str(out)]) == 2
    assert "--force" in capsys.readouterr().err
    assert out.read_bytes() == before


@pytest.mark.parametrize("name", NAMES)
def test_the_same_kind_is_overwritten_and_force_overwrites_any(study, name):
    words, ending = commands(study)[name]
    out = Path(f"mine{ending}")
    OTHERS["text"](out)
    assert main([*words, "--out", str(out), "--force"]) == 0
    assert kinds.kind_of(out) is not None
    assert main([*words, "--out", str(out)]) == 0


def test_an_optimum_does_not_overwrite_a_trace(capsys):
    assert main([*RUN, "--out", "t.zarr.zip"]) == 0
    before = Path("t.zarr.zip").read_bytes()
    assert main(["optimum", *SMALL, "--out", "t.zarr.zip"]) == 2
    assert "is not an optimum of gvibench" in capsys.readouterr().err
    assert Path("t.zarr.zip").read_bytes() == before


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("out", ["notes.md", "notes", "notes.zarr", ".zip", ".html", ".zarr.zip"])
def test_a_wrong_extension_is_an_error(study, capsys, name, out):
    words, ending = commands(study)[name]
    assert main([*words, "--out", out, "--force"]) == 2
    assert f"must end with {ending}" in capsys.readouterr().err
    assert not Path(out).exists()


def test_an_archive_cannot_have_the_extension_of_a_store(study):
    assert main(["export", study, "--out", "a.zarr.zip"]) == 2


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_is_never_replaced(study, name):
    words, ending = commands(study)[name]
    out = Path(f"mine{ending}")
    out.mkdir()
    (out / "notes.txt").touch()
    assert main([*words, "--out", str(out), "--force"]) == 2
    assert (out / "notes.txt").exists()


def test_a_command_that_fails_keeps_the_old_file(study):
    assert main([*RUN, "--out", "t.zarr.zip"]) == 0
    before = Path("t.zarr.zip").read_bytes()
    assert main([*RUN, "--data", "missing.zarr.zip", "--out", "t.zarr.zip", "--force"]) == 2
    assert Path("t.zarr.zip").read_bytes() == before
