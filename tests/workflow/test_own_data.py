"""Real runs of the workflow on the user's own files, from the file to the report."""

import numpy as np
import pandas
import pytest
from project import Project
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from gvibench.store.prepared import read_prepared
from gvibench.store.traces import read_trace

STUDY = {
    "solvers": ["vn"],
    "iterations": 30,
    "seeds": 1,
    "pack": 1,
    "device": "cpu",
    "gap": "optimum",
    "figures": ["gap"],
    "tables": ["datasets", "performance"],
}


def credit() -> pandas.DataFrame:
    rng = np.random.default_rng(0)
    n = 300
    frame = pandas.DataFrame(
        {
            "id": [f"c{k}" for k in range(n)],
            "age": rng.integers(18, 80, n),
            "amount": np.round(rng.lognormal(8, 1, n), 2),
            "job": rng.choice(["clerk", "smith", "teacher"], n),
            "zip": rng.choice([53111, 1067, 80331], n),
            "years": np.round(rng.uniform(0.5, 3, n), 3),
        }
    )
    margin = 0.05 * (frame["age"] - 45) + (frame["job"] == "smith") + rng.normal(size=n)
    frame["default"] = np.where(margin > 0, "no", "yes")
    frame["loss"] = np.round(margin * 10 + rng.normal(size=n), 3)
    frame["visits"] = rng.poisson(np.exp(0.3 * margin))
    return frame


COLUMNS = {"categorical": ["zip"], "split": 0.25}
CLASSES = {
    **COLUMNS,
    **{"target": "default", "positive": "yes", "drop": ["id", "loss", "visits", "years"]},
}
REAL = {**COLUMNS, "target": "loss", "drop": ["id", "default", "visits", "years"]}
COUNTS = {**COLUMNS, "target": "visits", "drop": ["id", "default", "loss"], "offset": "years"}


