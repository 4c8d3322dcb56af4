"""The step rule `auto`: reference counts, its conditions, and how a run ends."""

import math

import numpy as np
import pytest

from anchors import DIABETES_OPTIMUM, WDBC_OPTIMUM, diabetes, evaluations_to, objective, wdbc
from gvibench import solvers, steps
from gvibench.cli.main import main
from gvibench.engine.execute import execute
from gvibench.engine.optimum import find_optimum
from gvibench.errors import Diverged, Stopped
from gvibench.registry import SOLVERS
from gvibench.solvers.vn import Vn
from gvibench.store.prepared import read_prepared
from gvibench.store.traces import read_trace
from problems import build, go, prepared, spec

AUTO = {"step": 1.0, "step_rule": "auto"}
WITH_SLOPE = [name for name in SOLVERS.built_in if SOLVERS.load(name).has_slope()]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("vn", [6, 8]),
        ("sr-vn", [11, 14]),
        ("bw-gd", [359, 662]),
        ("gd-chol", [198, 355]),
        ("fb-gvi", [283, 710]),
    ],
)
def test_reference_counts_on_diabetes(libsvm_data, name, expected):
    assert evaluations_to(diabetes(libsvm_data), name, DIABETES_OPTIMUM) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("vn", [12, 39]),
        ("sr-vn", [19, 52]),
        ("fr-kl", [19, 29]),
        ("fr-r", [21, 53]),
        ("vn-pd", [21, 27]),
    ],
)
def test_reference_counts_on_wdbc(name, expected):
    assert evaluations_to(wdbc(), name, WDBC_OPTIMUM) == expected


@pytest.mark.parametrize("init_scale", [0.1, 2.0])
@pytest.mark.parametrize(
    ("name", "most"), [("vn", 40), ("sr-vn", 60), ("fr-kl", 60), ("vn-pd", 60)]
)
@pytest.mark.parametrize(
    "dataset", ["diabetes_scale", "australian_scale", "breast-cancer_scale", "phishing"]
)
@pytest.mark.slow
def test_the_command_line_needs_no_step(libsvm_data, tmp_path, dataset, name, most, init_scale):
    out, data = tmp_path / "t.zarr.zip", tmp_path / "data.zarr.zip"
    assert main(["prepare", "--dataset", dataset, "--out", str(data)]) == 0
    for seed in (0, 3, 17):
        words = ["--dataset", dataset, "--solver", name, "--init-scale", str(init_scale)]
        words += ["--seed", str(seed), "--iterations", "100", "--data", str(data), "--force"]
        assert main(["run", *words, "--out", str(out)]) == 0
        trace = read_trace(out)
        run = spec(**{**trace.spec, "data": read_prepared(data).spec})
        optimum = find_optimum(run.problem(), read_prepared(data)).attrs["objective"]
        close = trace.scalars["objective"] <= optimum + 1e-6 * abs(optimum)
        assert trace.scalars["evaluations"][close.argmax()] <= most
        assert close.any()


@pytest.mark.parametrize("name", WITH_SLOPE)
def test_the_objective_never_increases(name):
    trace = go(solver=name, iterations=40, init_scale=2.0, **AUTO)
    objective = trace.scalars["objective"]
    rounding = 1e-11 * (1 + np.abs(objective[:-1]))
    assert (np.diff(objective) <= rounding).all()
    assert objective[-1] < objective[0] - 0.1
    assert trace.attrs["status"] != "diverged"


def test_evaluations_steps_and_trials_are_recorded():
    trace = go(solver="sr-vn", iterations=30, init_scale=3.0, **AUTO)
    attrs, scalars = trace.attrs, trace.scalars
    assert attrs["screened_steps"] > 0
    assert scalars["evaluations"][-1] == attrs["iterations_done"] + 1 + attrs["rejected_steps"]
    assert scalars["step"][0] == 0.0
    # Each step is a power of the shrinking factor, and at most 1 / gamma.
    exponents = np.log2(scalars["step"][1:])
    assert (exponents <= 0).all()
    assert (exponents == np.rint(exponents)).all()


