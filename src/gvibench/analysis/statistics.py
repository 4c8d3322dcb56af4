"""Compute statistics over the usable seeds of each configuration."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from gvibench.analysis.configurations import Configuration, Floats

__all__ = ["STATISTICS", "seed_statistics"]

STATISTICS = ("median", "mean", "min", "max")


def seed_statistics(
    configs: Sequence[Configuration], values: Mapping[str, Floats]
) -> dict[str, dict[str, Floats]]:
    """Return `STATISTICS` of each quantity over the usable seeds that have a finite value.

    Parameters
    ----------
    configs
        Configurations.
    values
        Arrays along `run`, by quantity.

    Returns
    -------
    By quantity and statistic, an array with one value per configuration, NaN if no seed has one.
    """
    counts = [len(config.usable) for config in configs]
    codes = np.repeat(np.arange(len(configs)), counts)
    runs = np.concatenate([config.usable for config in configs])
    frame = pd.DataFrame({name: array[runs] for name, array in values.items()})
    grouped = frame.where(np.isfinite(frame)).groupby(codes)
    everyone = np.arange(len(configs))
    tables = {name: getattr(grouped, name)().reindex(everyone) for name in STATISTICS}
    return {
        quantity: {name: table[quantity].to_numpy(float) for name, table in tables.items()}
        for quantity in values
    }
