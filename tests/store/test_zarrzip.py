import errno
import json
import os
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from zarr.storage import ZipStore

from gvibench.errors import UserError
from gvibench.store.zarrzip import Group, open_zip, write_zip


def write(path: Path, **arrays: np.ndarray) -> Path:
    root = Group({"kind": "test"})
    for name, array in arrays.items():
        dims = [f"dim_{i}" for i in range(array.ndim)]
        root.group("inner").put(name, array, dims, units="1")
    write_zip(path, root)
    return path


@pytest.fixture
def example(tmp_path: Path) -> Path:
    return write(tmp_path / "a.zarr.zip", x=np.arange(12.0).reshape(4, 3), y=np.arange(1000))


def test_round_trip_without_a_warning(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = write(tmp_path / "a.zarr.zip", x=np.array([[1.5, np.nan], [-0.0, np.inf]]))
        with open_zip(path) as root:
            assert root.attrs["kind"] == "test"
            array = root.group("inner").read("x")
            assert array.tobytes() == np.array([[1.5, np.nan], [-0.0, np.inf]]).tobytes()


@settings(max_examples=25, deadline=None)
@given(
    hnp.arrays(
        st.sampled_from([np.float64, np.int32, np.bool_, np.uint8]),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
    )
)
def test_numeric_arrays_are_read_bit_for_bit_by_us_and_by_zarr(tmp_path_factory, array) -> None:
    path = write(tmp_path_factory.mktemp("zip") / "a.zarr.zip", x=array)
    with open_zip(path) as root:
        ours = root.group("inner").read("x")
        assert root.group("inner").names() == ["x"]
    with ZipStore(path, mode="r") as store:
        node = zarr.open_group(store, mode="r")["inner/x"]
        assert node.metadata.dimension_names == tuple(f"dim_{i}" for i in range(array.ndim))
        assert dict(node.attrs) == {"units": "1"}
        theirs = np.asarray(node[...])
    for result in (ours, theirs):
        assert result.dtype == array.dtype
        assert result.shape == array.shape
        assert result.tobytes() == array.tobytes()


def test_equal_content_gives_equal_bytes(tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((50, 3))
    first = write(tmp_path / "a.zarr.zip", x=x, y=x)
    second = write(tmp_path / "b.zarr.zip", x=x, y=x)
    assert first.read_bytes() == second.read_bytes()


def test_members_are_stored_once_in_order_root_first(example: Path) -> None:
    with zipfile.ZipFile(example) as archive:
        names = archive.namelist()
        assert names[0] == "zarr.json"
        assert names == [
            "zarr.json",
            "inner/zarr.json",
            *("inner/x/zarr.json", "inner/x/c/0/0"),
            *("inner/y/zarr.json", "inner/y/c/0"),
        ]
        assert len(set(names)) == len(names)
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [7, 3]},
        {"shape": "many"},
        {"shape": [-4, -3]},
        {"data_type": "string"},
        {"codecs": []},
        {"chunk_grid": {"configuration": {"chunk_shape": [1, 3]}}},
    ],
)
def test_inconsistent_metadata_are_an_error(example: Path, change) -> None:
    with zipfile.ZipFile(example) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    metadata = {**json.loads(members["inner/x/zarr.json"]), **change}
    members["inner/x/zarr.json"] = json.dumps(metadata).encode()
    with zipfile.ZipFile(example, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(UserError, match="is damaged"), open_zip(example) as root:
        root.group("inner").read("x")


def test_invalid_attributes_keep_the_old_file(example: Path) -> None:
    before = example.read_bytes()

    with pytest.raises(ValueError, match="not JSON compliant"):
        write_zip(example, Group({"value": float("nan")}))
    assert example.read_bytes() == before
    assert list(example.parent.iterdir()) == [example]


def test_a_full_disk_keeps_the_old_file(example: Path, monkeypatch) -> None:
    before = example.read_bytes()

    def fail(self, *args: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(zipfile.ZipFile, "writestr", fail)
    with pytest.raises(UserError, match=r"cannot write .*a\.zarr\.zip: No space left on device"):
        write(example, x=np.zeros(3))
    assert example.read_bytes() == before
    assert list(example.parent.iterdir()) == [example]


def test_text_arrays_are_an_error() -> None:
    with pytest.raises(TypeError, match="'names' must be numeric"):
        Group().put("names", np.array(["a"]), ["row"])


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with (
        pytest.raises(UserError, match=r"none\.zarr\.zip does not exist"),
        open_zip(tmp_path / "none.zarr.zip"),
    ):
        pass


def test_a_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read .*: Is a directory"), open_zip(tmp_path):
        pass


@pytest.mark.parametrize("content", [b"", b"hello", b"<html></html>"])
def test_a_file_that_is_not_a_zip_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.zarr.zip"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"a\.zarr\.zip is truncated or not a zip"), open_zip(path):
        pass


def test_a_truncated_file_is_an_error(example: Path) -> None:
    whole = example.read_bytes()
    for length in np.linspace(1, len(whole) - 1, 25).astype(int):
        example.write_bytes(whole[:length])
        with pytest.raises(UserError, match="is truncated or not a zip file"), open_zip(example):
            pass


def test_a_flipped_bit_is_detected_when_the_array_is_read(example: Path) -> None:
    with zipfile.ZipFile(example) as archive:
        chunk = archive.getinfo("inner/y/c/0")
    content = bytearray(example.read_bytes())
    content[chunk.header_offset + 30 + len(chunk.filename) + 20] ^= 1
    example.write_bytes(content)
    with open_zip(example) as root:
        root.group("inner").read("x")
    with (
        pytest.raises(UserError, match=r"is damaged .*delete"),
        open_zip(example) as root,
    ):
        root.group("inner").read("y")


@pytest.mark.parametrize(
    "members",
    [
        {"readme.txt": "hello"},
        {"zarr.json": '{"zarr_format": 3, "node_type": "array"}'},
        {"zarr.json": "not json"},
    ],
)
def test_a_zip_without_a_zarr_group_is_an_error(tmp_path: Path, members: dict[str, str]) -> None:
    path = tmp_path / "a.zarr.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    with pytest.raises(UserError, match="without a Zarr v3 group"), open_zip(path):
        pass


def test_importing_the_module_imports_no_large_library() -> None:
    code = (
        "import sys, gvibench.store.zarrzip; "
        "print([m for m in ('sklearn', 'scipy', 'pandas', 'xarray', 'zarr') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
