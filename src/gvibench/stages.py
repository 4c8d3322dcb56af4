"""What the rules of the workflow call: `python -m gvibench.stages STAGE ...`.

A stage gets the text that defines its job and the files it reads, and writes its output, nothing
else. None but `aggregate` and `config`, which keep a record of it, see the config.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gvibench.cli.main import call
from gvibench.errors import UserError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Do one job."""
    parser = argparse.ArgumentParser(prog="gvibench.stages", description=__doc__)
    stages = parser.add_subparsers(required=True, metavar="STAGE")

    def stage(name: str, command: Any, *files: str) -> argparse.ArgumentParser:
        added = stages.add_parser(name)
        added.set_defaults(command=command)
        for file in files:
            added.add_argument(f"--{file}", type=Path, required=True)
        return added

    for name, command, *files in (
        ("prepare", _prepare, "out"),
        ("optimum", _optimum, "data", "out"),
        ("run", _run, "data", "out"),
        ("tune", _tune, "data", "out"),
        ("choose", _choose, "out"),
        ("beta", _beta, "data", "out"),
        ("aggregate", _aggregate, "manifest", "root", "out"),
        ("config", _config, "out"),
        ("table", _table, "aggregate", "out"),
        ("figure", _figure, "aggregate", "out"),
        ("summary", _summary, "aggregate", "out"),
        ("page", _page, "aggregate", "out"),
    ):
        added = stage(name, command, *files)
        added.add_argument("--job", metavar="JSON", required=True)
        if name in {"run", "optimum", "tune"}:
            added.add_argument("--choices", type=Path, nargs="*", default=[])
        if name == "page":
            added.add_argument("--figures", type=Path, nargs="*", default=[])
        if name == "tune":
            added.add_argument("--previous", type=Path, nargs="?")
        if name == "aggregate":
            added.add_argument("--config", metavar="JSON", required=True)
        if name == "choose":
            added.add_argument("--rounds", type=Path, nargs="+", required=True)
    return call(parser, arguments)


def _job(options: argparse.Namespace) -> dict[str, Any]:
    try:
        job = json.loads(options.job)
    except ValueError as error:
        raise UserError(f"--job is not JSON: {error}") from error
    if not isinstance(job, dict):
        raise UserError("--job is not a mapping")
    return job


def _prepare(options: argparse.Namespace) -> None:
    from gvibench.datasets import prepare
    from gvibench.spec.run import DataSpec, parse

    prepare(parse(DataSpec, _job(options)["spec"], "data"), options.out)


def _optimum(options: argparse.Namespace) -> None:
    from gvibench.engine.optimum import NoOptimumError, find_optimum, unknown_optimum, write_optimum
    from gvibench.spec.run import ProblemSpec, parse
    from gvibench.store.choices import read_choices
    from gvibench.store.prepared import read_prepared

    job = _job(options)
    values = {**job["spec"], **read_choices(options.choices)}
    spec = parse(ProblemSpec, values, "optimum")
    data = read_prepared(options.data)
    try:
        optimum = find_optimum(spec, data, code_hash=job["code_hash"])
    except NoOptimumError as error:  # the study then measures gaps from the best value seen
        optimum = unknown_optimum(spec, data, error, job["code_hash"])
    write_optimum(options.out, optimum)
    print(optimum.summary())


