"""All figures: edge cases, layout, files, metadata and errors."""

import json

import pytest

from figures.drawn import COLUMN, PAGE, assert_nothing_is_cut_or_overlaps, plot
from figures.made_aggregate import Run, make_dataset, study, write_aggregate
from gvibench import figures
from gvibench.figures.style import WIDTHS
from gvibench.registry import FIGURES

NAMES = [name for name in FIGURES.built_in if name not in {"path", "bias"}]
"""Figures that all studies can have."""


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("study"), study())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "runs",
    [
        [Run([15.0, 11.0])],
        [Run([10.0, 10.0])],
        [Run([15.0])],
        [Run([15.0], status="diverged")],
        [Run([15.0, 11.0], optimum=None), Run([15.0, 12.0], "b", "gd", status="diverged")],
        [
            Run([15.0, 11.0], f"set-{k}", spec={"gamma": gamma})
            for k in range(3)
            for gamma in (0, 1)
        ],
    ],
    ids=["one", "optimal", "start", "diverged", "no optimum", "varied"],
)
def test_edge_cases(tmp_path, name, runs):
    figure, _ = plot(name, make_dataset(tmp_path, runs), COLUMN)
    assert figure.get_figwidth() == pytest.approx(WIDTHS["column"])
    assert_nothing_is_cut_or_overlaps(figure)


@pytest.mark.parametrize("size", [8.0, 12.0])
@pytest.mark.parametrize("style", [PAGE, COLUMN], ids=["page", "column"])
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_cut_or_overlaps(dataset, name, style, size):
    figure, _ = plot(name, dataset, {**style, "font_size": size})
    assert_nothing_is_cut_or_overlaps(figure)


@pytest.fixture(scope="module")
def aggregate(tmp_path_factory):
    return write_aggregate(tmp_path_factory.mktemp("files"), study())


def draw_to(folder, aggregate, name, style=PAGE):
    job = {"figure": name, "study": "made", "style": style, "code_hash": "c0de"}
    figures.draw(job, aggregate, folder / f"{name}.pdf")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", NAMES)
def test_drawing_twice_gives_the_same_bytes(tmp_path, aggregate, name):
    drawn = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        drawn.append(draw_to(tmp_path / folder, aggregate, name))
    assert sorted(drawn[0]) == [f"{name}.{end}" for end in ("json", "pdf", "png", "svg")]
    assert drawn[0] == drawn[1]


def test_text_is_stored_as_text_and_files_have_no_dates(tmp_path, aggregate):
    files = draw_to(tmp_path, aggregate, "gap")
    assert b">objective gap to the optimum [nat]<" in files["gap.svg"]
    assert b"CreationDate" not in files["gap.pdf"]
    assert b"<dc:date>" not in files["gap.svg"]


def test_metadata_list_all_configurations_and_their_runs(tmp_path, aggregate):
    metadata = json.loads(draw_to(tmp_path, aggregate, "gap", COLUMN)["gap.json"])
    assert (metadata["study"], metadata["figure"], metadata["style"]) == ("made", "gap", COLUMN)
    assert metadata["code_hash"] == "c0de"
    assert {"numpy", "matplotlib"} <= set(metadata["versions"])
    assert len(metadata["configurations"]) == 8
    shown, hidden = metadata["configurations"][:2]
    assert (shown["step"], shown["shown"]) == (0.5, True)
    assert (hidden["step"], hidden["shown"]) == (0.1, False)
    assert "seed" not in shown["spec"]
    assert [run["seed"] for run in shown["runs"]] == [0, 1, 2]
    assert all(len(run["spec_hash"]) == 16 for run in shown["runs"])
    assert [run["status"] for run in metadata["configurations"][2]["runs"]][2] == "diverged"


def test_a_failure_to_save_leaves_no_files(tmp_path, aggregate, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    with pytest.raises(RuntimeError):
        draw_to(tmp_path, aggregate, "gap")
    assert not list(tmp_path.iterdir())


def test_unknown_figures_are_rejected(tmp_path, aggregate):
    draw_to(tmp_path, aggregate, "gapp")
    assert "did you mean 'gap'" in json.loads((tmp_path / "gapp.json").read_text())["error"]


def divide_by_zero(dataset, style):
    return 1 / 0


def test_files_of_a_figure_that_fails_show_the_error(tmp_path, aggregate, add_plugin, capsys):
    add_plugin("gvibench.figures", "broken", f"{__name__}:divide_by_zero")
    files = draw_to(tmp_path, aggregate, "broken")
    assert {"broken.pdf", "broken.svg", "broken.png", "broken.json"} <= set(files)
    sentence = json.loads(files["broken.json"])["error"]
    assert sentence == "the figure 'broken' could not be drawn: ZeroDivisionError: division by zero"
    assert "ZeroDivisionError" in capsys.readouterr().err


def fill_disk(dataset, style):
    raise OSError(28, "No space left on device")


def test_a_full_disk_fails_the_job(tmp_path, aggregate, add_plugin):
    add_plugin("gvibench.figures", "large", f"{__name__}:fill_disk")
    with pytest.raises(OSError, match="No space left"):
        draw_to(tmp_path, aggregate, "large")
