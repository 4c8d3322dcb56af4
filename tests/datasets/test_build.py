import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_svmlight_file
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from gvibench import datasets
from gvibench.datasets import prepare, prepared_path
from gvibench.datasets.catalogue import Entry, complete
from gvibench.datasets.loaders import Source
from gvibench.datasets.read import Table
from gvibench.errors import UserError
from gvibench.store.prepared import Prepared, read_prepared
from gvibench.store.zarrzip import open_zip


@pytest.fixture
def prepared(tmp_path: Path):
    def make(**fields) -> Prepared:
        out = tmp_path / "out.zarr.zip"
        prepare(complete(fields), out)
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
def test_the_papers_sizes(name: str, train: int, test: int, d: int, libsvm_data, prepared) -> None:
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
def test_the_papers_split_is_reproduced_bit_for_bit(name: str, libsvm_data, prepared) -> None:
    x, raw = load_svmlight_file(str(libsvm_data / name))
    y = np.where(raw == raw.max(), 1.0, -1.0)
    expected = train_test_split(x.toarray(), y, test_size=0.2, random_state=42)
    data = prepared(dataset=name)
    ours = (data.train_x, data.test_x, data.train_y, data.test_y)
    for found, wanted in zip(ours, expected, strict=True):
        assert found.tobytes() == np.ascontiguousarray(wanted).tobytes()


def test_attributes_say_what_the_file_is(own_file, prepared) -> None:
    data = prepared(dataset="mine", path=str(own_file))
    assert data.spec == complete({"dataset": "mine", "path": str(own_file)})
    assert data.attrs["kind"] == "gvibench prepared data"
    assert (data.attrs["n_train"], data.attrs["n_test"], data.attrs["d"]) == (48, 12, 7)
    assert data.attrs["labels"] == {"+1": "raw label 2", "-1": "raw label 1"}
    assert list(data.attrs["source_sha256"]) == ["mine.svm"]
    assert set(data.attrs["versions"]) >= {"gvibench", "numpy", "scikit-learn"}
    assert "mean" not in data.attrs


def test_sparse_input_stays_sparse_on_disk(tmp_path: Path, own_file, sparse_rows) -> None:
    spec = complete({"dataset": "mine", "path": str(own_file), "split": "first", "train_size": 50})
    prepare(spec, tmp_path / "out.zarr.zip")
    with open_zip(tmp_path / "out.zarr.zip") as root:
        assert sorted(root.group("train").names()) == ["data", "indices", "indptr", "y"]
    data = read_prepared(tmp_path / "out.zarr.zip")
    assert data.train_x.tobytes() == sparse_rows[0][:50].tobytes()
    assert data.test_x.tobytes() == sparse_rows[0][50:].tobytes()


def test_dense_input_stays_dense_on_disk(tmp_path: Path) -> None:
    prepare(complete({"dataset": "synthetic"}), tmp_path / "out.zarr.zip")
    with open_zip(tmp_path / "out.zarr.zip") as root:
        assert sorted(root.group("train").names()) == ["x", "y"]


@pytest.mark.parametrize("name", ["wdbc", "digits-odd-even", "synthetic"])
def test_preparing_twice_gives_the_same_bytes(tmp_path: Path, name: str) -> None:
    for out in ("a", "b"):
        prepare(complete({"dataset": name}), tmp_path / out)
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


def test_test_rows_change_nothing_else(tmp_path: Path, sparse_rows, prepared) -> None:
    x, y = sparse_rows
    found = []
    for factor in (1.0, 1000.0):
        np.savez(tmp_path / "a.npz", X=x, y=y, X_test=x[:9] * factor, y_test=y[:9])
        path = str(tmp_path / "a.npz")
        found.append(prepared(dataset="mine", path=path, split="given", scaling="standardize"))
    assert found[0].train_x.tobytes() == found[1].train_x.tobytes()
    assert found[0].attrs["mean"] == found[1].attrs["mean"]
    assert found[0].attrs["scale"] == found[1].attrs["scale"]


def test_a_constant_column_becomes_zero(tmp_path: Path, prepared) -> None:
    x = np.column_stack([np.full(30, 0.1), np.arange(30.0)])
    np.savez(tmp_path / "a.npz", X=x, y=np.arange(30) % 2)
    data = prepared(dataset="mine", path=str(tmp_path / "a.npz"), scaling="standardize")
    assert not data.train_x[:, 0].any()
    assert not data.test_x[:, 0].any()
    assert data.train_x[:, 1].std() == pytest.approx(1.0)


@pytest.mark.parametrize("scaling", ["none", "standardize"])
def test_the_intercept_is_the_last_column(own_file, prepared, scaling: str) -> None:
    data = prepared(dataset="mine", path=str(own_file), intercept=True, scaling=scaling)
    assert data.attrs["d"] == data.train_x.shape[1] == 8
    assert (data.train_x[:, -1] == 1).all()
    assert (data.test_x[:, -1] == 1).all()


def test_other_splits_pool_the_sets_own_test_rows(libsvm_data, prepared) -> None:
    data = prepared(dataset="leukemia", split="random", split_seed=1)
    assert len(data.train_y) + len(data.test_y) == 72


def test_regression_keeps_its_targets(prepared) -> None:
    data = prepared(dataset="synthetic", split="random", options={"target": "regression"})
    assert len(np.unique(data.train_y)) == 800
    assert data.attrs["labels"] == {}


