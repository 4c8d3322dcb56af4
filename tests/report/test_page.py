"""Test the content of the report page and the HTML file."""

import base64
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from plotly.offline import get_plotlyjs

from figures.made_aggregate import Run, make_dataset, study, write_aggregate
from gvibench.analysis.bands import band_table
from gvibench.analysis.configurations import configurations
from gvibench.analysis.efforts import LEVELS, settled
from gvibench.analysis.gaps import final_values, gap
from gvibench.analysis.ranking import Ranking
from gvibench.cli.main import main
from gvibench.figures.style import line_styles_of
from gvibench.report.page import write_page
from gvibench.report.page.comparison import compared_runs
from gvibench.report.page.configuration_data import METRICS
from gvibench.report.page.document import document
from gvibench.report.page.payload import Study, payload
from gvibench.report.page.sections import figures_of
from gvibench.study.code_hash import page_hash

JOB = {"study": "made", "tables": ["datasets", "performance"], "code_hash": "c0de"}
BAND = ("center", "low", "high")
"""Columns of a band, in the order in which the page stores them."""


def decoded(content):
    """Return a function that unpacks the matrix at a place, as the script of the page does."""
    numbers = np.frombuffer(base64.b64decode(content["numbers"]), dtype="<f4")

    def matrix(place):
        start, rows, columns = place
        return numbers[start : start + rows * columns].reshape(rows, columns)

    return matrix


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    dataset = make_dataset(tmp_path_factory.mktemp("made"), study())
    return dataset, payload([Study(dataset, tables=JOB["tables"])])


def check_equal(actual, expected):
    assert np.array_equal(actual, np.asarray(expected, dtype=np.float32))


def test_curves_agree_with_the_bands_of_the_figures(made):
    dataset, content = made
    matrix = decoded(content)
    configs = configurations(dataset)
    assert len(content["configurations"]) == len(configs)
    compared = 0
    for config, described in zip(configs, content["configurations"], strict=True):
        for metric in METRICS:
            gaps = gap(dataset, metric)
            for axis, clock in (("iteration", None), ("seconds", dataset["seconds"])):
                table = band_table(gaps, [config], "mean", clock, is_time=axis == "seconds")
                band = {name: table[name].to_numpy(float) for name in ("at", *BAND)}
                place = described["curves"][axis].get(metric)
                if place is None:
                    assert len(config.usable) == 0
                    continue
                at, *rows = matrix(place)
                # Bands over time start with two values at the same time; compare with the last.
                kept = np.searchsorted(band["at"].astype(np.float32), at, side="right") - 1
                kept[0] = 0
                check_equal(at, band["at"][kept])
                rows = rows * 6 if len(rows) == 1 else rows
                for row, name in zip(rows, BAND, strict=False):
                    check_equal(row, band[name][kept])
                check_equal(at[[0, -1]], band["at"][[0, -1]])
                compared += 1
    assert compared == 6 * 6 * 2


def test_final_values_efforts_and_references(made):
    dataset, content = made
    matrix = decoded(content)
    for config, described in zip(configurations(dataset), content["configurations"], strict=True):
        assert described["seeds"] == dataset["seed"].values[config.runs].tolist()
        assert sum(described["unusable"].values()) == config.unusable
        efforts = matrix(described["efforts"])
        for k, kind in enumerate(("iterations", "seconds")):
            for j, level in enumerate(LEVELS):
                effort = getattr(settled(dataset, level), kind)
                expected = effort[config.runs].astype(np.float32)
                assert np.array_equal(efforts[3 * k + j], expected, equal_nan=True)
        for metric in METRICS:
            if len(config.usable) == 0:
                assert metric not in described["finals"]
                continue
            values = final_values(dataset[metric])[config.usable]
            sign = -1 if METRICS[metric].get("falls") else 1
            row = matrix(described["finals"][metric])[0]
            mean = described["references"][metric] + sign * float(row[0])
            assert mean == pytest.approx(values.mean(), rel=1e-6)


def test_the_best_configuration_of_a_line_has_the_lowest_rank(made):
    dataset, content = made
    configs = configurations(dataset)
    for config in Ranking.of(dataset).best_lines(configs):
        described = content["configurations"][configs.index(config)]
        rivals = [
            other["rank"]
            for other in content["configurations"]
            if (other["panel"], other["line"]) == (described["panel"], described["line"])
        ]
        assert described["rank"] == min(rivals)


