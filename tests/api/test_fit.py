"""Test fits to arrays, data frames and files against independent implementations."""

import json
import subprocess
import sys

import numpy as np
import pandas
import pytest
import scipy.integrate
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import BayesianRidge
from sklearn.preprocessing import StandardScaler

import gvibench as gvi
from gvibench.engine.optimum import find_optimum
from gvibench.errors import UserError

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 4)) * [1.0, 2.0, 0.5, 3.0] + [0.0, 1.0, 2.0, -1.0]
THETA = np.array([0.8, -0.5, 0.0, 0.3])
Y = RNG.random(200) < 1 / (1 + np.exp(-X @ THETA))
AS_GIVEN = {"scale": "none", "intercept": False}


def test_a_fit_is_the_optimum():
    fit = gvi.fit(X, Y, beta=0.5, tolerance=1e-8)
    optimum = find_optimum(fit.spec.problem(), fit._problem.data)
    factor = optimum.covariance_factor
    assert fit.status == "converged"
    assert np.allclose(fit.mean, optimum.mean, atol=1e-8)
    assert np.allclose(fit.covariance, factor @ factor.T, atol=1e-8)
    assert fit.objective == pytest.approx(optimum.attrs["objective"], rel=1e-12)
    assert fit.elbo == pytest.approx(-optimum.attrs["neg_elbo"], rel=1e-12)


def test_the_default_tolerance_is_a_percent_of_a_standard_deviation():
    fit = gvi.fit(X, Y)
    exact = gvi.fit(X, Y, tolerance=1e-8)
    assert np.all(np.abs(fit.mean - exact.mean) < 0.01 * exact.sd)
    assert np.allclose(fit.sd, exact.sd, rtol=0.01)


def test_linear_regression_has_the_conjugate_posterior():
    y = X @ THETA + 0.7 * RNG.standard_normal(200)
    fit = gvi.fit(X, y, model="linear", beta=2.0, sigma=0.7, tolerance=1e-10, **AS_GIVEN)
    precision = X.T @ X / 0.49 + 2.0 * np.eye(4)
    covariance = np.linalg.inv(precision)
    assert np.allclose(fit.covariance, covariance, rtol=1e-9)
    assert np.allclose(fit.mean, covariance @ X.T @ y / 0.49, rtol=1e-9)
    evidence = scipy.stats.multivariate_normal(np.zeros(200), 0.49 * np.eye(200) + X @ X.T / 2.0)
    assert fit.elbo == pytest.approx(evidence.logpdf(y), rel=1e-10)
    predicted = fit.predict(X[:3])
    assert np.allclose(predicted, X[:3] @ fit.mean)


def test_noise_and_prior_of_linear_regression_follow_the_units_of_y():
    y = 1000.0 * (X @ THETA + 0.7 * RNG.standard_normal(200)) + 5000.0
    fit = gvi.fit(X, y)
    assert fit.model == "linear"
    assert fit.spec.sigma == pytest.approx(700, rel=0.15)
    reference = BayesianRidge().fit(StandardScaler().fit_transform(X), y)
    assert np.allclose(fit.mean[:4], reference.coef_, rtol=0.02, atol=5.0)
    assert fit.mean[4] == pytest.approx(y.mean(), rel=1e-3)
    thousandth = gvi.fit(X, y / 1000.0)
    assert np.allclose(thousandth.mean, fit.mean / 1000.0, rtol=1e-6)


def test_probabilities_are_averages_over_the_posterior():
    fit = gvi.fit(X, Y, **AS_GIVEN)
    rows = X[:5]
    probabilities = fit.predict_proba(rows)
    assert np.allclose(probabilities.sum(axis=1), 1.0)
    for row, found in zip(rows, probabilities[:, 1], strict=True):
        mean, sd = row @ fit.mean, np.sqrt(row @ fit.covariance @ row)
        density = scipy.stats.norm(mean, sd).pdf
        expected, _ = scipy.integrate.quad(
            lambda t, density=density: density(t) / (1 + np.exp(-t)),
            mean - 12 * sd,
            mean + 12 * sd,
        )
        assert found == pytest.approx(expected, abs=1e-10)
    draws = fit.draw(50_000, seed=1)
    assert np.allclose(draws.mean(axis=0), fit.mean, atol=0.01)
    assert np.allclose(np.cov(draws.T), fit.covariance, atol=0.005)


def test_labels_may_be_anything():
    words = np.where(Y, "good", "bad")
    fit = gvi.fit(X, words)
    assert fit.classes == ("bad", "good")
    other = gvi.fit(X, words, positive="bad")
    assert other.classes == ("good", "bad")
    assert np.allclose(other.mean, -fit.mean, atol=1e-6)
    assert set(fit.predict(X)) == {"bad", "good"}
    assert np.array_equal(fit.predict(X), other.predict(X))
    numbers = gvi.fit(X, Y.astype(int) * 3)
    assert numbers.classes == (0, 3)
    assert np.array_equal(numbers.mean, fit.mean)


