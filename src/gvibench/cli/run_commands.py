"""Provide the commands that work without a study: run, optimum, prepare and show."""

import argparse
import json
import math
from typing import TYPE_CHECKING

from gvibench.cli.arguments import Options, Subparsers, add_data_file, add_out
from gvibench.cli.flags import add_data_flags, add_spec_flags
from gvibench.errors import Interrupted
from gvibench.registry import MODELS

if TYPE_CHECKING:
    from gvibench.spec.run import DataSpec
    from gvibench.store.prepared import Prepared

__all__ = ["add_commands"]


def add_commands(subparsers: Subparsers, *, with_help: bool) -> None:
    """Add the commands, with the help texts of their settings if `with_help` is true."""
    _add_run(subparsers, with_help)
    _add_optimum(subparsers, with_help)
    _add_prepare(subparsers, with_help)

    show = subparsers.add_parser("show", help="describe a gvibench file (trace, optimum, ...)")
    show.set_defaults(command=_show)
    show.add_argument("file", help="path of a file, or a URL such as s3://bucket/t.zarr.zip")


def _add_run(subparsers: Subparsers, with_help: bool) -> None:
    from gvibench.spec.run import RunSpec

    run = subparsers.add_parser("run", help="execute one run and write its trace")
    run.set_defaults(command=_run)
    run.add_argument("--spec", metavar="JSON", help="complete run spec as JSON, instead of flags")
    add_out(run, "trace to write (*.zarr.zip)")
    run.add_argument(
        "--checkpoint-every",
        type=_seconds,
        metavar="SECONDS",
        help="time between checkpoints, from which a killed run resumes (default: 120)",
    )
    add_data_file(run)
    add_spec_flags(run, RunSpec, with_help=with_help)


def _add_optimum(subparsers: Subparsers, with_help: bool) -> None:
    from gvibench.spec.run import ProblemSpec

    optimum = subparsers.add_parser(
        "optimum", help="compute the optimum that gaps are measured from"
    )
    optimum.set_defaults(command=_optimum)
    optimum.add_argument(
        "--spec", metavar="JSON", help="complete problem spec as JSON, instead of flags"
    )
    add_out(optimum, "file to write (*.zarr.zip)")
    add_data_file(optimum)
    add_spec_flags(optimum, ProblemSpec, with_help=with_help)


def _add_prepare(subparsers: Subparsers, with_help: bool) -> None:
    prepare = subparsers.add_parser("prepare", help="download, split and scale a data set")
    prepare.set_defaults(command=_prepare)
    prepare.add_argument(
        "--spec", metavar="JSON", help="complete data spec as JSON, instead of flags"
    )
    add_out(prepare, "file to write (*.zarr.zip)")
    add_data_flags(prepare, with_help=with_help)
    prepare.add_argument(
        "--model",
        choices=MODELS.names(),
        help="model that will use the data; it decides how targets are read (default: logistic)",
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not seconds >= 0:
        raise argparse.ArgumentTypeError(f"should be a number of seconds, got '{text}'")
    return seconds


def _run(options: Options) -> None:
    from gvibench.cli.flags import spec_of
    from gvibench.engine.checkpointing import stop_on_signals
    from gvibench.engine.execute import CHECKPOINT_SECONDS, execute
    from gvibench.engine.progress import ProgressReport
    from gvibench.spec.run import RunSpec
    from gvibench.store.checkpoints import checkpoint_iteration, checkpoint_path
    from gvibench.store.describe import summarise_trace
    from gvibench.store.kinds import TRACE, check_output
    from gvibench.store.traces import write_trace
    from gvibench.study.code_hash import run_hash

    spec = spec_of(options, RunSpec)
    check_output(options.out, TRACE, force=options.force)
    data = _read_data(options, spec.data)
    checkpoint = checkpoint_path(options.out)
    every = CHECKPOINT_SECONDS if options.checkpoint_every is None else options.checkpoint_every
    try:
        with stop_on_signals(), ProgressReport(spec) as progress:
            trace = execute(
                spec,
                data,
                code_hash=run_hash(spec),
                checkpoint=checkpoint,
                checkpoint_every=every,
                progress=progress,
            )
    except KeyboardInterrupt:  # a second Ctrl-C does not wait for the end of the iteration
        iteration = checkpoint_iteration(options.out)
        if iteration is None:
            message = "interrupted before the first checkpoint"
        else:
            message = (
                f"interrupted; the same command resumes at iteration {iteration} from {checkpoint}"
            )
        raise Interrupted(message, Interrupted.BY_KEYBOARD) from None
    write_trace(options.out, trace)
    checkpoint.unlink(missing_ok=True)
    print(summarise_trace(trace))


def _optimum(options: Options) -> None:
    from gvibench.cli.flags import spec_of
    from gvibench.engine.optimum import find_optimum
    from gvibench.spec.run import ProblemSpec
    from gvibench.store.kinds import OPTIMUM, check_output
    from gvibench.store.optima import write_optimum
    from gvibench.study.code_hash import optimum_hash

    spec = spec_of(options, ProblemSpec)
    check_output(options.out, OPTIMUM, force=options.force)
    data = _read_data(options, spec.data)
    optimum = find_optimum(spec, data, code_hash=optimum_hash(spec))
    write_optimum(options.out, optimum)
    print(optimum.summary())


def _prepare(options: Options) -> None:
    from gvibench.cli.flags import data_values, validate_flags_beside_spec
    from gvibench.datasets.build import build
    from gvibench.spec.run import DataSpec
    from gvibench.spec.validate import parse
    from gvibench.store.kinds import PREPARED, check_output
    from gvibench.study.defaults import complete_data

    if options.spec is not None:
        validate_flags_beside_spec(options, DataSpec)
        parse(DataSpec, options.spec, "--spec")
        spec = complete_data(json.loads(options.spec), options.model)
    else:
        spec = complete_data(data_values(options), options.model, from_text=True)
    check_output(options.out, PREPARED, force=options.force)
    build(spec, options.out)


def _show(options: Options) -> None:
    from gvibench.cli.show import description

    print(description(options.file))


def _read_data(options: Options, spec: "DataSpec") -> "Prepared":
    from gvibench.datasets.cache import prepared_path
    from gvibench.store.prepared import read_prepared

    return read_prepared(options.data or prepared_path(spec))