def test_a_long_first_step_is_shortened_and_grows_again():
    model = build()
    solver, rule = solvers.create("bw-gd", {}), steps.create("auto", 1e3, {})
    state = solver.init(model, np.ones(model.d), 1.0)
    after = rule.advance(solver, state, model)
    assert after.step < 1e3
    assert after.search.step == after.step  # not doubled, because the first trial failed
    later = rule.advance(solver, after._replace(search=after.search._replace(step=1e-6)), model)
    assert later.step == 1e-6
    assert later.search.step == 2e-6


@pytest.mark.parametrize(("gamma", "most"), [(2.0, 0.5), (1.0, 1.0), (0.25, 4.0)])
def test_natural_gradient_steps_are_at_most_one_over_gamma(gamma, most):
    trace = go(solver="vn", gamma=gamma, iterations=20, step=10.0, step_rule="auto")
    assert trace.scalars["step"].max() == most


def test_settings_change_the_search():
    options = {"shrink": 0.1, "grow": 1.0}
    steps_used = go(
        solver="bw-gd", iterations=20, step=1.0, step_rule="auto", step_options=options
    ).scalars["step"][1:]
    assert (np.diff(steps_used) <= 0).all()
    assert np.allclose(np.log10(steps_used), np.rint(np.log10(steps_used)))


def test_a_run_ends_at_rounding_level():
    trace = go(solver="vn", iterations=1000, **AUTO)
    assert trace.attrs["status"] == "converged"
    assert trace.attrs["reason"].startswith("converged to rounding after")
    assert trace.attrs["iterations_done"] < 100
    assert trace.scalars["grad_norm"][-1] < 1e-6


class Backwards(Vn):
    """Goes uphill while its slope promises descent."""

    def propose(self, state, model, rho):
        return super().propose(state, model, -rho)


def test_a_search_without_success_fails():
    model = build()
    solver, rule = Backwards(), steps.create("auto", 1.0, {})
    state = solver.init(model, np.ones(model.d), 1.0)
    with pytest.raises(Stopped, match="line search failed") as caught:
        rule.advance(solver, state, model)
    assert caught.value.failed


def test_a_failed_search_is_the_status_of_the_run(add_plugin):
    add_plugin("gvibench.solvers", "backwards", f"{__name__}:Backwards")
    trace = go(solver="backwards", iterations=10, **AUTO)
    assert trace.attrs["status"] == "failed"
    assert trace.attrs["reason"].startswith("line search failed")
    assert trace.iteration.tolist() == [0]


class Indefinite(Vn):
    """Has a covariance that is not positive definite for long steps."""

    def propose(self, state, model, rho):
        if rho > 0.1:
            raise Diverged("V^-1 is not positive definite")
        return super().propose(state, model, rho)


class Overflowing(Vn):
    """Has an objective that is not finite after long steps, although the surrogate is fine."""

    def advance(self, state, model, rho, proposal, evaluations=1.0):
        state = super().advance(state, model, rho, proposal, evaluations)
        if rho > 0.1:
            return state._replace(oracle=state.oracle._replace(value=np.float64(math.nan)))
        return state


@pytest.mark.parametrize(("kind", "counts"), [(Indefinite, (0, 0, 4)), (Overflowing, (4, 0, 0))])
def test_trials_that_fail_are_counted_by_reason(kind, counts):
    model, rule = build(), steps.create("auto", 1.0, {})
    solver = kind()
    state = solver.init(model, np.zeros(model.d), 0.5)
    after = rule.advance(solver, state, model)
    assert after.step == 0.0625
    assert after.search.counts == counts
    assert after.evaluations == 2 + counts[0]
    assert objective(model, after) < objective(model, state)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_single_precision_converges_to_its_own_rounding(dtype):
    trace = execute(spec(solver="vn", iterations=100, dtype=dtype, **AUTO), prepared())
    assert trace.attrs["status"] == "converged"
    assert trace.scalars["grad_norm"][-1] < (1e-3 if dtype == "float32" else 1e-6)


def test_a_reduced_run_searches_as_the_full_run_does():
    data = prepared(n=6, d=15)
    runs = [
        execute(spec(solver="vn", form=form, iterations=8, **AUTO), data)
        for form in ("dense", "reduced")
    ]
    dense, reduced = (run.scalars for run in runs)
    np.testing.assert_array_equal(dense["step"], reduced["step"])
    np.testing.assert_allclose(dense["objective"], reduced["objective"], rtol=1e-10)
