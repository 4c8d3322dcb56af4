"""The command line. Each command imports what it needs when it runs, so that `run` starts fast."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gvibench import __version__
from gvibench.errors import Interrupted, UserError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from gvibench.datasets.prepared import Prepared
    from gvibench.jobs import Plan
    from gvibench.spec import DataSpec, ProblemSpec

__all__ = ["call", "main"]

TRY_AGAIN = 75
"""Exit code of a run that was told to stop and can be continued (EX_TEMPFAIL)."""

Problem = TypeVar("Problem", bound="ProblemSpec")

# Looking for plug-ins of Pydantic at every start takes longer than reading the arguments.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

Command = Callable[[argparse.Namespace], int | None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code, or 2 after a mistake of the user's, told in words."""
    return call(_parser(), arguments)


def call(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> int:
    """Parse the arguments and call the command they name."""
    options = parser.parse_args(arguments)
    command: Command = options.command
    try:
        return command(options) or 0
    except UserError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    except Interrupted as order:
        print(f"{parser.prog}: {order}", file=sys.stderr)
        return TRY_AGAIN
    except MemoryError:
        print(
            f"{parser.prog}: not enough memory for this problem: use fewer rows or columns, or a "
            "larger machine",
            file=sys.stderr,
        )
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        sys.stderr.close()
        return 1
    except OSError as error:  # a disk that went away, a file that may not be read
        print(
            f"{parser.prog}: {error.filename or 'output'}: {error.strerror or error}",
            file=sys.stderr,
        )
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gvibench", description="Benchmark studies of Gaussian variational inference."
    )
    parser.add_argument("--version", action="version", version=f"gvibench {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="do one run and write its trace")
    run.set_defaults(command=_run)
    run.add_argument("--spec", metavar="JSON", help="the whole run as JSON, instead of flags")
    run.add_argument("--out", required=True, type=Path, help="trace to write (*.zarr.zip)")
    run.add_argument(
        "--checkpoint-every",
        type=float,
        metavar="SECONDS",
        help="keep the state this often (default: 120); a killed run goes on from there",
    )
    _add_data_file(run)
    _add_spec_flags(run)

    optimum = commands.add_parser("optimum", help="find the exact optimum that gaps refer to")
    optimum.set_defaults(command=_optimum)
    optimum.add_argument("--spec", metavar="JSON", help="the problem as JSON, instead of flags")
    optimum.add_argument("--out", required=True, type=Path, help="file to write (*.zarr.zip)")
    _add_data_file(optimum)
    _add_spec_flags(optimum, only=_problem_fields())

    prepare = commands.add_parser("prepare", help="fetch, split and scale a data set")
    prepare.set_defaults(command=_prepare)
    prepare.add_argument("--spec", metavar="JSON", help="the data as JSON, instead of flags")
    prepare.add_argument("--out", required=True, type=Path, help="file to write (*.zarr.zip)")
    _add_spec_flags(prepare, only=("model",))

    show = commands.add_parser("show", help="summarise a trace for a person")
    show.set_defaults(command=_show)
    show.add_argument("trace", help="a file, or an object such as s3://bucket/t.zarr.zip")

    plan = commands.add_parser("plan", help="estimate what a study will cost, without running it")
    plan.set_defaults(command=_plan)
    plan.add_argument("config", type=Path, nargs="?", default=Path("config/config.yaml"))

    status = commands.add_parser("status", help="say what of a study is done, also while it runs")
    status.set_defaults(command=_status)
    status.add_argument("config", type=Path, nargs="?", default=Path("config/config.yaml"))

    compare = commands.add_parser("compare", help="make one report page for two studies")
    compare.set_defaults(command=_compare)
    for name in ("A", "B"):
        compare.add_argument(name, type=Path, help="results/<study>, its aggregate or archive")
    compare.add_argument("--out", type=Path, default=Path("comparison.html"), help="page to write")

    watch = commands.add_parser("watch", help="draw the curves of a study's running jobs, live")
    watch.set_defaults(command=_watch)
    watch.add_argument("config", type=Path, nargs="?", default=Path("config/config.yaml"))
    watch.add_argument("--once", action="store_true", help="draw them once and leave")

    repair = commands.add_parser("repair", help="remove damaged or outdated files of a study")
    repair.set_defaults(command=_repair)
    repair.add_argument("config", type=Path, nargs="?", default=Path("config/config.yaml"))

    clean = commands.add_parser("clean", help="remove results that the config no longer names")
    clean.set_defaults(command=_clean)
    clean.add_argument("config", type=Path, nargs="?", default=Path("config/config.yaml"))
    clean.add_argument("--orphans", action="store_true", required=True)
    clean.add_argument("--dry-run", action="store_true", help="list them only")

    gallery = commands.add_parser("gallery", help="copy figures and tables where others see them")
    gallery.set_defaults(command=_gallery)
    gallery.add_argument("config", type=Path)
    gallery.add_argument("out", type=Path, help="folder to write, replaced if it is there")

    export = commands.add_parser("export", help="pack a finished study into one archive")
    export.set_defaults(command=_export)
    export.add_argument("study", type=Path, help="its folder, results/<study>")
    export.add_argument("--out", type=Path, required=True, help="archive to write (*.zip)")
    export.add_argument("--traces", action="store_true", help="include the trace of every run")
    export.add_argument("--author", action="append", default=[], help="may be given repeatedly")
    export.add_argument("--license", metavar="SPDX", help="of the results, as in CC-BY-4.0")

    datasets = commands.add_parser("datasets", help="list the data sets")
    datasets.set_defaults(command=_datasets)
    solvers = commands.add_parser("solvers", help="list the solvers and their options")
    solvers.set_defaults(command=_solvers)
    new = commands.add_parser("new", help="start a package for a solver of your own")
    new.set_defaults(command=_new)
    new.add_argument("what", choices=("solver",))
    new.add_argument("name", help="its name, as in 'my-solver'")
    new.add_argument(
        "--into", type=Path, default=Path(), metavar="DIR", help="where (default: here)"
    )
    check = commands.add_parser("check", help="put a solver to the tests that all must pass")
    check.set_defaults(command=_check)
    check.add_argument("what", choices=("solver",))
    check.add_argument("name", help="the name it is installed under")
    doctor = commands.add_parser("doctor", help="check and time this machine's CPU or GPU")
    doctor.set_defaults(command=_doctor)
    doctor.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    return parser


# Flags are made from the fields of the specs, so that there is one list of settings.


def _problem_fields() -> tuple[str, ...]:
    from gvibench.spec import ProblemSpec

    return tuple(ProblemSpec.model_fields)


def _add_data_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        type=Path,
        metavar="PREPARED",
        help="prepared data file (default: the data set's own, made on first use)",
    )


