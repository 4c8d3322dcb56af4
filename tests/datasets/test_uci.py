"""The bundled UCI data sets: checksums, sizes, classes, nominal columns, split and targets."""

import bz2
import csv
import hashlib
import io
import subprocess
import sys

import numpy as np
import pytest
import yaml
from loading import load

from gvibench.cli.main import main
from gvibench.datasets import uci
from gvibench.datasets.build import build
from gvibench.errors import UserError
from gvibench.registry import DATASETS
from gvibench.spec.catalogue import entry
from gvibench.store.bundled import FOLDER
from gvibench.store.prepared import read_prepared
from gvibench.study.data_shape import column_names, shape_of, training_rows
from gvibench.study.defaults import complete_data

UCI = [name for name in DATASETS.built_in if DATASETS.module_of(name).endswith("uci_entries")]
CLASSES = {
    "ionosphere": {"g": 225, "b": 126},
    "sonar": {"M": 111, "R": 97},
    "spambase": {"0": 2788, "1": 1813},
    "magic": {"g": 12332, "h": 6688},
    "heart": {"1": 150, "2": 120},
    "mammographic": {"0": 427, "1": 403},
    "german": {"1": 700, "2": 300},
    "chess": {"won": 1669, "nowin": 1527},
    "tic-tac-toe": {"positive": 626, "negative": 332},
    "housevotes": {"democrat": 124, "republican": 108},
    "crx": {"-": 357, "+": 296},
    "bands": {"noband": 230, "band": 135},
    "banknote": {"0": 762, "1": 610},
    "transfusion": {"0": 570, "1": 178},
    "breast-cancer-wisconsin": {"2": 444, "4": 239},
    "haberman": {"1": 225, "2": 81},
    "parkinsons": {"1": 147, "0": 48},
    "biodeg": {"NRB": 699, "RB": 356},
    "climate": {"1": 494, "0": 46},
    "messidor": {"1": 611, "0": 540},
    "vertebral": {"AB": 210, "NO": 100},
    "fertility": {"N": 88, "O": 12},
    "mushroom": {"e": 3488, "p": 2156},
    "bank": {"no": 4000, "yes": 521},
    "ozone-onehr": {"0": 1791, "1": 57},
}
"""Class counts that the documentation of the repository states, for complete rows."""
BETA = {
    0.01: "banknote magic haberman transfusion tic-tac-toe",
    0.1: "spambase ionosphere german chess climate vertebral bank messidor crx "
    "breast-cancer-wisconsin mushroom bike-day",
    1.0: "sonar housevotes heart mammographic bands parkinsons biodeg ozone-onehr fertility",
}


