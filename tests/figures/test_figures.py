import json

import numpy as np
import pytest

from figures.drawn import COLUMN, PAGE, assert_nothing_is_cut_or_overlaps, legend_title, lines, plot
from figures.made_aggregate import Run, make_dataset, study, write_aggregate
from gvibench import solvers
from gvibench.analysis.configurations import configurations
from gvibench.figures import (
    draw,
    gap,
    profile,
    runtime,
    sensitivity,
    temperature,
    test,
    test_time,
    theory,
    time,
)
from gvibench.figures.curves import TEST_FLOOR
from gvibench.figures.panels import FLOOR
from gvibench.figures.style import PALETTE, WIDTHS, looks

PLOTS = {
    "gap": gap,
    "test": test,
    "time": time,
    "test-time": test_time,
    "sensitivity": sensitivity,
    "profile": profile,
    "runtime": runtime,
    "temperature": temperature,
    "theory": theory,
}
"""Figures that every study can have."""


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("study"), study())


# What is drawn


def test_gap_shows_the_mean_of_the_best_configuration(dataset):
    figure, shown = plot(gap, dataset)
    first, second = figure.axes
    assert [first.get_title(), second.get_title()] == ["wdbc", "digits_50%"]
    assert first.get_yscale() == "log"
    drawn = lines(first)
    assert set(drawn) == {"VN", "SR-VN"}  # 'mine' diverged with every seed
    at, mean = drawn["VN"]
    np.testing.assert_allclose(at, range(6))
    np.testing.assert_allclose(mean, [50.1, 5.1, 5e-3, 5e-5, FLOOR, FLOOR], rtol=1e-6)
    np.testing.assert_allclose(drawn["SR-VN"][1], np.array([50, 25, 12, 6, 3, 1]) + 0.05)
    assert [(one.line, one.step) for one in shown[:3]] == [("VN", 0.5), ("SR-VN", 0.1), ("mine", 7)]


def test_gap_shows_bands_from_minimum_to_maximum(dataset):
    figure, _ = plot(gap, dataset)
    band = figure.axes[0].collections[0].get_paths()[0].vertices
    at_zero = band[band[:, 0] == 0, 1]
    assert at_zero.min() == pytest.approx(50.0)
    assert at_zero.max() == pytest.approx(50.2)


def test_test_shows_nll_gap_and_accuracy(dataset):
    figure, _ = plot(test, dataset)
    above, below = figure.axes[0], figure.axes[2]
    assert "sum" in above.get_ylabel()
    assert below.get_ylabel() == "test accuracy"
    # Test NLL is half the objective here; the best seen is that of the optimum.
    nll = [25.05, 2.55, 2.5e-3, TEST_FLOOR, TEST_FLOOR, TEST_FLOOR]
    np.testing.assert_allclose(lines(above)["VN"][1], nll, rtol=1e-6)
    np.testing.assert_allclose(lines(below)["VN"][1], np.linspace(0.5, 0.9, 6))


def test_test_leaves_accuracy_out_where_there_is_none(tmp_path):
    run = Run([15.0, 11.0], scalars={"test_accuracy": [np.nan, np.nan]})
    figure, _ = plot(test, make_dataset(tmp_path, [run]))
    assert len(figure.axes) == 1


def test_time_ends_with_the_first_seed(tmp_path):
    runs = [
        Run([15.0, 14.0, 13.0], seconds=[0.0, 1.0, 2.0]),
        Run([15.0, 12.0, 11.0], seed=1, seconds=[0.0, 1.0, 4.0]),
    ]
    figure, _ = plot(time, make_dataset(tmp_path, runs))
    at, mean = lines(figure.axes[0])["VN"]
    assert (at[0], at[-1]) == (1.0, 2.0)
    assert (at[1], mean[0]) == (1.0, 5.0)  # from where both started
    np.testing.assert_allclose(mean[1:-1], 3.0)  # gaps 4 and 2
    assert mean[-1] == pytest.approx(2.5)  # gaps 3 and 2
    assert "end where the first seed stopped" in legend_title(figure)


def test_sensitivity_shows_every_step_and_crosses_where_seeds_diverged(dataset):
    figure, shown = plot(sensitivity, dataset)
    assert len(shown) == len(configurations(dataset))
    axes = figure.axes[0]
    curves = [line for line in axes.get_lines() if line.get_gid() != "unusable"]
    steps, final = curves[0].get_data()
    np.testing.assert_allclose(steps, [0.1, 0.5])
    np.testing.assert_allclose(final, [30.1, FLOOR])
    assert curves[0].get_color() == PALETTE["vn"].color
    crosses = [line for line in axes.get_lines() if line.get_gid() == "unusable"]
    assert sorted(x for line in crosses for x in line.get_xdata()) == [0.1, 7.0]


