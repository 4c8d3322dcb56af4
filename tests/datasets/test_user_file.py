from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loading import load

from gvibench.datasets.build import build
from gvibench.errors import UserError
from gvibench.store.prepared import read_prepared
from gvibench.study.defaults import complete_data


def test_svmlight_files_are_loaded(tmp_path: Path, own_file, sparse_rows) -> None:
    source = load({"dataset": "mine", "path": str(own_file)})
    np.testing.assert_array_equal(source.table.x.toarray(), sparse_rows[0])
    assert source.test is None
    (tmp_path / "test.svm").write_text("1 2:1\n2 9:1\n")
    source = load({"dataset": "mine", "path": str(own_file), "test_path": f"{tmp_path}/test.svm"})
    assert source.test is not None
    assert source.table.x.shape[1] == source.test.x.shape[1] == 9
    assert set(source.sha256) == {"mine.svm", "test.svm"}


@pytest.fixture
def npz(tmp_path: Path, sparse_rows):
    def save(name: str, **arrays: np.ndarray) -> str:
        np.savez(tmp_path / name, **arrays)
        return str(tmp_path / name)

    x, y = sparse_rows
    return {
        "plain": save("plain.npz", X=x, y=y),
        "full": save("full.npz", X=x, y=y, X_test=x[:5], y_test=y[:5]),
        "narrow": save("narrow.npz", X=x[:, :3], y=y),
    }


def test_npz_files_are_loaded(npz, sparse_rows) -> None:
    source = load({"dataset": "mine", "path": npz["full"], "split": "given"})
    np.testing.assert_array_equal(source.table.x, sparse_rows[0])
    assert source.test is not None
    assert len(source.test.y) == 5
    source = load({"dataset": "mine", "path": npz["plain"], "test_path": npz["plain"]})
    assert source.test is not None
    assert len(source.test.y) == 60
    source = load({"dataset": "mine", "path": npz["plain"], "options": {"targets": "real"}})
    assert source.targets == "real"


def test_files_that_do_not_fit_together_are_errors(npz, own_file) -> None:
    mine = {"dataset": "mine"}
    with pytest.raises(UserError, match="have different formats: use two svmlight"):
        load({**mine, "path": npz["plain"], "test_path": str(own_file)})
    with pytest.raises(UserError, match=r"has 7 columns but .* has 3"):
        load({**mine, "path": npz["plain"], "test_path": npz["narrow"]})
    with pytest.raises(UserError, match="has no test rows, which split 'given' needs"):
        load({**mine, "path": npz["plain"], "split": "given"})
    with pytest.raises(UserError, match="has its own test rows: use split 'given'"):
        load({**mine, "path": npz["full"]})
    with pytest.raises(UserError, match="has its own test rows: remove 'test_path'"):
        load({**mine, "path": npz["full"], "test_path": npz["plain"]})


TRAIN = ["31,a,9,1", "44,b,10,2", "29,c,9,1", "50,a,11,2", "61,b,9,2", "18,a,9,1"]
TEST = ["35,c,10,2", "36,a,9,1"]


@pytest.fixture
def tables(tmp_path: Path):
    for name, rows in {"train": TRAIN, "test": TEST, "new": ["35,d,10,2", "36,a,9,1"]}.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(["age,job,zip,y", *rows]))
    (tmp_path / "other.csv").write_text("y;zip;note;job;age\n2;10;;c;35\n1;9;x;a;36\n")
    return {
        "dataset": "mine",
        "path": str(tmp_path / "train.csv"),
        "categorical": ["zip"],
        "split": "given",
    }


@pytest.mark.parametrize("name", ["test", "other"])
def test_levels_are_learnt_from_the_training_file(tables, tmp_path, name) -> None:
    source = load({**tables, "test_path": f"{tmp_path}/{name}.csv"})
    assert list(source.feature_names) == ["age", "job=b", "job=c", "zip=10", "zip=11"]
    assert source.test is not None
    assert source.test.x.tolist() == [[35, 0, 1, 1, 0], [36, 0, 0, 0, 0]]
    assert source.test.y.tolist() == [2, 1]
    assert source.encoding["target"] == "y"


