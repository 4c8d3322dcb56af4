"""Define the `gvibench` command.

The modules `run_commands`, `study_commands`, `benchmark_commands` and `info_commands` add the
subcommands. They import what a command needs when it is called, so that `gvibench run` starts fast.
"""

import os
import sys
from collections.abc import Sequence

from gvibench import __version__
from gvibench.cli import benchmark_commands, info_commands, run_commands, study_commands
from gvibench.cli.arguments import Parser
from gvibench.errors import call

__all__ = ["build_parser", "main"]

# Pydantic searches for plug-ins at each start, which takes longer than parsing the arguments.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (2 for invalid input)."""
    words = sys.argv[1:] if arguments is None else arguments
    return call(build_parser(with_help=bool({"-h", "--help"} & set(words))), words)


def build_parser(*, with_help: bool = False) -> Parser:
    """Return the parser of the command line.

    Parameters
    ----------
    with_help
        Whether to add the help texts of settings. Reading them from the sources takes time.
    """
    parser = Parser(
        prog="gvibench", description="Benchmark studies of Gaussian variational inference."
    )
    parser.add_argument("--version", action="version", version=f"gvibench {__version__}")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    run_commands.add_commands(subparsers, with_help=with_help)
    study_commands.add_commands(subparsers)
    benchmark_commands.add_commands(subparsers)
    info_commands.add_commands(subparsers)
    return parser