def test_profile_is_that_of_dolan_and_more(tmp_path):
    def reaches(at, solver, seed, **more):
        curve = [20.0] * at + [10.0] + [10.0] * (8 - at)
        return Run(curve, "wdbc", solver, seed=seed, **more)

    runs = [
        reaches(1, "vn", 0),
        reaches(4, "vn", 1),
        reaches(2, "gd", 0),
        reaches(2, "gd", 1),
        Run([20.0, 19.0], "wdbc", "sr-vn", seed=0),
        Run([20.0, 10.0], "wdbc", "sr-vn", seed=1, status="diverged"),
    ]
    dataset = make_dataset(tmp_path, runs)
    figure, shown = plot(profile, dataset)
    cost = np.array([1, 4, 2, 2, np.nan, np.nan])
    found = profile.ratios(shown, dataset["seed"].values, cost)
    np.testing.assert_allclose(found["VN"], [1, 2])
    np.testing.assert_allclose(found["GD"], [2, 1])
    np.testing.assert_allclose(found["SR-VN"], np.inf)
    drawn = lines(figure.axes[0])
    factors, shares = drawn["VN"]
    np.testing.assert_allclose(factors, [1, 2, 2.4])
    np.testing.assert_allclose(shares, [0.5, 1, 1])
    assert (drawn["SR-VN"][1] == 0).all()
    assert [axes.get_title() for axes in figure.axes] == ["iterations", "solver time"]


def test_legend_says_what_is_shown(dataset, tmp_path):
    figure, _ = plot(gap, dataset)
    title = figure.legends[0].get_title().get_text()
    assert "3 seeds" in title
    assert "best step and initial scale" in title
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["VN", "SR-VN", "mine"]
    figure, _ = plot(gap, make_dataset(tmp_path, [Run([15.0, 11.0])]))
    assert figure.legends[0].get_title().get_text() == ""


def test_panels_say_what_diverged(dataset):
    figure, _ = plot(gap, dataset)
    notes = [text.get_text() for text in figure.axes[0].texts]
    assert any("SR-VN 1/3" in note and "mine 3/3" in note for note in notes)


# Every figure copes with everything


@pytest.mark.parametrize("name", list(PLOTS))
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
    figure, _ = plot(PLOTS[name], make_dataset(tmp_path, runs), COLUMN)
    assert figure.get_figwidth() == pytest.approx(WIDTHS["column"])
    assert_nothing_is_cut_or_overlaps(figure)


@pytest.mark.parametrize("size", [8.0, 12.0])
@pytest.mark.parametrize("style", [PAGE, COLUMN], ids=["page", "column"])
@pytest.mark.parametrize("name", list(PLOTS))
def test_nothing_is_cut_or_overlaps(dataset, name, style, size):
    figure, _ = plot(PLOTS[name], dataset, {**style, "font_size": size})
    assert_nothing_is_cut_or_overlaps(figure)


# How it looks


def test_every_solver_has_its_own_colour_for_ever():
    assert set(PALETTE) == set(solvers.MODULES)
    assert len({look.color for look in PALETTE.values()}) == len(PALETTE)
    assert PALETTE["vn"].color == "#0072B2"
    assert PALETTE["sr-vn"].color == "#D55E00"


def test_other_labels_get_further_colours_by_their_name():
    labels = [f"variant-{k}" for k in range(20)]
    chosen = looks(["vn", *labels])
    assert chosen["vn"] == PALETTE["vn"]
    assert len({(look.color, look.dash) for look in chosen.values()}) == 21
    assert looks(reversed(labels)) == looks(labels)
    assert len({look.color for look in looks(labels[:6]).values()}) == 6
    assert looks(["mine"])["mine"] == looks(["mine", "vn", "sr-vn"])["mine"]
    assert len(looks(map(str, range(99)))) == 99


# Files


@pytest.fixture(scope="module")
def aggregate(tmp_path_factory):
    return write_aggregate(tmp_path_factory.mktemp("files"), study())


def draw_to(folder, aggregate, name, style=PAGE):
    job = {"figure": name, "study": "made", "style": style, "code_hash": "c0de"}
    draw(job, aggregate, folder / f"{name}.pdf")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", list(PLOTS))
def test_drawing_twice_gives_the_same_bytes(tmp_path, aggregate, name):
    found = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        found.append(draw_to(tmp_path / folder, aggregate, name))
    assert sorted(found[0]) == [f"{name}.{end}" for end in ("json", "pdf", "png", "svg")]
    assert found[0] == found[1]


def test_text_stays_text(tmp_path, aggregate):
    files = draw_to(tmp_path, aggregate, "gap")
    assert b">objective gap to the optimum [nat]<" in files["gap.svg"]
    assert b"CreationDate" not in files["gap.pdf"]
    assert b"<dc:date>" not in files["gap.svg"]


