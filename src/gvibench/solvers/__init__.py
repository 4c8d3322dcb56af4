"""Solvers by name: ours, and those that other packages add by entry point."""

import importlib
from importlib.metadata import entry_points
from typing import Any

from gvibench.errors import UserError
from gvibench.solvers.base import Solver, State
from gvibench.spec import Option, parse, suggest

__all__ = ["MODULES", "Solver", "State", "configure", "module_of", "names", "solver_class"]

ENTRY_POINTS = "gvibench.solvers"

# As text, so that a run depends only on the code of its own solver.
MODULES = {
    "vn": "gvibench.solvers.vn:Vn",
    "sr-vn": "gvibench.solvers.sr_vn:SrVn",
    "sr-vn-rotated": "gvibench.solvers.sr_vn_rotated:SrVnRotated",
    "bw-gd": "gvibench.solvers.bw_gd:BwGd",
    "gd": "gvibench.solvers.gd:Gd",
    "gd-chol": "gvibench.solvers.gd_chol:GdChol",
    "svgd-density": "gvibench.solvers.svgd_density:SvgdDensity",
    "ng-flow": "gvibench.solvers.ng_flow:NgFlow",
    "fb-gvi": "gvibench.solvers.fb_gvi:FbGvi",
}


def names() -> list[str]:
    """Return the ids of all solvers that are installed."""
    return [*MODULES, *(entry.name for entry in entry_points(group=ENTRY_POINTS))]


def _target(name: str) -> str:
    if name in MODULES:
        return MODULES[name]
    for entry in entry_points(group=ENTRY_POINTS, name=name):
        return entry.value
    raise UserError(
        f"unknown solver '{name}'{suggest(name, names())}; there are: {', '.join(names())}"
    )


def module_of(name: str) -> str:
    """Return the module that defines the solver called `name`."""
    return _target(name).partition(":")[0]


def solver_class(name: str) -> type[Solver]:
    """Return the class of the solver called `name`."""
    module, _, attribute = _target(name).partition(":")
    found: Any = getattr(importlib.import_module(module), attribute)
    return found  # type: ignore[no-any-return]


def configure(name: str, options: dict[str, Option]) -> Solver:
    """Return the solver called `name` with its options checked and completed."""
    return parse(solver_class(name), dict(options), f"options of solver '{name}'")
