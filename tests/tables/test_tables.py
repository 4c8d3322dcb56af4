import csv
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from figures.made_aggregate import Run, make_dataset, study, write_aggregate
from gvibench.tables import datasets, performance, winners, write_tables
from gvibench.tables.formats import Block, Table, escape_latex, spread, to_latex, to_markdown

OF_ANY_STUDY = ("datasets", "performance", "runs", "winners", "runtime")
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]\d+)?")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    aggregate = write_aggregate(folder, study())
    for name in OF_ANY_STUDY:
        job = {"table": name, "study": "made", "code_hash": "c"}
        write_tables(job, aggregate, folder / "tables" / f"{name}.csv")
    return folder / "tables"


def read_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def read_markdown(path):
    """Return the rows of every block as mappings."""
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


@pytest.mark.parametrize("name", OF_ANY_STUDY)
def test_all_formats_have_the_same_text(written, name):
    assert read_markdown(written / f"{name}.md") == read_latex(written / f"{name}.tex")


def test_datasets_csv_has_the_words_of_the_other_formats(written):
    rows = read_csv(written / "datasets.csv")
    facts, steps, scales = read_markdown(written / "datasets.md")
    for row, fact, step, scale in zip(rows, facts, steps, scales, strict=True):
        assert {name: row[name] for name in fact} == fact
        assert {name: row[f"step of {name}"] for name in step if name != "data set"} == {
            name: text for name, text in step.items() if name != "data set"
        }
        assert row["C0 of SR-VN"] == scale["SR-VN"] == "0.1"
    assert steps[0]["VN"] == "0.1, 0.5"


def test_readers_see_the_numbers_of_the_csv_rounded(written):
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
            for level in performance.LEVELS
        },
        (2, "objective gap"): "gap",
        (2, "behind the best"): "difference_to_best",
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
                found = NUMBER.findall(cell)
                found = found if len(found) == 3 else found * 3
                for text, value in zip(found, values, strict=True):
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
    # Final objectives 40, 40.1, 40.2 against 10 on the same seeds.
    assert [float(other[f"difference_to_best_{k}"]) for k in ("mean", "min", "max")] == (
        pytest.approx([30.1, 30.0, 30.2])
    )
    assert other["bands_overlap_best"] == "False"


def test_diverged_runs_are_counted_but_enter_no_mean(written):
    rows = {(r["dataset"], r["solver"]): r for r in read_csv(written / "performance.csv")}
    some = rows["wdbc", "sr-vn"]
    assert (some["diverged"], some["seeds"]) == ("1", "3")
    assert float(some["objective_max"]) == pytest.approx(11.1)  # of seeds 0 and 1: 11, 11.1
    assert float(some["difference_to_best_mean"]) == pytest.approx(1.05)
    every = rows["wdbc", "mine"]
    assert (every["diverged"], every["seeds"]) == ("3", "3")
    for column, text in every.items():
        if column.endswith(("_median", "_mean", "_min", "_max")):
            assert text == "diverged", column


def test_no_cell_is_empty_or_nan(written):
    for path in written.iterdir():
        assert "nan" not in path.read_text().lower().replace("finance", "")
    for row in read_csv(written / "performance.csv"):
        assert all(row.values())


def test_overlapping_bands_are_marked(tmp_path):
    runs = [
        Run([15.0, 11.0], seed=0),
        Run([15.0, 13.0], seed=1),
        Run([15.0, 12.9], "wdbc", "sr-vn", seed=0),
        Run([15.0, 11.3], "wdbc", "sr-vn", seed=1),
        Run([15.0, 14.0], "wdbc", "gd", seed=0),
        Run([15.0, 14.0], "wdbc", "gd", seed=1),
    ]
    values = performance.values_of(make_dataset(tmp_path, runs))
    assert values["is_best"].tolist() == [True, False, False]
    assert values["bands_overlap_best"].tolist() == [True, True, False]
    # Pairs: 12.9 - 11 and 11.3 - 13.
    sr_vn = values.iloc[1]
    assert sr_vn["difference_to_best_min"] == pytest.approx(-1.7)
    assert sr_vn["difference_to_best_max"] == pytest.approx(1.9)
    block = performance.compact(values).cells
    assert block["behind the best"].tolist() == ["best", "(0.1 [-1.7, 1.9])", "2 [1, 3]"]


