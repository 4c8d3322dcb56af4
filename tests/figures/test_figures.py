"""All figures: edge cases, layout, files, metadata and errors."""

import json
import subprocess
import sys
from collections import Counter

import pandas as pd
import pytest
from matplotlib import pyplot, rc_context
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from figures.drawn import COLUMN, LAYOUTS, PAGE, assert_nothing_is_cut_or_overlaps, lay_out, plot
from figures.made_aggregate import Run, make_dataset, study, write_aggregate
from gvibench import figures
from gvibench.figures.pages import fixed_layout
from gvibench.figures.style import WIDTHS
from gvibench.figures.theme import theme
from gvibench.registry import FIGURES
from gvibench.spec.scoring import SCORE_FIGURES
from gvibench.store.aggregates import open_aggregate

ALL_NAMES = [name for name in FIGURES.built_in if name not in {"path", "bias", "calibration"}]
"""Figures that all studies can have."""
NAMES = [name for name in ALL_NAMES if name not in {"test", "time", *SCORE_FIGURES}]
"""Figures of the fast tests. `gap` and `test-time` share the code of `test` and `time`.

Scores need an optimum, and `test_scores_drawn` tests their figures.
"""
CASES = {
    "one": [Run([15.0, 11.0])],
    "optimal": [Run([10.0, 10.0])],
    "start": [Run([15.0])],
    "diverged": [Run([15.0], status="diverged")],
    "no optimum": [
        Run([15.0, 11.0], optimum=None),
        Run([15.0, 12.0], "b", "gd", status="diverged"),
    ],
    "varied": [
        Run([15.0, 11.0], f"set-{k}", spec={"gamma": gamma}) for k in range(2) for gamma in (0, 1)
    ],
}


@pytest.fixture(scope="module", params=CASES)
def edge_case(request, tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("edge"), CASES[request.param])


@pytest.mark.parametrize("name", NAMES)
def test_edge_cases(edge_case, name):
    with theme(COLUMN):
        figure = plot(name, edge_case, COLUMN).figure
        with fixed_layout(figure):  # The layout takes most of the time.
            figure.draw_without_rendering()
    assert figure.get_figwidth() == pytest.approx(WIDTHS["column"])


@pytest.fixture(scope="module")
def aggregate(tmp_path_factory):
    return write_aggregate(tmp_path_factory.mktemp("files"), study())


@pytest.fixture(scope="module")
def dataset(aggregate):
    with open_aggregate(aggregate) as opened:
        return opened.load()


@pytest.mark.parametrize("style", LAYOUTS, ids=["page", "column"])
@pytest.mark.parametrize("name", sorted({*NAMES} - {"runtime", "temperature"}))  # see their files
def test_nothing_is_cut_or_overlaps(dataset, name, style):
    assert_nothing_is_cut_or_overlaps(lay_out(name, dataset, style))


def draw_to(folder, aggregate, name, style=PAGE):
    job = {"figure": name, "study": "made", "style": style, "code_hash": "c0de"}
    figures.draw(job, aggregate, folder / f"{name}.pdf")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def files(tmp_path_factory, aggregate):
    """The files of `gap`."""
    return draw_to(tmp_path_factory.mktemp("gap"), aggregate, "gap", COLUMN)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A study of one data set."""
    runs = [run for run in study() if run.dataset == "wdbc"]
    return write_aggregate(tmp_path_factory.mktemp("small"), runs)


@pytest.mark.parametrize("name", NAMES)
def test_the_csv_contains_the_table(tmp_path, small, name):
    files = draw_to(tmp_path, small, name)
    assert sorted(files) == [f"{name}.{end}" for end in ("csv", "json", "pdf", "png", "svg")]
    with open_aggregate(small) as dataset:
        table = plot(name, dataset).table
    read = pd.read_csv(tmp_path / f"{name}.csv")
    assert list(read.columns) == list(table.columns)
    pd.testing.assert_frame_equal(read, table, check_dtype=False, rtol=1e-15, atol=0)
    assert pyplot.get_fignums() == []  # Figures do not remain in memory.


def test_drawing_twice_gives_the_same_bytes(tmp_path, aggregate, files):
    assert draw_to(tmp_path, aggregate, "gap", COLUMN) == files


@pytest.mark.slow
@pytest.mark.parametrize("name", ["test", "theory", "heatmap", "ecdf"])
def test_drawing_any_figure_twice_gives_the_same_bytes(tmp_path, aggregate, name):
    first, second = (draw_to(tmp_path / folder, aggregate, name) for folder in ("a", "b"))
    assert first == second


def test_the_layout_is_computed_once_for_all_formats(tmp_path, small, monkeypatch):
    calls = Counter()

    def count(owner, name):
        original = getattr(owner, name)

        def counted(*given, **named):
            calls[owner] += 1
            return original(*given, **named)

        monkeypatch.setattr(owner, name, counted)

    count(ConstrainedLayoutEngine, "execute")
    count(Figure, "draw")
    draw_to(tmp_path, small, "test")
    assert calls == {ConstrainedLayoutEngine: 1, Figure: 3}


def test_the_layout_does_not_depend_on_settings_of_the_user(tmp_path, aggregate, files):
    with rc_context({"figure.constrained_layout.use": True}):
        assert draw_to(tmp_path, aggregate, "gap", COLUMN) == files


def test_text_is_stored_as_text_and_files_have_no_dates(files):
    assert b">objective gap to the optimum [nat]<" in files["gap.svg"]
    assert b"CreationDate" not in files["gap.pdf"]
    assert b"<dc:date>" not in files["gap.svg"]


def test_tall_figures_have_a_lower_resolution():
    with theme(PAGE):
        assert figures._resolution(Figure((7.0, 9.0))) == 250
        assert figures._resolution(Figure((7.0, 300.0))) == pytest.approx(61.7, rel=0.01)


def test_metadata_list_all_configurations_and_their_runs(files):
    metadata = json.loads(files["gap.json"])
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
    assert metadata["lines"]["VN"] == {"color": "#0072B2", "dash": [], "marker": "o"}
    assert metadata["lines"]["SR-VN"]["dash"] == [4, 1.5]


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
    assert set(files) == {f"broken.{end}" for end in ("pdf", "svg", "png", "csv", "json")}
    sentence = json.loads(files["broken.json"])["error"]
    assert sentence == "the figure 'broken' could not be drawn: ZeroDivisionError: division by zero"
    assert pd.read_csv(tmp_path / "broken.csv").to_dict("list") == {"error": [sentence]}
    assert "ZeroDivisionError" in capsys.readouterr().err


def fill_disk(dataset, style):
    raise OSError(28, "No space left on device")


def test_a_full_disk_fails_the_job(tmp_path, aggregate, add_plugin):
    add_plugin("gvibench.figures", "large", f"{__name__}:fill_disk")
    with pytest.raises(OSError, match="No space left"):
        draw_to(tmp_path, aggregate, "large")


def test_other_jobs_do_not_import_seaborn():
    code = "import sys, gvibench.report.page, gvibench.report.summary, gvibench.tables; "
    code += "print({'seaborn', 'matplotlib.pyplot'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