def test_new_levels_in_the_test_file_are_an_error(tables, tmp_path) -> None:
    with pytest.raises(UserError, match=r"new\.csv: column 'job' has the value 'd' in data row 1"):
        load({**tables, "test_path": f"{tmp_path}/new.csv"})
    (tmp_path / "narrow.csv").write_text("age,y\n1,2\n2,1\n")
    with pytest.raises(UserError, match=r"narrow\.csv has no column 'job'"):
        load({**tables, "test_path": f"{tmp_path}/narrow.csv"})


def test_arrays_with_names_and_an_offset(tmp_path) -> None:
    rng = np.random.default_rng(0)
    x, y, offset = rng.standard_normal((20, 3)), rng.poisson(2, 20), rng.standard_normal(20)
    x[:, 2] = np.arange(20) % 3
    np.savez(tmp_path / "a.npz", X=x, y=y, offset=offset, feature_names=["a", "b", "c"])
    mine = {"dataset": "mine", "path": f"{tmp_path}/a.npz", "options": {"targets": "counts"}}
    source = load({**mine, "drop": ["a"], "categorical": ["c"]})
    assert list(source.feature_names) == ["b", "c=1", "c=2"]
    np.testing.assert_array_equal(source.table.x[:, 0], x[:, 1])
    np.testing.assert_array_equal(source.table.x[:, 2], x[:, 2] == 2)
    np.testing.assert_array_equal(source.table.offset, offset)
    np.testing.assert_array_equal(load({**mine, "offset": "b"}).table.offset, x[:, 1])


@pytest.mark.parametrize(
    ("labels", "positive", "plus"),
    [
        (["yes", "no"], None, "yes"),
        (["yes", "no"], "no", "no"),
        (["10", "9"], None, "10"),
        (["1.0", "2"], 1, "1"),
        (["True", "False"], "False", "False"),
    ],
)
def test_the_positive_label(tmp_path, labels, positive, plus) -> None:
    rows = [f"{k * k % 7},{labels[k % 2]}" for k in range(20)]
    (tmp_path / "a.csv").write_text("\n".join(["a,y", *rows]))
    spec = complete_data({"dataset": "mine", "path": f"{tmp_path}/a.csv", "positive": positive})
    build(spec, tmp_path / "out.zarr.zip")
    data = read_prepared(tmp_path / "out.zarr.zip")
    assert data.attrs["labels"]["+1"] == f"raw label {plus}"
    x, y = (
        np.arange(20) ** 2 % 7,
        np.arange(20) % 2 == labels.index(plus if plus in labels else "1.0"),
    )
    mean, scale = data.attrs["mean"][0], data.attrs["scale"][0]
    restored = np.round(data.train_x[:, 0] * scale + mean)
    drawn = np.random.RandomState(42).permutation(20)[4:]
    np.testing.assert_array_equal(restored, x[drawn])
    np.testing.assert_array_equal(data.train_y > 0, y[drawn])


@given(st.permutations(["age", "job", "zip"]), st.sampled_from([",", ";", "\t"]))
@settings(deadline=None, max_examples=20)
def test_the_order_of_columns_does_not_matter(tmp_path_factory, order, delimiter) -> None:
    rows = [dict(zip(["age", "job", "zip", "y"], row.split(","), strict=True)) for row in TRAIN * 3]
    path = tmp_path_factory.getbasetemp() / "order.csv"
    names = [*order, "y"]
    lines = [names, *([row[name] for name in names] for row in rows)]
    path.write_text("\n".join(delimiter.join(line) for line in lines))
    spec = complete_data({"dataset": "mine", "path": str(path), "categorical": ["zip"]})
    build(spec, path.with_suffix(".zarr.zip"))
    data = read_prepared(path.with_suffix(".zarr.zip"))
    found = dict(zip(data.attrs["feature_names"], data.train_x.T, strict=True))
    expected = EXPECTED.setdefault("columns", found)
    assert found.keys() == expected.keys()
    for name in found:
        np.testing.assert_array_equal(found[name], expected[name])


EXPECTED: dict[str, dict[str, np.ndarray]] = {}
