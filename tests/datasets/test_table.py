import bz2
import csv
import gzip
import io
import sys
from pathlib import Path

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gvibench.datasets import table as table_module
from gvibench.datasets.table import read_table
from gvibench.errors import UserError

PEOPLE = "age,job,pays\n31,clerk,yes\n44,smith,no\n29,clerk,no\n"


def write(folder: Path, text: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def test_columns_are_numbers_or_text(tmp_path) -> None:
    table = read_table(write(tmp_path, PEOPLE))
    assert list(table) == ["age", "job", "pays"]
    assert table["age"].dtype == np.float64
    assert table["age"].tolist() == [31, 44, 29]
    assert table["job"].tolist() == ["clerk", "smith", "clerk"]


@pytest.mark.parametrize("name", ["bank.csv", "semicolons.csv", "tabs.tsv"])
def test_agrees_with_pandas(tmp_path, name: str) -> None:
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "amount": rng.normal(size=50) * 1e5,
            "visits": rng.integers(0, 9, 50),
            "city": rng.choice(["Bonn, am Rhein", 'the "old" town', "Ulm\nDonau", "Köln"], 50),
        }
    )
    delimiter = {"bank.csv": ",", "semicolons.csv": ";", "tabs.tsv": "\t"}[name]
    frame.to_csv(tmp_path / name, sep=delimiter, index=False)
    table = read_table(tmp_path / name)
    known = pandas.read_csv(tmp_path / name, sep=delimiter)
    assert list(table) == list(known)
    assert np.array_equal(table["amount"], frame["amount"])
    assert np.array_equal(table["visits"], known["visits"])
    assert table["city"].tolist() == known["city"].tolist()


@pytest.mark.parametrize("packed", [gzip.compress, bz2.compress], ids=["gzip", "bzip2"])
def test_compressed_files(tmp_path, packed) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(packed(PEOPLE.encode()))
    assert read_table(path)["age"].tolist() == [31, 44, 29]


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + PEOPLE,
        PEOPLE.replace("\n", "\r\n"),
        PEOPLE.replace("\n", "\n\n"),
        PEOPLE.replace(",", " , "),
        PEOPLE.replace("31", '"31"'),
        PEOPLE.rstrip("\n"),
        PEOPLE.replace(",", "   "),
        PEOPLE.replace(",", "|"),
    ],
    ids=["BOM", "CRLF", "blank lines", "spaces", "quotes", "no last newline", "columns", "bars"],
)
def test_variants_of_text_files(tmp_path, text: str) -> None:
    table = read_table(write(tmp_path, text))
    assert {name: column.tolist() for name, column in table.items()} == {
        "age": [31, 44, 29],
        "job": ["clerk", "smith", "clerk"],
        "pays": ["yes", "no", "no"],
    }


def test_names_are_generated_without_a_header(tmp_path) -> None:
    table = read_table(write(tmp_path, "  1   22.5 1\n  3  -4e2  2\n"))
    assert {name: column.tolist() for name, column in table.items()} == {
        "x1": [1, 3],
        "x2": [22.5, -400],
        "x3": [1, 2],
    }


@pytest.mark.parametrize("missing", ["", "NA", "?", " ", "nan"])
def test_missing_values(tmp_path, missing: str) -> None:
    table = read_table(write(tmp_path, f"a,b,c\n1,x,{missing}\n{missing},{missing},\n3,y,"))
    assert np.array_equal(table["a"], [1, np.nan, 3], equal_nan=True)
    assert table["b"].tolist() == ["x", None, "y"]
    assert np.isnan(table["c"]).all()


def test_text_among_numbers_is_a_mistake(tmp_path) -> None:
    path = write(tmp_path, "a,b\n1,1\n2,2\n3,3 kg\n4,4\n")
    with pytest.raises(
        UserError, match="column 'b' is numeric, but data row 3 has the text '3 kg'"
    ):
        read_table(path)
    assert read_table(path, skip=["b"]).keys() == {"a"}
    assert read_table(path, as_text=["b"])["b"].tolist() == ["1", "2", "3 kg", "4"]


