"""Compare the time per point of `exact` and of the 20-piece bound, both compiled.

    python benchmarks/expectation.py

Means and variances are distributed as in runs: normal means with three times the scale of the
logistic density, exponential variances. Spread three and ten times as widely, the points cover the
whole table of `exact`.
"""

from typing import NamedTuple

import numpy as np
from measure import interleaved, table

from gvibench.numerics import expectations

POINTS = 10_000
SPREADS = (1.0, 3.0, 10.0)
LIMIT = 0.2
"""Maximum time of `exact`, relative to the time of the bound."""


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
    methods = {name: expectations.build(name).evaluate for name in ("exact", "piecewise")}
    times = interleaved(
        {name: lambda call=call: call(mu, s2, *results) for name, call in methods.items()},
        seconds=1.0,
    )
    return Result(spread, times["exact"] / POINTS, times["piecewise"] / POINTS)


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
    """Return a sentence for each requirement that is not met."""
    return [
        f"`exact` takes {r.exact / r.bound:.2f} x the time of 20 pieces at spread {r.spread:g}, "
        f"not {LIMIT:g} x."
        for r in results
        if r.exact > LIMIT * r.bound
    ]


if __name__ == "__main__":
    print(as_table(measure()))
