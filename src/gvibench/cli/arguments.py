"""Provide the arguments that several commands share."""

import argparse
from pathlib import Path
from typing import NoReturn, TypeAlias

__all__ = [
    "Options",
    "Parser",
    "Subparsers",
    "add_config",
    "add_data_file",
    "add_out",
    "add_results_folder",
]

CONFIG = Path("config/config.yaml")

Options: TypeAlias = argparse.Namespace


class Parser(argparse.ArgumentParser):
    """Argument parser that reports an error in one line, without listing all flags."""

    def error(self, message: str) -> NoReturn:
        """Print the message and exit with code 2."""
        self.exit(2, f"{self.prog}: {message} (see '{self.prog} --help')\n")


Subparsers: TypeAlias = "argparse._SubParsersAction[Parser]"


def add_out(parser: Parser, description: str, default: Path | None = None) -> None:
    """Add `--out` and `--force`."""
    parser.add_argument(
        "--out", type=Path, required=default is None, default=default, help=description
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="overwrite the file even if it is not of the expected kind",
    )


def add_data_file(parser: Parser) -> None:
    """Add `--data`."""
    parser.add_argument(
        "--data",
        type=Path,
        metavar="PREPARED",
        help="prepared data file (default: prepared on first use and cached)",
    )


def add_config(parser: Parser) -> None:
    """Add the config file and `--results`."""
    parser.add_argument(
        "config", type=Path, nargs="?", default=CONFIG, help=f"config file (default: {CONFIG})"
    )
    add_results_folder(parser)


def add_results_folder(parser: Parser) -> None:
    """Add `--results`."""
    parser.add_argument(
        "--results",
        metavar="FOLDER",
        help="results folder, as in 'snakemake --config results=FOLDER' (default: the folder "
        "named in the config)",
    )
