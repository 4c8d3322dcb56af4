"""Keep rows that do not fit on the device in host memory, and upload them block by block."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gvibench.numerics.base import Array

__all__ = ["StreamedRows"]


class StreamedRows:
    """Matrix in host memory whose slices are arrays on the device.

    Models read their rows in blocks, so they can use it like a matrix on the device.

    Parameters
    ----------
    rows
        The whole matrix.
    upload
        Function that moves a part of the matrix to the device.
    to_index
        Function that copies the indices of a minibatch from the device to the host.
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
