import importlib.metadata
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gvibench.datasets import catalogue
from gvibench.datasets.catalogue import MNIST_LIBSVM, Entry, complete, entry, names
from gvibench.datasets.read import read_idx, read_svmlight
from gvibench.errors import UserError
from gvibench.spec.run import DataSpec, canonical_json

LIBSVM_SETS = [
    "australian_scale",
    "diabetes_scale",
    "breast-cancer_scale",
    "mushrooms",
    "phishing",
    "mnist",
    "covtype",
    "leukemia",
]
PAPER_BETA = [1e-5, 1e-2, 1e-1, 1e-2, 1e-2, 1e-1, 2e-2, 2e-1]


def test_the_catalogue_has_the_sets_of_the_paper_and_the_bundled_ones() -> None:
    assert names()[:11] == [*LIBSVM_SETS, "wdbc", "digits-odd-even", "synthetic"]
    assert [entry(name).beta for name in LIBSVM_SETS] == PAPER_BETA


@pytest.mark.parametrize("name", LIBSVM_SETS)
def test_every_file_is_described(name: str) -> None:
    known = entry(name)
    assert set(known.labels) == {"+1", "-1"}
    assert known.files
    for file in known.files:
        assert file.url.startswith("https://")
        assert file.url.endswith("/" + file.name)
        assert file.sha256 is not None
        assert len(file.sha256) == 64
    rows = [file.rows for file in known.files if file.rows]
    assert not rows or sum(rows) == known.n
    for file in (*known.files, *MNIST_LIBSVM):
        assert not file.label_counts or sum(file.label_counts.values()) == file.rows


@pytest.mark.parametrize("name", [name for name in LIBSVM_SETS if name not in {"mnist", "covtype"}])
def test_the_catalogue_agrees_with_the_real_files(name: str, libsvm_data) -> None:
    known = entry(name)
    for file in known.files:
        (table,) = read_svmlight([libsvm_data / file.name], zero_based=False)
        labels, counts = np.unique(table.y, return_counts=True)
        assert table.x.shape == (file.rows, file.columns)
        assert table.x.shape[1] == known.d
        assert dict(zip(labels.tolist(), counts.tolist(), strict=True)) == file.label_counts
        assert np.count_nonzero(table.x.data) == file.nonzeros


def test_the_facts_of_mnist_agree_with_the_idx_files(libsvm_data) -> None:
    for part, file in zip(("train", "t10k"), MNIST_LIBSVM, strict=True):
        pixels = read_idx(libsvm_data / f"{part}-images-idx3-ubyte.gz").reshape(-1, 784)
        digits = read_idx(libsvm_data / f"{part}-labels-idx1-ubyte.gz")
        assert dict(enumerate(np.bincount(digits).tolist())) == file.label_counts
        assert np.count_nonzero(pixels) == file.nonzeros
        assert np.flatnonzero(pixels.any(axis=0))[-1] + 1 == file.columns


def test_defaults_are_those_of_the_paper() -> None:
    assert complete({"dataset": "phishing"}) == DataSpec(
        dataset="phishing", split="sklearn", split_seed=42, test_size=0.2
    )
    covtype = complete({"dataset": "covtype"})
    assert (covtype.split, covtype.train_size, covtype.test_size) == ("sklearn", 500_000, None)
    mnist = complete({"dataset": "mnist"})
    assert (mnist.split, mnist.train_size, mnist.test_size) == ("given", None, None)
    assert mnist.options == {"positive": "0", "negative": "rest", "source": "idx"}
    assert complete({"dataset": "leukemia"}).split == "given"
    assert complete({"dataset": "wdbc"}).scaling == "standardize"


def test_what_the_user_set_stays() -> None:
    assert complete({"dataset": "wdbc", "scaling": "none"}).scaling == "none"
    assert complete({"dataset": "mnist", "split": "sklearn"}).test_size == 0.2
    sized = complete({"dataset": "covtype", "train_size": 1000, "test_size": 500})
    assert (sized.train_size, sized.test_size) == (1000, 500)
    only_test = complete({"dataset": "covtype", "test_size": 500})
    assert (only_test.train_size, only_test.test_size) == (None, 500)
    assert complete(DataSpec(dataset="covtype", split_seed=7)).train_size == 500_000


def test_options_are_completed_and_take_one_form() -> None:
    as_number = complete({"dataset": "mnist", "options": {"positive": 3, "negative": "8"}})
    as_text = complete({"dataset": "mnist", "options": {"positive": "3", "negative": 8}})
    assert canonical_json(as_number) == canonical_json(as_text)
    whole = complete({"dataset": "synthetic", "options": {"condition": 100}})
    assert canonical_json(whole) == canonical_json(
        complete({"dataset": "synthetic", "options": {"condition": 100.0}})
    )
    assert whole.options["n"] == 1000


