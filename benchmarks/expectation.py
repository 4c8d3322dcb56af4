"""Time per point: `exact` against the 20-piece bound, both compiled.

    python benchmarks/expectation.py

Means and variances as they occur in runs: means of a few standard deviations of the logistic
density, exponential variances. With them spread three and ten times as wide, points lie all over
the table of `exact`.
"""

from typing import NamedTuple

import numpy as np
from measure import interleaved, table

from gvibench.numerics import expectations

POINTS = 10_000
SPREADS = (1.0, 3.0, 10.0)
LIMIT = 0.2
"""Of the time of the bound."""


class Result(NamedTuple):
    """Seconds per point."""

    spread: float
    exact: float
    bound: float


def compare(spread: float) -> Result:
    rng = np.random.default_rng(0)
    mu = 3.0 * spread * rng.standard_normal(POINTS)
    s2 = spread**2 * rng.exponential(size=POINTS)
    results = np.empty((3, POINTS))
    ways = {name: expectations.build(name).evaluate for name in ("exact", "piecewise")}
    found = interleaved(
        {name: lambda way=way: way(mu, s2, *results) for name, way in ways.items()}, seconds=1.0
    )
    return Result(spread, found["exact"] / POINTS, found["piecewise"] / POINTS)


def measure() -> list[Result]:
    return [compare(spread) for spread in SPREADS]


def as_table(results: list[Result]) -> str:
    lines = [
        [
            f"{r.spread:g}",
            f"{1e9 * r.exact:.1f}",
            f"{1e9 * r.bound:.1f}",
            f"{r.exact / r.bound:.2f}",
            f"{LIMIT:g}",
        ]
        for r in results
    ]
    head = ["spread", "`exact`, ns", "20 pieces, ns", "`exact` / 20 pieces", "required at most"]
    return table(head, lines)


def missed(results: list[Result]) -> list[str]:
    """Return what is slower than required, as sentences."""
    return [
        f"`exact` takes {r.exact / r.bound:.2f} x the time of 20 pieces at spread {r.spread:g}, "
        f"not {LIMIT:g} x."
        for r in results
        if r.exact > LIMIT * r.bound
    ]


if __name__ == "__main__":
    print(as_table(measure()))
