"""Data that cannot be used: one sentence with the place and the remedy, from `gvibench prepare`."""

import gzip
import os
from pathlib import Path

import numpy as np
import pandas
import pytest
import yaml

from gvibench import stages
from gvibench.cli.main import main
from gvibench.datasets import build as build_module
from gvibench.spec.canonical import canonical_json
from gvibench.study.defaults import complete_data

ROWS = [
    f"{k},{20 + k % 7},{'abc'[k % 3]},{5000 + k % 4},{k % 5},{'yes' if k % 4 else 'no'}"
    for k in range(40)
]
HEADER = "id,age,job,zip,visits,pays"


def table(*rows: str, header: str = HEADER) -> str:
    return "\n".join([header, *rows]) + "\n"


def changed(row: int, old: str, new: str) -> str:
    """Return the table with a change in one data row, counted from 1."""
    rows = list(ROWS)
    assert old in rows[row - 1]
    rows[row - 1] = rows[row - 1].replace(old, new, 1)
    return table(*rows)


COUNTS = ["--target", "visits", "--data-option", "targets=counts"]
REAL = ["--target", "visits", "--model", "linear"]
CASES: dict[str, tuple[str, list[str], list[str]]] = {
    "one class": (
        table(*(row.replace("no", "yes") for row in ROWS)),
        [],
        ["1 label (yes)", "needs exactly 2"],
    ),
    "three classes": (changed(7, "yes", "maybe"), [], ["3 different labels (maybe, no, yes)"]),
    "positive label absent": (
        table(*ROWS),
        ["--positive", "Yes"],
        ["no row has the label 'Yes'", "did you mean 'yes'?", "the labels are no and yes"],
    ),
    "constant column": (
        table(
            *(
                f"{row.rsplit(',', 1)[0]},3,yes" if k % 2 else f"{row.rsplit(',', 1)[0]},3,no"
                for k, row in enumerate(ROWS)
            ),
            header="id,age,job,zip,visits,three,pays",
        ),
        [],
        ["column 'three' has the value 3 in all rows", "drop it"],
    ),
    "constant text": (
        table(*(row.replace(",a,", ",c,").replace(",b,", ",c,") for row in ROWS)),
        [],
        ["column 'job' is 'c' in all rows: drop it"],
    ),
    "missing number": (
        changed(3, "22,c", ",c"),
        [],
        ["column 'age' has no value in 1 row, first in data row 3", "fill in or remove"],
    ),
    "missing text": (changed(4, ",a,", ",NA,"), [], ["column 'job' has no value", "data row 4"]),
    "missing target": (
        changed(5, ",no", ",?"),
        [],
        ["column 'pays' is the target and has no value in data row 5"],
    ),
    "infinite": (changed(6, ",25,", ",inf,"), [], ["'age' has an infinite value", "data row 6"]),
    "text in a numeric column": (
        changed(8, ",20,", ",twenty,"),
        [],
        ["column 'age' is numeric, but data row 8 has the text 'twenty'", "'categorical'"],
    ),
    "negative count": (
        changed(2, ",5001,1,", ",5001,-1,"),
        COUNTS,
        ["column 'visits' has the target -1 in data row 2", "not a count"],
    ),
    "fractional count": (
        changed(2, ",5001,1,", ",5001,1.5,"),
        COUNTS,
        ["column 'visits' has the target 1.5 in data row 2"],
    ),
    "text as real target": (
        table(*ROWS),
        ["--model", "linear"],
        ["column 'pays' is the target and has the text", "choose another target"],
    ),
    "no such target": (
        table(*ROWS),
        ["--target", "pay"],
        ["no column 'pay', which 'target' names", "did you mean 'pays'?"],
    ),
    "no such offset": (table(*ROWS), ["--offset", "hours"], ["no column 'hours'", "'offset'"]),
    "no such columns": (table(*ROWS), ["--drop", "ids"], ["no column 'ids'", "mean 'id'?"]),
    "dropped target": (
        table(*ROWS),
        ["--target", "pays", "--drop", "pays"],
        ["column 'pays' is the target: remove it from 'drop'"],
    ),
    "duplicate columns": (
        table(*ROWS, header=HEADER.replace("zip", "age")),
        [],
        ["has two columns 'age': give them different names"],
    ),
    "one row": (table(ROWS[0]), [], ["1 row"]),
    "no rows": (table(), [], ["no rows"]),
    "ragged": (changed(9, ",c", ""), [], ["data row 9 has 5 cells instead of 6"]),
    "identifiers": (
        table(*(f"n{row}" for row in ROWS)),
        [],
        ["column 'id' is nominal and has a different value in each of its 40 rows", "drop it"],
    ),
    "column called intercept": (
        table(*ROWS, header=HEADER.replace("zip", "intercept")),
        [],
        ["has a column 'intercept'", "intercept: false"],
    ),
}


def prepare(folder: Path, *words: str) -> int:
    return main(["prepare", "--dataset", "mine", *words, "--out", str(folder / "out.zarr.zip")])