def expected_features() -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that pandas and scikit-learn prepare."""
    frame = credit()
    nominal = OneHotEncoder(drop="first", sparse_output=False).fit_transform(frame[["job", "zip"]])
    x = np.column_stack([frame[["age", "amount"]].to_numpy(), nominal])
    train, test = train_test_split(x, test_size=0.25, random_state=42)
    scaler = StandardScaler().fit(train)
    return scaler.transform(train), scaler.transform(test)


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Project:
    """A finished study of two classes from CSV and a regression from Parquet."""
    data = {
        "classes": {**CLASSES, "path": "credit.csv"},
        "real": {**REAL, "path": "credit.parquet", "model": "linear"},
    }
    project = Project.create(
        tmp_path_factory.mktemp("own") / "project", {**STUDY, "datasets": data}
    )
    credit().to_csv(project.folder / "credit.csv", index=False, sep=";")
    credit().to_parquet(project.folder / "credit.parquet")
    project.snakemake()
    return project


@pytest.mark.slow
def test_the_report_is_written(project) -> None:
    results = project.folder / "results/s"
    assert "classes" in (results / "summary.md").read_text()
    assert list(results.rglob("*.html"))
    for name in ("gap.pdf", "performance.csv"):
        assert list(results.rglob(name)), name


@pytest.mark.slow
@pytest.mark.parametrize("name", ["classes", "real"])
def test_prepared_rows_agree_with_scikit_learn(project, name) -> None:
    [path] = (project.folder / "results/data").glob(f"{name}-*.zarr.zip")
    data = read_prepared(path)
    train, test = expected_features()
    np.testing.assert_allclose(data.train_x[:, :-1], train, atol=1e-12)
    np.testing.assert_allclose(data.test_x[:, :-1], test, atol=1e-12)
    assert (data.train_x[:, -1] == 1).all()
    assert data.attrs["feature_names"] == [
        *("age", "amount", "job=smith", "job=teacher", "zip=53111", "zip=80331", "intercept")
    ]
    assert data.attrs["target_kind"] == name
    if name == "classes":
        assert data.attrs["labels"] == {"+1": "raw label yes", "-1": "raw label no"}
    encoding = data.attrs["encoding"]
    assert [column["name"] for column in encoding["columns"]] == ["age", "amount", "job", "zip"]
    assert encoding["columns"][3]["levels"] == ["1067", "53111", "80331"]
    assert encoding["dropped"][0] == ("default" if name == "real" else "id")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["classes", "real"])
def test_traces_name_the_features_and_reach_the_optimum(project, name) -> None:
    [path] = (project.folder / "results/s/runs" / name).rglob("seed-0.zarr.zip")
    trace = read_trace(path)
    assert trace.attrs["feature_names"][-1] == "intercept"
    assert len(trace.attrs["feature_names"]) == trace.mean.shape[1] == 7
    frame = credit()
    x = np.column_stack([expected_features()[0], np.ones(225)])
    target = "default" if name == "classes" else "loss"
    y, _ = train_test_split(frame[target].to_numpy(), test_size=0.25, random_state=42)
    if name == "real":
        known = Ridge(alpha=1.0, fit_intercept=False).fit(x, y).coef_
        np.testing.assert_allclose(trace.mean[-1], known, rtol=1e-6)
    else:
        known = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-8).fit(x, y == "yes").coef_[0]
        # The mean of the Gaussian differs from the mode, but not by much.
        np.testing.assert_allclose(trace.mean[-1], known, atol=0.1)


@pytest.mark.slow
def test_the_plan_describes_the_data(project) -> None:
    done = project.gvibench("plan", "config/config.yaml")
    assert done.returncode == 0, done.stderr
    [line] = [line for line in done.stdout.splitlines() if line.startswith("classes: credit.csv")]
    assert line == (
        "classes: credit.csv: 300 rows; target: default (+1 is yes); numeric: age, amount; "
        "one-hot: job (2), zip (2); dropped: id, loss, visits, years; standardised; "
        "with intercept; split: sklearn test_size 0.25"
    )
    assert "real: credit.parquet: 300 rows; target: loss (real)" in done.stdout


@pytest.mark.slow
def test_a_change_of_a_setting_repeats_only_its_data_set(project, tmp_path) -> None:
    copy = project.copy(tmp_path / "copy")
    text = (copy.folder / "config/config.yaml").read_text()
    copy.write_config(text.replace("positive: 'yes'", "positive: 'no'"))
    assert "positive: 'yes'" in text
    changed = copy.executed()
    assert not any("/real/" in path or "data/real" in path for path in changed)
    assert any("data/classes" in path for path in changed)


@pytest.mark.slow
def test_counts_are_prepared_with_their_offset(tmp_path) -> None:
    data = {**COUNTS, "path": "credit.csv", "options": {"targets": "counts"}}
    study = {**STUDY, "model": "linear", "datasets": {"visits": data}}
    project = Project.create(tmp_path / "project", study)
    frame = credit()
    frame.to_csv(project.folder / "credit.csv", index=False)
    project.snakemake("--until", "prepare_data")
    [path] = (project.folder / "results/data").glob("visits-*.zarr.zip")
    prepared = read_prepared(path)
    rows = train_test_split(frame[["visits", "years"]], test_size=0.25, random_state=42)
    for part, y, offset in (
        (rows[0], prepared.train_y, prepared.train_offset),
        (rows[1], prepared.test_y, prepared.test_offset),
    ):
        np.testing.assert_array_equal(y, part["visits"])
        np.testing.assert_array_equal(offset, part["years"])
    assert prepared.attrs["target_kind"] == "counts"
    assert prepared.attrs["encoding"]["offset"] == "years"


@pytest.mark.slow
def test_counts_with_an_offset_and_no_test_rows_reach_the_report(tmp_path):
    rng = np.random.default_rng(2)
    age, exposure = rng.standard_normal(2000), rng.uniform(-1, 3, 2000)
    visits = rng.poisson(np.exp(exposure + 0.5 * age - 0.2))
    frame = pandas.DataFrame({"age": age, "exposure": exposure, "visits": visits})
    project = Project.create(tmp_path / "project", STUDY)
    frame.to_csv(project.folder / "visits.csv", index=False)
    data = {"path": "visits.csv", "target": "visits", "offset": "exposure"}
    settings = {"split": "none", "scale": "none"}
    project.configure(
        {
            **STUDY,
            "model": "poisson",
            "init_scale": 0.1,
            "mean_scale": 0.1,
            "datasets": {"visits": {**data, **settings}},
            "tables": ["datasets", "performance", "quality"],
        }
    )
    project.snakemake()
    results = project.folder / "results/s"
    (path,) = results.glob("runs/**/*.zarr.zip")
    trace = read_trace(path)
    # The model is the one that generated the counts, and the intercept contains no exposure.
    assert trace.attrs["feature_names"] == ["age", "intercept"]
    assert np.allclose(trace.mean[-1], [0.5, -0.2], atol=0.05)
    assert np.isnan(trace.scalars["test_nll"][-1])
    assert "undefined" in (results / "tables/performance.md").read_text()
    assert "there are no test rows" in (results / "tables/quality.md").read_text()
    assert (results / "report/index.html").stat().st_size > 0
    assert project.executed() == set()
