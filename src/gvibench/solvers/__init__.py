"""Solvers by name: ours, and those that other packages add by entry point."""

from gvibench.registry import Registry
from gvibench.solvers.base import Solver, State
from gvibench.spec.run import Option, parse

__all__ = ["MODULES", "Solver", "State", "configure", "module_of", "names", "solver_class"]

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


REGISTRY = Registry("solver", MODULES)
names = REGISTRY.names
module_of = REGISTRY.module_of


def solver_class(name: str) -> type[Solver]:
    """Return the class of the solver called `name`."""
    found: type[Solver] = REGISTRY.load(name)
    return found


def configure(name: str, options: dict[str, Option]) -> Solver:
    """Return the solver called `name` with its options checked and completed."""
    return parse(solver_class(name), dict(options), f"options of solver '{name}'")
