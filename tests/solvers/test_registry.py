import sys

import pytest

from gvibench import figures, registry, solvers, tables
from gvibench.errors import UserError
from gvibench.solvers import vn
from gvibench.study.config import Study


class Damped(vn.Vn):
    """VN with half the step, as another package might add it."""

    id = "damped-vn"
    title = "damped VN"

    def step(self, state, model, rho):
        return super().step(state, model, 0.5 * rho)


@pytest.fixture
def installed(monkeypatch):
    """Entry points as an installed package would declare them."""
    found = {
        "gvibench.solvers": {"damped-vn": f"{__name__}:Damped", "vn": "elsewhere:Vn"},
        "gvibench.figures": {"mine": f"{__name__}", "broken": "no.such.module"},
        "gvibench.tables": {"mine": f"{__name__}"},
    }
    monkeypatch.setattr(registry, "_installed", lambda group: found.get(group, {}))


def test_a_solver_of_another_package_is_found(installed):
    assert "damped-vn" in solvers.names()
    assert solvers.solver_class("damped-vn").title == "damped VN"
    assert solvers.module_of("damped-vn") == __name__
    from test_run import go

    damped, plain = go(solver="damped-vn", step=0.2), go(solver="vn", step=0.1)
    assert damped.scalars["objective"].tolist() == plain.scalars["objective"].tolist()


def test_a_name_of_ours_stays_ours(installed):
    assert solvers.module_of("vn") == "gvibench.solvers.vn"
    assert solvers.names().count("vn") == 1


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("kind", [figures, tables])
def test_figures_and_tables_of_another_package_are_found(kind):
    assert kind.names()[-1] in {"mine", "broken"}
    assert kind.module_of("mine") == __name__
    assert kind.REGISTRY.load("mine") is sys.modules[__name__]
    Study(datasets=["wdbc"], solvers=["vn"], figures=["gap", "mine"], tables=["mine"])


def test_an_addition_that_cannot_be_loaded_is_named(installed):
    with pytest.raises(UserError, match="figure 'broken' could not be loaded: No module named"):
        figures.REGISTRY.load("broken")


@pytest.mark.parametrize("name", solvers.MODULES)
def test_every_solver_says_who_it_is(name):
    solver = solvers.solver_class(name)
    assert solver.id == name
    assert solver.title
    assert solver.reference
    assert "Cost:" in solver.__doc__ or "costs" in solver.__doc__
    assert solvers.configure(name, {}).model_dump() == {
        option: field.default for option, field in solver.model_fields.items()
    }


def test_unknown_solvers_and_options_are_named():
    with pytest.raises(UserError, match=r"unknown solver 'srvn' \(did you mean 'sr-vn'\?\)"):
        solvers.solver_class("srvn")
    with pytest.raises(UserError, match=r"unknown key 'kernl' \(did you mean 'kernel'\?\)"):
        solvers.configure("svgd-density", {"kernl": "centred"})
    with pytest.raises(UserError, match="'kernel' should be 'linear' or 'centred', got 'round'"):
        solvers.configure("svgd-density", {"kernel": "round"})