FRAME = pandas.DataFrame(
    {
        "age": X[:, 0],
        "job": np.array(["clerk", "nurse", "pilot"])[RNG.integers(0, 3, 200)],
        "zip": RNG.integers(1, 4, 200),
        "id": np.arange(200),
        "default": np.where(Y, "yes", "no"),
    }
)
FRAME_SETTINGS = {"positive": "yes", "categorical": ["zip"], "drop": ["id"]}


def test_a_data_frame_is_encoded_as_pandas_would():
    fit = gvi.fit(FRAME, "default", **FRAME_SETTINGS)
    columns = FRAME[["age", "job", "zip"]].astype({"zip": str})
    dummies = pandas.get_dummies(columns, drop_first=True, dtype=float)
    design = np.column_stack([StandardScaler().fit_transform(dummies), np.ones(200)])
    expected = gvi.fit(design, Y, **AS_GIVEN)
    assert fit.feature_names == ["age", "job=nurse", "job=pilot", "zip=2", "zip=3", "intercept"]
    assert np.allclose(fit.mean, expected.mean, atol=1e-10)
    assert np.allclose(fit.covariance, expected.covariance, atol=1e-10)
    new = FRAME[["zip", "job", "age"]][:7]
    assert np.allclose(fit.predict_proba(new), expected.predict_proba(design[:7]))
    with pytest.raises(UserError, match="column 'job' has the value 'cook'"):
        fit.predict_proba(new.assign(job="cook"))


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "npz", "libsvm"])
def test_a_file_gives_the_same_fit_as_its_content(tmp_path, ending):
    path = tmp_path / f"data.{ending}"
    if ending in {"npz", "libsvm"}:
        expected = gvi.fit(X, Y)
        if ending == "npz":
            np.savez(path, X=X, y=Y)
        else:
            from sklearn.datasets import dump_svmlight_file

            dump_svmlight_file(X, Y, str(path), zero_based=False)
        fit = gvi.fit(path)
    else:
        expected = gvi.fit(FRAME, "default", **FRAME_SETTINGS)
        if ending == "parquet":
            FRAME.to_parquet(path)
        else:
            FRAME.to_csv(path, index=False)
        fit = gvi.fit(path, **FRAME_SETTINGS)  # the target is the last column
        assert fit.predict_proba(path).shape == (200, 2)
    assert fit.feature_names == expected.feature_names
    assert np.allclose(fit.mean, expected.mean, atol=1e-10)


def test_original_units_give_the_same_predictors():
    fit = gvi.fit(X, Y)
    mean, covariance = fit.in_original_units()
    rows = np.column_stack([X, np.ones(len(X))])
    design = fit._problem.design(X)
    assert np.allclose(rows @ mean, design @ fit.mean)
    assert np.allclose(
        np.einsum("ij,jk,ik->i", rows, covariance, rows),
        np.einsum("ij,jk,ik->i", design, fit.covariance, design),
    )
    with pytest.raises(UserError, match="without an intercept"):
        gvi.fit(X, Y, intercept=False).in_original_units()


def test_more_features_than_rows():
    wide = RNG.standard_normal((12, 30))
    y = np.arange(12) % 2
    reduced = gvi.fit(wide, y, tolerance=1e-9)
    dense = gvi.fit(wide, y, tolerance=1e-9, form="dense")
    assert reduced.trace.attrs["solver_form"] == "reduced"
    assert np.allclose(reduced.mean, dense.mean, atol=1e-7)
    assert np.allclose(reduced.covariance, dense.covariance, atol=1e-7)
    assert np.allclose(reduced.sd, dense.sd, atol=1e-7)
    new = RNG.standard_normal((6, 30))
    assert np.allclose(reduced.predict_proba(new), dense.predict_proba(new), atol=1e-7)
    assert np.allclose(np.cov(reduced.draw(40_000).T), dense.covariance, atol=0.05)
    found = reduced.diagnostics(new, [0, 1] * 3, draws=2000)
    expected = dense.diagnostics(new, [0, 1] * 3, draws=2000)
    assert found["pred_nll"] == pytest.approx(expected["pred_nll"], abs=1e-7)
    assert found["neg_elbo"] == pytest.approx(expected["neg_elbo"], abs=1e-7)


def test_diagnostics_name_what_they_found():
    fit = gvi.fit(X[:150], Y[:150])
    trained = fit.diagnostics(draws=5000)
    assert trained["ess"] > 0.9
    assert np.isnan(trained["pred_nll"])
    assert abs(trained["evidence_gap"]) < 0.1
    assert "Pareto k-hat" in repr(trained)
    assert "Brier" not in repr(trained)
    tested = fit.diagnostics(X[150:], Y[150:], draws=0)
    probability = fit.predict_proba(X[150:])[:, 1]
    assert tested["brier"] == pytest.approx(np.mean((probability - Y[150:]) ** 2))
    chosen = np.where(Y[150:], probability, 1 - probability)
    assert tested["pred_nll"] == pytest.approx(-np.mean(np.log(chosen)))


