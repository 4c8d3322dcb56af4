import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gvibench.datasets.build import build
from gvibench.errors import UserError
from gvibench.spec.run import DataSpec
from gvibench.store.prepared import read_prepared
from gvibench.store.zarrzip import Group, open_zip, write_zip
from gvibench.study.defaults import complete_data


@settings(max_examples=25, deadline=None)
@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
        elements=st.sampled_from([0.0, 0.0, 1.5, -2.0]),
    )
)
def test_sparse_rows_are_read_as_the_dense_array(tmp_path_factory, x: np.ndarray) -> None:
    rows, columns = x.shape
    spec = DataSpec(dataset="test").canonical()
    sizes = {"n_train": rows, "n_test": rows, "d": columns}
    root = Group({"kind": "gvibench prepared data", "spec": spec, **sizes})
    csr = scipy.sparse.csr_array(x)
    arrays = {"data": csr.data, "indices": csr.indices, "indptr": csr.indptr, "y": np.ones(rows)}
    for name, values in arrays.items():
        root.group("train").put(name, values, [name])
        root.group("test").put(name, values, [name])
    path = tmp_path_factory.mktemp("prepared") / "a.zarr.zip"
    write_zip(path, root)
    data = read_prepared(path)
    assert data.train_x.flags.c_contiguous
    assert data.train_x.tobytes() == data.test_x.tobytes() == x.tobytes()


@pytest.fixture
def example(tmp_path: Path) -> Path:
    build(complete_data({"dataset": "synthetic", "options": {"n": 20}}), tmp_path / "a.zarr.zip")
    return tmp_path / "a.zarr.zip"


def rewrite(path: Path, change) -> None:
    """Copy the file with a change to its attributes or arrays."""
    with open_zip(path) as root:
        attrs = dict(root.attrs)
        arrays = {
            f"{part}/{name}": root.group(part).read(name)
            for part in ("train", "test")
            for name in "xy"
        }
    change(attrs, arrays)

    root = Group(attrs)
    for name, array in arrays.items():
        part, _, leaf = name.partition("/")
        root.group(part).put(leaf, array, [f"{i}" for i in range(array.ndim)])
    write_zip(path, root)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda attrs, _: attrs.pop("kind"), "is not a file of prepared data"),
        (lambda attrs, _: attrs.pop("spec"), "is not a complete file of prepared data"),
        (lambda attrs, _: attrs.update(spec="{}"), "wrong fields in a spec: categorical, dataset"),
        (lambda _, arrays: arrays.pop("train/y"), "is damaged"),
        (lambda _, arrays: arrays.pop("test/x"), "is damaged"),
        (lambda attrs, _: attrs.update(d=11), r"has shapes \(16, 10\) .*not 16 x 11"),
        (lambda attrs, _: attrs.update(n_test=5), r"test has shapes"),
    ],
)
def test_an_incomplete_file_is_an_error(example: Path, change, sentence: str) -> None:
    rewrite(example, change)
    with pytest.raises(UserError, match=sentence) as caught:
        read_prepared(example)
    assert str(example) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_damaged_file_is_an_error(example: Path) -> None:
    content = bytearray(example.read_bytes())
    content[len(content) // 2] ^= 0xFF
    example.write_bytes(content)
    with pytest.raises(UserError, match=r"a\.zarr\.zip is damaged"):
        read_prepared(example)


def test_reading_needs_neither_scikit_learn_nor_scipy(example: Path) -> None:
    code = (
        "import sys; from gvibench.store.prepared import read_prepared; "
        f"read_prepared({str(example)!r}); "
        "heavy = ('sklearn', 'scipy', 'pandas', 'xarray', 'pooch', 'dask', 'requests'); "
        "print([m for m in heavy if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