@pytest.mark.parametrize(
    ("labels", "fields", "sentence"),
    [
        ([1, 2, 3], {}, r"has 3 different labels \(1, 2, 3\): a binary one has exactly 2"),
        ([5], {}, r"has 1 different labels \(5\): a binary one has exactly 2"),
        ([1, 2, 3, 4, 5, 6], {}, r"has 6 different labels \(1, 2, 3, 4, 5, …\)"),
        ([0, 1], {"split": "first", "train_size": 60}, r"leaves 60 training and 0 test rows"),
        ([0, 1], {"split": "first", "train_size": 0.001}, r"leaves 0 training and 60 test rows"),
        ([0, 1], {"split": "first", "train_size": 1}, r"all 1 training rows have the same label"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(
    tmp_path: Path, write_svmlight, prepared, labels, fields: dict, sentence: str
) -> None:
    y = np.resize(labels, 60)
    path = write_svmlight(tmp_path / "bad.svm", np.ones((60, 2)), y)
    with pytest.raises(UserError, match=sentence) as caught:
        prepared(dataset="mine", path=str(path), **fields)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out.zarr.zip").exists()


def load_stars(entry: Entry, spec) -> Source:
    return Source(Table(np.eye(20), np.arange(20.0) % 2), labels=entry.labels)


def test_a_set_of_another_package_is_prepared(monkeypatch, prepared) -> None:
    stars = Entry("stars", "Stars", f"{__name__}:load_stars", "the sky", 1.0, labels={"+1": "a"})
    monkeypatch.setattr("gvibench.datasets.catalogue.BUILT_IN", {"stars": stars})
    assert prepared(dataset="stars").train_x.shape == (16, 20)


class TestPreparedPath:
    def test_it_is_made_once(self, own_cache: Path, monkeypatch) -> None:
        spec = complete({"dataset": "wdbc"})
        path = prepared_path(spec)
        assert path.parent == own_cache / "prepared"
        assert path.name.startswith("wdbc-")
        assert path.name.endswith(".zarr.zip")
        monkeypatch.setattr(datasets, "prepare", lambda spec, out: pytest.fail("made again"))
        assert prepared_path(spec) == path

    def test_an_incomplete_spec_has_the_same_file(self) -> None:
        spec = complete({"dataset": "wdbc"})
        assert prepared_path(type(spec)(dataset="wdbc")) == prepared_path(spec)

    def test_another_split_or_file_has_another_file(self, tmp_path, own_file) -> None:
        mine = {"dataset": "mine", "path": str(own_file)}
        first = prepared_path(complete(mine))
        assert prepared_path(complete({**mine, "split_seed": 1})) != first
        own_file.write_text(own_file.read_text().replace("2 ", "1 ", 1))
        assert prepared_path(complete(mine)) != first

    def test_a_new_version_starts_anew(self, monkeypatch) -> None:
        spec = complete({"dataset": "wdbc"})
        first = prepared_path(spec)
        monkeypatch.setattr(datasets, "PREPARED_VERSION", 99)
        assert prepared_path(spec) != first

    def test_a_missing_own_file_is_named(self) -> None:
        spec = complete({"dataset": "mine", "path": "nowhere.svm"})
        with pytest.raises(UserError, match=r"cannot read nowhere\.svm: No such file"):
            prepared_path(spec)

    def test_the_raw_data_are_not_needed_again(self, tmp_path, libsvm_data, monkeypatch) -> None:
        mirror = tmp_path / "mirror"
        mirror.mkdir()
        shutil.copy(libsvm_data / "diabetes_scale", mirror)
        monkeypatch.setenv("GVIBENCH_DATA", str(mirror))
        spec = complete({"dataset": "diabetes_scale"})
        path = prepared_path(spec)
        shutil.rmtree(mirror)
        assert prepared_path(spec) == path


@pytest.mark.parametrize("form", ["npz", "svm"])
@pytest.mark.parametrize("y", [np.linspace(-3.0, 7.0, 40), np.tile([0.0, 1.0], 20)])
def test_targets_of_your_own_file_are_what_the_model_takes_them_for(tmp_path, form, y) -> None:
    x = np.random.default_rng(0).standard_normal((40, 2))
    path = tmp_path / f"mine.{form}"
    if form == "npz":
        np.savez(path, X=x, y=y)
    else:
        dump_svmlight_file(x, y, str(path))
    fields = {"dataset": "mine", "path": str(path), "split": "first", "train_size": 30}
    prepare(complete(fields, "linear"), tmp_path / "real.zarr.zip")
    found = read_prepared(tmp_path / "real.zarr.zip").train_y
    assert np.allclose(found, y[:30], rtol=1e-14, atol=0)  # text has 16 digits
    for model in ("logistic", "non-convex"):
        out = tmp_path / f"{model}.zarr.zip"
        if len(np.unique(y)) == 2:
            prepare(complete(fields, model), out)
            assert np.array_equal(read_prepared(out).train_y, 2 * y[:30] - 1)
        else:
            with pytest.raises(UserError, match="for real targets use model 'linear'"):
                prepare(complete(fields, model), out)


def test_a_catalogue_set_of_two_classes_keeps_them_for_the_linear_model(tmp_path) -> None:
    prepare(complete({"dataset": "wdbc"}, "linear"), tmp_path / "out.zarr.zip")
    assert set(read_prepared(tmp_path / "out.zarr.zip").train_y) == {-1.0, 1.0}
