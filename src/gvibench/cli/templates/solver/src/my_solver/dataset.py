"""The data set: what the catalogue says of it, and what loads it.

Planning a study imports this module, so anything slow to import belongs into the loader.
"""

import numpy as np

from gvibench.datasets.catalogue import Entry, Setting
from gvibench.datasets.loaders import Source
from gvibench.datasets.read import Table
from gvibench.spec.run import DataSpec

__all__ = ["MOONS", "load"]

MOONS = Entry(
    name="my-solver-moons",
    title="Two half moons, with products of their coordinates",
    loader="my_solver.dataset:load",
    source="generated from a seed",
    beta=1e-1,
    n=400,
    d=5,
    labels={"+1": "the upper moon", "-1": "the lower moon"},
    settings={"noise": Setting(0.2, "standard deviation of what is added to the coordinates")},
)


def load(entry: Entry, spec: DataSpec) -> Source:
    """Draw the points: all rows in one table; gvibench splits them."""
    rng = np.random.default_rng(0)
    y = np.repeat([1.0, -1.0], 200)
    angle = rng.uniform(0.0, np.pi, y.size)
    points = np.column_stack([np.cos(angle) - 0.5 * y, y * (np.sin(angle) - 0.25)])
    u, v = (points + float(spec.options["noise"]) * rng.standard_normal(points.shape)).T
    return Source(Table(np.column_stack([u, v, u * v, u**2, v**2]), y), labels=entry.labels)
