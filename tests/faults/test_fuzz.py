"""Test corrupt inputs: a sample of `python tests/faults/fuzz.py`, and inputs from Hypothesis."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gvibench.datasets.read import read_idx, read_npz, read_svmlight
from gvibench.errors import UserError
from gvibench.spec.run import RunSpec
from gvibench.spec.validate import parse
from gvibench.study.config import load_config, read_config
from gvibench.study.expand import expand

FUZZ = Path(__file__).parent / "fuzz.py"

hypothesis_settings = settings(
    max_examples=150,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def test_sample_of_the_fuzzer():
    done = subprocess.run(
        [sys.executable, str(FUZZ), "--share", "0.05"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


numbers = st.floats(-1e49, 1e49, allow_subnormal=False)
rows = st.lists(
    st.tuples(st.integers(-3, 3), st.dictionaries(st.integers(1, 30), numbers, max_size=6)),
    min_size=1,
    max_size=20,
)


@hypothesis_settings
@given(rows)
def test_svmlight_files_are_read_as_written(tmp_path, rows):
    lines = [
        " ".join([str(label), *(f"{column}:{cells[column]!r}" for column in sorted(cells))])
        for label, cells in rows
    ]
    path = tmp_path / "rows"
    path.write_text("\n".join(lines) + "\n")
    if not any(cells for _, cells in rows):
        with pytest.raises(UserError, match="empty"):
            read_svmlight([path], zero_based=False)
        return
    (table,) = read_svmlight([path], zero_based=False)
    expected = np.zeros((len(rows), max(column for _, cells in rows for column in cells)))
    for k, (_, cells) in enumerate(rows):
        for column, value in cells.items():
            expected[k, column - 1] = value
    assert np.array_equal(table.x.toarray(), expected)
    assert table.y.tolist() == [label for label, _ in rows]


@hypothesis_settings
@given(st.binary(max_size=200))
def test_random_bytes_do_not_crash_readers(tmp_path, content):
    path = tmp_path / "raw"
    path.write_bytes(content)
    for read in (
        lambda: read_svmlight([path], zero_based="auto"),
        lambda: read_idx(path),
        lambda: read_npz(path),
        lambda: read_config(path),
    ):
        try:
            read()
        except UserError as error:
            assert str(path) in str(error)  # noqa: PT017
            assert str(error).isprintable()  # noqa: PT017


trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = ("datasets", "solvers", "step", "beta", "seeds", "vary", "record", "tuning", "title")


@hypothesis_settings
@given(st.sampled_from(KEYS), trees)
def test_random_values_do_not_crash_the_plan(key, value):
    study = {"datasets": ["wdbc"], "solvers": ["vn"], "step": 0.1, key: value}
    try:
        expand(load_config({"studies": {"s": study}}))
    except UserError as error:
        assert str(error).startswith(("config", "studies.s"))  # noqa: PT017


@hypothesis_settings
@given(st.text(max_size=60))
def test_random_text_does_not_crash_the_spec_parser(text):
    with pytest.raises(UserError, match=r"^--spec: "):
        parse(RunSpec, text, "--spec")


# Settings that are valid one by one but not together.
INCOMPATIBLE = {
    "reduced and non-convex": (
        {"model": "non-convex", "form": "reduced"},
        "cannot work in the basis of the rows",
    ),
    "regression and logistic": (
        {"datasets": {"synthetic": {"options": {"targets": "real"}}}},
        "needs two classes",
    ),
    "tuned beta and non-convex": (
        {"model": "non-convex", "beta": "tuned"},
        "set beta to a number",
    ),
    "varied solver option": (
        {"vary": {"solver_options": [{"kernel": "none"}]}},
        "unknown key 'kernel'",
    ),
    "too many runs": ({"seeds": 100_000, "step": [0.1, 0.2]}, "more than 100000 runs"),
    "path too long": ({"vary": {"data.dataset": ["x" * 80], "solver": ["y"]}}, "vary"),
}


@pytest.mark.parametrize("case", INCOMPATIBLE)
def test_plan_rejects_incompatible_settings(case):
    changes, message = INCOMPATIBLE[case]
    study = {"datasets": ["wdbc"], "solvers": ["vn"], "step": 0.1, **changes}
    with pytest.raises(UserError, match=message) as caught:
        expand(load_config({"studies": {"s": study}}))
    assert str(caught.value).startswith("studies.s")


def test_plan_rejects_missing_data_file(tmp_path, capsys):
    from gvibench.cli import main as cli

    path = tmp_path / "config.yaml"
    path.write_text(
        "studies: {s: {datasets: {mine: {path: nowhere.svm}}, solvers: [vn], step: 0.1}}"
    )
    assert cli.main(["plan", str(path)]) == 2
    assert "nowhere.svm does not exist" in capsys.readouterr().err


def test_huge_column_number_does_not_exhaust_memory(tmp_path, capsys):
    from gvibench.cli import main as cli

    path, out = tmp_path / "rows.svm", tmp_path / "out.zarr.zip"
    path.write_text("1 1:1\n2 2000000000:1\n1 2:1\n2 1:1\n1 1:2\n2 2:3\n" * 100)
    words = ["--dataset", "mine", "--path", str(path), "--out", str(out)]
    assert cli.main(["prepare", *words]) == 2
    assert "check the column numbers" in capsys.readouterr().err
