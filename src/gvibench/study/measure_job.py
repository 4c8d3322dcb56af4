"""Job that measures Gaussians: the files it reads and the parameters that define it."""

import functools
from dataclasses import dataclass
from typing import Any

from gvibench.spec.run import ProblemSpec
from gvibench.study.code_hash import measure_hash
from gvibench.study.plan import (
    BetaJob,
    DataJob,
    OptimumJob,
    RunJob,
    job_params,
    mask_tuned_fields,
)

__all__ = ["MeasureJob"]


@dataclass(frozen=True)
class MeasureJob:
    """Measure the final Gaussians of a run job, or the optimum of a problem."""

    path: str
    study: str
    data: DataJob
    spec: ProblemSpec
    """Problem with exact expectations."""
    optimum: OptimumJob | None
    run: RunJob | None
    """Runs to measure; None to measure the optimum."""
    beta: BetaJob | None
    truth: str | None
    """The user's file with draws from the posterior."""

    @functools.cached_property
    def code_hash(self) -> str:
        """Hash of the code of the job."""
        return measure_hash(self.spec)

    @functools.cached_property
    def params(self) -> str:
        """Parameters of the job."""
        spec = mask_tuned_fields(self.spec, {"beta"} if self.beta else set())
        return job_params(code_hash=self.code_hash, spec=spec)

    def manifest_row(self) -> dict[str, Any]:
        """Return the row of the manifest."""
        run, optimum = self.run and self.run.path, self.optimum and self.optimum.path
        return {"path": self.path, "code_hash": self.code_hash, "run": run, "optimum": optimum}
