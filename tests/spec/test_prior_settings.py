import json

import pytest

from gvibench.errors import UserError
from gvibench.spec.prior import PriorSettings
from gvibench.spec.run import RunSpec
from gvibench.spec.validate import parse
from gvibench.study.config import load_config
from gvibench.study.expand import expand
from problems import spec


def study(**changes):
    synthetic = {"dataset": "synthetic", "options": {"n": 60, "d": 2}, "intercept": True}
    values = {"datasets": {"mine": synthetic}, "solvers": ["vn"], "seeds": 1, **changes}
    return expand(load_config({"studies": {"s": values}}))


def specs(**changes):
    return [spec for job in study(**changes).runs.values() for spec in job.specs]


@pytest.mark.parametrize(
    ("prior", "sentence"),
    [
        ({"precisio": 1.0}, "unknown key 'studies.s.prior.precisio' .did you mean 'precision'"),
        ({"precision": -1.0}, "'studies.s.prior.precision' should be greater than or equal to 0"),
        (
            {"precision": [1.0, -2.0, 1.0]},
            "prior.precision.1' should be greater than or equal to 0",
        ),
        ({"precision": [[1.0, 0.5], [0.4, 1.0]]}, "should be symmetric, but row 2, column 1 has"),
        (
            {"precision": [[1.0, 2.0], [2.0, 1.0]]},
            "should be positive semi-definite, but has the e",
        ),
        ({"precision": [[1.0, 0.0], [0.0]]}, "should be a square matrix: 2 rows of 2 numbers"),
        ({"precision": []}, "'precision' is an empty list"),
        ({"mean": [1.0], "precision": [1.0, 2.0]}, "'mean' has 1 numbers but 'precision' has 2"),
        ({"precision": [1.0, 2.0]}, "has 2 numbers, but 'synthetic' has 3 features, including"),
        ({"mean": "zero"}, "'studies.s.prior.mean' should be a valid"),
    ],
)
def test_an_invalid_prior_is_an_error_in_one_sentence(prior, sentence):
    with pytest.raises(UserError, match=sentence) as caught:
        specs(prior=prior)
    assert "\n" not in str(caught.value)


def test_an_intercept_that_does_not_exist_is_an_error():
    flat = {"precision": {"intercept": 0.0}}
    with pytest.raises(UserError, match="has no intercept: set 'intercept: true'"):
        specs(datasets={"wdbc": {"intercept": False}}, prior=flat)
    assert specs(prior=flat)[0].prior == PriorSettings(**flat)


def test_the_nearest_prior_wins():
    of_solver, of_study = {"mean": 1.0}, {"precision": [1, 2, 3]}
    runs = specs(solvers={"vn": {"prior": of_solver}, "gd": {}}, prior=of_study)
    assert [run.prior for run in runs] == [
        PriorSettings(mean=1.0),
        PriorSettings(precision=[1.0, 2.0, 3.0]),
    ]


def test_a_tuned_beta_cannot_be_replaced_by_a_precision():
    for precision in (2.0, [1.0, 1.0, 1.0]):
        with pytest.raises(UserError, match=r"beta is 'tuned', but prior.precision sets"):
            specs(beta="tuned", prior={"precision": precision})
    assert study(beta="tuned", prior={"precision": {"intercept": 0.0}}).betas


@pytest.mark.parametrize(
    ("beta", "prior", "exists"),
    [
        (0.0, None, False),
        (0.5, {"precision": [0.0, 0.0, 0.0]}, False),
        (0.5, {"precision": {"intercept": 0.0}}, True),
        (0.0, {"precision": {"x1": 1.0}}, True),
        (0.0, {"precision": {"x1": 0.0}}, False),
        (0.5, {"precision": [[1.0, 0, 0], [0, 0, 0], [0, 0, 0]]}, True),
    ],
)
def test_an_optimum_is_searched_unless_the_prior_is_flat_everywhere(beta, prior, exists):
    changes = {} if prior is None else {"prior": prior}
    assert bool(study(beta=beta, **changes).optima) == exists


def test_json_of_a_spec_contains_the_prior():
    run = spec(prior=PriorSettings(mean={"x1": 1}, precision=[[2, 1], [1, 2]]))
    assert json.loads(run.canonical())["prior"] == {
        "mean": {"x1": 1.0},
        "precision": [[2.0, 1.0], [1.0, 2.0]],
    }
    assert parse(RunSpec, run.canonical(), "here") == run
    assert RunSpec.from_dict(json.loads(run.canonical())) == run
    assert run.spec_hash != spec().spec_hash


def test_scaling_multiplies_all_precisions():
    run = spec(beta=2.0, gamma=1.0, prior=PriorSettings(mean=1.0, precision={"x1": 4.0}))
    scaled = run.scaled(0.5)
    assert (scaled.beta, scaled.gamma) == (1.0, 0.5)
    assert scaled.prior == PriorSettings(mean=1.0, precision={"x1": 2.0})


def test_long_priors_have_short_labels():
    matrix = [[1.0 + (i == j) for j in range(3)] for i in range(3)]
    plan = study(vary={"prior": [{"precision": matrix}, {"precision": [1.0, 2.0, 3.0]}]})
    folders = {path.split("/")[-2] for path in plan.runs}
    assert len(folders) == 2
    assert all(len(folder) < 80 for folder in folders)
