"""Fit piecewise upper bounds of phi(x) = log(1 + exp x) with the smallest maximum error.

The first piece of a bound is constant, the last is x plus the same constant, and the pieces between
are lines or parabolas. All pieces have the same maximum error E, so no other choice of knots is
better. On each piece the best two-sided fit has error E/2 and is shifted up by that amount. Because
phi(x) = x + phi(-x), only the knots left of zero have to be computed.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gvibench.errors import UserError
from gvibench.store.files import atomic_path, cache_dir

__all__ = ["Degree", "Pieces", "fit", "load_or_fit"]

Degree = Literal["linear", "quadratic"]
Array = NDArray[np.float64]

FIT_VERSION = 1
"""Version in the name of the cache file. Increase it if a change of this module changes results."""

# For f with |f'''| = 1, the maximum error of the shifted best parabola on an interval of width w
# is w^3 / 96. For a line and |f''| = 1, it is w^2 / 8.
_ERROR_CONSTANT = {"linear": 8.0, "quadratic": 96.0}
_ORDER = {"linear": 2, "quadratic": 3}


@dataclass(frozen=True, eq=False)
class Pieces:
    """Bound a x^2 + b x + c with one (a, b, c) for each interval between the knots.

    Piece i extends from `knots[i - 1]` to `knots[i]`. The first and the last are unbounded.
    """

    knots: Array
    a: Array
    b: Array
    c: Array
    max_error: float

    def __call__(self, x: Array) -> Array:
        """Return the bound at `x`."""
        i = np.searchsorted(self.knots, x)
        result: Array = (self.a[i] * x + self.b[i]) * x + self.c[i]
        return result


def load_or_fit(pieces: int, degree: Degree) -> Pieces:
    """Return `fit(pieces, degree)` from the cache, or compute it if the cache is not usable."""
    path = cache_dir() / "pieces" / f"{degree}-{pieces}-v{FIT_VERSION}.json"
    try:
        return _from_json(path.read_text(encoding="utf-8"), pieces)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    fitted = fit(pieces, degree)
    try:
        with atomic_path(path) as part:
            part.write_text(_to_json(fitted), encoding="utf-8")
    except (OSError, UserError):
        pass
    return fitted


def _to_json(pieces: Pieces) -> str:
    # Python prints floats such that they are read back exactly, so cached and fresh pieces agree.
    return json.dumps(asdict(pieces), default=np.ndarray.tolist)


def _from_json(text: str, count: int) -> Pieces:
    stored = json.loads(text)
    names = {"knots": count - 1, "a": count, "b": count, "c": count}
    arrays = {name: np.array(stored[name], dtype=np.float64) for name in names}
    max_error = float(stored["max_error"])
    for name, size in names.items():
        if arrays[name].shape != (size,) or not np.isfinite(arrays[name]).all():
            raise ValueError(f"'{name}' is not a list of {size} numbers")
    if not 0 < max_error < 1 or not (np.diff(arrays["knots"]) > 0).all():
        raise ValueError("these are not the pieces of a bound")
    return Pieces(**arrays, max_error=max_error)


def fit(pieces: int, degree: Degree) -> Pieces:
    """Return the bound of `pieces` pieces with the smallest maximum error.

    Parameters
    ----------
    pieces
        Number of pieces, at least 3, including the two unbounded pieces.
    degree
        Degree of the bounded pieces.
    """
    if pieces < 3:
        raise ValueError(f"a bound needs at least 3 pieces, not {pieces}")
    knots = _equal_error_knots(pieces, degree)
    fitted = _fit_pieces(knots, pieces, degree)
    # The errors agree up to rounding. Shifting all pieces by the largest keeps each a bound.
    max_error = float(fitted.error.max())
    a = np.append(0.0, fitted.a)
    b = np.append(0.0, fitted.b)
    c = np.append(max_error, fitted.c + (max_error - fitted.error))

    mirrored = pieces // 2  # excludes the piece across zero, which exists for odd numbers
    shared = 1 - pieces % 2  # even numbers have a knot at zero
    return Pieces(
        knots=np.append(knots, -knots[::-1][shared:]),
        a=np.append(a, a[:mirrored][::-1]),
        b=np.append(b, 1.0 - b[:mirrored][::-1]),
        c=np.append(c, c[:mirrored][::-1]),
        max_error=max_error,
    )


def _equal_error_knots(pieces: int, degree: Degree) -> Array:
    """Return the negative knots (and zero, for an even number) that make all errors equal.

    This is Newton's method for the equations log(error of a piece) = log(common error) in the knots
    and the common error. The error of a piece depends only on its two ends.
    """
    knots = _guess_knots(pieces, degree)
    free = (pieces - 1) // 2  # for an even number of pieces, the last knot is fixed at zero
    inner = np.arange(free)
    for _ in range(100):
        fitted = _fit_pieces(knots, pieces, degree)
        first_error = _phi(knots[0])  # error of the constant piece, at minus infinity
        log_errors = np.log(np.append(first_error, fitted.error))
        jacobian = np.zeros((free + 1, free + 1))
        jacobian[0, 0] = _sigmoid(knots[0]) / first_error
        jacobian[inner + 1, inner] = fitted.by_left / fitted.error
        jacobian[inner[1:], inner[1:]] = (fitted.by_right / fitted.error)[: free - 1]
        jacobian[:, free] = -1.0
        step = np.linalg.solve(jacobian, log_errors.mean() - log_errors)[:free]
        # Far from the solution, shorten the step so that the knots stay in order.
        end, end_step = (0.0, 0.0) if pieces % 2 == 0 else (-knots[-1], -step[-1])
        closing = -np.diff(step, append=end_step) / np.diff(knots[:free], append=end)
        knots[:free] += step / max(1.0, closing.max() / 0.7)
        if np.abs(step).max() < 1e-7:  # the remaining error is of the order of its square
            break
    return knots


def _guess_knots(pieces: int, degree: Degree) -> Array:
    """Return knots with constant width^order |phi^(order)|, which is optimal for many pieces."""
    order = _ORDER[degree]
    x = np.linspace(-40.0, 0.0, 4001)
    p = _sigmoid(x)
    derivative = p * (1 - p) * ((1 - 2 * p) if degree == "quadratic" else 1.0)
    density = (derivative / _ERROR_CONSTANT[degree]) ** (1 / order)
    steps = (density[1:] + density[:-1]) / 2 * np.diff(x)
    mass = np.append(0.0, np.cumsum(steps))  # number of pieces left of x for an error of one
    # A first knot k has the error phi(k). This error requires `inner` pieces between k and -k.
    inner = 2 * (mass[-1] - mass) / _phi(x) ** (1 / order)
    first = np.interp(-(pieces - 2.0), -inner, x)
    start = np.interp(first, x, mass)
    share = np.arange(pieces // 2) * 2 / (pieces - 2)
    knots: Array = np.interp(start + share * (mass[-1] - start), mass, x)
    return knots


class _Fit(NamedTuple):
    """Shifted pieces a x^2 + b x + c, their maximum errors, and the derivatives of these."""

    error: Any
    a: Any
    b: Any
    c: Any
    by_left: Any
    """Derivative of the error by the left end of the piece."""
    by_right: Any
    """Derivative by the right end. Zero for the piece across zero, whose ends move together."""


def _fit_pieces(knots: Array, pieces: int, degree: Degree) -> _Fit:
    """Fit all pieces between the first knot and zero, and the piece across zero if it exists."""
    fit_between = _fit_lines if degree == "linear" else _fit_parabolas
    fitted = fit_between(knots[:-1], knots[1:])
    if pieces % 2 == 0:
        return fitted
    across = _fit_across_zero(knots[-1], degree)
    return _Fit(*(np.append(left, last) for left, last in zip(fitted, across, strict=True)))


def _fit_lines(left: Array, right: Array) -> _Fit:
    # Because phi is convex, the chord is the best bound. Its error is largest where its slope
    # equals phi'.
    slope = (_phi(right) - _phi(left)) / (right - left)
    touch = np.log(slope / (1 - slope))
    intercept = _phi(left) - slope * left
    share = (touch - left) / (right - left)
    return _Fit(
        error=slope * touch + intercept - _phi(touch),
        a=np.zeros_like(slope),
        b=slope,
        c=intercept,
        by_left=(1 - share) * (_sigmoid(left) - slope),
        by_right=share * (_sigmoid(right) - slope),
    )


def _fit_parabolas(left: Array, right: Array) -> _Fit:
    """Fit parabolas on all intervals together with the Remez exchange algorithm.

    The third derivative of phi is positive left of zero, so the error of the best parabola is
    largest at exactly four points with alternating signs: both ends and two inner points.
    """
    centre, radius = (left + right)[:, None] / 2, (right - left)[:, None] / 2
    base = _phi(centre)  # subtracted, because the error is tiny compared with phi
    points = np.tile([-1.0, -0.5, 0.5, 1.0], (left.size, 1))  # x = centre + radius * point
    signs = np.array([-1.0, 1.0, -1.0, 1.0])
    for _ in range(50):
        system = np.stack([points**0, points, points**2, signs * points**0], axis=2)
        values = _phi(centre + radius * points) - base
        solution = np.linalg.solve(system, values[:, :, None])[:, :, 0]
        p0, p1, p2, level = (solution[:, [k]] for k in range(4))
        inner = points[:, 1:3]
        for _ in range(3):  # Newton's method for the zeros of the error's derivative
            p = _sigmoid(centre + radius * inner)
            slope = radius * p - p1 - 2 * p2 * inner
            curvature = radius**2 * p * (1 - p) - 2 * p2
            inner = np.clip(inner - slope / curvature, -0.999, 0.999)
        moved = np.abs(inner - points[:, 1:3]).max(initial=0.0)
        points[:, 1:3] = inner
        if moved < 1e-9:  # the level is stationary, so its error is of the order of the square
            break
    # The level is a weighted mean of phi at the four points with alternating signs. Moving an inner
    # point does not change it. Moving an end changes it by the weight of the end times the slope
    # of the error there.
    weights = 1 / np.abs((points[:, :, None] - points[:, None, :] + np.eye(4)).prod(axis=2))
    weights /= weights.sum(axis=1, keepdims=True)
    a, middle_slope = p2 / radius**2, p1 / radius
    b = middle_slope - 2 * a * centre
    c = base + p0 + level - middle_slope * centre + a * centre**2
    ends = np.stack([left, right], axis=1)
    by_ends = 2 * signs[[0, 3]] * weights[:, [0, 3]] * (_sigmoid(ends) - 2 * a * ends - b)
    return _Fit(*np.hstack([2 * level, a, b, c, by_ends]).T)


def _fit_across_zero(k: Any, degree: Degree) -> _Fit:
    """Fit the piece from k < 0 to -k, which is x/2 plus the best even function.

    The even part of phi, h(x) = log(2 cosh(x/2)), is a concave function of x^2.
    """
    bottom, end, end_slope = np.log(2.0), _phi(k) - k / 2, np.tanh(k / 2) / 2
    if degree == "linear":
        return _Fit(end - bottom, a=0.0, b=0.5, c=end, by_left=end_slope, by_right=0.0)
    # The chord in x^2 is furthest below h where dh/d(x^2) = tanh(x/2) / (4 x) equals its slope.
    a = (end - bottom) / k**2
    low, high = 0.0, -k
    for _ in range(60):
        touch = (low + high) / 2
        low, high = (touch, high) if np.tanh(touch / 2) > 4 * a * touch else (low, touch)
    error = _phi(touch) - touch / 2 - bottom - a * touch**2
    by_left = -(touch**2) * (end_slope - 2 * a * k) / k**2
    return _Fit(error, a=a, b=0.5, c=bottom + error, by_left=by_left, by_right=0.0)


def _phi(x: Any) -> Any:
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


def _sigmoid(x: Any) -> Any:
    # This form is accurate for x <= 0, and there are no other calls.
    return np.exp(x) / (1 + np.exp(x))
