"""Carry out the jobs of the workflow: `python -m gvibench.stages STAGE ...`.

Each stage receives the parameters of its job and the files it reads, and writes its outputs. Only
`aggregate` and `config` receive the config, because they store it. Stages import what they need, so
that `run` starts quickly and the code hash of a job covers only its own stage.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gvibench.errors import UserError, call

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one job and return the exit code."""
    parser = argparse.ArgumentParser(prog="gvibench.stages", description=__doc__)
    subparsers = parser.add_subparsers(required=True, metavar="STAGE")
    for stage, files in (
        (prepare, ("out",)),
        (optimum, ("data", "out")),
        (run, ("data", "out")),
        (tune, ("data", "out")),
        (choose, ("out",)),
        (beta, ("data", "out")),
        (aggregate, ("manifest", "root", "out")),
        (config, ("out",)),
        (table, ("aggregate", "out")),
        (figure, ("aggregate", "out")),
        (summary, ("aggregate", "out")),
        (page, ("aggregate", "out")),
    ):
        added = subparsers.add_parser(stage.__name__)
        added.set_defaults(command=stage)
        added.add_argument("--job", metavar="JSON", required=True)
        for file in files:
            added.add_argument(f"--{file}", type=Path, required=True)
        if stage in (run, optimum, tune):
            added.add_argument("--choices", type=Path, nargs="*", default=[])
        if stage is tune:
            added.add_argument("--previous", type=Path, nargs="?")
        if stage is choose:
            added.add_argument("--rounds", type=Path, nargs="+", required=True)
        if stage is aggregate:
            added.add_argument("--config", metavar="JSON", required=True)
        if stage is page:
            added.add_argument("--figures", type=Path, nargs="*", default=[])
    return call(parser, arguments)


