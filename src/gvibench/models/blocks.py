"""Go through rows in blocks that fit into a large cache."""

from collections.abc import Iterator
from typing import NamedTuple

from gvibench.models.protocols import Rows
from gvibench.numerics.base import Array, Backend
from gvibench.numerics.gaussian import times

__all__ = ["Block", "Blocks"]


class Block(NamedTuple):
    """Some rows of a table."""

    x: Array
    y: Array
    offset: Array | None
    buffer: Array
    """Scratch space of the shape of `x`."""

    def predict(self, mean: Array) -> Array:
        """Return the linear predictors at a mean, or at each mean of a stack."""
        predictors = times(self.x, mean)
        return predictors if self.offset is None else predictors + self.offset


class Blocks:
    """Blocks of tables with the same number of columns, which share their buffers."""

    def __init__(self, backend: Backend, d: int) -> None:
        self._backend = backend
        self._d = d
        self._buffers: dict[int, Array] = {}

    def of(self, rows: Rows) -> Iterator[Block]:
        """Yield the rows in blocks."""
        row_bytes = self._d * self._backend.dtype.itemsize
        size = max(self._backend.block_rows, self._backend.block_bytes // row_bytes)
        for start in range(0, len(rows.y), size):
            part = slice(start, start + size)
            x, offset = rows.x[part], rows.offset
            offset = None if offset is None else offset[part]
            yield Block(x, rows.y[part], offset, self._buffer(len(x)))

    def _buffer(self, count: int) -> Array:
        # At most three sizes occur: a full block and the last blocks of training and test rows.
        if count not in self._buffers:
            empty = self._backend.xp.empty
            self._buffers[count] = empty((count, self._d), dtype=self._backend.dtype)
        return self._buffers[count]
