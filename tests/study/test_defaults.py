import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gvibench.errors import UserError
from gvibench.registry import DATASETS
from gvibench.spec.run import DataSpec
from gvibench.study.defaults import complete_data


def test_defaults_are_those_of_the_paper() -> None:
    assert complete_data({"dataset": "phishing"}) == DataSpec(
        dataset="phishing", split="sklearn", split_seed=42, test_size=0.2
    )
    covtype = complete_data({"dataset": "covtype"})
    assert (covtype.split, covtype.train_size, covtype.test_size) == ("sklearn", 500_000, None)
    mnist = complete_data({"dataset": "mnist"})
    assert (mnist.split, mnist.train_size, mnist.test_size) == ("given", None, None)
    assert mnist.options == {"positive": "0", "negative": "rest", "source": "idx"}
    assert complete_data({"dataset": "leukemia"}).split == "given"
    assert complete_data({"dataset": "wdbc"}).scale == "standardize"


def test_settings_of_the_user_are_kept() -> None:
    assert complete_data({"dataset": "wdbc", "scale": "none"}).scale == "none"
    assert complete_data({"dataset": "mnist", "split": "sklearn"}).test_size == 0.2
    sized = complete_data({"dataset": "covtype", "train_size": 1000, "test_size": 500})
    assert (sized.train_size, sized.test_size) == (1000, 500)
    only_test = complete_data({"dataset": "covtype", "test_size": 500})
    assert (only_test.train_size, only_test.test_size) == (None, 500)
    assert complete_data({"dataset": "covtype", "split_seed": 7}).train_size == 500_000


def test_options_are_completed_and_normalised() -> None:
    as_number = complete_data({"dataset": "mnist", "options": {"positive": 3, "negative": "8"}})
    as_text = complete_data({"dataset": "mnist", "options": {"positive": "3", "negative": 8}})
    assert as_number.canonical() == as_text.canonical()
    whole = complete_data({"dataset": "synthetic", "options": {"condition": 100}})
    assert (
        whole.canonical()
        == complete_data({"dataset": "synthetic", "options": {"condition": 100.0}}).canonical()
    )
    assert whole.options["n"] == 1000


@settings(max_examples=60, deadline=None)
@given(
    dataset=st.sampled_from(sorted(DATASETS.built_in)),
    split=st.sampled_from([None, "sklearn", "random", "first"]),
    train_size=st.sampled_from([None, 10, 0.5]),
    scale=st.sampled_from([None, "none", "standardize"]),
)
def test_completing_twice_changes_nothing(**chosen) -> None:
    spec = {name: value for name, value in chosen.items() if value is not None}
    if chosen["split"] == "first":
        spec["train_size"] = 10
    once = complete_data(spec)
    assert complete_data(once.to_dict()) == once
    assert complete_data(json.loads(once.canonical())) == once


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({"dataset": "mushroomz"}, r"unknown data set 'mushroomz' \(did you mean 'mushroom'\?\)"),
        ({"datset": "wdbc"}, r"data: .*dataset"),  # codespell:ignore
        (
            {"dataset": "synthetic", "options": {"conditon": 3}},  # codespell:ignore
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
            {"dataset": "synthetic", "options": {"targets": "reel"}},
            r"must be one of classes, real, counts, got 'reel' \(did you mean 'real'\?\)",
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
        ({"dataset": "wdbc", "test_path": "a.svm"}, r"'test_path' needs 'path'"),
        ({"dataset": "wdbc", "path": "a.svm"}, r"'wdbc' is a data set of the catalogue"),
        ({"dataset": "mine", "path": "a.svm", "split": "given"}, r"has no test file of its own"),
        (
            {"dataset": "mine", "path": "a.svm", "test_path": "b.svm", "split": "random"},
            r"'test_path' is only for split 'given', not for 'random'",
        ),
    ],
)
def test_an_invalid_spec_is_an_error_in_one_sentence(spec: dict, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence) as caught:
        complete_data(spec)
    assert "\n" not in str(caught.value)


def test_a_test_file_implies_the_given_split() -> None:
    assert complete_data({"dataset": "mine", "path": "a", "test_path": "b"}).split == "given"
    assert complete_data({"dataset": "mine", "path": "a"}).split == "sklearn"


def test_completing_a_spec_imports_no_numerical_library() -> None:
    code = (
        "import sys; from gvibench.study.defaults import complete_data; "
        "complete_data({'dataset': 'mnist'}); "
        "heavy = ('numpy', 'sklearn', 'scipy', 'pooch', 'zarr', 'pandas'); "
        "print([name for name in heavy if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