def _add_spec_flags(parser: argparse.ArgumentParser, only: Sequence[str] | None = None) -> None:
    from gvibench.spec import DataSpec, RunSpec

    data = parser.add_argument_group("data")
    help_on = _help_texts(DataSpec)
    for name in DataSpec.model_fields:
        if name == "options":
            _add_pairs(data, "--data-option", help_on[name])
        elif name == "intercept":
            data.add_argument("--intercept", action="store_true", default=None, help=help_on[name])
        else:
            data.add_argument(_flag(name), dest=f"data.{name}", help=help_on[name])
    settings = parser.add_argument_group("settings")
    help_on = _help_texts(RunSpec)
    for name in RunSpec.model_fields:
        if name == "data" or (only is not None and name not in only):
            continue
        if name == "solver_options":
            _add_pairs(settings, "--solver-option", help_on[name])
        elif name == "record":
            settings.add_argument("--record", nargs="+", metavar="NAME", help=help_on[name])
        else:
            settings.add_argument(_flag(name), dest=name, help=help_on[name])


def _help_texts(kind: "type[BaseModel]") -> dict[str, str]:
    """Return the help for every field; reading it from the sources takes time, so on demand."""
    if not {"-h", "--help"} & set(sys.argv):
        return dict.fromkeys(kind.model_fields, "")
    from gvibench.spec import documentation

    return {name: text.replace("%", "%%") for name, text in documentation(kind).items()}


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _add_pairs(group: "argparse._ArgumentGroup", flag: str, description: str) -> None:
    group.add_argument(flag, action="append", metavar="NAME=VALUE", help=description)


