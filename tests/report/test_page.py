import base64
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from plotly.offline import get_plotlyjs

from figures.made_aggregate import Run, make_dataset, study, write_aggregate
from gvibench.analysis.bands import band_over_iterations, bands_over_seconds
from gvibench.analysis.configurations import configurations
from gvibench.analysis.gaps import final, gap, settled
from gvibench.analysis.ranking import Ranking
from gvibench.cli.main import main
from gvibench.figures.panels import looks_of
from gvibench.report.page import page_code_hash, write_page
from gvibench.report.page.comparison import compared_runs
from gvibench.report.page.curves import LINEAR_TOLERANCE, LOG_TOLERANCE, statistics, thin
from gvibench.report.page.document import _unwrapped, document
from gvibench.report.page.payload import METRICS, Study, payload
from gvibench.report.page.sections import figures_of
from gvibench.tables.performance import LEVELS
from report.big_study import write_big_study

JOB = {"study": "made", "tables": ["datasets", "performance"], "code_hash": "c0de"}


def decoded(content):
    """Return a function that gives the matrix at a place, as the page's script does."""
    numbers = np.frombuffer(base64.b64decode(content["numbers"]), dtype="<f4")

    def matrix(place):
        start, rows, columns = place
        return numbers[start : start + rows * columns].reshape(rows, columns)

    return matrix


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    dataset = make_dataset(tmp_path_factory.mktemp("made"), study())
    return dataset, payload([Study(dataset, tables=JOB["tables"])])


def same(found, expected):
    assert np.array_equal(found, np.asarray(expected, dtype=np.float32))


def test_curves_are_the_figures_bands(made):
    dataset, content = made
    matrix = decoded(content)
    every = configurations(dataset)
    assert len(content["configurations"]) == len(every)
    over_seconds = bands_over_seconds(dataset)
    compared = 0
    for one, described in zip(every, content["configurations"], strict=True):
        for metric in METRICS:
            gaps = gap(dataset, metric)
            for axis, band in (
                ("iteration", band_over_iterations(gaps, one, "mean")),
                ("seconds", over_seconds(gaps, one, "mean")),
            ):
                place = described["curves"][axis].get(metric)
                if place is None:
                    assert len(one.usable) == 0
                    continue
                at, *rows = matrix(place)
                # Bands over time begin with two values at one time: the last of equals, then.
                kept = np.searchsorted(band.at.astype(np.float32), at, side="right") - 1
                kept[0] = 0
                same(at, band.at[kept])
                rows = rows * 6 if len(rows) == 1 else rows
                same(rows[0], band.center[kept])
                same(rows[1], band.low[kept])
                same(rows[2], band.high[kept])
                assert at[0] == np.float32(band.at[0])
                assert at[-1] == np.float32(band.at[-1])
                compared += 1
    assert compared == 6 * 6 * 2


def test_final_values_efforts_and_references(made):
    dataset, content = made
    matrix = decoded(content)
    for one, described in zip(configurations(dataset), content["configurations"], strict=True):
        assert described["seeds"] == dataset["seed"].values[one.runs].tolist()
        assert sum(described["unusable"].values()) == one.unusable
        efforts = matrix(described["efforts"])
        for k, kind in enumerate(("iterations", "seconds")):
            for j, level in enumerate(LEVELS):
                effort = getattr(settled(dataset, level), kind)
                expected = effort[one.runs].astype(np.float32)
                assert np.array_equal(efforts[3 * k + j], expected, equal_nan=True)
        for metric in METRICS:
            if len(one.usable) == 0:
                assert metric not in described["finals"]
                continue
            values = final(dataset[metric].values)[one.usable]
            sign = -1 if METRICS[metric].get("falls") else 1
            row = matrix(described["finals"][metric])[0]
            mean = described["references"][metric] + sign * float(row[0])
            assert mean == pytest.approx(values.mean(), rel=1e-6)


def test_the_best_of_a_line_has_its_lowest_rank(made):
    dataset, content = made
    every = configurations(dataset)
    best = Ranking.of(dataset).best_lines(every)
    for one in best:
        described = content["configurations"][every.index(one)]
        rivals = [
            other["rank"]
            for other in content["configurations"]
            if (other["panel"], other["line"]) == (described["panel"], described["line"])
        ]
        assert described["rank"] == min(rivals)


