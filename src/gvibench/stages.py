"""Carry out the jobs of the workflow: `python -m gvibench.stages STAGE ...`.

Each stage receives the parameters of its job and the files it reads, and writes its outputs. Only
`aggregate` and `config` receive the config, because they store it. Stages import what they need, so
that `run` starts quickly and the code hash of a job covers only its own stage.
"""

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gvibench.errors import UserError, call
from gvibench.registry import FIGURES, TABLES

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
        (beta, ("data", "out")),
        (measure, ("data", "out")),
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
        if stage in (run, optimum, tune, measure):
            added.add_argument("--choices", type=Path, nargs="*", default=[])
        if stage is measure:
            for file in ("optimum", "trace", "draws"):
                added.add_argument(f"--{file}", type=Path, nargs="?")
        if stage is aggregate:
            added.add_argument("--config", metavar="JSON", required=True)
        if stage in (aggregate, table, figure, summary, page):
            added.add_argument("--threads", type=int, default=1)
        if stage in (prepare, aggregate, table, figure, summary, page):
            added.add_argument("--memory-mb", type=int, default=0)
        if stage in (table, figure, summary, page):
            added.add_argument("--study", metavar="JSON", default="{}")
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

    build(DataSpec.from_dict(_job(options)["spec"]), options.out, options.memory_mb)


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
    """Execute one run, or a block of runs that differ in their start or seed."""
    from gvibench.engine.block import execute_block
    from gvibench.spec.run import RunSpec
    from gvibench.store.choices import read_choices, read_failure
    from gvibench.store.prepared import read_prepared

    job = _job(options)
    data = read_prepared(options.data)
    open_fields = {name for name, value in job["spec"].items() if value is None}
    chosen = read_choices(options.choices, open_fields)
    no_step = read_failure(options.choices)
    specs = [
        RunSpec.from_dict({**job["spec"], **chosen, **start, "seed": seed})
        for start in job["starts"]
        for seed in job["seeds"]
    ]
    settings = {name: job[name] for name in ("packed", "code_hash", "exclusive")}
    execute_block(specs, data, options.out, **settings, no_step=no_step)


def beta(options: argparse.Namespace) -> None:
    """Choose beta for a problem."""
    from gvibench.engine.beta import choose_beta
    from gvibench.store.prepared import read_prepared

    job = _job(options)
    data = read_prepared(options.data)
    best = choose_beta(job["spec"], job["betas"], data, options.out, job["code_hash"])
    print(f"beta {best:g}")


def tune(options: argparse.Namespace) -> None:
    """Tune step size and initial scale of one solver on one data set."""
    from gvibench.engine.tuning import Trials
    from gvibench.engine.tuning import tune as run_rounds
    from gvibench.engine.tuning_choice import choose
    from gvibench.spec.tuning import TRIALS
    from gvibench.store.choices import read_choices
    from gvibench.store.prepared import read_prepared

    job = _job(options)
    settings, kept = job["tuning"], options.out.with_name(TRIALS)
    template = {**job["spec"], **read_choices(options.choices, {"beta"})}
    data = read_prepared(options.data)
    trials = Trials(template, data, settings["rows"], kept, job["trials_hash"])
    rounds = run_rounds(trials, settings)
    given = settings["prefer"], trials.share, template["iterations"]
    choice = choose(rounds, options.out, *given)
    print(f"tuning of {template['solver']} on {template['data']['dataset']}: {choice}")


def measure(options: argparse.Namespace) -> None:
    """Measure the final Gaussians of runs, or without a trace the optimum."""
    from gvibench.engine.quality import measure_optimum, measure_runs
    from gvibench.spec.run import ProblemSpec
    from gvibench.store.choices import read_choices
    from gvibench.store.measures import write_measures
    from gvibench.store.optima import read_optimum
    from gvibench.store.prepared import read_prepared
    from gvibench.store.traces import read_traces

    job = _job(options)
    spec = ProblemSpec.from_dict({**job["spec"], **read_choices(options.choices, {"beta"})})
    data = read_prepared(options.data)
    best = read_optimum(options.optimum) if options.optimum else None
    if options.trace:
        results = measure_runs(spec, data, read_traces(options.trace), best, options.draws)
    else:
        assert best is not None
        results = measure_optimum(spec, data, best, options.draws)
    write_measures(options.out, results, job["code_hash"])