def _job(options: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of the job, which the plan has validated."""
    try:
        job = json.loads(options.job)
    except ValueError as error:
        raise UserError(f"--job is not JSON: {error}") from error
    if not isinstance(job, dict):
        raise UserError("--job is not a mapping")
    return job


def prepare(options: argparse.Namespace) -> None:
    """Prepare a data set."""
    from gvibench.datasets.build import build
    from gvibench.spec.run import DataSpec

    build(DataSpec.from_dict(_job(options)["spec"]), options.out)


def optimum(options: argparse.Namespace) -> None:
    """Find the optimum of a problem."""
    from gvibench.engine.optimum import NoOptimumError, find_optimum, unknown_optimum
    from gvibench.spec.run import ProblemSpec
    from gvibench.store.choices import read_choices
    from gvibench.store.optima import write_optimum
    from gvibench.store.prepared import read_prepared

    job = _job(options)
    spec = ProblemSpec.from_dict({**job["spec"], **read_choices(options.choices, {"beta"})})
    data = read_prepared(options.data)
    try:
        result = find_optimum(spec, data, code_hash=job["code_hash"])
    except NoOptimumError as error:  # the study then measures gaps from the best value seen
        result = unknown_optimum(spec, data, error, job["code_hash"])
    write_optimum(options.out, result)
    print(result.summary())


def run(options: argparse.Namespace) -> None:
    """Execute one run, or a block of runs that differ in their seed."""
    from gvibench.engine.checkpointing import stop_on_signals
    from gvibench.engine.execute import execute
    from gvibench.engine.lockstep import execute_lockstep
    from gvibench.engine.progress import ProgressReport
    from gvibench.spec.run import RunSpec
    from gvibench.store.checkpoints import checkpoint_path
    from gvibench.store.choices import read_choices, read_failure
    from gvibench.store.describe import summarise_trace
    from gvibench.store.prepared import read_prepared
    from gvibench.store.traces import write_packed, write_trace

    job = _job(options)
    data = read_prepared(options.data)
    chosen, no_step = read_choices(options.choices), read_failure(options.choices)
    specs = [RunSpec.from_dict({**spec, **chosen}) for spec in job["specs"]]
    settings = {"code_hash": job["code_hash"], "exclusive": job["exclusive"], "no_step": no_step}
    progress = [ProgressReport(spec) for spec in specs]
    if job["packed"]:
        # Packed runs are short and have no checkpoints.
        traces = execute_lockstep(specs, data, **settings, progress=progress)
        for trace in traces:
            print(summarise_trace(trace))
        write_packed(options.out, traces)
        return
    (spec,), (report,), checkpoint = specs, progress, checkpoint_path(options.out)
    with stop_on_signals(), report:
        trace = execute(spec, data, **settings, checkpoint=checkpoint, progress=report)
    print(summarise_trace(trace))
    write_trace(options.out, trace)
    checkpoint.unlink(missing_ok=True)


def beta(options: argparse.Namespace) -> None:
    """Choose beta for a problem."""
    from gvibench.engine.beta import choose_beta
    from gvibench.store.prepared import read_prepared

    job = _job(options)
    data = read_prepared(options.data)
    best = choose_beta(job["spec"], job["betas"], data, options.out, job["code_hash"])
    print(f"beta {best:g}")


def tune(options: argparse.Namespace) -> None:
    """Run one round of tuning."""
    from gvibench.engine.tuning import next_grid, try_grid
    from gvibench.engine.tuning_grid import first_grid
    from gvibench.store.choices import read_choices
    from gvibench.store.prepared import read_prepared

    job = _job(options)
    settings, previous = job["tuning"], options.previous
    grid = first_grid(settings) if previous is None else next_grid(previous, settings)
    template = {**job["spec"], **read_choices(options.choices, {"beta"})}
    data = read_prepared(options.data)
    try_grid(template, settings, grid, data, options.out, job["code_hash"])


def choose(options: argparse.Namespace) -> None:
    """Choose step size and initial scale from the rounds of tuning."""
    from gvibench.engine.tuning_choice import choose as choose_point

    job = _job(options)
    choice = choose_point(options.rounds, options.out, job["prefer"])
    print(f"tuning of {job['solver']} on {job['dataset']}: {choice}")


def aggregate(options: argparse.Namespace) -> None:
    """Merge all traces of a study, and write its manifest."""
    from gvibench.spec.canonical import hash_text
    from gvibench.store.files import atomic_path
    from gvibench.study.aggregate import aggregate as aggregate_traces
    from gvibench.study.config import load_config
    from gvibench.study.expand import expand

    job = _job(options)
    settings = load_config(json.loads(options.config))
    manifest = expand(settings).manifest(job["study"])
    if hash_text(manifest) != job["manifest"]:
        raise UserError("the code has changed since this job was planned: run snakemake again")
    with atomic_path(options.manifest) as part:
        part.write_text(manifest)
    dask = None if settings.dask is None else settings.dask.model_dump(mode="json")
    aggregate_traces(options.manifest, options.out, root=options.root, dask=dask)


def config(options: argparse.Namespace) -> None:
    """Store the config of a study with its results."""
    from gvibench.store.files import atomic_path
    from gvibench.study.config import to_yaml

    with atomic_path(options.out) as part:
        part.write_text(to_yaml(_job(options)["config"]))


def table(options: argparse.Namespace) -> None:
    """Write a table."""
    from gvibench.tables import write_tables

    write_tables(_job(options), options.aggregate, options.out)


def figure(options: argparse.Namespace) -> None:
    """Draw a figure."""
    from gvibench.figures import draw

    draw(_job(options), options.aggregate, options.out)


def summary(options: argparse.Namespace) -> None:
    """Write the summary of a study."""
    from gvibench.report.summary import write_summary

    write_summary(_job(options), options.aggregate, options.out)


def page(options: argparse.Namespace) -> None:
    """Write the report page of a study."""
    from gvibench.report.page import write_page

    write_page(_job(options), options.aggregate, options.figures, options.out)


if __name__ == "__main__":
    sys.exit(main())