def test_colours_agree_with_the_figures(made):
    dataset, content = made
    looks = line_styles_of(configurations(dataset))
    assert {line["name"]: line["color"] for line in content["lines"]} == {
        line: look.color for line, look in looks.items()
    }


HOSTILE = "</script><img src=x onerror=alert(1)>&amp;<!--{{SCRIPT}}"


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def test_texts_of_a_study_are_escaped(tmp_path):
    runs = [
        Run([15.0, 11.0], HOSTILE, HOSTILE, solver_id="gd"),
        Run([15.0], HOSTILE, "vn", status="diverged", reason=f"at iteration 1: {HOSTILE}"),
    ]
    dataset = make_dataset(tmp_path, runs, title=HOSTILE)
    dataset["host"] = ("run", [HOSTILE, HOSTILE])
    page = document(payload([Study(dataset, tables=JOB["tables"])]))
    tags = Tags(page).tags
    assert [tag for tag, _ in tags].count("script") == 3
    assert not any(tag == "img" for tag, _ in tags)
    assert not any(name.startswith("on") for _, attrs in tags for name in attrs)
    text = re.search(r'id="content">(.*?)</script>', page, re.DOTALL).group(1)
    content = json.loads(text)
    assert content["title"] == content["panels"][0] == HOSTILE
    assert HOSTILE in content["studies"][0]["ended"]["rows"][0][4]


def test_the_page_makes_no_requests(made):
    _, content = made
    page = document(content)
    [policy] = [attrs["content"] for _, attrs in Tags(page).tags if "http-equiv" in attrs]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "script-src 'unsafe-inline'" not in policy
    for tag, attrs in Tags(page).tags:
        assert "src" not in attrs, tag
        assert not attrs.get("href", "#").startswith("http"), tag


WRAPPER = "function(root, factory)"


def test_plotly_is_unwrapped(made):
    """Fails if a new version of Plotly is wrapped differently, which would slow down pages."""
    _, content = made
    page = document(content)
    assert WRAPPER in get_plotlyjs()
    assert WRAPPER not in page
    assert "<script>/**\n* plotly.js v" in page


def test_a_version_of_plotly_without_a_wrapper_is_kept(made, monkeypatch):
    _, content = made
    script = "/** bare */ window.Plotly = {};"
    monkeypatch.setattr("gvibench.report.page.document.get_plotlyjs", lambda: script)
    assert f"<script>{script}</script>" in document(content)


def test_writing_a_page_is_atomic_and_reproducible(tmp_path):
    aggregate = write_aggregate(tmp_path, study())
    figure = tmp_path / "gap.svg"
    figure.write_text("<svg/>")
    for name in ("one.html", "two.html"):
        write_page(JOB, aggregate, [figure], tmp_path / name)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
    assert "data:image/svg+xml;base64,PHN2Zy8+" in (tmp_path / "one.html").read_text()
    assert not list(tmp_path.glob(".*.part"))


def test_a_study_in_which_everything_diverged(tmp_path):
    runs = [Run([15.0], status="diverged", reason="at iteration 1: no")]
    content = payload([Study(make_dataset(tmp_path, runs), tables=JOB["tables"])])
    assert content["configurations"][0]["curves"] == {"iteration": {}, "seconds": {}}
    assert content["studies"][0]["counts"]["diverged"] == 1
    assert "made" in document(content)


def test_curves_over_costs_that_differ_from_iterations(tmp_path):
    costs = {"evaluations": [1, 4, 8], "data_passes": [0.5, 2, 4]}
    runs = [Run([15.0, 12.0, 11.0], scalars=costs), Run([15.0, 13.0, 11.5], solver="sr-vn")]
    content = payload([Study(make_dataset(tmp_path, runs))])
    for name, expected in costs.items():
        curves = content["configurations"][0]["curves"][name]
        at, mean = decoded(content)(curves["objective"])
        assert list(at) == expected
        assert list(mean) == [5, 2, 1]


def test_costs_that_repeat_the_iterations_have_no_curves(tmp_path):
    content = payload([Study(make_dataset(tmp_path, [Run([15.0, 12.0])]))])
    assert set(content["configurations"][0]["curves"]) == {"iteration", "seconds"}


