"""Load the binary data sets that LIBSVM publishes."""

from gvibench.datasets.fetch import raw_file
from gvibench.datasets.read import read_svmlight
from gvibench.datasets.source import Source, hashes_of
from gvibench.errors import UserError
from gvibench.spec.catalogue import DatasetEntry
from gvibench.spec.run import DataSpec

__all__ = ["load"]


def load(entry: DatasetEntry, spec: DataSpec) -> Source:
    """Load a binary data set in LIBSVM's format, with its test file if it has one."""
    paths = [raw_file(file) for file in entry.files]
    tables = read_svmlight(paths, zero_based=False)
    for table, path in zip(tables, paths, strict=True):
        if entry.d is not None and table.x.shape[1] != entry.d:
            raise UserError(
                f"{path} has {table.x.shape[1]} columns, but data set '{entry.name}' has "
                f"{entry.d}: replace it with the file of that data set"
            )
    return Source(tables[0], tables[1] if len(tables) > 1 else None, entry.labels, hashes_of(paths))
