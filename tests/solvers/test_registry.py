import importlib.metadata

import pytest

from gvibench import solvers
from gvibench.errors import UserError
from gvibench.solvers import vn


class Damped(vn.Vn):
    """VN with half the step, as another package might add it."""

    id = "damped-vn"
    title = "damped VN"

    def step(self, state, model, rho):
        return super().step(state, model, 0.5 * rho)


@pytest.fixture
def installed(monkeypatch):
    """An entry point as an installed package would declare it."""
    entry = importlib.metadata.EntryPoint("damped-vn", f"{__name__}:Damped", solvers.ENTRY_POINTS)
    real = importlib.metadata.entry_points

    def fake(**wanted):
        found = [entry] if wanted.get("name", entry.name) == entry.name else []
        return found if wanted.get("group") == solvers.ENTRY_POINTS else real(**wanted)

    monkeypatch.setattr(solvers, "entry_points", fake)


def test_a_solver_of_another_package_is_found(installed):
    assert "damped-vn" in solvers.names()
    assert solvers.solver_class("damped-vn").title == "damped VN"
    assert solvers.module_of("damped-vn") == __name__
    from test_run import go

    damped, plain = go(solver="damped-vn", step=0.2), go(solver="vn", step=0.1)
    assert damped.scalars["objective"].tolist() == plain.scalars["objective"].tolist()


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
