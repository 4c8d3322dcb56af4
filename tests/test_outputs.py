"""No command destroys what it did not make."""

import json
import zipfile
from pathlib import Path

import pytest
import yaml

from figures.made_aggregate import Run, write_aggregate
from gvibench.cli.main import main
from gvibench.errors import UserError
from gvibench.report import gallery
from gvibench.store import kinds

ROOT = Path(__file__).parents[1]
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
        archive.writestr("thesis.txt", "years of work")


OTHERS = {
    "text": lambda path: path.write_text("years of work"),
    "page": lambda path: path.write_text("<!doctype html><html><title>My thesis</title></html>"),
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


def test_kinds_do_not_overwrite_each_other(capsys):
    assert main([*RUN, "--out", "t.zarr.zip"]) == 0
    before = Path("t.zarr.zip").read_bytes()
    assert main(["optimum", *SMALL, "--out", "t.zarr.zip"]) == 2
    assert "is not an optimum of gvibench" in capsys.readouterr().err
    assert Path("t.zarr.zip").read_bytes() == before


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("out", ["notes.md", "notes", "notes.zarr", ".zip", ".html", ".zarr.zip"])
def test_the_extension_must_fit(study, capsys, name, out):
    words, ending = commands(study)[name]
    assert main([*words, "--out", out, "--force"]) == 2
    assert f"ends with {ending}" in capsys.readouterr().err
    assert not Path(out).exists()


def test_an_archive_is_not_named_like_a_store(study):
    assert main(["export", study, "--out", "a.zarr.zip"]) == 2


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_is_never_replaced(study, name):
    words, ending = commands(study)[name]
    out = Path(f"mine{ending}")
    out.mkdir()
    (out / "thesis.txt").touch()
    assert main([*words, "--out", str(out), "--force"]) == 2
    assert (out / "thesis.txt").exists()


def test_a_command_that_fails_leaves_the_old_file(study):
    assert main([*RUN, "--out", "t.zarr.zip"]) == 0
    before = Path("t.zarr.zip").read_bytes()
    assert main([*RUN, "--data", "missing.zarr.zip", "--out", "t.zarr.zip", "--force"]) == 2
    assert Path("t.zarr.zip").read_bytes() == before


# Galleries


@pytest.fixture
def config(folder):
    results = folder / "results/s"
    results.mkdir(parents=True)
    write_aggregate(results, [Run([20.0, 12.0])])
    (results / "summary.md").write_text("all went well")
    study = {"datasets": ["wdbc"], "solvers": ["vn"], "step": 0.1, "figures": [], "tables": []}
    (folder / "c.yaml").write_text(yaml.safe_dump({"studies": {"s": study}}))
    return "c.yaml"


def test_a_gallery_is_written_into_new_and_empty_folders_and_over_galleries(config):
    Path("empty").mkdir()
    for out in ("deep/new", "empty", "empty"):
        assert main(["gallery", config, out]) == 0
        assert (Path(out) / "s/summary.md").read_text() == "all went well"


@pytest.mark.parametrize("content", ["thesis.txt", "deep/thesis.txt", ".hidden"])
def test_a_folder_that_is_no_gallery_is_not_replaced(config, capsys, content):
    kept = Path("mine") / content
    kept.parent.mkdir(parents=True)
    kept.write_text("years of work")
    assert main(["gallery", config, "mine"]) == 2
    assert "is not a gallery" in capsys.readouterr().err
    assert kept.read_text() == "years of work"


def test_folders_in_a_folder_count_too(config):
    Path("mine/deep").mkdir(parents=True)
    assert main(["gallery", config, "mine"]) == 2
    assert Path("mine/deep").is_dir()


def test_what_people_add_to_a_gallery_is_not_deleted(config, capsys):
    assert main(["gallery", config, "mine"]) == 0
    Path("mine/notes.md").write_text("years of work")
    assert main(["gallery", config, "mine"]) == 2
    assert "notes.md is not part of the gallery" in capsys.readouterr().err
    assert Path("mine/notes.md").exists()


def test_files_and_the_working_directory_are_no_targets(config):
    Path("file").write_text("years of work")
    assert main(["gallery", config, "file"]) == 2
    assert main(["gallery", config, "."]) == 2
    assert Path("file").read_text() == "years of work"


def test_an_unfinished_study_leaves_the_old_gallery(config, capsys):
    assert main(["gallery", config, "mine"]) == 0
    Path("results/s/summary.md").unlink()
    assert main(["gallery", config, "mine"]) == 2
    assert "run 'snakemake" in capsys.readouterr().err
    assert Path("mine/s/summary.md").exists()
    assert sorted(path.name for path in Path().iterdir()) == ["c.yaml", "mine", "results"]


def test_the_old_gallery_is_put_back_if_the_new_one_cannot_be_moved(config, monkeypatch):
    assert main(["gallery", config, "mine"]) == 0
    real = Path.rename

    def failing(self, target):
        if self.name == "mine" and Path(target).name == "mine":
            raise OSError(28, "No space left on device")
        return real(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    assert main(["gallery", config, "mine"]) == 2
    assert Path("mine/s/summary.md").exists()


def test_the_published_results_are_a_gallery():
    gallery._refuse_others(ROOT / "docs/paper")
    with pytest.raises(UserError):
        gallery._refuse_others(ROOT / "docs")