def test_numbers_among_text_are_text(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(table_module, "BLOCK_CELLS", 2)  # a block of numbers comes first
    path = write(tmp_path, "floor,b\n01,1\n2,2\nground,3\nattic,4\ncellar,5\n")
    assert read_table(path)["floor"].tolist() == ["01", "2", "ground", "attic", "cellar"]


def test_underscores_are_not_part_of_numbers(tmp_path) -> None:
    assert read_table(write(tmp_path, "a,b\n1_0,1\n2_0,2\n"))["a"].tolist() == ["1_0", "2_0"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,a\n1,2,3\n", "has two columns 'a': give them different names"),
        ("a,b\n1,2\n3\n", "data row 2 has 1 cells instead of 2"),
        ("a,b\n", "has a header but no rows"),
        ("", "has no rows"),
        ("a,b\n1,\udc80".encode("utf-8", "surrogateescape"), "is not UTF-8 text"),
        ('a,b\n1,"' + "x" * 200_000, "field larger than field limit"),
    ],
)
def test_invalid_tables(tmp_path, text, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UserError, match=message):
        read_table(path)


def test_missing_file(tmp_path) -> None:
    for name in ("t.csv", "t.parquet"):
        with pytest.raises(UserError, match="does not exist"):
            read_table(tmp_path / name)


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
WORDS = st.text("abcXYZ ,;|\t\"'äß0\n", max_size=6).map(lambda text: f"w{text}w")


@given(
    st.integers(1, 8).flatmap(
        lambda n: st.tuples(
            st.lists(NUMBERS, min_size=n, max_size=n), st.lists(WORDS, min_size=n, max_size=n)
        )
    ),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["\n", "\r\n"]),
)
@settings(deadline=None, max_examples=60)
def test_round_trip(tmp_path_factory, columns, delimiter, quoting, line_end) -> None:
    numbers, words = columns
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator=line_end)
    writer.writerow(["first", "second"])
    writer.writerows(zip(map(repr, numbers), words, strict=True))
    path = tmp_path_factory.getbasetemp() / "round-trip.csv"
    path.write_bytes(text.getvalue().encode())
    table = read_table(path)
    assert table["first"].tolist() == numbers
    assert table["second"].tolist() == words


def test_parquet_agrees_with_csv(tmp_path) -> None:
    frame = pandas.DataFrame(
        {
            "age": [31, 44, 29],
            "rate": [0.5, None, 0.25],
            "job": pandas.Categorical(["clerk", None, "smith"]),
            "zip": [53111, 1067, 53111],
            "member": [True, False, True],
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    frame.assign(member=frame["member"].astype(int)).to_csv(tmp_path / "t.csv", index=False)
    first, second = (
        read_table(tmp_path / name, as_text=["zip"], skip=["age"])
        for name in ("t.parquet", "t.csv")
    )
    assert list(first) == list(second) == ["rate", "job", "zip", "member"]
    assert np.array_equal(first.pop("rate"), second.pop("rate"), equal_nan=True)
    for name in first:
        assert first[name].tolist() == second[name].tolist(), name


def test_parquet_with_dates(tmp_path) -> None:
    path = tmp_path / "t.parquet"
    pandas.DataFrame({"day": pandas.to_datetime(["2026-01-01"]), "y": [1]}).to_parquet(path)
    with pytest.raises(UserError, match="column 'day' is of type timestamp"):
        read_table(path)


def test_parquet_without_pyarrow(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        UserError, match=r"reading Parquet files needs: pip install 'gvibench\[data"
    ):
        read_table(tmp_path / "t.parquet")


def test_damaged_parquet(tmp_path) -> None:
    with pytest.raises(UserError, match=r"cannot read .* as Parquet"):
        read_table(write(tmp_path, "PAR1 and nothing else", "t.parquet"))