def aggregate(options: argparse.Namespace) -> None:
    """Merge all traces of a study, and write its manifest."""
    from gvibench.analysis.process import light_process
    from gvibench.spec.canonical import hash_text
    from gvibench.store.files import atomic_path
    from gvibench.study.config import load_config
    from gvibench.study.expand import expand
    from gvibench.study.parallel import Dask

    job = _job(options)
    settings = load_config(json.loads(options.config))
    plan = expand(settings)
    manifest = plan.manifest(job["study"])
    if hash_text(manifest) != job["manifest"]:
        raise UserError("the code has changed since this job was planned: run snakemake again")
    with atomic_path(options.manifest) as part:
        part.write_text(manifest)
    given = settings.dask.model_dump(mode="json") if settings.dask else {}
    workers = Dask(options.threads, options.memory_mb, given, f"{options.out.parent}/logs/dask")
    listed, jobs = json.loads(manifest), plan.of_study(job["study"])
    shard_runs = workers.shard_runs(listed["records"], len(listed["curves"]))
    has_paths = any("covariance_factor_path" in each.specs[0].record for each in jobs)
    needs_dask = has_paths or len(listed["runs"]) > shard_runs
    with contextlib.nullcontext() if needs_dask else light_process():
        from gvibench.study.aggregate import aggregate as aggregate_traces  # imports xarray

        aggregate_traces(options.manifest, options.out, root=options.root, dask=workers)


def config(options: argparse.Namespace) -> None:
    """Store the config of a study with its results."""
    from gvibench.store.files import atomic_path
    from gvibench.study.config import to_yaml

    with atomic_path(options.out) as part:
        part.write_text(to_yaml(_job(options)["config"]))


def table(options: argparse.Namespace) -> None:
    """Write a table."""
    from gvibench.tables import write_tables

    job = _job(options)
    with _analysis(options, TABLES.is_built_in(job["table"])) as order:
        write_tables(job, options.aggregate, options.out, order)


def figure(options: argparse.Namespace) -> None:
    """Draw a figure."""
    from gvibench.figures import draw
    from gvibench.figures.seaborn_import import import_seaborn

    job = _job(options)
    built_in = FIGURES.is_built_in(job["figure"])
    with _analysis(options, built_in) as order:
        if built_in:
            import_seaborn()
        draw(job, options.aggregate, options.out, order)


def summary(options: argparse.Namespace) -> None:
    """Write the summary of a study."""
    job = _job(options)
    with _analysis(options, all(map(TABLES.is_built_in, job["tables"]))) as order:
        from gvibench.report.summary import write_summary  # imports xarray

        write_summary(job, options.aggregate, options.out, order)


def page(options: argparse.Namespace) -> None:
    """Write the report page of a study."""
    from gvibench.report.page import write_page

    job = _job(options)
    with _analysis(options, all(map(TABLES.is_built_in, job["tables"]))) as order:
        write_page(job, options.aggregate, options.figures, options.out, order)


@contextlib.contextmanager
def _analysis(options: argparse.Namespace, built_in: bool) -> Iterator[dict[str, list[str]]]:
    """Start the workers that a large study needs. Yield the order of its data sets and solvers.

    Neither is part of the job's parameters, because neither changes a number. Small studies are
    analysed without Dask, unless code of another package, which may use it, is involved.
    """
    from gvibench.analysis.process import light_process
    from gvibench.store.aggregates import fits_in_memory
    from gvibench.study.parallel import Dask, array_workers

    study = json.loads(options.study)
    logs = f"{options.aggregate.parent}/logs/dask"
    workers = Dask(options.threads, options.memory_mb, study.get("dask") or {}, logs)
    with contextlib.ExitStack() as stack:
        if not fits_in_memory(options.aggregate):
            stack.enter_context(array_workers(workers))
        elif built_in:
            stack.enter_context(light_process())
        yield study.get("order") or {}


if __name__ == "__main__":
    sys.exit(main())
