"""Create a package for a new solver, data set and figure.

The template is a working package. The name my-solver in it is replaced by the new name.
"""

import keyword
import re
import sys
import tempfile
from importlib.machinery import PathFinder
from pathlib import Path

from gvibench.errors import UserError
from gvibench.registry import SOLVERS

__all__ = ["new_solver"]

TEMPLATE = Path(__file__).with_name("templates") / "solver"


def new_solver(name: str, into: Path) -> Path:
    """Create a package for the solver `name` in a new folder in `into` and return the folder."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise UserError(
            f"invalid solver name '{name}': use lower-case letters, digits and single hyphens, "
            "e.g. 'my-solver'"
        )
    if SOLVERS.is_built_in(name):
        raise UserError(f"'{name}' is a built-in solver: choose another name")
    package = name.replace("-", "_")
    _validate_unused(name, package)
    folder = into / package
    if folder.exists():
        raise UserError(f"{folder} already exists: choose another name or folder")
    names = {
        "my-solver": name,
        "my_solver": package,
        "MySolver": "".join(part.capitalize() for part in name.split("-")),
    }
    try:
        into.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{package}.", dir=into) as part:
            for source in TEMPLATE.rglob("*"):
                if source.is_file() and "__pycache__" not in source.parts:
                    relative = _renamed(source.relative_to(TEMPLATE).as_posix(), names)
                    target = Path(part) / package / relative
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_text(_renamed(source.read_text(), names))
            (Path(part) / package).rename(folder)
    except OSError as error:
        raise UserError(f"cannot create {folder}: {error.strerror}") from error
    return folder


def _validate_unused(name: str, package: str) -> None:
    """Raise an error if the name is a Python keyword or the name of an installed package."""
    if keyword.iskeyword(package) or keyword.issoftkeyword(package):
        raise UserError(f"'{name}' is a Python keyword: choose another name")
    if package in sys.stdlib_module_names or _is_installed(package):
        raise UserError(f"'{name}' is the name of an installed package: choose another name")


def _is_installed(package: str) -> bool:
    # The current folder is excluded because the new package may be created there.
    folders = [folder for folder in sys.path if folder and Path(folder) != Path.cwd()]
    return PathFinder.find_spec(package, folders) is not None


def _renamed(text: str, names: dict[str, str]) -> str:
    return re.sub("|".join(names), lambda match: names[match.group()], text)
