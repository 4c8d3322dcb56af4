"""Define the data set: its catalogue entry and its loader.

Planning a study imports this module. Import slow packages inside the loader.
"""

import numpy as np

from gvibench.plugin import DatasetEntry, DataSpec, Setting, Source, Table

__all__ = ["MOONS", "load"]

MOONS = DatasetEntry(
    name="my-solver-moons",
    title="Two half moons, with products of their coordinates",
    loader="my_solver.dataset:load",
    source="generated from a seed",
    beta=1e-1,
    n=400,
    d=5,
    labels={"+1": "the upper moon", "-1": "the lower moon"},
    settings={"noise": Setting(0.2, "standard deviation of the noise added to the coordinates")},
)


def load(entry: DatasetEntry, spec: DataSpec) -> Source:
    """Return all rows in one table. gvibench splits them into training and test rows."""
    rng = np.random.default_rng(0)
    y = np.repeat([1.0, -1.0], 200)
    angle = rng.uniform(0.0, np.pi, y.size)
    points = np.column_stack([np.cos(angle) - 0.5 * y, y * (np.sin(angle) - 0.25)])
    u, v = (points + float(spec.options["noise"]) * rng.standard_normal(points.shape)).T
    return Source(Table(np.column_stack([u, v, u * v, u**2, v**2]), y), labels=entry.labels)
