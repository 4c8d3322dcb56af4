from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_svmlight_file
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from gvibench.datasets.build import build
from gvibench.datasets.read import Table
from gvibench.datasets.source import Source
from gvibench.errors import UserError
from gvibench.spec.catalogue import DatasetEntry
from gvibench.store.prepared import Prepared, read_prepared
from gvibench.store.zarrzip import open_zip
from gvibench.study.defaults import complete_data


@pytest.fixture
def prepared(tmp_path: Path):
    def make(**fields) -> Prepared:
        out = tmp_path / "out.zarr.zip"
        build(complete_data(fields), out)
        return read_prepared(out)

    return make


@pytest.mark.parametrize(
    ("name", "train", "test", "d"),
    [
        ("australian_scale", 552, 138, 14),
        ("diabetes_scale", 614, 154, 8),
        ("breast-cancer_scale", 546, 137, 10),
        ("mushrooms", 6499, 1625, 112),
        ("phishing", 8844, 2211, 68),
        ("leukemia", 38, 34, 7129),
        pytest.param("mnist", 60000, 10000, 784),
        pytest.param("covtype", 500000, 81012, 54, marks=pytest.mark.slow),
    ],
)
def test_data_sets_have_the_sizes_of_the_paper(
    name: str, train: int, test: int, d: int, libsvm_data, prepared
) -> None:
    data = prepared(dataset=name)
    assert data.train_x.shape == (train, d)
    assert data.test_x.shape == (test, d)
    assert data.train_y.shape == (train,)
    assert data.test_y.shape == (test,)
    assert set(np.unique(data.train_y)) == {-1.0, 1.0}
    for x in (data.train_x, data.test_x):
        assert x.dtype == np.float64
        assert x.flags.c_contiguous


@pytest.mark.parametrize("name", ["australian_scale", "breast-cancer_scale", "mushrooms"])
def test_the_split_of_the_paper_is_reproduced_bit_for_bit(name: str, libsvm_data, prepared) -> None:
    x, raw = load_svmlight_file(str(libsvm_data / name))
    y = np.where(raw == raw.max(), 1.0, -1.0)
    expected = train_test_split(x.toarray(), y, test_size=0.2, random_state=42)
    data = prepared(dataset=name)
    ours = (data.train_x, data.test_x, data.train_y, data.test_y)
    for actual, wanted in zip(ours, expected, strict=True):
        assert actual.tobytes() == np.ascontiguousarray(wanted).tobytes()


def test_attributes_describe_the_source(own_file, prepared) -> None:
    own = {"dataset": "mine", "path": str(own_file), "scale": "none", "intercept": False}
    data = prepared(**own)
    assert data.spec == complete_data(own)
    assert data.attrs["kind"] == "gvibench prepared data"
    assert (data.attrs["n_train"], data.attrs["n_test"], data.attrs["d"]) == (48, 12, 7)
    assert data.attrs["labels"] == {"+1": "raw label 2", "-1": "raw label 1"}
    assert list(data.attrs["source_sha256"]) == ["mine.svm"]
    assert set(data.attrs["versions"]) >= {"gvibench", "numpy", "scikit-learn"}
    assert "mean" not in data.attrs
    assert data.attrs["feature_names"] == ["x1", "x2", "x3", "x4", "x5", "x6", "x7"]
    assert data.attrs["target_kind"] == "classes"
    assert data.train_offset is data.test_offset is None


