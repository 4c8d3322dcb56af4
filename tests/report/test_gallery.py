"""Test that a gallery replaces only galleries."""

from pathlib import Path

import pytest
import yaml

from figures.made_aggregate import Run, write_aggregate
from gvibench.cli.main import main
from gvibench.errors import UserError
from gvibench.report import gallery

ROOT = Path(__file__).parents[2]
CONCLUSION = "VN settles within 0.0001 nat of the optimum on wdbc."
SUMMARY = f"# s\n\n{CONCLUSION}\n\nStudy `s`: 1 run.\n"


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = tmp_path / "results/s"
    results.mkdir(parents=True)
    write_aggregate(results, [Run([20.0, 12.0])])
    (results / "summary.md").write_text(SUMMARY)
    study = {"datasets": ["wdbc"], "solvers": ["vn"], "step": 0.1, "figures": [], "tables": []}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({"studies": {"s": study}}))
    return "c.yaml"


def test_a_gallery_is_written_into_new_and_empty_folders_and_over_galleries(config):
    Path("empty").mkdir()
    for out in ("deep/new", "empty", "empty"):
        assert main(["gallery", config, out]) == 0
        assert (Path(out) / "s/summary.md").read_text() == SUMMARY
        assert f"- [s](s/summary.md): {CONCLUSION}\n" in (Path(out) / "README.md").read_text()


@pytest.mark.parametrize("content", ["notes.txt", "deep/notes.txt", ".hidden"])
def test_a_folder_that_is_no_gallery_is_not_replaced(config, capsys, content):
    path = Path("mine") / content
    path.parent.mkdir(parents=True)
    path.write_text("my notes")
    assert main(["gallery", config, "mine"]) == 2
    assert "is not a gallery" in capsys.readouterr().err
    assert path.read_text() == "my notes"


def test_a_folder_with_an_empty_folder_is_not_replaced(config):
    Path("mine/deep").mkdir(parents=True)
    assert main(["gallery", config, "mine"]) == 2
    assert Path("mine/deep").is_dir()


def test_a_gallery_with_other_files_is_not_replaced(config, capsys):
    assert main(["gallery", config, "mine"]) == 0
    Path("mine/notes.md").write_text("my notes")
    assert main(["gallery", config, "mine"]) == 2
    assert "notes.md is not part of the gallery" in capsys.readouterr().err
    assert Path("mine/notes.md").exists()


def test_files_and_the_working_directory_are_not_replaced(config):
    Path("file").write_text("my notes")
    assert main(["gallery", config, "file"]) == 2
    assert main(["gallery", config, "."]) == 2
    assert Path("file").read_text() == "my notes"


def test_an_unfinished_study_keeps_the_old_gallery(config, capsys):
    assert main(["gallery", config, "mine"]) == 0
    Path("results/s/summary.md").unlink()
    assert main(["gallery", config, "mine"]) == 2
    assert "run 'snakemake" in capsys.readouterr().err
    assert Path("mine/s/summary.md").exists()
    assert sorted(path.name for path in Path().iterdir()) == ["c.yaml", "mine", "results"]


def test_the_old_gallery_is_restored_if_the_new_one_cannot_be_moved(config, monkeypatch):
    assert main(["gallery", config, "mine"]) == 0
    rename = Path.rename

    def fail(self, target):
        if self.name == "mine" and Path(target).name == "mine":
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    assert main(["gallery", config, "mine"]) == 2
    assert Path("mine/s/summary.md").exists()


def test_the_published_results_are_a_gallery():
    gallery.validate_target(ROOT / "docs/paper")
    with pytest.raises(UserError):
        gallery.validate_target(ROOT / "docs")


def test_only_small_formats_of_figures_are_copied_and_their_data_are_rounded(config):
    figures = Path("results/s/figures")
    figures.mkdir()
    for end in ("png", "csv", "json", "pdf", "svg"):
        (figures / f"gap.{end}").write_text("line,gap\nVN,0.123456789\nVN,\n")
    links = ", ".join(f"[{end}](figures/gap.{end})" for end in ("pdf", "svg", "csv", "json"))
    Path("results/s/summary.md").write_text(f"{SUMMARY}\nGap. ({links})")
    outputs = gallery.StudyOutputs("s", "S", ["gap"], [])
    gallery.write_gallery([outputs], Path("results"), Path(config), Path("mine"))
    copied = {path.name for path in Path("mine/s/figures").iterdir()}
    assert copied == {"gap.png", "gap.csv", "gap.json"}
    assert Path("mine/s/figures/gap.csv").read_text() == "line,gap\nVN,0.123457\nVN,\n"
    summary = Path("mine/s/summary.md").read_text()
    assert summary.endswith("\nGap. ([csv](figures/gap.csv), [json](figures/gap.json))")
