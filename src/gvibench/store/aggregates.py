"""A finished study in whichever form it comes: its folder, its aggregate or an archive of it."""

import contextlib
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from gvibench.errors import UserError

__all__ = ["AGGREGATE", "locate_aggregate"]

AGGREGATE = "aggregate.zarr.zip"


@contextlib.contextmanager
def locate_aggregate(path: Path) -> Iterator[Path]:
    """Yield the path of a study's aggregate, given its folder, the aggregate or an archive.

    Figures and tables, if the study has them, are beside the aggregate in `figures` and `tables`.
    What is unpacked from an archive is gone when the context ends.
    """
    if path.is_dir():
        yield path / AGGREGATE
        return
    if not _is_archive(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="gvibench-") as folder:
        try:
            with zipfile.ZipFile(path) as archive:
                wanted = [name for name in archive.namelist() if not name.startswith("runs/")]
                archive.extractall(folder, wanted)
        except (OSError, zipfile.BadZipFile, zlib.error) as error:
            raise UserError(f"{path} is damaged ({error}): get or export it again") from error
        yield Path(folder) / AGGREGATE


def _is_archive(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return AGGREGATE in archive.namelist()
    except (OSError, zipfile.BadZipFile):  # whoever opens it as an aggregate says what is wrong
        return False
