"""A new package for a solver, a data set and a figure of one's own.

The template is a package that works. What is called my-solver in it gets its own name.
"""

import keyword
import re
import sys
import tempfile
from importlib.machinery import PathFinder
from pathlib import Path

from gvibench import solvers
from gvibench.errors import UserError

__all__ = ["new_solver"]

TEMPLATE = Path(__file__).with_name("templates") / "solver"


def new_solver(name: str, into: Path) -> Path:
    """Write a package for the solver `name` into a folder of its own in `into`; return that."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise UserError(
            f"'{name}' is no name for a solver: use small letters, digits and single hyphens, "
            "as in 'my-solver'"
        )
    if name in solvers.MODULES:
        raise UserError(f"'{name}' is a solver of gvibench: choose another name")
    package = name.replace("-", "_")
    _refuse_taken(name, package)
    folder = into / package
    if folder.exists():
        raise UserError(f"{folder} is there already: choose another name or folder")
    words = {
        "my-solver": name,
        "my_solver": package,
        "MySolver": "".join(part.capitalize() for part in name.split("-")),
    }
    try:
        into.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{package}.", dir=into) as part:
            for path in TEMPLATE.rglob("*"):
                if path.is_file() and "__pycache__" not in path.parts:
                    inner = _renamed(path.relative_to(TEMPLATE).as_posix(), words)
                    target = Path(part) / package / inner
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_text(_renamed(path.read_text(), words))
            (Path(part) / package).rename(folder)
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error.strerror}") from error
    return folder


def _refuse_taken(name: str, package: str) -> None:
    """Refuse a name that Python or another package needs for itself."""
    if keyword.iskeyword(package) or keyword.issoftkeyword(package):
        raise UserError(f"'{name}' is a word of Python and cannot name a package: choose another")
    if package in sys.stdlib_module_names or _is_installed(package):
        raise UserError(f"'{name}' is the name of an installed package: choose another name")


def _is_installed(package: str) -> bool:
    # The folder that this process was started in does not count: the new package may go there.
    elsewhere = [place for place in sys.path if place and Path(place) != Path.cwd()]
    return PathFinder.find_spec(package, elsewhere) is not None


def _renamed(text: str, words: dict[str, str]) -> str:
    return re.sub("|".join(words), lambda found: words[found.group()], text)
