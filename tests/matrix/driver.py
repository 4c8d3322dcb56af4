"""Run the jobs of a plan in one process, in the order and with the commands of the workflow.

Snakemake starts a process for each job, which dominates the time of a tiny study. In one process,
hundreds of studies take as long as ten with Snakemake. Other tests run the rules with Snakemake.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import xarray  # noqa: F401  (a job that imports it first would do so without Dask, for all jobs)

from gvibench import figures, stages
from gvibench.errors import UserError
from gvibench.study.config import load_config
from gvibench.study.expand import expand, require_own_files


@dataclass
class Outcome:
    """Result of running the studies of a config."""

    plan: object
    failures: list = field(default_factory=list)
    """Stage, output path and error message of each failed job."""


def plan_of(studies, **config):
    """Return the plan of the studies. Raise UserError if it is rejected."""
    return expand(load_config({"studies": studies, **config}))


def rejection(study, **config):
    """Return why a study is rejected, or an empty string if it is accepted."""
    try:
        require_own_files(plan_of({"s": study}, **config))
    except UserError as error:
        return str(error)
    return ""


def run_plan(plan, capsys=None):
    """Run all jobs of a plan in the current directory."""
    outcome = Outcome(plan)

    def call(stage, out, job, *options):
        Path(out).parent.mkdir(parents=True, exist_ok=True)
        if Path(out).exists():
            return
        arguments = [stage, "--job", job, "--out", str(out), *map(str, options)]
        try:
            code = stages.main(arguments)
        except Exception as error:
            outcome.failures.append((stage, str(out), f"{type(error).__name__}: {error}"))
            return
        if code:
            message = capsys.readouterr().err if capsys else f"exit code {code}"
            outcome.failures.append((stage, str(out), message.strip()))

    for job in plan.data.values():
        call("prepare", job.path, job.params)
    for job in plan.betas.values():
        call("beta", job.path, job.params, "--data", job.data.path)
    for job in plan.optima.values():
        choices = ["--choices", job.beta.path] if job.beta else []
        call("optimum", job.path, job.params, "--data", job.data.path, *choices)
    for job in plan.tuning.values():
        choices = ["--choices", job.beta.path] if job.beta else []
        call("tune", job.choice, job.params, "--data", job.data.path, *choices)
    for job in plan.runs.values():
        call("run", job.path, job.params, "--data", job.data.path, "--choices", *job.choices)
    for job in plan.measures.values():
        files = {"optimum": job.optimum, "trace": job.run, "choices": job.beta}
        options = [word for name, of in files.items() if of for word in (f"--{name}", of.path)]
        options += ["--draws", job.truth] if job.truth else []
        call("measure", job.path, job.params, "--data", job.data.path, *options)
    for study in plan.config.studies:
        _report(plan, study, call)
    return outcome


def _report(plan, study, call):
    root = Path(plan.config.results) / study
    settings = plan.config.studies[study]
    aggregate = root / "aggregate.zarr.zip"
    config = ["--config", json.dumps(plan.settings_of(study))]
    manifest = ["--manifest", root / "manifest.json", "--root", "."]
    call("aggregate", aggregate, plan.params("aggregate", study), *config, *manifest)
    for name in settings.tables:
        out = root / "tables" / f"{name}.csv"
        call("table", out, plan.params("table", study, name), "--aggregate", aggregate)
    for name in settings.figures:
        out = root / "figures" / f"{name}.pdf"
        call("figure", out, plan.params("figure", study, name), "--aggregate", aggregate)
    files = ["--figures", *sorted((root / "figures").glob("*"))]
    call("summary", root / "summary.md", plan.params("summary", study), "--aggregate", aggregate)
    call(
        "page",
        root / "report/index.html",
        plan.params("page", study),
        "--aggregate",
        aggregate,
        *files,
    )


def missing_files(plan, study):
    """Return the outputs of a study that are missing or contain an error."""
    root = Path(plan.config.results) / study
    settings = plan.config.studies[study]
    expected = [root / name for name in ("aggregate.zarr.zip", "summary.md", "report/index.html")]
    ends = {"figures": (*figures.UNDATED, "csv", "json"), "tables": ("csv", "md", "tex")}
    for kind, names in (("figures", settings.figures), ("tables", settings.tables)):
        expected += [root / kind / f"{name}.{end}" for name in names for end in ends[kind]]
    missing = [str(path) for path in expected if not path.exists()]
    for name in settings.figures:
        path = root / "figures" / f"{name}.json"
        if path.exists() and "error" in json.loads(path.read_text()):
            missing.append(f"{path}: {json.loads(path.read_text())['error']}")
    for name in settings.tables:
        path = root / "tables" / f"{name}.csv"
        if path.exists() and path.read_text().startswith("error\n"):
            missing.append(f"{path}: {path.read_text()}")
    return missing
