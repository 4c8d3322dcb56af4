"""Ranges of bytes of Zarr stores in zip files, from a disk and from object storage."""

import gc
import pickle
import zipfile

import numpy as np
import pytest
import xarray as xr
import zarr

from figures.made_aggregate import Run, write_aggregate
from gvibench import load_study
from gvibench.analysis.bands import band_table
from gvibench.analysis.configurations import configurations
from gvibench.analysis.gaps import gap
from gvibench.errors import UserError
from gvibench.store import zip_store
from gvibench.store.aggregates import open_aggregate
from gvibench.store.remote import RemoteFile
from gvibench.store.zip_store import ZipRangeStore
from gvibench.study.parallel import Dask

RUNS, SHARD = 12, 2
RECORDS = 500


@pytest.fixture
def path(tmp_path):
    """An aggregate of twelve configurations in six shards."""
    rng = np.random.default_rng(0)
    runs = [
        Run((11.0 + rng.random(RECORDS)).tolist(), step=0.1 * (k + 1), spec={"iterations": 600})
        for k in range(RUNS)
    ]
    return write_aggregate(tmp_path, runs, dask=Dask(settings={"runs_per_task": SHARD}))


def test_the_store_has_the_content_of_the_zip_file(path):
    store = ZipRangeStore(str(path))
    with zipfile.ZipFile(path) as archive:
        assert store.names() == set(archive.namelist())
    with zarr.storage.ZipStore(path) as plain:
        expected = zarr.open_group(plain, mode="r")
        group = zarr.open_group(store, mode="r")
        assert set(group) == set(expected)
        for name in ("objective", "iteration", "solver"):
            assert np.array_equal(group[name][:], expected[name][:], equal_nan=name == "objective")
            assert np.array_equal(group[name][3:5], expected[name][3:5])
    store.close()


def test_other_writers_and_zip64_are_read(tmp_path):
    """The position of a member does not depend on the size of its header."""
    values = np.arange(1000.0)
    with zarr.storage.ZipStore(tmp_path / "z.zip", mode="w") as store:
        zarr.create_array(store, name="x", data=values, chunks=(100,))
    with (
        zipfile.ZipFile(tmp_path / "z.zip") as source,
        zipfile.ZipFile(tmp_path / "big.zip", "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for name in source.namelist():
            info = zipfile.ZipInfo(name)
            info.extra = b"\x99\x99\x04\x00abcd"
            with target.open(info, "w", force_zip64=True) as member:
                member.write(source.read(name))
    for name in ("z.zip", "big.zip"):
        array = zarr.open_group(ZipRangeStore(str(tmp_path / name)), mode="r")["x"]
        assert np.array_equal(array[:], values)


def test_a_store_can_be_sent_to_another_process(path):
    store = pickle.loads(pickle.dumps(ZipRangeStore(str(path))))
    assert zarr.open_group(store, mode="r")["objective"].shape == (RUNS, RECORDS)


def test_a_truncated_file_is_an_error(path, tmp_path):
    (tmp_path / "t.zip").write_bytes(path.read_bytes()[:-30])
    with pytest.raises(UserError, match="truncated or not a zip file"):
        ZipRangeStore(str(tmp_path / "t.zip"))


def test_damaged_metadata_are_one_error(path, caplog):
    """Zarr would leave further errors to Python, which logs them some time later."""
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        damaged = [info for info in archive.infolist() if info.filename.endswith("e/zarr.json")]
    for info in damaged:
        content[info.header_offset + 30 + len(info.filename) + 20] ^= 255
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"is damaged.*zarr\.json"):
        load_study(path)
    gc.collect()
    assert len(damaged) > 3
    assert not caplog.records


class Reads:
    """Ranges of a file that were read."""

    def __init__(self, monkeypatch, kind):
        self.sizes = []
        read = kind.read

        def counted(file, start, stop):
            self.sizes.append(stop - start)
            return read(file, start, stop)

        monkeypatch.setattr(kind, "read", counted)

    def since(self):
        """Return the number and the total size of reads since the last call."""
        sizes, self.sizes = self.sizes, []
        return len(sizes), sum(sizes)


def test_a_band_reads_only_its_shards(path, monkeypatch):
    reads = Reads(monkeypatch, zip_store._LocalFile)
    study = load_study(path)
    assert study.chunks == {"run": (SHARD,) * (RUNS // SHARD), "record": (RECORDS,)}
    gaps = gap(study, "objective")
    reads.since()
    config = configurations(study)[7]
    table = band_table(gaps, [config], "median")
    assert len(table) == RECORDS
    # The shards of the objective and of the iterations.
    count, size = reads.since()
    assert count <= 4
    assert size < 3 * SHARD * RECORDS * 8
    np.testing.assert_allclose(table["center"], study["objective"].values[7] - 10.0)


def test_arrays_stay_readable_when_the_dataset_is_gone(path):
    assert load_study(path)["objective"].isel(run=3).mean().compute() > 11.0


def test_remote_studies_are_opened_lazily_and_read_by_ranges(s3, path, monkeypatch):
    s3.upload_file(str(path), "studies", "some/aggregate.zarr.zip")
    reads = Reads(monkeypatch, RemoteFile)
    study = load_study("s3://studies/some/aggregate.zarr.zip")
    opened, size = reads.since()
    # The list of members, then all metadata and labels in one piece, but no curve.
    assert opened <= 3
    assert size < path.stat().st_size
    row = study["objective"].isel(run=5).compute()
    count, size = reads.since()
    assert count <= 4  # a shard of the objective and one of the iterations
    assert size < 2 * SHARD * RECORDS * 8
    with open_aggregate(path) as local:
        xr.testing.assert_equal(
            row.reset_coords(drop=True), local["objective"][5].reset_coords(drop=True)
        )
    with pytest.raises(UserError, match=r"cannot read s3://studies/none\.zarr\.zip"):
        load_study("s3://studies/none.zarr.zip")
