"""All tables: files, formats and errors."""

import csv
import re
import subprocess
import sys

import pytest

from figures.made_aggregate import Run, study, write_aggregate
from gvibench.analysis.efforts import LEVELS
from gvibench.tables import performance, write_tables

NAMES = ("datasets", "performance", "runs", "winners", "runtime")
"""Tables that all studies can have."""
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]\d+)?")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    aggregate = write_aggregate(folder, study())
    for name in NAMES:
        job = {"table": name, "study": "made", "code_hash": "c"}
        write_tables(job, aggregate, folder / "tables" / f"{name}.csv")
    return folder / "tables"


def read_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def read_markdown(path):
    """Return the rows of each block as dictionaries."""
    blocks = []
    for part in path.read_text().split("\n\n"):
        lines = [line for line in part.splitlines() if line.startswith("|")]
        if lines:
            rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]
            blocks.append([dict(zip(rows[0], row, strict=True)) for row in rows[2:]])
    return blocks


def read_latex(path):
    blocks = []
    for part in path.read_text().split(r"\begin{longtable}")[1:]:
        head, body = part.split(r"\endlastfoot")
        header = next(line for line in head.splitlines() if " & " in line)
        lines = [line for line in body.splitlines() if line.endswith(r" \\")]
        cells = [
            [plain(c) for c in line.removesuffix(r" \\").split(" & ")] for line in [header, *lines]
        ]
        blocks.append([dict(zip(cells[0], row, strict=True)) for row in cells[1:]])
    return blocks


def plain(text):
    text = text.removeprefix("{}").replace("--", "–").replace(r"\dots{}", "…")
    return re.sub(r"\\([_%&#$])", r"\1", text)


@pytest.mark.parametrize("name", NAMES)
def test_all_formats_have_the_same_text(written, name):
    assert read_markdown(written / f"{name}.md") == read_latex(written / f"{name}.tex")


def test_datasets_csv_has_the_text_of_the_other_formats(written):
    rows = read_csv(written / "datasets.csv")
    facts, steps, scales = read_markdown(written / "datasets.md")
    for row, fact, step, scale in zip(rows, facts, steps, scales, strict=True):
        assert {name: row[name] for name in fact} == fact
        assert {name: row[f"step of {name}"] for name in step if name != "data set"} == {
            name: text for name, text in step.items() if name != "data set"
        }
        assert row["C0 of SR-VN"] == scale["SR-VN"] == "0.1"
    assert steps[0]["VN"] == "0.1, 0.5"


def test_markdown_has_the_rounded_numbers_of_the_csv(written):
    rows = read_csv(written / "performance.csv")
    endings, efforts, comparison = read_markdown(written / "performance.md")
    shown = {
        **{(0, performance.METRICS[name]): name for name in list(performance.METRICS)[:6]},
        (1, "seconds in all"): "seconds",
        **{
            (1, f"{kind}, {level:g} {how}"): f"{kind}_{name}_{level:g}"
            for kind, how, name in (
                ("iterations", "first reached", "first"),
                ("iterations", "settled", "settled"),
                ("seconds", "settled", "settled"),
            )
            for level in LEVELS
        },
        (2, "objective gap"): "gap",
        (2, "behind the best, seed by seed"): "difference_to_best",
    }
    blocks = (endings, efforts, comparison)
    compared = 0
    for (block, title), name in shown.items():
        for row, texts in zip(rows, blocks[block], strict=True):
            values = [row[f"{name}_{statistic}"] for statistic in ("median", "min", "max")]
            cell = re.sub(r" \(\d+/\d+\)$", "", texts[title])
            if cell == "best":
                assert row["is_best"] == "True"
            elif not NUMBER.match(values[0]):
                assert cell.strip("()") == values[0] == values[1] == values[2]
            else:
                numbers = NUMBER.findall(cell)
                numbers = numbers if len(numbers) == 3 else numbers * 3
                for text, value in zip(numbers, values, strict=True):
                    assert float(text) == pytest.approx(float(value), rel=6e-3, abs=1e-10)
                    compared += 1
    assert compared > 100


def test_known_numbers(written):
    rows = read_csv(written / "performance.csv")
    by = {(r["dataset"], r["solver"], r["step"]): r for r in rows}
    assert len(rows) == len(by) == 8
    best = by["wdbc", "vn", "0.5"]
    assert best["is_best"] == best["best_of_solver"] == "True"
    assert float(best["objective_mean"]) == pytest.approx(10.0)
    assert float(best["iterations_settled_0.01_median"]) == 2
    assert float(best["iterations_settled_0.0001_max"]) == 3
    assert float(best["seconds_settled_0.0001_min"]) == pytest.approx(0.03)
    assert float(best["iterations_first_1e-06_mean"]) == 4
    other = by["wdbc", "vn", "0.1"]
    assert other["best_of_solver"] == "False"
    assert other["iterations_first_0.01_median"] == "never"
    assert other["reached_settled_0.01"] == "0"
    # The final objectives are 40, 40.1 and 40.2, and those of the best are all 10.
    assert [float(other[f"difference_to_best_{k}"]) for k in ("mean", "min", "max")] == (
        pytest.approx([30.1, 30.0, 30.2])
    )
    assert other["bands_overlap_best"] == "False"


def test_diverged_runs_are_counted_but_excluded_from_statistics(written):
    rows = {(r["dataset"], r["solver"]): r for r in read_csv(written / "performance.csv")}
    some = rows["wdbc", "sr-vn"]
    assert (some["diverged"], some["seeds"]) == ("1", "3")
    assert float(some["objective_max"]) == pytest.approx(11.1)  # of 11 and 11.1
    assert float(some["difference_to_best_mean"]) == pytest.approx(1.05)
    all_diverged = rows["wdbc", "mine"]
    assert (all_diverged["diverged"], all_diverged["seeds"]) == ("3", "3")
    for column, text in all_diverged.items():
        if column.endswith(("_median", "_mean", "_min", "_max")):
            assert text == "diverged", column


def test_no_cell_is_empty_or_nan(written):
    for path in written.iterdir():
        assert "nan" not in path.read_text().lower().replace("finance", "")
    for row in read_csv(written / "performance.csv"):
        assert all(row.values())


def test_unknown_tables_are_rejected(tmp_path):
    aggregate = write_aggregate(tmp_path, [Run([15.0, 11.0])])
    write_tables({"table": "performence"}, aggregate, tmp_path / "b.csv")  # codespell:ignore
    assert "did you mean 'performance'" in (tmp_path / "b.csv").read_text()


def test_tables_do_not_import_matplotlib():
    code = (
        "import sys, gvibench.tables.performance, gvibench.tables.datasets;"
        "import gvibench.report.summary;"
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