def test_the_trace_tells_what_was_done_to_the_data():
    trace = gvi.fit(FRAME, "default", **FRAME_SETTINGS).trace
    attrs = trace.attrs["data"]
    attrs = json.loads(attrs) if isinstance(attrs, str) else attrs
    assert attrs["feature_names"][-1] == "intercept"
    assert attrs["scale"] == "standardize"
    assert attrs["labels"] == {"-1": "no", "+1": "yes"}
    assert [column["name"] for column in attrs["encoding"]["columns"]] == ["age", "job", "zip"]


def test_the_text_fits_a_terminal():
    wide = gvi.fit(RNG.standard_normal((80, 40)), np.arange(80) % 2)
    assert max(map(len, repr(wide).splitlines())) <= 80
    assert len(repr(wide).splitlines()) <= 20
    assert "32 more" not in repr(wide)  # 41 coefficients, 8 shown
    assert "33 more" in repr(wide)
    page = gvi.fit(FRAME, "default", **FRAME_SETTINGS)._repr_html_()
    assert "job=nurse" in page
    assert "<table>" in page


def test_the_plot_shows_intervals():
    fit = gvi.fit(X, Y)
    (axes,) = fit.plot().axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        fit.feature_names[k] for k in np.argsort(fit.mean)
    ]
    (bars,) = axes.containers
    widths = [segment[1][0] - segment[0][0] for segment in bars[2][0].get_segments()]
    assert np.allclose(widths, 2 * 1.959964 * fit.sd[np.argsort(fit.mean)], rtol=1e-5)
    assert len(fit.plot(most=2).axes[0].get_yticklabels()) == 2
    assert fit.plot()._repr_png_().startswith(b"\x89PNG")


def test_draws_go_to_arviz():
    arviz = pytest.importorskip("arviz")
    fit = gvi.fit(X, Y)
    data = fit.to_inference_data(draws=4000)
    assert list(data["posterior"]["coefficients"].coords["feature"].values) == fit.feature_names
    table = arviz.summary(data, kind="stats")
    assert np.allclose(table["mean"], fit.mean, atol=0.05)


@pytest.mark.parametrize(
    ("x", "y", "options", "message"),
    [
        (X, np.ones(200), {}, "y is 1.0 in all 200 rows"),
        (X, Y[:-1], {}, "y should have one value for each of the 200 rows of X"),
        (X, None, {}, "y is missing"),
        (X[:1], Y[:1], {}, "at least two|in all 1 rows"),
        (np.full((4, 1), 3.0), [0, 1, 0, 1], {}, "column 'x1' has the same value in all 4 rows"),
        ([[1.0], [np.nan]], [0, 1], {}, "column 'x1' has no finite value in row 1"),
        (X, Y, {"model": "logit"}, "unknown model 'logit'"),
        (X, Y, {"scale": "robust"}, "scale should be 'standardize' or 'none'"),
        (X, Y, {"stp": 1.0}, r"unknown setting 'stp' \(did you mean 'step'\?\)"),
        (X, Y, {"positive": 7}, "positive is 7, but the values of y are"),
        (X, Y, {"beta": -1.0}, "beta"),
        (X, Y, {"solver": "vm"}, "unknown solver 'vm'"),
        (X, Y, {"drop": ["a"]}, "X should be a data frame"),
        (X, np.where(Y, "a", "b"), {"model": "linear"}, "model 'linear' needs numbers"),
        (X, np.arange(200) % 3, {"model": "logistic"}, "y has 3 different values"),
        (X, np.array(["a", "b", "c", "d"] * 50), {}, "y has 4 different values"),
        (X[0], Y, {}, "X should be a numeric matrix"),
        (FRAME, "defualt", {}, "X has no column 'defualt'"),  # codespell:ignore
        (FRAME.assign(age=np.nan), "default", {}, "column 'age' has no value in 200 rows"),
        (X[:4], [0.5, 1.0, 2.0, 3.0], {}, "give sigma"),
        (X, Y, {"solver": "bw-gd", "step": 1e6}, "the fit diverged"),
        (X, Y, {"feature_names": ["a"]}, "feature_names has 1 names for 4 columns"),
    ],
)
def test_invalid_data_get_one_sentence(x, y, options, message):
    with pytest.raises(UserError, match=message) as error:
        gvi.fit(x, y, **options)
    assert "\n" not in str(error.value)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 5), st.floats(0.1, 10), st.floats(-5, 5), st.integers(0, 2**32 - 1))
def test_predictions_do_not_depend_on_the_units_of_features(columns, factor, shift, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((40, columns)), np.arange(40) % 2
    plain = gvi.fit(x, y, tolerance=1e-7)
    other = gvi.fit(factor * x + shift, y, tolerance=1e-7)
    assert np.allclose(plain.predict_proba(x), other.predict_proba(factor * x + shift), atol=1e-6)


def test_a_fit_does_not_load_what_it_does_not_use():
    code = (
        "import sys, numpy as np, gvibench as gvi;"
        "fit = gvi.fit(np.eye(4), [0, 1, 0, 1]);"
        "fit.predict_proba(np.eye(4));"
        "heavy = ('xarray', 'pandas', 'matplotlib', 'seaborn', 'sklearn', 'dask', 'arviz');"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
