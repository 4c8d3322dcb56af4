import dataclasses

import pytest

from gvibench.errors import UserError
from gvibench.models.logistic import LogisticModel
from gvibench.registry import FIGURES, MODELS, SOLVERS, TABLES
from gvibench.solvers.vn import Vn
from gvibench.spec.run import RunSpec
from gvibench.spec.validate import parse
from gvibench.study.config import Study
from gvibench.study.defaults import complete_spec
from problems import go


class Damped(Vn):
    """VN with half the step size, as another package might add it."""

    id = "damped-vn"
    title = "damped VN"

    def step(self, state, model, rho):
        return super().step(state, model, 0.5 * rho)


def output() -> None:
    """Stand for a figure or a table of another package."""


@pytest.fixture
def plugins(add_plugin):
    add_plugin("gvibench.solvers", "damped-vn", f"{__name__}:Damped")
    add_plugin("gvibench.solvers", "vn", "elsewhere:Vn")
    add_plugin("gvibench.models", "sharper", f"{__name__}:Sharper")
    add_plugin("gvibench.figures", "mine", f"{__name__}:output")
    add_plugin("gvibench.figures", "broken", "no.such.module")
    add_plugin("gvibench.tables", "mine", f"{__name__}:output")


@pytest.mark.usefixtures("plugins")
def test_a_solver_of_another_package_is_found():
    assert "damped-vn" in SOLVERS.names()
    assert SOLVERS.load("damped-vn").title == "damped VN"
    assert SOLVERS.module_of("damped-vn") == __name__
    damped, plain = go(solver="damped-vn", step=0.2), go(solver="vn", step=0.1)
    assert damped.scalars["objective"].tolist() == plain.scalars["objective"].tolist()


class Sharper(LogisticModel):
    """Logistic regression with a constant penalty, as another package might add it."""

    def penalty(self, mean):
        return 1.0, 0.0 * mean


@pytest.mark.usefixtures("plugins")
def test_a_model_of_another_package_is_found():
    assert MODELS.names()[-1] == "sharper"
    raised, plain = go(model="sharper"), go(model="logistic")
    difference = raised.scalars["objective"] - plain.scalars["objective"]
    assert difference.tolist() == pytest.approx([1.0] * len(difference))
    Study(datasets=["wdbc"], solvers=["vn"], model="sharper")
    with pytest.raises(UserError, match="has no penalty on the mean"):
        complete_spec(RunSpec, {"dataset": "wdbc"}, {"model": "sharper", "solver": "bam"}, "here")


@pytest.mark.usefixtures("plugins")
def test_plugins_do_not_replace_built_in_objects():
    assert SOLVERS.module_of("vn") == "gvibench.solvers.vn"
    assert SOLVERS.names().count("vn") == 1


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize("registry", [FIGURES, TABLES])
def test_figures_and_tables_of_another_package_are_found(registry):
    assert registry.names()[-1] in {"mine", "broken"}
    assert registry.module_of("mine") == __name__
    assert registry.load("mine") is output
    Study(datasets=["wdbc"], solvers=["vn"], figures=["gap", "mine"], tables=["mine"])


@pytest.mark.usefixtures("plugins")
def test_a_plugin_that_cannot_be_loaded_is_named():
    with pytest.raises(UserError, match="figure 'broken' could not be loaded: No module named"):
        FIGURES.load("broken")


@pytest.mark.parametrize("registry", [SOLVERS, FIGURES, TABLES])
def test_all_built_in_objects_can_be_loaded(registry):
    for name in registry.built_in:
        assert callable(registry.load(name)), name


@pytest.mark.parametrize("name", SOLVERS.built_in)
def test_solvers_have_a_name_a_reference_and_defaults(name):
    solver = SOLVERS.load(name)
    assert solver.id == name
    assert solver.title
    assert solver.reference
    assert "Cost:" in solver.__doc__ or "costs" in solver.__doc__
    options = {field.name: field.default for field in dataclasses.fields(solver)}
    assert dataclasses.asdict(parse(solver, {}, "options")) == options


def test_unknown_solvers_and_options_are_named():
    with pytest.raises(UserError, match=r"unknown solver 'srvn' \(did you mean 'sr-vn'\?\)"):
        SOLVERS.load("srvn")
    svgd = SOLVERS.load("svgd-density")
    with pytest.raises(UserError, match=r"unknown key 'kernl' \(did you mean 'kernel'\?\)"):
        parse(svgd, {"kernl": "centred"}, "options")
    with pytest.raises(UserError, match="'kernel' should be 'linear' or 'centred', got 'round'"):
        parse(svgd, {"kernel": "round"}, "options")