def test_colours_are_those_of_the_figures(made):
    dataset, content = made
    looks = looks_of(configurations(dataset))
    assert {line["name"]: line["color"] for line in content["lines"]} == {
        line: look.color for line, look in looks.items()
    }


def test_statistics():
    rows = np.array([[1.0], [2.0], [3.0], [4.0], [10.0]])
    assert statistics(rows)[:, 0].tolist() == [4.0, 1.0, 10.0, 3.0, 2.0, 4.0]
    assert statistics(rows[:1]).tolist() == [[1.0]]


@pytest.mark.parametrize("axis", ["linear", "log"])
@pytest.mark.parametrize("kind", ["decay", "oscillation", "noise with a spike"])
def test_thinned_curves_look_the_same(kind, axis):
    at = np.arange(2000.0)
    random = np.random.default_rng(1)
    curve = {
        "decay": 500 * np.exp(-0.01 * at) + 1e-9,
        "oscillation": 10 + np.sin(at / 50),
        "noise with a spike": 1 + 0.1 * random.random(2000) + 1e3 * (at == 1234),
    }[kind]
    rows = np.array([curve, 1.5 * curve])
    most = 3000 if kind == "noise with a spike" else 300
    kept, off = thin(at, rows, 1e-12, most)
    assert off <= 1
    assert len(kept) <= (2000 if most == 3000 else 300)
    assert {0, 1, 1999} <= set(kept)
    where, kept = (slice(None), kept) if axis == "linear" else (slice(1, None), kept[1:])
    x = at if axis == "linear" else np.log10(np.maximum(at, 1e-300))
    for row in rows:
        straight = np.interp(x[where], x[kept], row[kept])
        assert np.abs(straight - row[where]).max() <= 1.01 * LINEAR_TOLERANCE * np.ptp(rows)
        decades = np.interp(x[where], x[kept], np.log10(row[kept]))
        assert np.abs(decades - np.log10(row[where])).max() <= 1.01 * LOG_TOLERANCE


def test_thinning_ends_where_points_stand_at_one_place():
    at = np.array([0.0, 1.0, 1.0, 1.0])
    kept, _ = thin(at, np.array([[3.0, 2.0, 5.0, 1.0]]), 1e-12, 300)
    assert {0, 3} <= set(kept)


def test_thinning_keeps_a_spike_among_noise():
    random = np.random.default_rng(1)
    at = np.arange(2000.0)
    curve = 1 + 0.1 * random.random(2000) + 1e3 * (at == 1234)
    kept, off = thin(at, curve[np.newaxis], 1e-12, 100)
    assert 1234 in kept
    assert off > 1  # and says how far the rest is off
    assert len(kept) < 250


@pytest.mark.parametrize("count", [1, 2, 3])
def test_short_curves_stay_whole(count):
    at = np.arange(float(count))
    kept, off = thin(at, np.array([[5.0, 1.0, 4.0][:count]]), 1e-12, 300)
    assert kept.tolist() == list(range(count))
    assert off == 0


HOSTILE = "</script><img src=x onerror=alert(1)>&amp;<!--{{SCRIPT}}"


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def test_everything_from_a_study_is_escaped(tmp_path):
    runs = [
        Run([15.0, 11.0], HOSTILE, HOSTILE, solver_id="gd"),
        Run([15.0], HOSTILE, "vn", status="diverged", reason=f"at iteration 1: {HOSTILE}"),
    ]
    dataset = make_dataset(tmp_path, runs, title=HOSTILE)
    dataset["host"] = ("run", [HOSTILE, HOSTILE])
    page = document(payload([Study(dataset, tables=JOB["tables"])]))
    tags = Tags(page).found
    assert [tag for tag, _ in tags].count("script") == 3
    assert not any(tag == "img" for tag, _ in tags)
    assert not any(name.startswith("on") for _, attrs in tags for name in attrs)
    text = re.search(r'id="content">(.*?)</script>', page, re.DOTALL).group(1)
    content = json.loads(text)
    assert content["title"] == content["panels"][0] == HOSTILE
    assert HOSTILE in content["studies"][0]["ended"]["rows"][0][4]


