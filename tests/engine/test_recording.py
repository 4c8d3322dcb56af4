"""Test what a run records: values, schedules, and runs that record only the objective."""

import itertools
import math
import os
import signal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gvibench.engine.checkpointing import stop_on_signals
from gvibench.engine.endings import SETTLED_NORM
from gvibench.engine.execute import backend_of, execute
from gvibench.engine.lockstep import run_trials
from gvibench.engine.run import Run
from gvibench.engine.schedule import Schedule
from gvibench.errors import Interrupted
from gvibench.registry import SOLVERS
from gvibench.spec.metrics import METRICS, TEST_METRICS
from problems import go, prepared, spec

DATA = prepared()
STEPS = {"vn": 0.1, "ng-flow": 0.01}


def evaluated(trace, name="test_nll"):
    """Return the iterations at which a metric was evaluated."""
    return trace.iteration[np.isfinite(trace.scalars[name])].tolist()


def finished(run_spec, data=DATA, **options):
    """Return a finished run."""
    with backend_of(run_spec) as backend:
        run = Run(run_spec, data, backend, **options)
        run.start()
        while run.is_active:
            run.step()
        run.finish()
        return run


# Values


STEPPING = [name for name in SOLVERS.built_in if SOLVERS.load(name).has_step and name != "advi"]
EXPECTATIONS = ("exact", "piecewise", "gauss-hermite", "stochastic")


@pytest.mark.parametrize(
    ("solver", "expectation"),
    [
        *itertools.product(STEPPING, EXPECTATIONS),
        *((name, "stochastic") for name in ("advi", "bam", "gsm")),
    ],
)
def test_records_equal_direct_evaluations_bit_for_bit(solver, expectation):
    run_spec = spec(
        solver=solver, expectation=expectation, step=STEPS.get(solver, 1e-3), iterations=8
    )
    recorded = finished(run_spec.replace(test_every=1)).recorder.scalars()
    with backend_of(run_spec) as backend:
        run = Run(run_spec, DATA, backend)
        model, state = run.model, run.solver.init(run.model, run._mean, run_spec.init_scale)
        for k in range(run_spec.iterations + 1):
            if k:
                state = run.solver.step(state, model, run_spec.step)
            oracle = state.oracle
            if expectation == "stochastic":
                oracle = model.full_oracle(state.mean, state.factor, "hessian")
            expected = [
                *model.objectives(state.mean, state.factor, oracle.value),
                *model.test_metrics(state.mean, state.factor),
                model.fisher_norm(state.factor, oracle),
            ]
            assert [recorded[name][k] for name in METRICS] == list(map(float, expected))


@pytest.mark.parametrize("expectation", ["exact", "stochastic"])
def test_the_schedule_of_test_metrics_changes_no_other_value(expectation):
    changes = {"iterations": 1000, "step": 0.01, "solver": "sr-vn", "expectation": expectation}
    dense, thinned = go(**changes, test_every=1), go(**changes)
    for name in METRICS:
        kept = np.isfinite(thinned.scalars[name])
        assert kept.all() == (name not in TEST_METRICS)
        assert np.array_equal(thinned.scalars[name][kept], dense.scalars[name][kept])


def test_objectives_are_computed_once_per_iterate(monkeypatch):
    from gvibench.models.base import Model

    calls = []
    original = Model.objectives
    monkeypatch.setattr(Model, "objectives", lambda *args: calls.append(1) or original(*args))
    finished(spec(iterations=10))
    assert len(calls) == 11


# Schedules


def test_test_metrics_follow_a_logarithmic_schedule():
    trace = go(iterations=10_000, snapshots=0, step=1e-3)
    at = evaluated(trace)
    assert at[:4] == [0, 1, 2, 3]
    assert at[-1] == 10_000
    assert 100 < len(at) <= 201
    ratios = np.array(at[-50:]) / np.array(at[-51:-1])
    np.testing.assert_allclose(ratios, ratios.mean(), rtol=0.01)
    assert at == evaluated(trace, "test_accuracy") == evaluated(trace, "test_nll_at_mean")
    assert at == go(iterations=10_000, snapshots=0, record_every="log").iteration.tolist()


def test_every_kth_record_has_test_metrics():
    assert evaluated(go(iterations=20, test_every=6)) == [0, 6, 12, 18, 20]
    assert evaluated(go(iterations=20, record_every=3, test_every=2)) == [0, 6, 12, 18, 20]


