"""Group the measures of Gaussians by problem and configuration."""

import json
from dataclasses import dataclass

import numpy as np
import xarray as xr

from gvibench.analysis.configurations import Configuration, Floats, configurations, unique
from gvibench.errors import UserError
from gvibench.spec.measures import MEASURES, OPTIMUM

__all__ = ["Measured", "measured"]


@dataclass(frozen=True, eq=False)
class Measured:
    """Measures of the optimum of a problem, or of all seeds of a configuration."""

    panel: str
    """Name of the problem."""
    line: str
    """`optimum`, or the title of the solver and its varying settings."""
    configuration: Configuration
    """Configuration that was measured; for the optimum, one of its problem."""
    is_optimum: bool
    values: dict[str, Floats]
    """Measures by name, one number per seed."""
    bins: dict[str, Floats]
    """Bins of the reliability diagram by name, with the dimensions (seed, bin)."""
    texts: dict[str, list[str]]
    """Reading of k-hat, worst coordinate and source of the truth, one per seed."""
    notes: dict[str, str]
    """Reason for each measure that is missing, by name."""

    def finite(self, name: str) -> Floats:
        """Return the finite numbers of a measure."""
        numbers = self.values[name]
        return numbers[np.isfinite(numbers)]


def measured(dataset: xr.Dataset) -> list[Measured]:
    """Return all measured Gaussians of a study, the optimum of each problem first."""
    if "gaussian" not in dataset.dims:
        raise UserError(
            "this study has measured no Gaussians: add the table 'quality' to the study and run "
            "snakemake again"
        )
    configs = configurations(dataset)
    index = dataset["configuration_index"].values
    by_index = {int(index[config.runs[0]]): config for config in configs}
    of_gaussian = dataset["gaussian_configuration"].values
    is_optimum = dataset["gaussian_kind"].values.astype(str) == OPTIMUM
    optima: dict[str, list[int]] = {}
    for k in np.flatnonzero(is_optimum).tolist():
        config = by_index.get(int(of_gaussian[k]))
        if config is not None:
            optima.setdefault(config.problem, []).append(k)
    result = []
    for panel, problem in unique((config.panel, config.problem) for config in configs):
        members = [config for config in configs if config.problem == problem]
        if rows := optima.get(problem):
            result.append(_measured(dataset, panel, members[0], rows, is_optimum=True))
        for number, config in by_index.items():
            if config.problem == problem:
                rows = np.flatnonzero((of_gaussian == number) & ~is_optimum).tolist()
                if rows:
                    result.append(_measured(dataset, panel, config, rows, is_optimum=False))
    return result


def _measured(
    dataset: xr.Dataset, panel: str, config: Configuration, rows: list[int], *, is_optimum: bool
) -> Measured:
    part = dataset.isel(gaussian=rows)
    notes: dict[str, str] = {}
    for text in part["gaussian_notes"].values.tolist():
        notes |= json.loads(text)
    bins = ("bin_predicted", "bin_observed", "bin_count")
    return Measured(
        panel=panel,
        line=OPTIMUM if is_optimum else config.line,
        configuration=config,
        is_optimum=is_optimum,
        values={name: np.asarray(part[f"measure_{name}"].values) for name in MEASURES},
        bins={name: np.asarray(part[f"measure_{name}"].values) for name in bins},
        texts={n: part[f"measure_{n}"].values.tolist() for n in ("reading", "worst", "truth")},
        notes=notes,
    )