def test_note_of_what_is_behind_a_figure(tmp_path, aggregate):
    note = json.loads(draw_to(tmp_path, aggregate, "gap", COLUMN)["gap.json"])
    assert (note["study"], note["figure"], note["style"]) == ("made", "gap", COLUMN)
    assert note["code_hash"] == "c0de"
    assert {"numpy", "matplotlib"} <= set(note["versions"])
    assert len(note["configurations"]) == 8
    shown, hidden = note["configurations"][:2]
    assert (shown["step"], shown["shown"]) == (0.5, True)
    assert (hidden["step"], hidden["shown"]) == (0.1, False)
    assert "seed" not in shown["spec"]
    assert [run["seed"] for run in shown["runs"]] == [0, 1, 2]
    assert all(len(run["spec_hash"]) == 16 for run in shown["runs"])
    assert [run["status"] for run in note["configurations"][2]["runs"]][2] == "diverged"


def test_a_failure_leaves_no_files(tmp_path, aggregate, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    with pytest.raises(RuntimeError):
        draw_to(tmp_path, aggregate, "gap")
    assert not list(tmp_path.iterdir())


def test_unknown_figures_are_refused(tmp_path, aggregate):
    draw_to(tmp_path, aggregate, "gapp")
    assert "did you mean 'gap'" in json.loads((tmp_path / "gapp.json").read_text())["error"]


def test_a_profile_judges_a_line_on_the_problems_it_was_given(tmp_path):
    """Runs that nobody asked for are no failures: 18 of 25 solved is 0.72, not 0.60."""
    runs = [Run([20.0, 10.0], name, "vn") for name in ("a", "b", "c")]
    runs += [Run([20.0, 10.0], name, "sr-vn") for name in ("a", "b")]
    runs += [Run([20.0, 10.0], "c", "sr-vn", solver_id="sr-vn-rotated")]
    figure, _ = plot(profile, make_dataset(tmp_path, runs))
    for _, shares in lines(figure.axes[0]).values():
        assert shares[-1] == 1.0
    assert "it was given: VN 3, SR-VN 2, SR-VN (rotated) 1" in legend_title(figure)


def test_curves_note_the_floor_short_runs_and_lost_seeds(tmp_path):
    runs = [
        Run([20.0, 12.0, 10.0], seed=0),
        Run([20.0, 12.0, 10.0], seed=1),
        Run([20.0, 12.0], "wdbc", "ng-flow", seed=0),
        Run([20.0, 99.0], "wdbc", "ng-flow", seed=1, status="failed"),
    ]
    figure, _ = plot(gap, make_dataset(tmp_path, runs))
    title = legend_title(figure).replace("\n", " ")
    assert "median and min–max over 2 seeds" in title
    assert "gaps below 1e-12 are drawn at 1e-12" in title
    assert "NG-Flow ends at 1 of 2 iterations" in title
    assert [text.get_text() for text in figure.axes[0].texts] == ["failed: NG-Flow 1/2"]


@pytest.mark.parametrize(("center", "expected"), [("mean", 2.0), ("median", 1.0)])
def test_the_centre_of_lines_is_a_choice(tmp_path, center, expected):
    ends = (10.5, 11.0, 14.5)
    runs = [Run([20.0, end], seed=seed) for seed, end in enumerate(ends)]
    figure, _ = plot(gap, make_dataset(tmp_path, runs), {**PAGE, "center": center})
    assert lines(figure.axes[0])["VN"][1][-1] == pytest.approx(expected)


def test_a_figure_that_fails_is_drawn_as_its_error(tmp_path, aggregate, monkeypatch, capsys):
    monkeypatch.setattr(gap, "plot", lambda dataset, style: 1 / 0)
    files = draw_to(tmp_path, aggregate, "gap")
    assert {"gap.pdf", "gap.svg", "gap.png", "gap.json"} <= set(files)
    sentence = json.loads(files["gap.json"])["error"]
    assert sentence == "the figure 'gap' could not be drawn: ZeroDivisionError: division by zero"
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_a_full_disk_is_no_error_of_a_figure(tmp_path, aggregate, monkeypatch):
    def full(dataset, style):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(gap, "plot", full)
    with pytest.raises(OSError, match="No space left"):
        draw_to(tmp_path, aggregate, "gap")


def test_a_geometric_mean_with_a_zero_in_it_stays_on_the_axis(tmp_path):
    ends = (10.0, 11.0, 14.0)
    runs = [Run([20.0, end], seed=seed) for seed, end in enumerate(ends)]
    figure, _ = plot(gap, make_dataset(tmp_path, runs), {**PAGE, "center": "geometric"})
    expected = (FLOOR * 1.0 * 4.0) ** (1 / 3)
    assert lines(figure.axes[0])["VN"][1][-1] == pytest.approx(expected)


def test_sensitivity_tells_the_lines_of_one_solver_apart(tmp_path):
    runs = [
        Run([20.0, 11.0 + scale], step=step, spec={"mean_scale": scale})
        for step in (0.1, 0.2)
        for scale in (0.0, 5.0)
    ]
    figure, _ = plot(sensitivity, make_dataset(tmp_path, runs))
    drawn = [line for line in figure.axes[0].get_lines() if line.get_gid() != "unusable"]
    assert len({line.get_marker() for line in drawn}) == 2