def test_own_files_are_standardised_with_an_intercept(own_file, prepared) -> None:
    data = prepared(dataset="mine", path=str(own_file))
    np.testing.assert_allclose(data.train_x[:, :-1].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(data.train_x[:, :-1].std(axis=0), 1)
    assert (data.train_x[:, -1] == 1).all()
    assert data.attrs["feature_names"][-1] == "intercept"


def test_sparse_input_stays_sparse_on_disk(tmp_path: Path, own_file, sparse_rows) -> None:
    spec = complete_data(
        {
            **{"dataset": "mine", "path": str(own_file), "split": "first", "train_size": 50},
            **{"scale": "none", "intercept": False},
        }
    )
    build(spec, tmp_path / "out.zarr.zip")
    with open_zip(tmp_path / "out.zarr.zip") as root:
        assert sorted(root.group("train").names()) == ["data", "indices", "indptr", "y"]
    data = read_prepared(tmp_path / "out.zarr.zip")
    assert data.train_x.tobytes() == sparse_rows[0][:50].tobytes()
    assert data.test_x.tobytes() == sparse_rows[0][50:].tobytes()


def test_dense_input_stays_dense_on_disk(tmp_path: Path) -> None:
    build(complete_data({"dataset": "synthetic"}), tmp_path / "out.zarr.zip")
    with open_zip(tmp_path / "out.zarr.zip") as root:
        assert sorted(root.group("train").names()) == ["x", "y"]


@pytest.mark.parametrize("name", ["wdbc", "digits-odd-even", "synthetic"])
def test_preparing_twice_gives_the_same_bytes(tmp_path: Path, name: str) -> None:
    for out in ("a", "b"):
        build(complete_data({"dataset": name}), tmp_path / out)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_standardising_uses_only_the_training_rows(prepared) -> None:
    x, y = load_breast_cancer(return_X_y=True)
    train, test, _, test_y = train_test_split(x, y, test_size=0.2, random_state=42)
    scaler = StandardScaler().fit(train)
    data = prepared(dataset="wdbc")
    np.testing.assert_allclose(data.train_x, scaler.transform(train), atol=1e-12)
    np.testing.assert_allclose(data.test_x, scaler.transform(test), atol=1e-12)
    np.testing.assert_array_equal(data.test_y, np.where(test_y == 1, 1.0, -1.0))
    np.testing.assert_allclose(data.attrs["mean"], scaler.mean_)
    np.testing.assert_allclose(data.attrs["scale"], scaler.scale_)


def test_test_rows_do_not_change_training_rows(tmp_path: Path, sparse_rows, prepared) -> None:
    x, y = sparse_rows
    results = []
    for factor in (1.0, 1000.0):
        np.savez(tmp_path / "a.npz", X=x, y=y, X_test=x[:9] * factor, y_test=y[:9])
        path = str(tmp_path / "a.npz")
        results.append(prepared(dataset="mine", path=path, split="given", scale="standardize"))
    assert results[0].train_x.tobytes() == results[1].train_x.tobytes()
    assert results[0].attrs["mean"] == results[1].attrs["mean"]
    assert results[0].attrs["scale"] == results[1].attrs["scale"]


def test_a_constant_column_of_training_rows_becomes_zero(tmp_path: Path, prepared) -> None:
    x = np.column_stack([np.full(30, 0.1), np.arange(30.0)])
    np.savez(
        tmp_path / "a.npz", X=x, y=np.arange(30) % 2, X_test=[[0.1, 1], [0.1, 2]], y_test=[0, 1]
    )
    own = {"dataset": "mine", "path": str(tmp_path / "a.npz"), "split": "given"}
    with pytest.raises(UserError, match=r"column 'x1' has the value 0\.1 in all rows: drop it"):
        prepared(**own)
    np.savez(tmp_path / "a.npz", X=x, y=np.arange(30) % 2, X_test=[[0.1, 1], [1, 2]], y_test=[0, 1])
    data = prepared(**own)
    assert not data.train_x[:, 0].any()
    assert data.test_x[:, 0].tolist() == [0.0, pytest.approx(0.9)]
    assert data.train_x[:, 1].std() == pytest.approx(1.0)


@pytest.mark.parametrize("scale", ["none", "standardize"])
def test_the_intercept_is_the_last_column(own_file, prepared, scale: str) -> None:
    data = prepared(dataset="mine", path=str(own_file), intercept=True, scale=scale)
    assert data.attrs["d"] == data.train_x.shape[1] == 8
    assert (data.train_x[:, -1] == 1).all()
    assert (data.test_x[:, -1] == 1).all()


def test_random_splits_include_the_test_file(libsvm_data, prepared) -> None:
    data = prepared(dataset="leukemia", split="random", split_seed=1)
    assert len(data.train_y) + len(data.test_y) == 72


def test_regression_keeps_its_targets(prepared) -> None:
    data = prepared(dataset="synthetic", split="random", options={"targets": "real"})
    assert len(np.unique(data.train_y)) == 800
    assert data.attrs["labels"] == {}


@pytest.mark.parametrize(
    ("labels", "fields", "sentence"),
    [
        (
            [1, 2, 3],
            {},
            r"has 3 different labels \(1, 2, 3\), but binary classification needs exactly 2",
        ),
        ([5], {}, r"has 1 label \(5\), but binary classification needs exactly 2"),
        ([1, 2, 3, 4, 5, 6], {}, r"has 6 different labels \(1, 2, 3, 4, 5, …\)"),
        ([0, 1], {"split": "first", "train_size": 60}, r"leaves 60 training and 0 test rows"),
        ([0, 1], {"split": "first", "train_size": 0.001}, r"leaves 0 training and 60 test rows"),
        ([0, 1], {"split": "first", "train_size": 1}, r"all 1 training rows have the same label"),
    ],
)
def test_unusable_rows_are_an_error_in_one_sentence(
    tmp_path: Path, write_svmlight, prepared, labels, fields: dict, sentence: str
) -> None:
    y = np.resize(labels, 60)
    path = write_svmlight(tmp_path / "bad.svm", np.ones((60, 2)), y)
    with pytest.raises(UserError, match=sentence) as caught:
        prepared(dataset="mine", path=str(path), **fields)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out.zarr.zip").exists()


def load_stars(entry: DatasetEntry, spec) -> Source:
    return Source(Table(np.eye(20), np.arange(20.0) % 2), labels=entry.labels)


STARS = DatasetEntry("stars", "Stars", f"{__name__}:load_stars", "the sky", 1.0, labels={"+1": "a"})


def test_a_data_set_of_a_plugin_is_prepared(add_plugin, prepared) -> None:
    add_plugin("gvibench.datasets", "stars", f"{__name__}:STARS")
    assert prepared(dataset="stars").train_x.shape == (16, 20)


@pytest.mark.parametrize("form", ["npz", "svm"])
@pytest.mark.parametrize("y", [np.linspace(-3.0, 7.0, 40), np.tile([0.0, 1.0], 20)])
def test_the_model_decides_how_targets_of_a_user_file_are_read(tmp_path, form, y) -> None:
    x = np.random.default_rng(0).standard_normal((40, 2))
    path = tmp_path / f"mine.{form}"
    if form == "npz":
        np.savez(path, X=x, y=y)
    else:
        dump_svmlight_file(x, y, str(path))
    fields = {"dataset": "mine", "path": str(path), "split": "first", "train_size": 30}
    build(complete_data(fields, "linear"), tmp_path / "real.zarr.zip")
    targets = read_prepared(tmp_path / "real.zarr.zip").train_y
    assert np.allclose(targets, y[:30], rtol=1e-14, atol=0)  # text has 16 digits
    for model in ("logistic", "non-convex"):
        out = tmp_path / f"{model}.zarr.zip"
        if len(np.unique(y)) == 2:
            build(complete_data(fields, model), out)
            assert np.array_equal(read_prepared(out).train_y, 2 * y[:30] - 1)
        else:
            with pytest.raises(UserError, match="for real targets use model 'linear'"):
                build(complete_data(fields, model), out)


def test_the_linear_model_keeps_the_two_classes_of_a_built_in_data_set(tmp_path) -> None:
    build(complete_data({"dataset": "wdbc"}, "linear"), tmp_path / "out.zarr.zip")
    assert set(read_prepared(tmp_path / "out.zarr.zip").train_y) == {-1.0, 1.0}