def test_page_loads_nothing(made):
    _, content = made
    page = document(content)
    [policy] = [attrs["content"] for _, attrs in Tags(page).found if "http-equiv" in attrs]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "script-src 'unsafe-inline'" not in policy
    for tag, attrs in Tags(page).found:
        assert "src" not in attrs, tag
        assert not attrs.get("href", "#").startswith("http"), tag


def test_plotly_is_unwrapped():
    """An optimisation that another version of Plotly may defeat silently: then adapt it."""
    wrapped, bare = get_plotlyjs(), _unwrapped(get_plotlyjs())
    assert "function(root, factory)" in wrapped
    assert "function(root, factory)" not in bare
    assert bare.startswith("/**\n* plotly.js v")
    assert _unwrapped(bare) == bare


def test_page_is_written_whole_and_the_same_every_time(tmp_path):
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


def test_passes_over_the_data_where_they_are_recorded(tmp_path):
    spec = {"record": ("data_passes",)}
    runs = [
        Run([15.0, 12.0, 11.0], scalars={"data_passes": [0, 2, 4]}, spec=spec),
        Run([15.0, 13.0, 11.5], solver="sr-vn"),
    ]
    content = payload([Study(make_dataset(tmp_path, runs))])
    with_passes, without = content["configurations"]
    at, mean = decoded(content)(with_passes["curves"]["data_passes"]["objective"])
    assert (at[0], at[-1]) == (2, 4)
    assert (mean[0], mean[-1]) == (5, 1)  # it begins with the start, drawn at the first step
    assert without["curves"]["data_passes"] == {}


def test_static_figures_take_the_smaller_format_and_little_room(tmp_path, monkeypatch):
    for name, size in (("gap.svg", 50), ("gap.png", 30), ("time.svg", 40), ("time.pdf", 5)):
        (tmp_path / name).write_bytes(b"x" * size)
    found = figures_of(sorted(tmp_path.iterdir()))
    assert [(one["name"], one["source"][:22]) for one in found] == [
        ("gap", "data:image/png;base64,"),
        ("time", "data:image/svg+xml;bas"),
    ]
    monkeypatch.setattr("gvibench.report.page.sections.MOST_BYTES", 60)
    assert [one["source"] is None for one in figures_of(sorted(tmp_path.iterdir()))] == [
        False,
        True,
    ]


def test_curves_beyond_the_room_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("gvibench.report.page.payload.MOST_NUMBERS", 300)
    content = payload([Study(make_dataset(tmp_path, study()))])
    without = [one["rank"] for one in content["configurations"] if one["curves"] == {}]
    assert content["thinning"]["left_out"] == len(without) > 0
    assert 0 not in without


def test_comparison_joins_runs_by_their_spec(tmp_path):
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
    content = payload([Study(first, label="A"), Study(second, label="B")], [table])
    names = [line["name"] for line in content["lines"]]
    assert names == ["A: VN", "A: GD", "B: VN", "B: GD", "B: BW-GD"]
    a, b = content["lines"][0], content["lines"][2]
    assert a["color"] == b["color"]
    assert a["dash"] != b["dash"]


def test_compare_command(tmp_path, capsys):
    for name in "ab":
        (tmp_path / name).mkdir()
        write_aggregate(tmp_path / name, study(), title=name)
    out = tmp_path / "page.html"
    folders = [str(tmp_path / "a"), str(tmp_path / "b" / "aggregate.zarr.zip")]
    assert main(["compare", *folders, "--out", str(out)]) == 0
    # Both of its data sets are made with one spec.
    assert "12 runs with the same spec" in out.read_text()
    assert main(["compare", str(tmp_path), folders[1], "--out", str(out)]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_code_hash_covers_script_and_style(tmp_path, monkeypatch):
    before = page_code_hash(["performance"])
    assert page_code_hash(["datasets"]) != before
    (tmp_path / "page.js").write_text("")
    monkeypatch.setattr("gvibench.report.page.ASSETS", tmp_path)
    changed = page_code_hash(["performance"])
    assert changed != before
    (tmp_path / "page.js").write_text(" ")
    assert page_code_hash(["performance"]) not in {before, changed}


@pytest.mark.slow
def test_a_large_study_makes_a_small_page(tmp_path):
    out = tmp_path / "index.html"
    write_page(JOB, write_big_study(tmp_path), [], out)
    assert out.stat().st_size < 15e6