def test_stored_means_have_test_metrics():
    trace = go(iterations=3000, snapshots=100)
    assert set(trace.snapshot) <= set(evaluated(trace))


@given(
    iterations=st.integers(0, 3000),
    every=st.integers(1, 400) | st.just("log"),
    snapshots=st.integers(0, 40),
)
def test_a_logarithmic_point_belongs_to_the_first_record_after_it(iterations, every, snapshots):
    schedule = Schedule(spec(iterations=iterations, record_every=every, snapshots=snapshots))
    recorded, tested = [], []
    for k in range(iterations + 1):
        if schedule.records(k) or k in (0, iterations):
            if schedule.tests(recorded, k):
                tested.append(k)
            recorded.append(k)
    dense = Schedule(spec(iterations=iterations, snapshots=snapshots))
    points = [k for k in range(iterations + 1) if k == 0 or dense.tests([k - 1], k)]
    assert tested == sorted({min(t for t in recorded if t >= p) for p in points})


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"solver": "gd", "step": 0.3, "init_scale": 3.0, "iterations": 3000}, "diverged"),
        ({"solver": "vn", "step": 0.01, "iterations": 3000, "tolerance": 1e-5}, "converged"),
        ({"iterations": 10**9, "seconds": 0.05, "record_every": 17}, None),
        ({"iterations": 1000, "record_every": 999, "test_every": 1000}, None),
        ({"iterations": 0}, None),
    ],
)
def test_the_last_record_has_test_metrics(changes, status):
    trace = go(**changes)
    assert status in (None, trace.attrs["status"])
    assert all(np.isfinite(trace.scalars[name][-1]) for name in TEST_METRICS)


class StopAt:
    """Progress function that asks the run to stop at one iteration."""

    def __init__(self, iteration):
        self.iteration = iteration

    def __call__(self, iteration, recorder, seconds):
        if iteration == self.iteration:
            os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("test_every", [1, 4, "log"])
@pytest.mark.parametrize("record_every", [1, 50, "log"])
def test_resuming_does_not_change_the_schedule(tmp_path, record_every, test_every):
    run = spec(step=1e-3, iterations=400, record_every=record_every, test_every=test_every)
    expected = execute(run, DATA)
    path = tmp_path / "checkpoint"
    for stop in (101, 288):
        with stop_on_signals(), pytest.raises(Interrupted):
            execute(run, DATA, checkpoint=path, progress=StopAt(stop))
    with stop_on_signals():
        trace = execute(run, DATA, checkpoint=path)
    for name in METRICS:
        np.testing.assert_array_equal(trace.scalars[name], expected.scalars[name])


def test_a_resumed_run_that_cannot_record_completes_its_last_record(tmp_path, monkeypatch):
    """The last record then lies before the checkpoint, so its state is not available."""
    run = spec(expectation="stochastic", step=1e-3, iterations=300, record_every=100, snapshots=0)
    run = run.replace(test_every=1000)
    path = tmp_path / "checkpoint"
    with stop_on_signals(), pytest.raises(Interrupted):
        execute(run, DATA, checkpoint=path, progress=StopAt(150))
    from gvibench.engine.recorder import Recorder
    from gvibench.errors import Diverged

    def fail(*_):
        raise Diverged("the objective is not finite")

    monkeypatch.setattr(Recorder, "_record_metrics", fail)
    with stop_on_signals():
        trace = execute(run, DATA, checkpoint=path)
    assert trace.iteration.tolist() == [0, 100]
    monkeypatch.undo()
    expected = execute(run.replace(test_every=1), DATA)
    for name in TEST_METRICS:
        assert trace.scalars[name][1] == expected.scalars[name][1]


# Runs for the objective only


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"record_every": "log", "iterations": 500},
        {"record_every": 7, "record": ("factor_norm",)},
        {"expectation": "stochastic"},
        {"expectation": "piecewise", "model": "non-convex"},
        {"tolerance": 1e-3, "iterations": 500},
        {"gamma": 0.0, "iterations": 500},
        {"solver": "gd", "step": 0.3, "init_scale": 3.0},
        {"solver": "sr-vn", "step": 0.3, "init_scale": 3.0},
        {"solver": "gd", "step": 50.0, "iterations": 500},
    ],
)
def test_a_run_for_the_objective_only_records_the_same_objectives(changes):
    run_spec = spec(**{"step": 0.01, "iterations": 60, **changes})
    whole, lean = finished(run_spec), finished(run_spec, objective_only=True)
    curves, expected = lean.recorder.scalars(), whole.recorder.scalars()
    names = {"objective", "seconds"} | ({"grad_norm"} if run_spec.tolerance else set())
    assert curves.keys() == names
    assert lean.recorder.iteration == whole.recorder.iteration
    for name in names - {"seconds"}:
        assert np.array_equal(curves[name], expected[name])
    assert (lean.status, lean.reason) == (whole.status, whole.reason)
    assert not lean.recorder.snapshot
    assert not lean.recorder.means