def _pairs(given: Sequence[str] | None, flag: str) -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise UserError(f"{flag} takes NAME=VALUE, got '{text}'")
        pairs[name] = _number_or_text(value)
    return pairs


def _number_or_text(text: str) -> bool | int | float | str:
    if text in {"true", "false"}:
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _data_values(options: argparse.Namespace) -> dict[str, Any]:
    from gvibench.spec import DataSpec

    given = vars(options)
    values = {
        name: given[f"data.{name}"]
        for name in DataSpec.model_fields
        if given.get(f"data.{name}") is not None
    }
    if options.intercept:
        values["intercept"] = True
    if options.data_option:
        values["options"] = _pairs(options.data_option, "--data-option")
    return values


def _spec(options: argparse.Namespace, kind: type[Problem]) -> Problem:
    """Return the spec that `--spec` or the flags define, completed by the data set's preset."""
    from gvibench.datasets.catalogue import complete
    from gvibench.defaults import completed_spec
    from gvibench.spec import parse

    if options.spec is not None:
        _refuse_flags(options, kind)
        spec = parse(kind, options.spec, "--spec")
        return spec.model_copy(update={"data": complete(spec.data, spec.model)})
    given = vars(options)
    fields = [name for name in kind.model_fields if name != "data"]  # --data names a file
    values = {name: given[name] for name in fields if given.get(name) is not None}
    if "solver" in kind.model_fields:
        values["solver_options"] = _pairs(options.solver_option, "--solver-option")
    return completed_spec(kind, _data_values(options), values, "command line", from_text=True)


def _refuse_flags(options: argparse.Namespace, kind: "type[ProblemSpec]") -> None:
    given = {name for name, value in vars(options).items() if value is not None}
    settings = {*kind.model_fields, "solver_option", "data_option", "intercept"} - {"data"}
    for name in sorted(given):
        if name in settings or name.startswith("data."):
            flag = _flag(name.removeprefix("data."))
            raise UserError(f"--spec holds the whole run: leave out {flag}, or --spec")


def _prepared(options: argparse.Namespace, data: "DataSpec") -> "Prepared":
    from gvibench.datasets import prepared_path
    from gvibench.datasets.prepared import read_prepared

    return read_prepared(options.data or prepared_path(data))


def _run(options: argparse.Namespace) -> None:
    from gvibench.checkpoints import checkpoint_path, stop_on_sigterm
    from gvibench.files import check_writable
    from gvibench.loop import CHECKPOINT_SECONDS, execute
    from gvibench.progress import ProgressReport
    from gvibench.spec import RunSpec
    from gvibench.summary import summarise
    from gvibench.traces import write_trace

    spec = _spec(options, RunSpec)
    check_writable(options.out)
    data = _prepared(options, spec.data)
    checkpoint = checkpoint_path(options.out)
    every = CHECKPOINT_SECONDS if options.checkpoint_every is None else options.checkpoint_every
    with stop_on_sigterm(), ProgressReport(spec) as progress:
        trace = execute(
            spec, data, checkpoint=checkpoint, checkpoint_every=every, progress=progress
        )
    write_trace(options.out, trace)
    checkpoint.unlink(missing_ok=True)
    print(summarise(trace))


def _optimum(options: argparse.Namespace) -> None:
    from gvibench.files import check_writable
    from gvibench.optimum import find_optimum, write_optimum
    from gvibench.spec import ProblemSpec

    spec = _spec(options, ProblemSpec)
    check_writable(options.out)
    optimum = find_optimum(spec, _prepared(options, spec.data))
    write_optimum(options.out, optimum)
    print(optimum.summary())


def _prepare(options: argparse.Namespace) -> None:
    from gvibench.datasets import prepare
    from gvibench.datasets.catalogue import complete
    from gvibench.spec import DataSpec, parse

    if options.spec is not None:
        spec = parse(DataSpec, options.spec, "--spec")
    else:
        spec = parse(DataSpec, _data_values(options), "data", from_text=True)
    prepare(complete(spec, options.model), options.out)


