"""The command line: what each command accepts. `gvibench.cli.commands` does what they ask for."""

import argparse
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, get_args

from gvibench import __version__
from gvibench.cli import commands
from gvibench.cli.flags import add_data_flags, add_spec_flags
from gvibench.errors import Interrupted, UserError

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction["Parser"]

__all__ = ["Parser", "call", "main"]

# Looking for plug-ins of Pydantic at every start takes longer than reading the arguments.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

Command = Callable[[argparse.Namespace], int | None]
CONFIG = Path("config/config.yaml")


class Parser(argparse.ArgumentParser):
    """Reports a mistake in one sentence, without repeating all flags."""

    def error(self, message: str) -> NoReturn:
        """Print the sentence and exit with code 2."""
        self.exit(2, f"{self.prog}: {message} (see '{self.prog} --help')\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code, or 2 after a mistake of the user's, told in words."""
    words = sys.argv[1:] if arguments is None else arguments
    return call(_parser(explained=bool({"-h", "--help"} & set(words))), words)


def call(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> int:
    """Parse the arguments and call the command they name."""
    options = parser.parse_args(arguments)
    command: Command = options.command
    try:
        return command(options) or 0
    except UserError as error:
        return _report(parser, str(error), 2)
    except Interrupted as order:
        return _report(parser, str(order), order.exit_code)
    except MemoryError:
        sentence = "not enough memory for this problem: use fewer rows or columns, or a larger "
        return _report(parser, f"{sentence}machine", 2)
    except KeyboardInterrupt:
        return _report(parser, "interrupted", Interrupted.BY_KEYBOARD)
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        sys.stderr.close()
        return 1
    except OSError as error:  # a disk that went away, a file that may not be read
        return _report(parser, f"{error.filename or 'output'}: {error.strerror or error}", 2)


def _report(parser: argparse.ArgumentParser, sentence: str, code: int) -> int:
    print(f"{parser.prog}: {sentence}", file=sys.stderr)
    return code


def _parser(*, explained: bool = False) -> Parser:
    parser = Parser(
        prog="gvibench", description="Benchmark studies of Gaussian variational inference."
    )
    parser.add_argument("--version", action="version", version=f"gvibench {__version__}")
    added = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_runs(added, explained)
    _add_studies(added)
    _add_results(added)
    _add_extensions(added)
    return parser


def _add_runs(added: "Subparsers", explained: bool) -> None:
    """Add the commands that work without a study."""
    from gvibench.spec.run import ProblemSpec, RunSpec

    run = added.add_parser("run", help="do one run and write its trace")
    run.set_defaults(command=commands.run)
    run.add_argument("--spec", metavar="JSON", help="the whole run as JSON, instead of flags")
    _add_out(run, "trace to write (*.zarr.zip)")
    run.add_argument(
        "--checkpoint-every",
        type=_seconds,
        metavar="SECONDS",
        help="keep the state this often, so that a killed run can resume (default: 120)",
    )
    _add_data_file(run)
    add_spec_flags(run, RunSpec, explained=explained)

    optimum = added.add_parser("optimum", help="find the exact optimum that gaps refer to")
    optimum.set_defaults(command=commands.optimum)
    optimum.add_argument("--spec", metavar="JSON", help="the problem as JSON, instead of flags")
    _add_out(optimum, "file to write (*.zarr.zip)")
    _add_data_file(optimum)
    add_spec_flags(optimum, ProblemSpec, explained=explained)

    prepare = added.add_parser("prepare", help="fetch, split and scale a data set")
    prepare.set_defaults(command=commands.prepare)
    prepare.add_argument("--spec", metavar="JSON", help="the data as JSON, instead of flags")
    _add_out(prepare, "file to write (*.zarr.zip)")
    add_data_flags(prepare, explained=explained)
    prepare.add_argument(
        "--model",
        choices=get_args(ProblemSpec.model_fields["model"].annotation),
        help="model that the rows are for: 'linear' keeps real targets (default: logistic)",
    )

    show = added.add_parser("show", help="describe a file of gvibench: a trace, an optimum, ...")
    show.set_defaults(command=commands.show)
    show.add_argument("file", help="a file, or an object such as s3://bucket/t.zarr.zip")


def _add_studies(added: "Subparsers") -> None:
    """Add the commands that take a config."""
    plan = added.add_parser("plan", help="estimate what a study will cost, without running it")
    plan.set_defaults(command=commands.plan)
    _add_config(plan)

    status = added.add_parser("status", help="show what of a study is done, also while it runs")
    status.set_defaults(command=commands.status)
    _add_config(status)

    watch = added.add_parser("watch", help="draw the curves of a study's running jobs, live")
    watch.set_defaults(command=commands.watch)
    _add_config(watch)
    watch.add_argument("--once", action="store_true", help="draw them once and exit")

    repair = added.add_parser("repair", help="remove damaged or outdated files of a study")
    repair.set_defaults(command=commands.repair)
    _add_config(repair)

    clean = added.add_parser("clean", help="remove results that the config no longer names")
    clean.set_defaults(command=commands.clean)
    _add_config(clean)
    clean.add_argument(
        "--orphans", action="store_true", required=True, help="required, to say what is removed"
    )
    clean.add_argument("--dry-run", action="store_true", help="list them only")

    gallery = added.add_parser("gallery", help="copy figures and tables where others see them")
    gallery.set_defaults(command=commands.gallery)
    gallery.add_argument("config", type=Path, help="config of the finished studies")
    gallery.add_argument("out", type=Path, help="folder to write; an earlier gallery is replaced")
    _add_results_folder(gallery)


def _add_results(added: "Subparsers") -> None:
    """Add the commands that take finished studies."""
    compare = added.add_parser("compare", help="make one report page for two studies")
    compare.set_defaults(command=commands.compare)
    for name in ("A", "B"):
        compare.add_argument(name, type=Path, help="results/<study>, its aggregate or archive")
    _add_out(compare, "page to write (default: comparison.html)", Path("comparison.html"))

    export = added.add_parser("export", help="pack a finished study into one archive")
    export.set_defaults(command=commands.export)
    export.add_argument("study", type=Path, help="its folder, results/<study>")
    _add_out(export, "archive to write (*.zip)")
    export.add_argument("--traces", action="store_true", help="include the trace of every run")
    export.add_argument("--author", action="append", default=[], help="may be given repeatedly")
    export.add_argument("--license", metavar="SPDX", help="of the results, as in CC-BY-4.0")


def _add_extensions(added: "Subparsers") -> None:
    """Add the commands about what is installed."""
    datasets = added.add_parser("datasets", help="list the data sets")
    datasets.set_defaults(command=commands.datasets)
    solvers = added.add_parser("solvers", help="list the solvers and their options")
    solvers.set_defaults(command=commands.solvers)

    new = added.add_parser("new", help="start a package for a solver of your own")
    new.set_defaults(command=commands.new)
    new.add_argument("what", choices=("solver",))
    new.add_argument("name", help="its name, as in 'my-solver'")
    new.add_argument(
        "--into", type=Path, default=Path(), metavar="DIR", help="where (default: here)"
    )

    check = added.add_parser("check", help="put a solver to the tests that all must pass")
    check.set_defaults(command=commands.check)
    check.add_argument("what", choices=("solver",))
    check.add_argument("name", help="the name it is installed under")

    doctor = added.add_parser("doctor", help="check and time this machine's CPU or GPU")
    doctor.set_defaults(command=commands.doctor)
    doctor.add_argument(
        "--device", choices=("cpu", "cuda"), default="cpu", help="what to check (default: cpu)"
    )


def _add_out(parser: Parser, description: str, default: Path | None = None) -> None:
    parser.add_argument(
        "--out", type=Path, required=default is None, default=default, help=description
    )
    parser.add_argument(
        "--force", action="store_true", help="replace the file even if it is something else"
    )


def _add_data_file(parser: Parser) -> None:
    parser.add_argument(
        "--data",
        type=Path,
        metavar="PREPARED",
        help="prepared data file (default: the data set's own, made on first use)",
    )


def _add_config(parser: Parser) -> None:
    parser.add_argument(
        "config", type=Path, nargs="?", default=CONFIG, help=f"config file (default: {CONFIG})"
    )
    _add_results_folder(parser)


def _add_results_folder(parser: Parser) -> None:
    parser.add_argument(
        "--results",
        metavar="FOLDER",
        help="folder of the results, as in 'snakemake --config results=FOLDER' (default: the "
        "config's)",
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not seconds >= 0:
        raise argparse.ArgumentTypeError(f"should be a number of seconds, got '{text}'")
    return seconds
