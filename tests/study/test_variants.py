import re

import numpy as np
import pytest
from study_config import jobs, specs

from gvibench.errors import UserError
from gvibench.spec.run import DataSpec


def test_the_most_specific_setting_applies():
    runs = specs(
        datasets={
            "wdbc": {"iterations": 2, "solvers": {"vn": {"iterations": 4}}},
            "synthetic": None,
        },
        solvers={"vn": None, "sr-vn": {"iterations": 3}, "bw-gd": None},
        iterations=1,
        seeds=1,
    )
    iterations = {(spec.data.dataset, spec.solver): spec.iterations for spec in runs}
    assert iterations == {
        ("wdbc", "vn"): 4,
        ("wdbc", "sr-vn"): 3,
        ("wdbc", "bw-gd"): 2,
        ("synthetic", "vn"): 1,
        ("synthetic", "sr-vn"): 3,
        ("synthetic", "bw-gd"): 1,
    }


def test_defaults_come_from_the_catalogue_and_the_paper():
    runs = specs(datasets=["diabetes_scale"], solvers=["vn", "bw-gd"], step="paper", seeds=1)
    assert {spec.beta for spec in runs} == {1e-2}
    assert {spec.solver: spec.step for spec in runs} == {"vn": 5e-3, "bw-gd": 9e-4}


def test_data_fields_can_vary():
    plan = jobs(vary={"data.split_seed": [1, 2]}, seeds=1)
    assert len(plan.data) == len(plan.optima) == len(plan.runs) == 2


SYNTHETIC = {"dataset": "synthetic", "options": {"n": 60, "d": 3}}
TABLE = {"path": "mine.csv"}
DATA_FIELDS = {
    "dataset": ({}, ["digits-odd-even", "covtype"]),
    "path": ({}, ["mine.npz"]),
    "test_path": ({"path": "mine.svm"}, ["test.svm"]),
    "split": ({"train_size": 40}, ["random", "first"]),
    "split_seed": ({}, [1, 2]),
    "train_size": ({}, [20, 0.5, None]),
    "test_size": ({"train_size": 20}, [10, 0.25]),
    "scale": ({}, ["standardize", "none"]),
    "intercept": ({}, [True, False]),
    "target": (TABLE, ["pays"]),
    "positive": (TABLE | {"options": {"targets": "classes"}}, ["0", 0]),
    "drop": (TABLE, [["age"], ["age", "zip"]]),
    "categorical": (TABLE, [["zip"]]),
    "offset": (TABLE, ["age"]),
    "options": (SYNTHETIC, [{"n": 50}, {"seed": 1, "d": 2}, {"targets": "classes"}, {}]),
}


@pytest.mark.parametrize("model", ["logistic", "linear"])
@pytest.mark.parametrize("field", DataSpec.names())
def test_varying_a_data_field_equals_setting_it(field, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("mine", "test"):
        (tmp_path / f"{name}.svm").write_text("1 1:0.5\n0 2:0.5\n" * 50)
    np.savez(tmp_path / "mine.npz", X=np.ones((100, 2)), y=np.arange(100) % 2)
    (tmp_path / "mine.csv").write_text("age,zip,job,pays\n31,5,a,0\n" + "40,6,b,1\n31,5,a,0\n" * 10)
    others, values = DATA_FIELDS[field]
    for value in values:
        name = "own" if "path" in {field, *others} else "wdbc"
        varied = specs(
            datasets={name: others}, model=model, vary={f"data.{field}": [value]}, seeds=1
        )
        merged = {**others.get("options", {}), **value} if field == "options" else value
        expected = specs(datasets={name: {**others, field: merged}}, model=model, seeds=1)
        assert varied == expected


def test_the_model_decides_how_targets_are_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "mine.npz", X=np.ones((100, 2)), y=np.arange(100) % 2)
    own = {"mine": {"path": "mine.npz"}, "synthetic": {}, "wdbc": {}}
    runs = specs(datasets=own, vary={"model": ["logistic", "linear", "non-convex"]}, seeds=1)
    targets = {(run.data.dataset, run.model): run.data.options.get("targets") for run in runs}
    for model, target in (
        ("logistic", "classes"),
        ("linear", "real"),
        ("non-convex", "classes"),
    ):
        assert targets["mine", model] == targets["synthetic", model] == target
        assert targets["wdbc", model] is None  # two classes, whatever the model
    with pytest.raises(UserError, match="are real numbers: use model 'linear'"):
        specs(datasets={"synthetic": {"options": {"targets": "real"}}})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"model": "poisson"},
            "needs counts, but the targets of 'wdbc' are two classes.*: use mod",
        ),
        ({"model": "probit", "expectation": "piecewise"}, "'probit' does not support .*: use 'exa"),
        (
            {"model": "linear", "expectation": "gauss-hermite"},
            "does not support .*: use 'exact' or",
        ),
        ({"model": "probitt"}, r"'probitt' \(did you mean 'probit'\?\)"),
        ({"vary": {"model": ["probitt"]}}, "unknown model 'probitt' .did you mean 'probit'"),
    ],
)
def test_models_that_do_not_fit_are_rejected(changes, sentence):
    with pytest.raises(UserError, match=sentence):
        specs(**changes)