def test_a_solver_without_a_common_seed_is_marked(tmp_path):
    runs = [
        Run([15.0, 10.0], seed=0),
        Run([15.0, 10.0], seed=1, status="diverged"),
        Run([15.0, 11.0], "wdbc", "gd", seed=0, status="diverged"),
        Run([15.0, 11.0], "wdbc", "gd", seed=1),
    ]
    values = performance.values_of(make_dataset(tmp_path, runs))
    assert values["difference_to_best_mean"].tolist() == [0.0, "no common seed"]


def test_regression_has_no_accuracy(tmp_path):
    scalars = {"test_accuracy": [np.nan, np.nan]}
    run = Run([15.0, 11.0], scalars=scalars, spec={"model": "linear"})
    table = performance.build(make_dataset(tmp_path, [run]))
    assert table.values["test_accuracy_mean"].tolist() == ["undefined"]
    assert table.blocks[0].cells["test accuracy"].tolist() == ["undefined"]


def test_tuned_runs_are_marked_and_their_cost_is_told(tmp_path):
    cost = {"trials": 40, "iterations": 12000, "seconds": 2.5}
    runs = [Run([15.0, 11.0], seed=seed, tuning=cost) for seed in range(2)]
    dataset = make_dataset(tmp_path, runs)
    table = performance.build(dataset)
    assert table.values["tuning_iterations"].tolist() == [12000]
    row = table.blocks[2].cells.iloc[0]
    assert row["step"] == "0.1 (tuned)"
    assert row[["tuning trials", "tuning iterations", "tuning seconds"]].tolist() == [
        "40",
        "12000",
        "2.5",
    ]
    assert datasets.build(dataset).blocks[1].cells["VN"].tolist() == ["0.1 (tuned)"]


def test_varied_fields_get_columns(tmp_path):
    runs = [Run([15.0, 11.0], spec={"gamma": gamma}) for gamma in (0.5, 1.0)]
    values = performance.values_of(make_dataset(tmp_path, runs))
    assert values["gamma"].tolist() == ["0.5", "1.0"]
    assert values["problem"].tolist() == ["wdbc, gamma 0.5", "wdbc, gamma 1"]


def test_many_steps_are_summed_up(tmp_path):
    runs = [Run([15.0], step=step) for step in (0.1, 0.2, 0.3, 0.4, 0.5)]
    steps = datasets.build(make_dataset(tmp_path, runs)).blocks[1]
    assert steps.cells["VN"].tolist() == ["0.1 … 0.5 (5 values)"]


def test_rows_and_features_are_those_that_were_used(written):
    """Not those of the catalogue: a study may use 300 of 70,000 rows, or data of its own."""
    for row in read_csv(written / "datasets.csv"):
        assert (row["training rows"], row["test rows"], row["features"]) == ("40", "10", "3")