def error_of(capsys) -> str:
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "Traceback" not in message
    return message


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("form", ["csv", "csv.gz"])
def test_bad_tables_give_one_sentence(tmp_path, capsys, case: str, form: str) -> None:
    text, flags, parts = CASES[case]
    path = tmp_path / f"mine.{form}"
    path.write_bytes(gzip.compress(text.encode()) if form == "csv.gz" else text.encode())
    assert prepare(tmp_path, "--path", str(path), *flags) == 2
    message = error_of(capsys)
    for part in parts:
        assert part in message
    assert not (tmp_path / "out.zarr.zip").exists()


@pytest.mark.parametrize(
    "case", ["missing number", "missing target", "constant column", "one class", "negative count"]
)
def test_bad_parquet_gives_the_same_sentence(tmp_path, capsys, case: str) -> None:
    text, flags, parts = CASES[case]
    (tmp_path / "mine.csv").write_text(text)
    frame = pandas.read_csv(tmp_path / "mine.csv", na_values="?")
    frame.to_parquet(tmp_path / "mine.parquet")
    assert prepare(tmp_path, "--path", str(tmp_path / "mine.parquet"), *flags) == 2
    message = error_of(capsys)
    for part in parts:
        assert part in message


X = np.random.default_rng(0).standard_normal((30, 3))
Y = np.arange(30) % 2
GAP = np.where(np.arange(90).reshape(30, 3) == 10, np.nan, X)
ARRAYS = {
    "NaN": ({"X": GAP, "y": Y}, [], "column 'x2' has no value in 1 row, first in data row 4"),
    "named NaN": ({"X": GAP, "y": Y, "feature_names": ["a", "b", "c"]}, [], "column 'b'"),
    "constant": ({"X": X * [1, 0, 1], "y": Y}, [], "column 'x2' has the value 0 in all rows"),
    "counts": ({"X": X, "y": X[:, 0]}, COUNTS[2:], "'y' has the target 0.12573 in data row 1"),
    "NaN target": ({"X": X, "y": np.where(Y, np.nan, 1)}, [], "column 'y' has no value in 15 rows"),
    "target": ({"X": X, "y": Y}, ["--target", "x1"], "the target of an .npz file is its array 'y'"),
    "drop": ({"X": X, "y": Y}, ["--drop", "x4"], "no column 'x4'"),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_bad_arrays_give_one_sentence(tmp_path, capsys, case: str) -> None:
    arrays, flags, part = ARRAYS[case]
    np.savez(tmp_path / "mine.npz", **arrays)
    assert prepare(tmp_path, "--path", str(tmp_path / "mine.npz"), *flags) == 2
    assert part in error_of(capsys)


def test_svmlight_files_have_no_names(tmp_path, capsys) -> None:
    (tmp_path / "mine.svm").write_text("1 1:0.5\n0 2:0.5\n" * 20)
    assert prepare(tmp_path, "--path", str(tmp_path / "mine.svm"), "--drop", "x1") == 2
    assert "has no names of columns: remove 'drop'" in error_of(capsys)
    assert prepare(tmp_path, "--path", str(tmp_path / "mine.svm"), "--positive", "2") == 2
    assert "no row has the label '2'" in error_of(capsys)


AT_PLAN = [
    ("one class", {}),
    ("three classes", {}),
    ("duplicate columns", {}),
    ("one row", {}),
    ("no rows", {}),
    ("ragged", {}),
    ("positive label absent", {"positive": "Yes"}),
    ("no such target", {"target": "pay"}),
    ("no such columns", {"drop": ["ids"]}),
    ("no such offset", {"offset": "hours"}),
    ("dropped target", {"target": "pays", "drop": ["pays"]}),
    ("text as real target", {"model": "linear"}),
    ("column called intercept", {}),
]


@pytest.mark.parametrize(("case", "settings"), AT_PLAN)
def test_the_plan_rejects_bad_tables(tmp_path, capsys, case: str, settings: dict) -> None:
    (tmp_path / "mine.csv").write_text(CASES[case][0])
    data = {"mine": {"path": str(tmp_path / "mine.csv"), **settings}}
    config = {"studies": {"s": {"datasets": data, "solvers": ["vn"], "figures": []}}}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    assert main(["plan", str(tmp_path / "config.yaml")]) == 2
    message = error_of(capsys)
    assert "studies.s, vn on mine" in message
    if case not in {"one class", "three classes", "no rows"}:
        assert all(part in message for part in CASES[case][2][:1])


@pytest.fixture
def large(tmp_path) -> Path:
    """A file of 2 GB that takes no space: a table, and a hole."""
    path = tmp_path / "large.csv"
    path.write_text(table(*ROWS * 200))
    os.truncate(path, 2_000_000_000)
    return path


def test_a_file_that_does_not_fit_into_the_memory_of_its_job(large, tmp_path, capsys) -> None:
    spec = complete_data({"dataset": "mine", "path": str(large)})
    job = canonical_json({"spec": spec.to_dict(), "code_hash": ""})
    words = ["prepare", "--job", job, "--memory-mb", "1000", "--out", str(tmp_path / "out")]
    assert stages.main(words) == 2
    message = error_of(capsys)
    assert "needs 1" in message
    assert "but the job has 1000 MB" in message
    assert "mem_mb of the rule 'prepare_data'" in message


def test_a_file_that_does_not_fit_into_the_machine(large, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(build_module, "_machine_bytes", lambda: 2 * 10**9)
    assert prepare(tmp_path, "--path", str(large)) == 2
    assert "but the job has 2000 MB" in error_of(capsys)