def _show(options: argparse.Namespace) -> None:
    from gvibench.summary import describe
    from gvibench.traces import read_traces

    print("\n\n".join(describe(trace) for trace in read_traces(options.trace)))


def _planned(options: argparse.Namespace) -> "Plan":
    from gvibench.expansion import expand
    from gvibench.study import read_config

    return expand(read_config(options.config))


def _plan(options: argparse.Namespace) -> None:
    from gvibench.backend.cuda_backend import why_unavailable
    from gvibench.progress import duration
    from gvibench.upkeep import estimate_cost, require_own_files

    plan = _planned(options)
    require_own_files(plan)
    cost = estimate_cost(plan)
    cores = os.cpu_count() or 1
    counts = ", ".join(f"{count} {kind}" for kind, count in cost.jobs.items() if count)
    print(f"{cost.jobs.total()} jobs: {counts}")
    print(f"about {duration(cost.wall_seconds(cores))} on {cores} cores")
    print(f"up to {cost.peak_mb} MB of memory per job, {cost.disk_mb:.0f} MB of disk")
    if plan.needs_cuda and (reason := why_unavailable()):
        print(f"runs with device 'cuda' cannot run on this machine: {reason}")


def _status(options: argparse.Namespace) -> None:
    from gvibench.status import report

    print(report(_planned(options)))


def _compare(options: argparse.Namespace) -> None:
    from gvibench.files import check_writable
    from gvibench.report.page import write_comparison

    check_writable(options.out)
    write_comparison(options.A, options.B, options.out)
    print(options.out)


def _watch(options: argparse.Namespace) -> None:
    from gvibench.watch import watch

    watch(_planned(options), once=options.once)


def _repair(options: argparse.Namespace) -> None:
    from gvibench.upkeep import bad_files

    bad = bad_files(_planned(options))
    for path, sentence in bad.items():
        Path(path).unlink()
        print(f"removed {path}: {sentence}")
    print(f"{len(bad)} bad files removed" if bad else "all files that exist are good")


def _clean(options: argparse.Namespace) -> None:
    from gvibench.upkeep import orphans

    found = orphans(_planned(options))
    for path in found:
        if not options.dry_run:
            path.unlink()
        print(path)
    verb = "would be removed" if options.dry_run else "removed"
    print(f"{len(found)} files {verb}")


def _gallery(options: argparse.Namespace) -> None:
    from gvibench.report.gallery import write_gallery

    write_gallery(options.config, options.out)


def _export(options: argparse.Namespace) -> None:
    from gvibench.archive import export_study
    from gvibench.files import check_writable

    check_writable(options.out)
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


def _datasets(options: argparse.Namespace) -> None:
    from gvibench.datasets import catalogue

    for name in catalogue.names():
        entry = catalogue.entry(name)
        size = f"{entry.n} x {entry.d}" if entry.n else "any size"
        print(f"{name:20} {size:14} beta {entry.beta:<7g} {entry.title}")


def _solvers(options: argparse.Namespace) -> None:
    from gvibench import solvers
    from gvibench.spec import documentation

    for name in solvers.names():
        solver = solvers.solver_class(name)
        print(f"{name:14} {solver.title:14} {solver.reference}")
        for option, text in documentation(solver).items():
            print(f"{'':14}   {option} = {solver.model_fields[option].default!r}: {text}")


def _new(options: argparse.Namespace) -> None:
    from gvibench.scaffold import new_solver

    folder = new_solver(options.name, options.into)
    print(f"{folder}: next, pip install -e {folder} and gvibench check solver {options.name}")


def _check(options: argparse.Namespace) -> int:
    from gvibench.conformance import examine

    verdict = examine(options.name)
    print(verdict)
    return 0 if verdict.passed else 1


def _doctor(options: argparse.Namespace) -> None:
    from gvibench.doctor import examine

    if failed := examine(options.device):
        raise UserError(f"{failed} checks failed: do not trust results of device {options.device}")
