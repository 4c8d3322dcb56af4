"""What each command does. It imports what it needs when it runs, so that `run` starts fast."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from gvibench.errors import Interrupted, UserError

if TYPE_CHECKING:
    from gvibench.spec.run import DataSpec
    from gvibench.store.prepared import Prepared
    from gvibench.study.config import Config
    from gvibench.study.plan import Plan

__all__ = [
    "check",
    "clean",
    "compare",
    "datasets",
    "doctor",
    "export",
    "gallery",
    "new",
    "optimum",
    "plan",
    "prepare",
    "repair",
    "run",
    "show",
    "solvers",
    "status",
    "watch",
]

Options = argparse.Namespace


def run(options: Options) -> None:
    """Do one run and write its trace."""
    from gvibench.cli.flags import spec_of
    from gvibench.engine.checkpointing import checkpoint_iteration, checkpoint_path, stop_on_signals
    from gvibench.engine.execute import CHECKPOINT_SECONDS, execute
    from gvibench.engine.progress import ProgressReport
    from gvibench.spec.run import RunSpec
    from gvibench.store.describe import summarise
    from gvibench.store.kinds import TRACE, check_output
    from gvibench.store.traces import write_trace

    spec = spec_of(options, RunSpec)
    check_output(options.out, TRACE, force=options.force)
    data = _prepared(options, spec.data)
    checkpoint = checkpoint_path(options.out)
    every = CHECKPOINT_SECONDS if options.checkpoint_every is None else options.checkpoint_every
    try:
        with stop_on_signals(), ProgressReport(spec) as progress:
            trace = execute(
                spec, data, checkpoint=checkpoint, checkpoint_every=every, progress=progress
            )
    except KeyboardInterrupt:  # a second Ctrl-C, which does not wait for the iteration to end
        kept = checkpoint_iteration(options.out)
        resume = f"; the same command resumes at iteration {kept} from {checkpoint}"
        sentence = f"interrupted{resume if kept is not None else ': nothing was kept'}"
        raise Interrupted(sentence, Interrupted.BY_KEYBOARD) from None
    write_trace(options.out, trace)
    checkpoint.unlink(missing_ok=True)
    print(summarise(trace))


def optimum(options: Options) -> None:
    """Find the optimum of a problem."""
    from gvibench.cli.flags import spec_of
    from gvibench.engine.optimum import find_optimum, write_optimum
    from gvibench.spec.run import ProblemSpec
    from gvibench.store.kinds import OPTIMUM, check_output

    spec = spec_of(options, ProblemSpec)
    check_output(options.out, OPTIMUM, force=options.force)
    found = find_optimum(spec, _prepared(options, spec.data))
    write_optimum(options.out, found)
    print(found.summary())


def prepare(options: Options) -> None:
    """Write a prepared data file."""
    from gvibench.cli.flags import data_values, validate_flags_beside_spec
    from gvibench.datasets import prepare as prepare_data
    from gvibench.datasets.catalogue import complete
    from gvibench.spec.run import DataSpec, parse
    from gvibench.store.kinds import PREPARED, check_output

    if options.spec is not None:
        validate_flags_beside_spec(options, DataSpec)
        spec = parse(DataSpec, options.spec, "--spec")
    else:
        spec = parse(DataSpec, data_values(options), "data", from_text=True)
    check_output(options.out, PREPARED, force=options.force)
    prepare_data(complete(spec, options.model), options.out)


def show(options: Options) -> None:
    """Describe a file."""
    from gvibench.cli.show import description

    print(description(options.file))


def plan(options: Options) -> None:
    """Print what a study will cost and what of it is still to do."""
    from gvibench.engine.progress import duration
    from gvibench.numerics.cuda_backend import why_unavailable
    from gvibench.study.cleanup import estimate_cost, require_own_files

    planned = _planned(options)
    require_own_files(planned)
    cost, left = estimate_cost(planned), estimate_cost(planned, unfinished=True)
    cores = os.cpu_count() or 1
    print(f"{cost.jobs.total()} jobs: {cost.counted()}")
    print(f"about {duration(cost.wall_seconds(cores))} on {cores} cores")
    print(f"up to {cost.peak_mb} MB of memory per job, {cost.disk_mb:.0f} MB of disk")
    if left.jobs.total():
        print(
            f"still to do: {left.jobs.total()} jobs: {left.counted()}; "
            f"about {duration(left.wall_seconds(cores))}"
        )
    else:
        print("still to do: nothing, unless code or config changed ('snakemake --dry-run' tells)")
    if planned.needs_cuda and (reason := why_unavailable()):
        print(f"runs with device 'cuda' cannot run on this machine: {reason}")


def status(options: Options) -> None:
    """Print how far the studies are."""
    from gvibench.study.status import report

    print(report(_planned(options)))


def watch(options: Options) -> int:
    """Draw the curves of running jobs until they end, or until Ctrl-C."""
    from gvibench.cli.watch import watch as watch_plan

    try:
        watch_plan(_planned(options), once=options.once)
    except KeyboardInterrupt:  # the usual way to leave
        return Interrupted.BY_KEYBOARD
    return 0


def repair(options: Options) -> None:
    """Remove files that cannot be used."""
    from gvibench.study.cleanup import bad_files

    bad = bad_files(_planned(options))
    for path, sentence in bad.items():
        Path(path).unlink()
        print(f"removed {path}: {sentence}")
    print(f"{len(bad)} bad files removed" if bad else "all files that exist are good")


def clean(options: Options) -> None:
    """Remove results that no config names."""
    from gvibench.study.cleanup import orphans

    found = orphans(_planned(options))
    for path in found:
        if not options.dry_run:
            path.unlink()
        print(path)
    verb = "would be removed" if options.dry_run else "removed"
    print(f"{len(found)} files {verb}")


def gallery(options: Options) -> None:
    """Copy figures and tables into a folder."""
    from gvibench.report.gallery import write_gallery

    write_gallery(_config(options), options.config, options.out)


def compare(options: Options) -> None:
    """Write a page about two studies."""
    from gvibench.report.page import write_comparison
    from gvibench.store.kinds import PAGE, check_output

    check_output(options.out, PAGE, force=options.force)
    write_comparison(options.A, options.B, options.out)
    print(options.out)


def export(options: Options) -> None:
    """Write a study as one archive."""
    from gvibench.report.archive import export_study
    from gvibench.store.kinds import ARCHIVE, check_output

    check_output(options.out, ARCHIVE, force=options.force)
    count = export_study(
        options.study,
        options.out,
        traces=options.traces,
        authors=options.author,
        license_id=options.license,
    )
    print(f"{options.out}: {count} files, {options.out.stat().st_size / 1e6:.1f} MB")
    if not (options.author and options.license):
        print("for a DOI, say who made it and how it may be used: --author and --license")


def datasets(options: Options) -> None:
    """List the data sets."""
    from gvibench.datasets import catalogue

    for name in catalogue.names():
        entry = catalogue.entry(name)
        size = f"{entry.n} x {entry.d}" if entry.n else "any size"
        print(f"{name:20} {size:14} beta {entry.beta:<7g} {entry.title}")


def solvers(options: Options) -> None:
    """List the solvers and their options."""
    from gvibench import solvers as installed
    from gvibench.spec.run import documentation

    for name in installed.names():
        solver = installed.solver_class(name)
        print(f"{name:14} {solver.title:14} {solver.reference}")
        for option, text in documentation(solver).items():
            print(f"{'':14}   {option} = {solver.model_fields[option].default!r}: {text}")


def new(options: Options) -> None:
    """Write a package for a new solver."""
    from gvibench.cli.scaffold import new_solver

    folder = new_solver(options.name, options.into)
    print(f"{folder}: next, pip install -e {folder} and gvibench check solver {options.name}")


def check(options: Options) -> int:
    """Check a solver against what all solvers must do."""
    from gvibench.check.solver import examine

    verdict = examine(options.name)
    print(verdict)
    return 0 if verdict.passed else 1


def doctor(options: Options) -> None:
    """Check and time a device."""
    from gvibench.check.device import examine

    if failed := examine(options.device):
        raise UserError(f"{failed} checks failed: do not trust results of device {options.device}")


def _prepared(options: Options, data: "DataSpec") -> "Prepared":
    from gvibench.datasets import prepared_path
    from gvibench.store.prepared import read_prepared

    return read_prepared(options.data or prepared_path(data))


def _config(options: Options) -> "Config":
    from gvibench.study.config import read_config

    overrides = {} if options.results is None else {"results": options.results}
    return read_config(options.config, overrides)


def _planned(options: Options) -> "Plan":
    from gvibench.study.expand import expand

    return expand(_config(options))
