import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gvibench.numerics.expectations.pieces import fit, load_or_fit
from gvibench.numerics.expectations.reference import softplus

TABLE = {
    "linear": {3: 0.2231, 4: 0.1094, 5: 0.0648, 6: 0.0429, 10: 0.01405, 20: 0.003287},
    "quadratic": {3: 0.0510, 4: 0.0330, 5: 0.00948, 6: 0.00742, 10: 0.00131, 20: 0.0001421},
}


def same(first, second):
    return first.max_error == second.max_error and all(
        np.array_equal(getattr(first, name), getattr(second, name))
        for name in ("knots", "a", "b", "c")
    )


@pytest.mark.parametrize(
    ("degree", "count", "error"), [(d, n, e) for d, row in TABLE.items() for n, e in row.items()]
)
def test_errors_are_those_of_the_minimax_bound(degree, count, error):
    digits = float(f"{fit(count, degree).max_error:.3g}")
    assert digits == pytest.approx(float(f"{error:.3g}"), rel=1e-12)


@given(count=st.integers(3, 200), degree=st.sampled_from(["linear", "quadratic"]))
@settings(deadline=None, derandomize=True, max_examples=40)
def test_every_piece_is_a_bound_with_the_same_error(count, degree):
    bound = fit(count, degree)
    assert (bound.knots.size, bound.a.size) == (count - 1, count)
    assert (np.diff(bound.knots) > 0).all()
    np.testing.assert_array_equal(bound.knots, -bound.knots[::-1])
    edges = np.concatenate([[bound.knots[0] - 50], bound.knots, [bound.knots[-1] + 50]])
    for i in range(count):
        x = np.linspace(edges[i], edges[i + 1], 2001)
        gap = (bound.a[i] * x + bound.b[i]) * x + bound.c[i] - softplus(x)[0]
        assert gap.min() > -1e-14
        assert gap.max() == pytest.approx(bound.max_error, rel=2e-6, abs=1e-14)


@given(count=st.integers(3, 60), degree=st.sampled_from(["linear", "quadratic"]))
@settings(deadline=None, derandomize=True, max_examples=20)
def test_more_pieces_have_a_smaller_error(count, degree):
    assert fit(count + 1, degree).max_error < fit(count, degree).max_error


def test_first_piece_is_constant_and_last_has_slope_one():
    bound = fit(20, "quadratic")
    assert (bound.a[0], bound.b[0], bound.c[0]) == (0.0, 0.0, bound.max_error)
    assert (bound.a[-1], bound.b[-1], bound.c[-1]) == (0.0, 1.0, bound.max_error)


def test_the_bound_can_be_called():
    bound = fit(5, "quadratic")
    x = np.linspace(-9, 9, 101)
    gap = bound(x) - softplus(x)[0]
    assert gap.min() >= -1e-15
    assert gap.max() <= bound.max_error + 1e-15


def test_fewer_than_three_pieces_are_rejected():
    with pytest.raises(ValueError, match="at least 3"):
        fit(2, "linear")


def test_cached_pieces_equal_fresh_pieces(empty_cache):
    fresh = load_or_fit(20, "quadratic")
    (file,) = (empty_cache / "pieces").iterdir()
    assert "quadratic-20" in file.name
    assert same(load_or_fit(20, "quadratic"), fresh)
    # A valid file is used as it is, which shows that the pieces are not fitted a second time.
    changed = json.loads(file.read_text()) | {"max_error": 0.5}
    file.write_text(json.dumps(changed))
    assert load_or_fit(20, "quadratic").max_error == 0.5


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "\x00" + text,
        lambda text: "[]",
        lambda text: "null",
        lambda text: json.dumps({**json.loads(text), "a": [1.0]}),
        lambda text: json.dumps({**json.loads(text), "b": None}),
        lambda text: json.dumps({**json.loads(text), "knots": json.loads(text)["knots"][::-1]}),
        lambda text: json.dumps({**json.loads(text), "max_error": float("nan")}),
    ],
)
def test_a_damaged_cache_is_replaced(empty_cache, damage):
    fresh = load_or_fit(6, "linear")
    (file,) = (empty_cache / "pieces").iterdir()
    whole = file.read_text()
    file.write_text(damage(whole))
    assert same(load_or_fit(6, "linear"), fresh)
    assert file.read_text() == whole


def test_a_cache_that_is_not_text_is_ignored(empty_cache):
    fresh = load_or_fit(6, "linear")
    (file,) = (empty_cache / "pieces").iterdir()
    file.write_bytes(b"\xff\xfe\xfa")
    assert same(load_or_fit(6, "linear"), fresh)


@pytest.mark.usefixtures("unwritable_cache")
def test_an_unwritable_cache_is_ignored():
    assert same(load_or_fit(6, "linear"), fit(6, "linear"))