def _run(options: argparse.Namespace) -> None:
    from gvibench.engine.checkpointing import checkpoint_path, stop_on_signals
    from gvibench.engine.execute import execute, execute_lockstep
    from gvibench.engine.progress import ProgressReport
    from gvibench.spec.run import RunSpec, parse
    from gvibench.store.choices import read_choices, read_failure
    from gvibench.store.describe import summarise
    from gvibench.store.prepared import read_prepared
    from gvibench.store.traces import PACKED, group_name, to_group, write_trace
    from gvibench.store.zarrzip import Group, write_zip

    job = _job(options)
    data = read_prepared(options.data)
    chosen, no_step = read_choices(options.choices), read_failure(options.choices)
    specs = [parse(RunSpec, {**spec, **chosen}, "run") for spec in job["specs"]]
    planned = {name: job[name] for name in ("code_hash", "exclusive")} | {"no_step": no_step}
    progress = [ProgressReport(spec) for spec in specs]
    if job["packed"]:
        # These keep nothing: there is nothing to wait for when they are told to stop.
        root = Group({"kind": PACKED})
        traces = execute_lockstep(specs, data, **planned, progress=progress)
        for spec, trace in zip(specs, traces, strict=True):
            root.groups[group_name(spec.seed)] = to_group(trace)
            print(summarise(trace))
        write_zip(options.out, root)
        return
    (spec,), (told,), checkpoint = specs, progress, checkpoint_path(options.out)
    with stop_on_signals(), told:
        trace = execute(spec, data, **planned, checkpoint=checkpoint, progress=told)
    print(summarise(trace))
    write_trace(options.out, trace)
    checkpoint.unlink(missing_ok=True)


def _beta(options: argparse.Namespace) -> None:
    from gvibench.engine.tuning import choose_beta
    from gvibench.store.prepared import read_prepared

    job = _job(options)
    data = read_prepared(options.data)
    best = choose_beta(job["spec"], job["betas"], data, options.out, job["code_hash"])
    print(f"beta {best:g}")


def _tune(options: argparse.Namespace) -> None:
    from gvibench.engine.tuning import next_grid, try_grid
    from gvibench.engine.tuning_grid import first_grid
    from gvibench.store.choices import read_choices
    from gvibench.store.prepared import read_prepared

    job = _job(options)
    tuning = job["tuning"]
    previous = options.previous
    grid = first_grid(tuning) if previous is None else next_grid(previous, tuning)
    template = {**job["spec"], **read_choices(options.choices)}
    data = read_prepared(options.data)
    try_grid(template, tuning, grid, data, options.out, job["code_hash"])


def _choose(options: argparse.Namespace) -> None:
    from gvibench.engine.tuning import choose

    job = _job(options)
    who = f"tuning of {job['spec']['solver']} on {job['spec']['data']['dataset']}"
    choice = choose(options.rounds, options.out, job["tuning"]["prefer"])
    print(f"{who}: {choice}")


def _aggregate(options: argparse.Namespace) -> None:
    from gvibench.spec.run import hash_text
    from gvibench.store.files import atomic_path
    from gvibench.study.aggregate import aggregate
    from gvibench.study.config import load_config
    from gvibench.study.expand import expand

    job = _job(options)
    config = load_config(json.loads(options.config))
    manifest = expand(config).manifest(job["study"])
    if hash_text(manifest) != job["manifest"]:
        raise UserError("the code has changed since this job was planned: start snakemake again")
    with atomic_path(options.manifest) as part:
        part.write_text(manifest)
    dask = None if config.dask is None else config.dask.model_dump(mode="json")
    aggregate(options.manifest, options.out, root=options.root, dask=dask)


def _config(options: argparse.Namespace) -> None:
    from gvibench.store.files import atomic_path
    from gvibench.study.config import to_yaml

    with atomic_path(options.out) as part:
        part.write_text(to_yaml(_job(options)["config"]))


def _table(options: argparse.Namespace) -> None:
    from gvibench.tables import write_tables

    write_tables(_job(options), options.aggregate, options.out)


def _figure(options: argparse.Namespace) -> None:
    from gvibench.figures import draw

    draw(_job(options), options.aggregate, options.out)


def _summary(options: argparse.Namespace) -> None:
    from gvibench.report import write_summary

    write_summary(_job(options), options.aggregate, options.out)


def _page(options: argparse.Namespace) -> None:
    from gvibench.report.page import write_page

    write_page(_job(options), options.aggregate, options.figures, options.out)


if __name__ == "__main__":
    sys.exit(main())
