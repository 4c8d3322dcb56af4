"""Settings of scores, which travel from the config to tables and figures."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

__all__ = ["SCORE_FIGURES", "SCORE_TABLES", "ScoreSettings", "target_grid"]

SCORE_FIGURES = ("score-ecdf", "score-intervals", "score-profile", "score-heatmap")
SCORE_TABLES = ("scores", "run-times", "failures", "beats")
"""Figures and tables that are computed from outcomes."""


def target_grid(start: float, stop: float, count: int) -> tuple[float, ...]:
    """Return targets spaced evenly on a logarithmic scale, rounded to six digits."""
    exponents = [k / (count - 1) for k in range(count)]
    return tuple(float(f"{start * (stop / start) ** exponent:.6g}") for exponent in exponents)


@dataclass(frozen=True)
class ScoreSettings:
    """Targets and limits of scores."""

    targets: tuple[float, ...] = target_grid(100.0, 1e-8, 21)
    """Objective gaps in nats, largest first."""
    budget: float = 1000.0
    """Cost at which the area under the ECDF ends."""
    least: float = 1.0
    """Cost at which the area under the ECDF begins."""
    draws: int = 2000
    """Number of bootstrap samples."""

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the settings that `to_dict` describes."""
        return cls(**{**values, "targets": tuple(values["targets"])} if values else {})

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        return {**asdict(self), "targets": list(self.targets)}