def test_static_figures_use_the_smaller_format_up_to_a_total_size(tmp_path, monkeypatch):
    for name, size in (("gap.svg", 50), ("gap.png", 30), ("time.svg", 40), ("time.pdf", 5)):
        (tmp_path / name).write_bytes(b"x" * size)
    figures = figures_of(sorted(tmp_path.iterdir()))
    assert [(figure["name"], figure["source"][:22]) for figure in figures] == [
        ("gap", "data:image/png;base64,"),
        ("time", "data:image/svg+xml;bas"),
    ]
    monkeypatch.setattr("gvibench.report.page.sections.MAX_FIGURE_BYTES", 60)
    assert [figure["source"] is None for figure in figures_of(sorted(tmp_path.iterdir()))] == [
        False,
        True,
    ]


def test_curves_beyond_the_size_limit_are_left_out_and_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("gvibench.report.page.configuration_data.MAX_NUMBERS", 300)
    content = payload([Study(make_dataset(tmp_path, study()))])
    without = [config["rank"] for config in content["configurations"] if config["curves"] == {}]
    assert content["thinning"]["left_out"] == len(without) > 0
    assert 0 not in without


def test_a_comparison_joins_runs_by_spec(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
    common = {"seconds": [0.0, 1.0, 2.0]}
    first = make_dataset(
        tmp_path / "a",
        [Run([15.0, 12.0, 11.0], **common), Run([15.0, 13.0], solver="gd")],
    )
    second = make_dataset(
        tmp_path / "b",
        [
            Run([15.0, 12.0, 10.5], seconds=[0.0, 0.5, 1.0], spec={"device": "cpu"}),
            Run([15.0, 13.0], solver="gd", step=0.3),
            Run([15.0, 13.0], solver="bw-gd"),
        ],
    )
    table = compared_runs(first, second)
    assert table["caption"].startswith("1 run with the same spec")
    assert table["caption"].endswith("1 only in A, 2 only in B")
    row = dict(zip(table["columns"], table["rows"][0], strict=True))
    assert (row["objective A"], row["objective B"], row["B − A"]) == ("11", "10.5", "-0.5")
    assert row["time B / A"] == "0.5"
    assert " → " in row["spec hash"]
    assert table["conclusion"] == (
        "The final objectives of the 1 usable run in both studies differ by at most 0.5 nat. The "
        "median run takes 0.5 times as long in B as in A."
    )
    content = payload([Study(first, label="A"), Study(second, label="B")], [table])
    names = [line["name"] for line in content["lines"]]
    assert names == ["A: VN", "A: GD", "B: VN", "B: GD", "B: BW-GD"]
    a, b = content["lines"][0], content["lines"][2]
    assert a["color"] == b["color"]
    assert a["dash"] != b["dash"]


def test_a_comparison_states_changed_endings_and_missing_common_runs(tmp_path):
    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        folder.mkdir()
    lost = {"status": "diverged", "reason": "at iteration 1: no"}
    first = make_dataset(folders[0], [Run([15.0, 11.0], seed=seed) for seed in range(3)])
    changed = [Run([15.0, 11.0], seed=0), Run([15.0, 11.0], seed=1), Run([15.0], seed=2, **lost)]
    second = make_dataset(folders[1], changed)
    assert compared_runs(first, second)["conclusion"].startswith(
        "The final objectives of the 2 usable runs in both studies are equal. 1 run ended with "
        "another status."
    )
    third = make_dataset(folders[2], [Run([15.0, 11.0], seed=9)])
    table = compared_runs(first, third)
    assert table["conclusion"] == "The studies have no run in common."
    assert table["rows"] == []
    title = payload([Study(first, label="A"), Study(second, label="B")], [table])["title"]
    assert title == "Made: A and B compared"


def test_compare_command(tmp_path, capsys):
    for name in "ab":
        (tmp_path / name).mkdir()
        write_aggregate(tmp_path / name, study(), title=name)
    out = tmp_path / "page.html"
    folders = [str(tmp_path / "a"), str(tmp_path / "b" / "aggregate.zarr.zip")]
    assert main(["compare", *folders, "--out", str(out)]) == 0
    # Both data sets of the made study have the same spec.
    assert "12 runs with the same spec" in out.read_text()
    assert main(["compare", str(tmp_path), folders[1], "--out", str(out)]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_code_hash_depends_on_the_tables_of_the_page():
    assert page_hash(["datasets"]) != page_hash(["performance"])