def test_latex_is_escaped():
    assert escape_latex(r"a_b & 50% {x} #1 $ ~ ^ \ – <") == (
        r"a\_b \& 50\% \{x\} \#1 \$ \textasciitilde{} \textasciicircum{} \textbackslash{} -- "
        r"\textless{}"
    )
    cells = pd.DataFrame({"a_1": ["[x", "50%"], "n": ["1", "2"]})
    text = to_latex(Table(cells, [Block("100% of {it}", cells)]))
    assert r"a\_1 & n \\" in text
    assert r"{}[x & 1 \\" in text
    assert r"50\% & 2 \\" in text
    assert r"\caption{100\% of \{it\}}" in text
    assert [text.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [2, 2, 1]


def test_a_bar_does_not_break_a_markdown_table():
    cells = pd.DataFrame({"a|b": ["x|y"]})
    assert r"| x\|y |" in to_markdown(Table(cells, [Block("c", cells)]))


def test_spread_is_short_where_seeds_agree():
    assert spread(1.0, 1.0, 1.0) == "1"
    assert spread(2.0, 1.0, 3.0) == "2 [1, 3]"
    assert spread(1.23456789, 1.23456788, 1.2345679, 3) == "1.23"


def test_unknown_tables_are_refused(tmp_path):
    aggregate = write_aggregate(tmp_path, [Run([15.0, 11.0])])
    write_tables({"table": "performence"}, aggregate, tmp_path / "b.csv")
    assert "did you mean 'performance'" in (tmp_path / "b.csv").read_text()


def test_tables_do_not_import_matplotlib():
    code = (
        "import sys, gvibench.tables.performance, gvibench.tables.datasets;"
        "import gvibench.report.summary;"
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_failed_runs_are_counted_but_enter_no_statistic(tmp_path):
    """A run that ends at 3,028,244 after a start at 609 is no completed run with a large gap."""
    runs = [Run([609.0, 11.0], seed=0), Run([609.0, 3_028_244.0], seed=1, status="failed")]
    (row,) = performance.values_of(make_dataset(tmp_path, runs)).to_dict("records")
    assert (row["failed"], row["completed"], row["seeds"]) == (1, 1, 2)
    assert row["gap_max"] == row["gap_median"] == pytest.approx(1.0)
    assert row["objective_max"] == pytest.approx(11.0)


def test_bands_of_rounding_errors_overlap_and_the_tolerance_is_stated(tmp_path):
    ends = {"vn": (3.6e-9, 1.45e-8), "sr-vn": (1e-10, 1e-10), "gd": (5e-8, 6e-8)}
    runs = [
        Run([20.0, 10.0 + gap], "wdbc", solver, seed=seed)
        for solver, gaps in ends.items()
        for seed, gap in enumerate(gaps)
    ]
    dataset = make_dataset(tmp_path, runs)
    rows = {row["solver"]: row for row in performance.values_of(dataset).to_dict("records")}
    assert rows["vn"]["bands_overlap_best"]
    assert not rows["gd"]["bands_overlap_best"]
    assert all("1e-08" in block.caption for block in performance.build(dataset).blocks[2:])


def test_the_best_is_measured_on_the_exact_objective_of_all_rows(tmp_path):
    """A gap of 0.0012 must not be shown as 7.35 behind because bounds differ."""
    recorded = {"record": ("objective_exact",), "expectation": "piecewise"}
    runs = [
        Run([30.0, own], scalars={"objective_exact": [29.0, exact]}, spec={"pieces": k, **recorded})
        for k, own, exact in ((4, 17.35, 10.0012), (20, 10.0, 10.0))
    ]
    rows = performance.values_of(make_dataset(tmp_path, runs, gap="best-seen"))
    behind = dict(zip(rows["pieces"], rows["difference_to_best_median"], strict=True))
    assert behind == pytest.approx({"4": 0.0012, "20": 0.0})
    assert rows["is_best"].tolist() == [False, True]


def test_a_gap_that_is_left_again_was_reached_but_has_not_settled(tmp_path):
    runs = [Run([20.0, 10.001, 10.5, 10.4])]
    (row,) = performance.values_of(make_dataset(tmp_path, runs)).to_dict("records")
    assert (row["reached_first_0.01"], row["iterations_first_0.01_median"]) == (1, 1.0)
    assert (row["reached_settled_0.01"], row["iterations_settled_0.01_median"]) == (0, "never")


def test_winners_have_the_unit_of_what_they_won(tmp_path):
    """Where nobody settles at a level, nats do not stand under seconds."""
    runs = [Run([20.0, 13.0], "wdbc", "vn"), Run([20.0, 12.0], "wdbc", "gd")]
    (row,) = winners.build(make_dataset(tmp_path, runs)).values.to_dict("records")
    assert row["measure"] == "smallest final gap (nat)"
    assert row["winner"].startswith("GD")
    assert row["value"] == pytest.approx(2.0)


def test_winners_that_the_records_do_not_resolve_are_marked(tmp_path):
    runs = [
        Run([20.0, 15.0, 10.0 + 1e-7], "wdbc", "vn", iteration=[0, 50, 100]),
        Run([20.0, 14.0, 10.0 + 2e-7], "wdbc", "gd", iteration=[0, 50, 100]),
        Run([20.0, 12.0, 10.0 + 1e-7], "other", "vn", iteration=[0, 1, 2]),
        Run([20.0, 12.0, 11.0, 10.0], "other", "gd", iteration=[0, 1, 2, 3]),
    ]
    table = winners.build(make_dataset(tmp_path, runs))
    takes = dict(zip(table.values["problem"], table.blocks[0].cells["takes"], strict=True))
    assert takes["wdbc"] == "not resolved by the records"
    assert takes["other"] == "1.5 x"


def test_a_solver_without_a_step_is_a_row_that_says_so(tmp_path):
    cost = {"trials": 9, "iterations": 90, "seconds": 1.0}
    note = {"note": "no step worked", "failed": "no step worked: with each step tried"}
    runs = [
        Run([20.0, 10.0], "wdbc", "vn"),
        Run([20.0], "wdbc", "gd", status="failed", tuning={**cost, **note}),
    ]
    rows = performance.values_of(make_dataset(tmp_path, runs)).to_dict("records")
    (row,) = [row for row in rows if row["solver"] == "gd"]
    assert row["objective_median"] == row["gap_median"] == "no step worked"
    assert row["tuning_note"] == "no step worked"


def test_winners_follow_the_rule_for_the_best(tmp_path):
    """A solver with a diverged seed does not win by the gap of the others."""
    runs = [
        Run([20.0, 13.0], "wdbc", "vn", seed=0),
        Run([20.0, 13.0], "wdbc", "vn", seed=1),
        Run([20.0, 11.0], "wdbc", "gd", seed=0),
        Run([20.0, 99.0], "wdbc", "gd", seed=1, status="diverged"),
    ]
    dataset = make_dataset(tmp_path, runs)
    (row,) = winners.build(dataset).values.to_dict("records")
    best = performance.values_of(dataset)
    assert best[best["is_best"]]["method"].tolist() == ["VN"]
    assert row["winner"].startswith("VN")


def test_winners_that_tie_share_the_row(tmp_path):
    runs = [Run([20.0, 10.0], "wdbc", solver) for solver in ("vn", "gd")]
    runs.append(Run([20.0, 11.0, 10.0], "wdbc", "sr-vn"))
    rows = winners.build(make_dataset(tmp_path, runs)).values
    row = rows[rows["measure"] == "fewest iterations"].iloc[0]
    assert row["winner"] == "VN (step 0.1, C0 1) and GD (step 0.1, C0 1) (tied)"
    assert (row["runner_up"], row["factor"]) == ("SR-VN", 2.0)


def test_settings_that_differ_between_data_sets_are_shown(tmp_path):
    runs = [
        Run([20.0, 11.0], "a", "vn", spec={"step_decay": 0.5}),
        Run([20.0, 11.0], "b", "vn"),
        Run([20.0, 11.0], "b", "gd"),
    ]
    table = datasets.build(make_dataset(tmp_path, runs))
    shown = dict(zip(table.values["data set"], table.values["settings of VN"], strict=True))
    assert shown == {"a": "step_decay 0.5", "b": "step_decay 0.0"}
