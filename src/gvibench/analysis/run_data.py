"""Read the data of one run that the theory checks need."""

import json
import math
from typing import Any

import numpy as np
import xarray as xr

from gvibench.analysis.configurations import Floats
from gvibench.analysis.theory import Constants

__all__ = ["RunData"]

PATH = "path_covariance_factor"


class RunData:
    """Data of one run in an aggregate."""

    def __init__(self, dataset: xr.Dataset, run: int) -> None:
        self._dataset = dataset
        self._run = run
        configuration = dataset["configuration_index"].values[run]
        self._spec: dict[str, Any] = json.loads(dataset["spec"].values[configuration])
        self.step = float(self._spec["step"])

    def value(self, name: str) -> Any:
        """Return a scalar of the run."""
        return self._dataset[name].values[self._run].item()

    def why_not_measured(self) -> str:
        """Return why the theory does not apply to this run, or an empty string if it does."""
        spec = self._spec
        if spec["model"] == "non-convex":
            return "the model is not convex"
        if spec.get("prior") is not None:
            return "the prior is not a multiple of the identity with mean 0"
        if spec["gamma"] != 1:
            return "gamma is not 1"
        if spec["expectation"] != "exact":
            return "expectations are not exact"
        if spec["step_rule"] != "constant":
            return "the step is not constant"
        if "smoothness" in self._dataset and math.isinf(self.value("smoothness")):
            return "the second derivatives of the loss are not bounded"
        if "smoothness" not in self._dataset or not math.isfinite(self.value("smoothness")):
            return "the study has no optimum"
        if not math.isfinite(self.value("optimum_objective")):
            return "the study has no optimum"
        for name in ("cov_eig_min", "factor_norm"):
            if name not in self._dataset or np.isnan(self._curve(name)).all():
                return f"{name} was not recorded"
        if len(self.curves("objective", "grad_norm")[0]) == 0:
            return "no finite objective was recorded"
        return ""

    def curves(self, *names: str) -> tuple[Floats, ...]:
        """Return the iterations at which all given metrics are finite, and these metrics."""
        rows = [self._curve(name) for name in names]
        known = np.isfinite(rows).all(axis=0)
        return self._curve("iteration")[known], *(row[known] for row in rows)

    def _curve(self, name: str) -> Floats:
        return np.asarray(self._dataset[name].values[self._run], dtype=float)

    def constants(self) -> Constants:
        """Return the constants of the theory over the recorded iterates."""
        norms = self._curve("factor_norm")
        return Constants(
            delta=float(self._spec["beta"]),
            smoothness=self.value("smoothness"),
            lambda_min=float(np.nanmin(self._curve("cov_eig_min"))),
            xi_l=float(np.nanmin(norms)),
            xi_u=float(np.nanmax(norms)),
        )

    @property
    def has_path(self) -> bool:
        """Whether snapshots of the covariance were recorded."""
        return PATH in self._dataset and bool(self._recorded_snapshots().any())

    def path(self) -> tuple[Floats, Floats, Floats]:
        """Return the iterations of the snapshots, their means and their covariance factors."""
        kept = self._recorded_snapshots()
        means = np.asarray(self._dataset["path_mean"][self._run].values)[kept]
        factors = np.asarray(self._dataset[PATH][self._run].values)[kept]
        d = int(np.isfinite(means[0]).sum())  # Arrays are padded to the widest data set.
        at = np.asarray(self._dataset["snapshot_iteration"][self._run].values)[kept]
        return at, means[:, :d], factors[:, :d, :d]

    def _recorded_snapshots(self) -> np.ndarray:
        # One entry per snapshot suffices, and reading all factors would take long.
        return np.asarray(np.isfinite(self._dataset[PATH][self._run, :, 0, 0].values))

    def optimum(self) -> tuple[Floats, Floats] | None:
        """Return the mean and the covariance factor of the optimum, or None if not known."""
        mean = np.asarray(self._dataset["optimum_mean"][self._run].values)
        factor = np.asarray(self._dataset["optimum_covariance_factor"][self._run].values)
        d = int(np.isfinite(mean).sum())
        return (mean[:d], factor[:d, :d]) if d else None
