"""Rules for verdicts on the printed numbers of the paper. They were fixed before the search ran.

A *pair* is a start and an iteration. It explains a row of the performance table if the run from
that start at the step of the paper has all three printed numbers of the row at that iteration.

- `reproduced`: ELBO and test NLL differ from the printed values by at most 0.015 nats plus half a
  unit of the last printed digit, and the accuracy rounds to the printed one.
- `explained`: one pair has ELBO and test NLL within 0.5 % of the printed values, and an accuracy
  that rounds to the printed one.
- `unexplained`: no pair that was searched does that. The distance is that of the best pair.

The best pair of a row is one that explains it, if there is any. Among the others it is the one
whose largest relative distance over the three numbers is smallest.
"""

from typing import NamedTuple

import numpy as np

from gvibench.spec.paper_values import Printed

__all__ = [
    "EXPLAINED",
    "NUMBERS",
    "REPRODUCED",
    "UNEXPLAINED",
    "VERDICTS",
    "Values",
    "best_record",
    "relative_distances",
    "row_verdict",
]

NATS = 0.015
"""Maximum difference of a reproduced ELBO or NLL, in addition to rounding."""
SHARE = 0.005
"""Maximum relative difference of an explained ELBO or NLL."""
HALF_DIGIT = 0.005
"""Half a unit of the last printed digit of ELBO and NLL. The ELBO of BW-GD on phishing has one
digit more, which makes no difference here."""
HALF_DIGIT_OF_ACCURACY = 0.0005
ROUNDING = 1e-9
"""Tolerance for comparisons of floating-point numbers that come from decimal text."""

REPRODUCED, EXPLAINED, UNEXPLAINED = "reproduced", "explained", "unexplained"
VERDICTS = (REPRODUCED, EXPLAINED, UNEXPLAINED)
NUMBERS = ("train_elbo", "test_nll", "accuracy")
"""Printed numbers of a row. Times are left out: they were measured on another machine."""


class Values(NamedTuple):
    """The three numbers, for one iterate or along the iterations of a run."""

    train_elbo: np.ndarray | float
    test_nll: np.ndarray | float
    accuracy: np.ndarray | float


def relative_distances(values: Values, printed: Printed) -> np.ndarray:
    """Return the relative distances of the three numbers along the first axis.

    The distance of an accuracy is zero if it rounds to the printed one, and is otherwise measured
    from the nearest number that does.
    """
    elbo = np.abs(np.asarray(values.train_elbo) - printed.train_elbo) / abs(printed.train_elbo)
    nll = np.abs(np.asarray(values.test_nll) - printed.test_nll) / printed.test_nll
    beyond = np.abs(np.asarray(values.accuracy) - printed.accuracy) - HALF_DIGIT_OF_ACCURACY
    accuracy = np.where(beyond > ROUNDING, beyond, 0.0) / printed.accuracy
    return np.stack([elbo, nll, accuracy])


def _explained(distances: np.ndarray) -> np.ndarray:
    elbo, nll, accuracy = distances
    return (elbo <= SHARE) & (nll <= SHARE) & (accuracy == 0.0)


def best_record(distances: np.ndarray) -> tuple[int, bool]:
    """Return the index of the best record and whether it explains the row (or rows).

    `distances` has the shape (numbers, records), or (rows, numbers, records) for several rows that
    one pair must explain together.
    """
    rows = distances.reshape(-1, len(NUMBERS), distances.shape[-1])
    explained = np.logical_and.reduce([_explained(row) for row in rows])
    largest = np.where(np.isnan(rows), np.inf, rows).max(axis=(0, 1))
    if explained.any():
        largest = np.where(explained, largest, np.inf)
    best = int(np.argmin(largest))
    return best, bool(explained[best])


def row_verdict(values: Values, printed: Printed) -> str:
    """Return the verdict on a printed row from the three numbers of its best pair."""
    distances = relative_distances(values, printed)
    if distances[2] == 0.0 and all(
        abs(ours - target) <= NATS + HALF_DIGIT + ROUNDING
        for ours, target in zip(values[:2], printed[:2], strict=True)
    ):
        return REPRODUCED
    return EXPLAINED if bool(_explained(distances)) else UNEXPLAINED
