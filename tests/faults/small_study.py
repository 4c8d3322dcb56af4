"""Run a study in this process, stage by stage, like the rules of the workflow."""

import json
from pathlib import Path
from typing import Any

import yaml

from gvibench.stages import main as run_stage
from gvibench.study.config import load_config
from gvibench.study.expand import expand
from gvibench.study.plan import Plan

STUDY: dict[str, Any] = {
    "datasets": {"toy": {"dataset": "synthetic", "options": {"n": 40, "d": 2}}},
    "solvers": ["vn"],
    "step": 0.01,
    "beta": 0.5,
    "iterations": 10,
    "seeds": 2,
    "pack": 1,
    "gap": "best-seen",
    "figures": ["gap"],
    "tables": ["performance"],
}


class Study:
    """The jobs of a config with one study `s`. Each method returns the exit code of a stage."""

    def __init__(self, study: dict[str, Any], folder: Path) -> None:
        config = {"studies": {"s": study}, "results": str(folder / "results")}
        folder.mkdir(parents=True, exist_ok=True)
        self.config = folder / "config.yaml"
        self.config.write_text(yaml.safe_dump(config))
        self.plan: Plan = expand(load_config(config))
        self.root = folder / "results" / "s"
        self.root.mkdir(parents=True)
        self.manifest = self.root / "manifest.json"
        self.aggregate_path = self.root / "aggregate.zarr.zip"

    def prepare(self) -> int:
        return max(
            run_stage(["prepare", "--job", job.params, "--out", job.path])
            for job in self.plan.data.values()
        )

    def optimise(self) -> int:
        return max(
            (
                run_stage(
                    ["optimum", "--job", job.params, "--data", job.data.path, "--out", job.path]
                )
                for job in self.plan.optima.values()
            ),
            default=0,
        )

    def run(self) -> int:
        return max(
            run_stage(["run", "--job", job.params, "--data", job.data.path, "--out", job.path])
            for job in self.plan.runs.values()
        )

    def aggregate(self) -> int:
        words = ["--manifest", str(self.manifest), "--out", str(self.aggregate_path)]
        words += ["--root", ".", "--config", json.dumps(self.plan.settings_of("s"))]
        return run_stage(["aggregate", "--job", self.plan.params("aggregate", "s"), *words])

    def table(self, name: str) -> int:
        out = self.root / "tables" / f"{name}.csv"
        words = ["--aggregate", str(self.aggregate_path), "--out", str(out)]
        return run_stage(["table", "--job", self.plan.params("table", "s", name), *words])

    def figure(self, name: str) -> int:
        out = self.root / "figures" / f"{name}.pdf"
        words = ["--aggregate", str(self.aggregate_path), "--out", str(out)]
        return run_stage(["figure", "--job", self.plan.params("figure", "s", name), *words])

    def traces(self) -> list[Path]:
        return sorted(map(Path, self.plan.runs))
