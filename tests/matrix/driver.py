"""Do the jobs of a plan in one process, in the order and with the commands of the workflow.

Snakemake starts a process for each job, which is most of what a tiny study costs. Here hundreds of
studies take as long as ten do there. The rules themselves are covered by real Snakemake runs.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

from gvibench import figures
from gvibench import stages as worker
from gvibench.errors import UserError
from gvibench.study.cleanup import require_own_files
from gvibench.study.config import load_config
from gvibench.study.expand import expand


@dataclass
class Outcome:
    """What became of the studies of one config."""

    plan: object
    failures: list = field(default_factory=list)
    """Stage, path and last words of each job that did not end well."""


def plan_of(studies, **config):
    """Return the plan of some studies, or raise the sentence that rejects them."""
    return expand(load_config({"studies": studies, **config}))


def rejection(study, **config):
    """Return why a study is rejected; an empty text if it is accepted."""
    try:
        require_own_files(plan_of({"s": study}, **config))
    except UserError as error:
        return str(error)
    return ""


def run_plan(plan, capsys=None):
    """Do all jobs of a plan in the current directory."""
    outcome = Outcome(plan)

    def call(stage, out, job, *options):
        Path(out).parent.mkdir(parents=True, exist_ok=True)
        if Path(out).exists():
            return
        arguments = [stage, "--job", job, "--out", str(out), *map(str, options)]
        try:
            code = worker.main(arguments)
        except Exception as error:
            outcome.failures.append((stage, str(out), f"{type(error).__name__}: {error}"))
            return
        if code:
            words = capsys.readouterr().err if capsys else f"exit code {code}"
            outcome.failures.append((stage, str(out), words.strip()))

    for job in plan.data.values():
        call("prepare", job.path, job.text)
    for job in plan.betas.values():
        call("beta", job.path, job.text, "--data", job.data.path)
    for job in plan.optima.values():
        choices = ["--choices", job.beta.path] if job.beta else []
        call("optimum", job.path, job.text, "--data", job.data.path, *choices)
    for job in plan.tuning.values():
        choices = ["--choices", job.beta.path] if job.beta else []
        for number, path in enumerate(job.rounds):
            previous = ["--previous", job.rounds[number - 1]] if number else []
            call("tune", path, job.text, "--data", job.data.path, *previous, *choices)
        call("choose", job.choice, job.text, "--rounds", *job.rounds)
    for job in plan.runs.values():
        call("run", job.path, job.text, "--data", job.data.path, "--choices", *job.choices)
    for study in plan.config.studies:
        _report(plan, study, call)
    return outcome


def _report(plan, study, call):
    root = Path(plan.config.results) / study
    settings = plan.config.studies[study]
    aggregate = root / "aggregate.zarr.zip"
    config = ["--config", json.dumps(plan.settings_of(study))]
    manifest = ["--manifest", root / "manifest.json", "--root", "."]
    call("aggregate", aggregate, plan.aggregate_text(study), *config, *manifest)
    for name in settings.tables:
        out = root / "tables" / f"{name}.csv"
        call("table", out, plan.table_text(study, name), "--aggregate", aggregate)
    for name in settings.figures:
        out = root / "figures" / f"{name}.pdf"
        call("figure", out, plan.figure_text(study, name), "--aggregate", aggregate)
    files = ["--figures", *sorted((root / "figures").glob("*"))]
    call("summary", root / "summary.md", plan.summary_text(study), "--aggregate", aggregate)
    call(
        "page", root / "report/index.html", plan.page_text(study), "--aggregate", aggregate, *files
    )


def missing_files(plan, study):
    """Return the files that a study lacks, and those that hold an error in place of a result."""
    root = Path(plan.config.results) / study
    settings = plan.config.studies[study]
    wanted = [root / name for name in ("aggregate.zarr.zip", "summary.md", "report/index.html")]
    ends = {"figures": (*figures.UNDATED, "json"), "tables": ("csv", "md", "tex")}
    for kind, names in (("figures", settings.figures), ("tables", settings.tables)):
        wanted += [root / kind / f"{name}.{end}" for name in names for end in ends[kind]]
    lacking = [str(path) for path in wanted if not path.exists()]
    for name in settings.figures:
        path = root / "figures" / f"{name}.json"
        if path.exists() and "error" in json.loads(path.read_text()):
            lacking.append(f"{path}: {json.loads(path.read_text())['error']}")
    for name in settings.tables:
        path = root / "tables" / f"{name}.csv"
        if path.exists() and path.read_text().startswith("error\n"):
            lacking.append(f"{path}: {path.read_text()}")
    return lacking
