"""SR-VN in the basis of the rows, for problems with more features than rows."""

from typing import ClassVar

from gvibench.solvers.sr_vn import SrVn

__all__ = ["SrVnRotated"]


class SrVnRotated(SrVn):
    """SR-VN after a rotation of the features into the span of the training rows.

    A Cholesky factor is not rotation invariant. In the rotated basis, the same update is a
    different, equally valid square-root method, so it has its own name. The covariance is block
    diagonal in this basis, and a run costs as much as one in min(n, d) + 2 dimensions.
    """

    id: ClassVar[str] = "sr-vn-rotated"
    title: ClassVar[str] = "SR-VN (rotated)"

    @property
    def rotated(self) -> bool:
        return True