@pytest.mark.parametrize(
    ("field", "values", "needed"),
    [
        ("pieces", [4, 8], "expectation 'piecewise'"),
        ("piece_degree", ["linear", "quadratic"], "expectation 'piecewise'"),
        ("nodes", [4, 8], "expectation 'gauss-hermite'"),
        ("batch", [4, 8], "expectation 'stochastic'"),
        ("samples", [4, 8], "expectation 'stochastic'"),
        ("sigma", [0.5, 1.0], "model 'linear'"),
    ],
)
def test_varying_a_setting_that_no_run_uses_is_an_error(field, values, needed):
    sentence = f"vary.{field} has no effect: no run of the study uses {needed}"
    with pytest.raises(UserError, match=sentence):
        jobs(vary={field: values})


def test_solver_options_can_vary():
    runs = specs(
        solvers={"svgd-density": {}}, vary={"solver_options": [{"kernel": "centred"}, {}]}, seeds=1
    )
    assert [run.solver_options for run in runs] == [{"kernel": "centred"}, {"kernel": "linear"}]


@pytest.mark.parametrize(
    ("labels", "title"),
    [
        ({"vn": {}, "VN": {"solver": "vn"}}, "VN"),
        ({"sr-vn": {}, "SR-VN": {"solver": "vn"}}, "SR-VN"),
        ({"mine": {"solver": "vn"}, "Mine": {"solver": "vn"}}, "Mine"),
        ({"sr-vn": {"solver": "sr-vn-rotated"}, "sr-vn-rotated": {}}, "SR-VN (rotated)"),
    ],
)
def test_solvers_with_the_same_title_are_an_error(labels, title):
    with pytest.raises(UserError, match=f"would both appear as '{re.escape(title)}' on 'wdbc'"):
        jobs(solvers=labels)


@pytest.mark.parametrize(
    ("settings", "prior", "message"),
    [
        ({}, {"precision": {"agee": 1.0}}, r"has no feature 'agee' \(did you mean 'age'\?\)"),
        ({}, {"mean": {"outcome": 1.0}}, "has no feature 'outcome'"),
        ({"drop": ["job"]}, {"precision": {"job": 1.0}}, "has no feature 'job'"),
        ({"intercept": False}, {"precision": {"intercept": 0.0}}, "has no intercept"),
    ],
)
def test_a_prior_names_columns_of_the_file(tmp_path, settings, prior, message):
    path = tmp_path / "rows.csv"
    path.write_text("age,job,outcome\n" + "31,clerk,yes\n44,nurse,no\n29,nurse,yes\n" * 4)
    data = {"mine": {"path": str(path), **settings}}
    with pytest.raises(UserError, match=message):
        jobs(datasets=data, prior=prior)
    named = {"precision": {"age": 2.0, "job": 0.5, "job=nurse": 0.1, "intercept": 0.0}}
    assert jobs(datasets={"mine": {"path": str(path)}}, prior=named).runs


def test_a_prior_names_columns_of_a_bundled_data_set():
    with pytest.raises(UserError, match="'wdbc' has no feature 'x31'"):
        jobs(prior={"precision": {"x31": 1.0}})
    assert jobs(prior={"precision": {"x30": 1.0}}).runs


STARTS = {
    "zero": {"mean_scale": 0.0, "init_scale": 1.0},
    "prior": {"mean_scale": 0.0, "init_scale": "prior"},
    "random": {"mean_scale": 1.0, "init_scale": 0.1},
}


def test_each_run_is_repeated_from_each_start():
    runs = specs(starts=STARTS, beta=0.25, seeds=1, init_scale=7.0, mean_scale=7.0)
    assert [(run.mean_scale, run.init_scale) for run in runs] == [(0, 1), (0, 2), (1, 0.1)]
    paths = list(jobs(starts=STARTS, seeds=1, pack=1).runs)
    assert [re.search("start-[a-z]+", path)[0] for path in paths] == [
        f"start-{name}" for name in STARTS
    ]


def test_tuning_does_not_change_named_starts():
    plan = jobs(starts=STARTS, beta=0.25, step="tuned", seeds=1)
    scales = [job.settings["init_scales"] for job in plan.tuning.values()]
    assert scales == [[1.0], [2.0], [0.1]]


@pytest.mark.parametrize("changes", [{"beta": 0.0}, {"beta": "tuned"}, {"prior": {"mean": 0.5}}])
def test_the_start_at_the_prior_needs_its_precision(changes):
    with pytest.raises(UserError, match="start prior: init_scale 'prior' needs a prior N"):
        jobs(starts=STARTS, seeds=1, **changes)


@pytest.mark.parametrize("beta", ["a", None, [1.0], -1.0])
def test_an_invalid_beta_is_reported_before_the_start_at_the_prior(beta):
    with pytest.raises(UserError, match="beta"):
        jobs(starts=STARTS, seeds=1, vary={"beta": [beta]})
