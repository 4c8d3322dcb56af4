"""Rows that do not fit on the device: they stay in host memory and travel block by block."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gvibench.numerics.base import Array

__all__ = ["StreamedRows"]


class StreamedRows:
    """A matrix in host memory that answers an index with an array on the device.

    Models take their rows in blocks, one slice after another, and so need not know.

    Parameters
    ----------
    rows
        The whole matrix.
    upload
        Moves a part of it to the device.
    to_index
        Brings the indices of a minibatch, which live on the device, to the host.
    """

    def __init__(
        self,
        rows: np.ndarray,
        upload: Callable[[np.ndarray], Array],
        to_index: Callable[[Array], np.ndarray],
    ) -> None:
        self._rows = rows
        self._upload = upload
        self._to_index = to_index
        self.shape = rows.shape

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Array:
        return self._upload(
            self._rows[index if isinstance(index, slice) else self._to_index(index)]
        )