def raw(name: str) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of a bundled file, read with the standard library."""
    content = bz2.decompress((FOLDER / entry(name).table.file).read_bytes())
    header, *rows = csv.reader(io.StringIO(content.decode("ascii")))
    return header, rows


def test_all_sets_are_in_the_catalogue() -> None:
    assert set(UCI) == {*CLASSES, "bike-day"}
    assert len(UCI) == 26
    betas = {name: beta for beta, names in BETA.items() for name in names.split()}
    assert {name: entry(name).beta for name in UCI} == betas


def test_the_files_are_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.glob("*.bz2")) < 1.5e6
    assert {path.name for path in FOLDER.glob("*.bz2")} == {entry(n).table.file for n in UCI}


@pytest.mark.parametrize("name", UCI)
def test_entries_agree_with_the_files(name: str) -> None:
    known = entry(name)
    content = bz2.decompress((FOLDER / known.table.file).read_bytes())
    assert hashlib.sha256(content).hexdigest() == known.table.sha256
    # Compressing again gives the same bytes, so the files can be reproduced.
    assert bz2.compress(content, 9) == (FOLDER / known.table.file).read_bytes()
    header, rows = raw(name)
    assert len(rows) == known.n
    assert not any(cell in {"", "?"} for row in rows for cell in row)
    assert {*known.table.drop, *known.table.categorical, known.table.target} <= set(header)
    source = load({"dataset": name})
    assert source.table.x.shape == (known.n, known.d)
    assert len(source.feature_names) == known.d
    assert (np.ptp(source.table.x, axis=0) > 0).all()
    if name in CLASSES:
        labels = [row[-1] for row in rows]
        assert {label: labels.count(label) for label in set(labels)} == CLASSES[name]
        np.testing.assert_array_equal(source.table.y == 1, np.array(labels) == known.table.positive)
        assert set(known.labels) == {"+1", "-1"}


@pytest.mark.parametrize("name", UCI)
def test_columns_are_encoded_as_a_plain_loop_does(name: str) -> None:
    known, (header, rows) = entry(name), raw(name)
    names, columns = [], []
    for place, column in enumerate(header):
        cells = [row[place] for row in rows]
        if column in {known.table.target, *known.table.drop}:
            continue
        try:
            numbers = [float(cell) for cell in cells]
        except ValueError:
            numbers = None
        if numbers is not None and column not in known.table.categorical:
            names.append(column)
            columns.append(numbers)
            continue
        if numbers is None:
            values, levels = cells, sorted(set(cells))
        else:
            values, levels = numbers, sorted(set(numbers))
        for level in levels[1:]:
            names.append(f"{column}={level if numbers is None else int(level)}")
            columns.append([float(value == level) for value in values])
    source = load({"dataset": name})
    assert list(source.feature_names) == names
    np.testing.assert_array_equal(source.table.x, np.array(columns).T)


@pytest.mark.parametrize("name", ["haberman", "heart", "climate", "housevotes"])
def test_the_default_split_halves_each_class(name: str, tmp_path) -> None:
    spec = complete_data({"dataset": name})
    known = entry(name)
    assert (spec.split, spec.split_seed, spec.train_size) == ("random", 42, known.n // 2)
    assert (spec.scale, spec.intercept) == ("standardize", True)
    build(spec, tmp_path / "d.zarr.zip")
    data = read_prepared(tmp_path / "d.zarr.zip")
    assert len(data.train_y) == known.n // 2 == training_rows(spec)
    assert len(data.test_y) == known.n - known.n // 2
    positive = CLASSES[name][known.table.positive]
    assert abs((data.train_y == 1).sum() - positive / 2) <= 1
    assert data.attrs["feature_names"][-1] == "intercept"
    assert data.attrs["feature_names"][:-1] == list(load({"dataset": name}).feature_names)
    np.testing.assert_allclose(data.train_x[:, :-1].mean(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("name", ["heart", "bike-day", "transfusion", "ionosphere"])
def test_a_plan_knows_the_columns(name: str) -> None:
    spec = complete_data({"dataset": name})
    encoding = load({"dataset": name}).encoding
    assert column_names(spec) == [column["name"] for column in encoding["columns"]]
    assert shape_of(spec).columns == entry(name).d


def test_numbers_that_are_names_are_nominal() -> None:
    names = load({"dataset": "heart"}).feature_names
    assert {"chest_pain_type=4", "thal=7", "age"} <= set(names)
    assert "chest_pain_type" not in names


def test_bike_day_has_counts(tmp_path) -> None:
    spec = complete_data({"dataset": "bike-day"}, "poisson")
    assert spec.options == {"targets": "counts"}
    build(spec, tmp_path / "d.zarr.zip")
    data = read_prepared(tmp_path / "d.zarr.zip")
    counts = np.concatenate([data.train_y, data.test_y])
    header, rows = raw("bike-day")
    assert sorted(counts) == sorted(float(row[header.index("cnt")]) for row in rows)
    assert (counts.min(), counts.max()) == (22, 8714)
    assert not {"casual", "registered", "instant"} & set(data.attrs["feature_names"])


def plan(tmp_path, **study: object) -> int:
    shared = {"solvers": ["sr-vn"], "step": 0.1, "iterations": 3, "seeds": 1}
    config = {"studies": {"s": {**shared, **study}}}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(config))
    return main(["plan", str(tmp_path / "c.yaml")])


def test_a_plan_rejects_classes_of_bike_day(tmp_path, capsys) -> None:
    assert plan(tmp_path, datasets=["bike-day"]) == 2
    printed = capsys.readouterr().err.strip()
    assert "model 'logistic' needs two classes, but the targets of 'bike-day' are counts" in printed
    assert "'poisson'" in printed
    assert plan(tmp_path, datasets=["bike-day"], model="poisson", expectation="exact") == 0


def test_a_plan_rejects_counts_of_sonar(tmp_path, capsys) -> None:
    assert plan(tmp_path, datasets=["sonar"], model="poisson", expectation="exact") == 2
    assert "'sonar' are two classes" in capsys.readouterr().err


def test_a_plan_checks_the_names_in_a_prior(tmp_path, capsys) -> None:
    good = {"precision": {"thal=7": 0.1, "intercept": 0.01}}
    assert plan(tmp_path, datasets=["heart"], prior=good) == 0
    assert plan(tmp_path, datasets=["heart"], prior={"precision": {"tall": 0.1}}) == 2
    assert "'heart' has no feature 'tall'" in capsys.readouterr().err


def test_planning_does_not_import_numpy() -> None:
    code = (
        "import sys; from gvibench.spec.catalogue import entry; from gvibench.registry import "
        "DATASETS; [entry(n) for n in DATASETS.built_in]; "
        "from gvibench.study.defaults import complete_data; "
        "from gvibench.study.data_shape import column_names; "
        "column_names(complete_data({'dataset': 'sonar'})); assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_corrupt_files_are_reported(tmp_path, monkeypatch) -> None:
    name = entry("haberman").table.file
    content = bz2.decompress((FOLDER / name).read_bytes())
    monkeypatch.setattr(uci, "bundled_path", lambda file: tmp_path / file)
    (tmp_path / name).write_bytes(bz2.compress(content.replace(b"30,64,1,1", b"31,64,1,1")))
    with pytest.raises(UserError, match=r"haberman.csv.bz2 is corrupt: .* instead of aed823144f04"):
        load({"dataset": "haberman"})
    (tmp_path / name).write_bytes((FOLDER / name).read_bytes()[:500])
    with pytest.raises(UserError, match=r"cannot read .*haberman.csv.bz2: .*; install gvibench"):
        load({"dataset": "haberman"})
    (tmp_path / name).unlink()
    with pytest.raises(UserError, match="No such file or directory; install gvibench again"):
        load({"dataset": "haberman"})


@pytest.mark.parametrize("name", UCI)
def test_the_attribution_is_in_the_package(name: str) -> None:
    card = entry(name).card
    listed = (FOLDER / "ATTRIBUTION.md").read_text().splitlines()
    [line] = [line for line in listed if line.startswith(f"- `{name}.csv.bz2`: ")]
    assert card.attribution in line
    assert card.cite in line
    assert "CC BY 4.0" in card.licence
    assert card.doi.startswith("10.24432/C5") or name == "bands"