def test_a_trial_ends_when_its_objective_has_settled():
    run_spec = spec(solver="vn", step=0.3, iterations=100_000, record_every="log")
    lean = finished(run_spec, objective_only=True)
    whole = finished(run_spec.replace(iterations=2000))
    assert lean.status == "converged"
    assert "settled" in lean.reason
    assert lean.recorder.iteration[-1] < 200
    assert lean.recorder.grad_norm <= SETTLED_NORM
    assert lean.recorder.objective == pytest.approx(whole.recorder.objective, abs=1e-11)


def test_the_gradient_norm_of_a_trial_is_rarely_computed(monkeypatch):
    from gvibench.models.base import Model

    calls = []
    original = Model.fisher_norm
    monkeypatch.setattr(Model, "fisher_norm", lambda *args: calls.append(1) or original(*args))
    finished(spec(solver="vn", step=0.01, iterations=10_000), objective_only=True)
    assert len(calls) < 30


@pytest.mark.parametrize(
    "changes", [{"gamma": 0.0}, {"expectation": "stochastic", "batch": 40, "samples": 200}]
)
def test_other_trials_use_their_whole_budget(changes):
    run_spec = spec(solver="vn", step=0.5, iterations=400, record_every="log", **changes)
    assert finished(run_spec, objective_only=True).recorder.iteration[-1] == 400


def test_a_trial_with_a_smaller_tolerance_still_ends_as_converged():
    run_spec = spec(solver="vn", step=0.5, iterations=10_000, tolerance=1e-300)
    lean = finished(run_spec, objective_only=True)
    assert lean.status == "converged"
    assert lean.recorder.iteration[-1] < 200


@settings(max_examples=10, deadline=None)
@given(
    gamma=st.sampled_from([0.02, 0.3, 1.0, 8.0]),
    step=st.sampled_from([0.3, 0.7]),
    seed=st.integers(0, 100),
)
def test_a_settled_objective_hardly_changes_any_more(gamma, step, seed):
    run_spec = spec(solver="vn", gamma=gamma, step=step / max(gamma, 1.0), seed=seed)
    run_spec = run_spec.replace(iterations=20_000, record_every="log", snapshots=0)
    lean = finished(run_spec, objective_only=True)
    assert lean.status == "converged"
    done = lean.recorder.iteration[-1]
    later = finished(run_spec.replace(iterations=2 * done))
    limit = 2e-12 + 1e-14 * (1 + abs(later.recorder.objective))
    assert abs(lean.recorder.objective - later.recorder.objective) <= limit


def test_trials_in_lockstep_equal_trials_alone():
    starts = [(0, 1.0), (1, 0.1), (2, 3.0), (3, 20.0)]
    for changes in (
        {"solver": "vn", "step": 0.3, "iterations": 2000, "record_every": "log"},
        {"solver": "sr-vn", "step": 0.3, "iterations": 50},
        {"solver": "gd", "step": 0.3, "iterations": 50, "tolerance": 1e-3},
    ):
        specs = [spec(**changes, seed=seed, init_scale=scale) for seed, scale in starts]
        for run, each in zip(run_trials(specs, DATA), specs, strict=True):
            alone = finished(each, objective_only=True)
            assert (run.status, run.recorder.iteration) == (alone.status, alone.recorder.iteration)
            np.testing.assert_allclose(
                run.recorder.scalars()["objective"],
                alone.recorder.scalars()["objective"],
                rtol=1e-9,
            )


def test_a_single_precision_trial_ends_early_or_not_at_all():
    run_spec = spec(solver="vn", step=0.5, iterations=300, dtype="float32")
    lean = finished(run_spec, objective_only=True)
    assert lean.status == "converged"
    assert math.isfinite(lean.recorder.objective)