@settings(max_examples=60, deadline=None)
@given(
    dataset=st.sampled_from([*LIBSVM_SETS, "wdbc", "synthetic"]),
    split=st.sampled_from([None, "sklearn", "random", "first"]),
    train_size=st.sampled_from([None, 10, 0.5]),
    scaling=st.sampled_from([None, "none", "standardize"]),
)
def test_completing_twice_changes_nothing(**chosen) -> None:
    spec = {name: value for name, value in chosen.items() if value is not None}
    if chosen["split"] == "first":
        spec["train_size"] = 10
    once = complete(spec)
    assert complete(once) == once
    assert complete(DataSpec.model_validate_json(canonical_json(once))) == once


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({"dataset": "mushroom"}, r"unknown data set 'mushroom' \(did you mean 'mushrooms'\?\)"),
        ({"datset": "wdbc"}, r"data: .*dataset"),
        (
            {"dataset": "synthetic", "options": {"conditon": 3}},
            r"'synthetic': unknown option 'conditon' \(did you mean 'condition'\?\); it has n, d,",
        ),
        (
            {"dataset": "phishing", "options": {"n": 3}},
            r"'phishing': unknown option 'n'; it has none",
        ),
        (
            {"dataset": "synthetic", "options": {"n": 2.5}},
            r"option 'n' must be a whole number, got 2\.5",
        ),
        ({"dataset": "synthetic", "options": {"n": True}}, r"'n' must be a whole number, got True"),
        ({"dataset": "synthetic", "options": {"n": 1}}, r"'n' must be at least 2, got 1"),
        (
            {"dataset": "synthetic", "options": {"condition": 0.5}},
            r"'condition' must be at least 1, got 0\.5",
        ),
        (
            {"dataset": "synthetic", "options": {"condition": float("inf")}},
            r"'condition' must be a finite number, got inf",
        ),
        (
            {"dataset": "synthetic", "options": {"target": "regresion"}},
            r"must be one of binary, regression, got 'regresion' \(did you mean 'regression'\?\)",
        ),
        (
            {"dataset": "mnist", "options": {"positive": "ten"}},
            r"option 'positive' must be one of 0, 1,",
        ),
        (
            {"dataset": "mnist", "options": {"positive": 3, "negative": 3}},
            r"'positive' and 'negative' are both '3'",
        ),
        ({"dataset": "wdbc", "split": "given"}, r"'wdbc' has no test file of its own"),
        ({"dataset": "wdbc", "split": "first"}, r"split 'first' needs 'train_size'"),
        ({"dataset": "wdbc", "test_path": "a.svm"}, r"'test_path' needs 'path' beside it"),
        ({"dataset": "wdbc", "path": "a.svm"}, r"'wdbc' is a data set of the catalogue"),
        ({"dataset": "mine", "path": "a.svm", "split": "given"}, r"has no test file of its own"),
        (
            {"dataset": "mine", "path": "a.svm", "test_path": "b.svm", "split": "random"},
            r"'test_path' is only for split 'given', not for 'random'",
        ),
    ],
)
def test_mistakes_are_one_sentence(spec: dict, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence) as caught:
        complete(spec)
    assert "\n" not in str(caught.value)


def test_a_test_file_implies_the_given_split() -> None:
    assert complete({"dataset": "mine", "path": "a", "test_path": "b"}).split == "given"
    assert complete({"dataset": "mine", "path": "a"}).split == "sklearn"


PLUGIN = Entry("stars", "Stars", "nowhere:load", "the sky", 1.0, labels={"+1": "a", "-1": "b"})
NOT_AN_ENTRY = 3


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch):
    def point(name: str, value: str) -> importlib.metadata.EntryPoint:
        return importlib.metadata.EntryPoint(name, value, "gvibench.datasets")

    found = {
        "stars": point("stars", f"{__name__}:PLUGIN"),
        "broken": point("broken", "no_such_module:x"),
        "wrong": point("wrong", f"{__name__}:NOT_AN_ENTRY"),
    }
    monkeypatch.setattr(catalogue, "_plugins", lambda: found)


@pytest.mark.usefixtures("plugins")
def test_other_packages_add_data_sets() -> None:
    assert entry("stars") is PLUGIN
    assert "stars" in names()
    assert complete({"dataset": "stars"}).test_size == 0.2


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize(
    ("name", "sentence"), [("broken", "could not be loaded"), ("wrong", "is not an Entry")]
)
def test_a_broken_addition_is_named_only_when_it_is_used(name: str, sentence: str) -> None:
    entry("wdbc")
    with pytest.raises(UserError, match=f"'{name}' of the package .* {sentence}"):
        entry(name)


def test_the_catalogue_is_light() -> None:
    code = (
        "import sys, gvibench.datasets.catalogue as c; c.complete({'dataset': 'mnist'}); "
        "print([m for m in ('sklearn', 'scipy', 'pooch', 'zarr', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
