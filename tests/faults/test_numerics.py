"""Test badly scaled and degenerate data: runs finish, diverge with a reason, or are rejected."""

import itertools
import math

import numpy as np
import pytest
from small_study import Study

from gvibench.cli import main as cli
from gvibench.engine.execute import execute
from gvibench.engine.optimum import find_optimum
from gvibench.errors import UserError
from gvibench.registry import SOLVERS
from gvibench.spec.run import RunSpec
from gvibench.spec.statuses import STATUSES
from gvibench.store.prepared import read_prepared
from gvibench.store.traces import read_trace

ROWS = 24


def draw_rows(columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    x = rng.standard_normal((ROWS, columns))
    return x, np.where(x[:, 0] + rng.standard_normal(ROWS) > 0, 1.0, -1.0)


def separable() -> tuple[np.ndarray, np.ndarray]:
    x, _ = draw_rows(3)
    return x, np.sign(x[:, 0])


def duplicated_columns() -> tuple[np.ndarray, np.ndarray]:
    x, y = draw_rows(2)
    return np.hstack([x, x, -x]), y


def constant_columns() -> tuple[np.ndarray, np.ndarray]:
    x, y = draw_rows(2)
    return np.hstack([x, np.zeros((ROWS, 1)), np.full((ROWS, 1), 7.0)]), y


def ill_conditioned() -> tuple[np.ndarray, np.ndarray]:
    x, y = draw_rows(4)
    return x * np.geomspace(1e-3, 1e3, 4), y  # x'x has condition number 1e12


def huge() -> tuple[np.ndarray, np.ndarray]:
    x, y = draw_rows(3)
    return 1e10 * x, y


def enormous() -> tuple[np.ndarray, np.ndarray]:
    x, y = draw_rows(3)
    return 1e49 * x, y


def tiny() -> tuple[np.ndarray, np.ndarray]:
    x, y = draw_rows(3)
    return 1e-200 * x, y


def one_column() -> tuple[np.ndarray, np.ndarray]:
    return draw_rows(1)


def wide() -> tuple[np.ndarray, np.ndarray]:
    return draw_rows(60)


def all_zero() -> tuple[np.ndarray, np.ndarray]:
    x, y = draw_rows(3)
    return 0 * x + 0.0, y


STRESS = {
    make.__name__: make
    for make in (
        *(separable, duplicated_columns, constant_columns, ill_conditioned, huge, enormous),
        *(tiny, one_column, wide, all_zero),
    )
}
KINDS = [name for name in SOLVERS.names() if name != "ng-flow"]  # slow, the limit of vn


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stress")
    prepared = {}
    for name, make in STRESS.items():
        x, y = make()
        np.savez(folder / f"{name}.npz", X=x, y=y)
        out = folder / f"{name}.zarr.zip"
        words = ["--dataset", name, "--path", str(folder / f"{name}.npz"), "--out", str(out)]
        words += ["--scale", "none", "--no-intercept"]
        assert cli.main(["prepare", *words]) == 0
        prepared[name] = read_prepared(out)
    return prepared


def check_ending(trace) -> None:
    """Check that a trace has a status and a reason, and that all recorded values are finite."""
    assert trace.attrs["status"] in STATUSES
    assert trace.attrs["reason"]
    for name, values in trace.scalars.items():
        assert np.isfinite(values).all(), (name, values, trace.attrs["reason"])
    assert np.isfinite(trace.mean).all()


@pytest.mark.parametrize("solver", KINDS)
@pytest.mark.parametrize("data", STRESS)
def test_runs(prepared, data, solver):
    for expectation, step in itertools.product(("exact", "piecewise"), (1e-3, 1.0)):
        spec = RunSpec(
            data=prepared[data].spec,
            beta=0.1,
            solver=solver,
            step=step,
            iterations=15,
            **{"expectation": expectation, **SOLVERS.load(solver).defaults},
        )
        try:
            check_ending(execute(spec, prepared[data]))
        except UserError as error:
            assert str(error)  # noqa: PT017


@pytest.mark.parametrize("model", ["logistic", "linear"])
@pytest.mark.parametrize("data", STRESS)
def test_optima_are_finite_or_rejected(prepared, data, model):
    spec = RunSpec(data=prepared[data].spec, beta=0.1, solver="vn", step=1.0, model=model)
    try:
        optimum = find_optimum(spec.problem(), prepared[data])
    except UserError as error:
        assert str(error)  # noqa: PT017
        return
    assert math.isfinite(optimum.attrs["objective"])
    assert np.isfinite(optimum.mean).all()


def test_one_class_in_the_test_rows(tmp_path):
    x, y = draw_rows(2)
    np.savez(tmp_path / "x.npz", X=x, y=y, X_test=x[y > 0][:5], y_test=np.ones(5))
    data, out = tmp_path / "d.zarr.zip", tmp_path / "t.zarr.zip"
    own = ["--dataset", "mine", "--path", str(tmp_path / "x.npz"), "--split", "given"]
    assert cli.main(["prepare", *own, "--out", str(data)]) == 0
    words = ["--data", str(data), "--solver", "vn", "--step", "0.5", "--iterations", "20"]
    assert cli.main(["run", *own, *words, "--out", str(out)]) == 0
    check_ending(read_trace(out))


@pytest.mark.parametrize(
    ("rows", "flags", "message"),
    [
        (1, (), "has 1 row, but at least 2 are needed"),
        (2, (), "have the same label"),
        (4, ("--train-size", "1"), "have the same label"),
        (4, ("--split", "first", "--train-size", "4"), "0 test rows"),
    ],
)
def test_too_few_rows_are_rejected(tmp_path, capsys, rows, flags, message):
    x, y = np.arange(2.0 * rows).reshape(rows, 2), np.arange(rows) % 2
    np.savez(tmp_path / "x.npz", X=x, y=y)
    words = ["--dataset", "mine", "--path", str(tmp_path / "x.npz"), *flags]
    out = tmp_path / "new" / "d.zarr.zip"
    code = cli.main(["prepare", *words, "--out", str(out)])
    printed = capsys.readouterr().err
    assert code == 2
    assert message in printed or "different labels" in printed
    assert not out.parent.exists()


def test_values_with_overflowing_products_are_rejected(tmp_path, capsys):
    x, y = draw_rows(2)
    np.savez(tmp_path / "x.npz", X=1e60 * x, y=y)
    words = ["--dataset", "mine", "--path", str(tmp_path / "x.npz")]
    assert cli.main(["prepare", *words, "--out", str(tmp_path / "d.zarr.zip")]) == 2
    assert "scale the columns first" in capsys.readouterr().err


def test_regression_with_one_row(tmp_path):
    words = ["--dataset", "synthetic", "--data-option", "targets=real", "--train-size", "1"]
    words += ["--test-size", "1", "--model", "linear", "--solver", "vn", "--step", "0.5"]
    assert cli.main(["run", *words, "--out", str(tmp_path / "t.zarr.zip")]) == 0
    trace = read_trace(tmp_path / "t.zarr.zip")
    assert np.isfinite(trace.scalars["objective"]).all()


def test_tables_show_only_finite_numbers(tmp_path):
    """Use diverged and finished runs, and metrics that a model does not have."""
    paths = {}
    for name in ("separable", "huge", "tiny"):
        x, y = STRESS[name]()
        np.savez(tmp_path / f"{name}.npz", X=x, y=y)
        settings = {"scale": "none", "intercept": False, "beta": 0.1}
        paths[name] = {"path": str(tmp_path / f"{name}.npz"), **settings}
    study = Study(
        {
            "datasets": paths,
            "solvers": {"vn": {}, "gd": {}, "bw-gd": {}},
            **{"step": [0.001, 10.0], "iterations": 30, "seeds": 2, "gap": "best-seen"},
            "tables": ["datasets", "performance", "winners", "runs"],
        },
        tmp_path / "study",
    )
    assert study.prepare() == study.run() == study.aggregate() == 0
    for name in ("datasets", "performance", "winners", "runs"):
        assert study.table(name) == 0
        for end in ("md", "tex"):
            text = (study.root / "tables" / f"{name}.{end}").read_text().lower()
            assert "nan" not in text.replace("finance", ""), (name, end)
            assert " inf" not in text.replace(" inference", "").replace(" info", ""), (name, end)
