import numpy as np
import pytest
from loading import load

from gvibench.datasets.synthetic import generate

PINNED_X = [[-0.0842145744605533, 0.19338927596496625], [0.3113813200067293, 0.36095142866150914]]
PINNED_Y = [1.0, 1.0]


def draw(**changes):
    options = {"n": 500, "d": 6, "condition": 100.0, "separation": 2.0, "seed": 3}
    return generate(**{**options, "targets": "classes", **changes})


def test_the_same_seed_gives_the_same_rows() -> None:
    for first, again in zip(draw(), draw(), strict=True):
        np.testing.assert_array_equal(first, again)
    assert not np.array_equal(draw()[0], draw(seed=4)[0])


def test_the_first_rows_are_pinned() -> None:
    # Other numbers change all studies on synthetic data: increase PREPARED_VERSION.
    x, y = draw(n=2, d=2)
    np.testing.assert_allclose(x, PINNED_X, rtol=1e-12)
    np.testing.assert_array_equal(y, PINNED_Y)


def test_a_larger_set_begins_with_the_smaller_one() -> None:
    small, large = draw(n=100), draw(n=500)
    np.testing.assert_allclose(small[0], large[0][:100], rtol=1e-12)
    np.testing.assert_array_equal(small[1], large[1][:100])


@pytest.mark.parametrize("condition", [1.0, 100.0, 1e6])
def test_the_covariance_has_the_condition_number(condition: float) -> None:
    x, _ = draw(n=200_000, condition=condition)
    eigenvalues = np.linalg.eigvalsh(x.T @ x / len(x))
    assert eigenvalues[-1] / eigenvalues[0] == pytest.approx(condition, rel=0.05)
    assert eigenvalues.mean() == pytest.approx(1.0, rel=0.02)
    steps = np.diff(np.log(eigenvalues))
    np.testing.assert_allclose(steps, np.log(condition) / 5, atol=0.05)


def test_labels_follow_the_margins() -> None:
    x, y = draw(n=200_000)
    targets = draw(n=200_000, targets="real")[1]
    theta = np.linalg.lstsq(x, targets, rcond=None)[0]
    margins = x @ theta
    assert margins.std() == pytest.approx(2.0, rel=0.02)
    assert (targets - margins).std() == pytest.approx(1.0, rel=0.02)
    assert set(y) == {-1.0, 1.0}
    near = np.abs(margins - 1.0) < 0.1
    assert (y[near] > 0).mean() == pytest.approx(1 / (1 + np.exp(-1.0)), abs=0.02)


def test_without_separation_labels_are_coin_tosses() -> None:
    x, y = draw(n=100_000, separation=0.0)
    assert y.mean() == pytest.approx(0.0, abs=0.02)
    assert np.abs(x.T @ y / len(y)).max() < 0.02


def test_strong_separation_does_not_overflow() -> None:
    _, y = draw(separation=1e6)
    assert np.isfinite(y).all()


def test_a_single_column_has_unit_variance() -> None:
    x, _ = draw(n=100_000, d=1)
    assert x.var() == pytest.approx(1.0, rel=0.02)


def test_options_set_size_and_target() -> None:
    source = load({"dataset": "synthetic", "options": {"n": 50, "d": 4}})
    assert source.table.x.shape == (50, 4)
    assert set(source.table.y) == {-1.0, 1.0}
    source = load({"dataset": "synthetic", "options": {"targets": "real"}})
    assert source.targets == "real"
    assert source.labels == {}


def test_counts_follow_the_margins() -> None:
    x, counts = draw(n=100_000, separation=1.0, targets="counts")
    same_x, real = draw(n=100_000, separation=1.0, targets="real")
    assert np.array_equal(x, same_x)
    margins = x @ np.linalg.lstsq(x, real, rcond=None)[0]
    assert (counts >= 0).all()
    assert (counts == np.round(counts)).all()
    near = counts[np.abs(margins - 1.0) < 0.05]
    assert near.mean() == pytest.approx(np.e, rel=0.03)
    assert near.var() == pytest.approx(np.e, rel=0.08)
    small = draw(n=100, separation=1.0, targets="counts")[1]
    np.testing.assert_array_equal(small, counts[:100])


def test_counts_of_wide_margins_are_bounded() -> None:
    assert draw(separation=1e6, targets="counts")[1].max() < 25_000


def test_counts_are_prepared() -> None:
    source = load({"dataset": "synthetic", "options": {"targets": "counts"}})
    assert source.targets == "counts"
    assert source.labels == {}
