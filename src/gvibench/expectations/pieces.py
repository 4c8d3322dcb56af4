"""Piecewise upper bounds of phi(x) = log(1 + exp x) with the smallest possible largest error.

The bound has a constant first piece, x plus the same constant as its last, and lines or parabolas
between. Every piece has the same largest error E, so no other choice of knots does better. On
each piece the best two-sided fit has error E/2 and is shifted up by that much. Since
phi(x) = x + phi(-x), only the knots left of zero need to be found.
"""

import json
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gvibench.errors import UserError
from gvibench.files import atomic_path, cache_dir

__all__ = ["Degree", "Pieces", "fit", "load_or_fit"]

Degree = Literal["linear", "quadratic"]
Array = NDArray[np.float64]

FIT_VERSION = 1
"""Part of the cache file's name: raise it when a change of this module changes the result."""

# For f with |f'''| = 1, the largest error of the shifted best parabola on an interval of width w
# is w^3 / 96; for a line and |f''| = 1 it is w^2 / 8.
_ERROR_CONSTANT = {"linear": 8.0, "quadratic": 96.0}
_ORDER = {"linear": 2, "quadratic": 3}


@dataclass(frozen=True, eq=False)
class Pieces:
    """The bound a x^2 + b x + c, with one (a, b, c) for each interval between the knots.

    Piece i reaches from `knots[i - 1]` to `knots[i]`; the first and the last are unbounded.
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
    """Return `fit(pieces, degree)`, from the cache if it can be read there.

    The cache only saves time: whatever is wrong with it, the pieces are fitted anew.
    """
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
    # Python prints floats so that they read back exactly: cached and fresh pieces are equal.
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
        raise ValueError("not the pieces of a bound")
    return Pieces(**arrays, max_error=max_error)


def fit(pieces: int, degree: Degree) -> Pieces:
    """Return the bound of `pieces` pieces with the smallest largest error.

    Parameters
    ----------
    pieces
        Number of pieces, at least 3, the two unbounded ones included.
    degree
        Of the pieces in the middle.
    """
    if pieces < 3:
        raise ValueError(f"a bound needs at least 3 pieces, not {pieces}")
    knots = _equal_error_knots(pieces, degree)
    errors, a, b, c = _fit_pieces(knots, pieces, degree)[:4]
    # The errors agree up to rounding; the largest for all keeps every piece a bound.
    max_error = float(errors.max())
    c = c + (max_error - errors)
    a, b, c = (np.concatenate([[first], v]) for first, v in ((0.0, a), (0.0, b), (max_error, c)))

    half = pieces // 2  # pieces that have a mirror image; one more in the middle if odd
    return Pieces(
        knots=np.concatenate([knots, -knots[::-1][pieces % 2 == 0 :]]),
        a=np.concatenate([a, a[:half][::-1]]),
        b=np.concatenate([b, 1.0 - b[:half][::-1]]),
        c=np.concatenate([c, c[:half][::-1]]),
        max_error=max_error,
    )


def _equal_error_knots(pieces: int, degree: Degree) -> Array:
    """Return the negative knots (and zero, for an even number) that make all errors equal.

    Newton's method on log(error of piece i + 1) = log(error of piece i). The error of a piece
    depends on its two ends only, so the equations are tridiagonal.
    """
    knots = _guess_knots(pieces, degree)
    free = (pieces - 1) // 2  # an even number of pieces fixes the knot at zero
    for _ in range(100):
        errors, _, _, _, by_left, by_right = _fit_pieces(knots, pieces, degree)
        # The constant first piece: the error phi(k) at its end.
        all_errors = np.concatenate([[_phi(knots[0])], errors])
        logs = np.log(all_errors)
        jacobian = np.zeros((free + 1, free + 1))
        jacobian[0, 0] = _sigmoid(knots[0]) / all_errors[0]
        for i in range(free):
            jacobian[i + 1, i] = by_left[i] / errors[i]
            if i + 1 < free:
                jacobian[i + 1, i + 1] = by_right[i] / errors[i]
        jacobian[:, free] = -1.0  # the logarithm of the common error is the last unknown
        step = np.linalg.solve(jacobian, logs.mean() - logs)[:free]
        # Far from the solution, go only so far that the knots stay in order.
        gaps = np.diff(knots[: free + 1]) if pieces % 2 == 0 else np.diff([*knots, -knots[-1]])
        closing = -np.diff([*step, 0.0 if pieces % 2 == 0 else -step[-1]])
        damping = 1.0 / max(1.0, float((closing / gaps).max()) / 0.7)
        knots = knots.copy()
        knots[:free] += damping * step
        if np.abs(step).max() < 1e-7:  # what is left is of the order of its square
            break
    return knots


def _guess_knots(pieces: int, degree: Degree) -> Array:
    """Spread the knots as the limit of many pieces does: width^order |phi^(order)| constant."""
    order = _ORDER[degree]
    x = np.linspace(-40.0, 0.0, 4001)
    p = _sigmoid(x)
    derivative = p * (1 - p) * ((1 - 2 * p) if degree == "quadratic" else 1.0)
    density = (derivative / _ERROR_CONSTANT[degree]) ** (1 / order)
    steps = (density[1:] + density[:-1]) / 2 * np.diff(x)
    mass = np.concatenate([[0.0], np.cumsum(steps)])  # pieces left of x, for an error of one
    # An error E = phi(k) with first knot k makes 2 (mass(0) - mass(k)) / E^(1/order) pieces.
    inner = 2 * (mass[-1] - mass) / _phi(x) ** (1 / order)
    first = np.interp(-(pieces - 2.0), -inner, x)
    start = np.interp(first, x, mass)
    count = pieces // 2  # negative knots, and zero for an even number
    share = np.arange(count) * 2 / (pieces - 2)
    knots: Array = np.interp(start + share * (mass[-1] - start), mass, x)
    return knots


def _fit_pieces(
    knots: Array, pieces: int, degree: Degree
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Fit all pieces between the first knot and zero, and the one across zero if there is one.

    Returns
    -------
    errors, a, b, c
        Of the shifted pieces.
    by_left, by_right
        Derivatives of the errors by the ends. For the piece across zero the right end moves
        against the left one, and `by_left` is the whole derivative.
    """
    fit_interior = _fit_lines if degree == "linear" else _fit_parabolas
    interior = fit_interior(knots[:-1], knots[1:])
    if pieces % 2 == 0:
        return interior
    middle = _fit_middle(float(knots[-1]), degree)
    joined = (np.append(values, value) for values, value in zip(interior, middle, strict=True))
    return tuple(joined)  # type: ignore[return-value]


def _fit_lines(left: Array, right: Array) -> tuple[Array, Array, Array, Array, Array, Array]:
    # phi is convex: the chord is the best bound, and farthest off where its slope equals phi'.
    slope = (_phi(right) - _phi(left)) / (right - left)
    touch = np.log(slope / (1 - slope))
    intercept = _phi(left) - slope * left
    errors = slope * touch + intercept - _phi(touch)
    share = (touch - left) / (right - left)
    by_left = (1 - share) * (_sigmoid(left) - slope)
    by_right = share * (_sigmoid(right) - slope)
    return errors, np.zeros_like(slope), slope, intercept, by_left, by_right


def _fit_parabolas(left: Array, right: Array) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Remez' exchange on every interval at once.

    phi''' > 0 left of zero, so the error of the best parabola is largest at exactly four points:
    both ends and two between, with alternating signs.
    """
    centre, radius = (left + right) / 2, (right - left) / 2  # local variable t in [-1, 1]
    points = np.tile([-1.0, -0.5, 0.5, 1.0], (left.size, 1))
    signs = np.array([-1.0, 1.0, -1.0, 1.0])
    for _ in range(50):
        values = _phi(centre[:, None] + radius[:, None] * points)
        # Differences to the middle, because the error is tiny next to phi itself.
        system = np.stack(
            [np.ones_like(points), points, points**2, np.broadcast_to(signs, points.shape)], axis=2
        )
        base = _phi(centre)
        solution = np.linalg.solve(system, (values - base[:, None])[:, :, None])[:, :, 0]
        p0, p1, p2, level = solution.T
        inner = points[:, 1:3]
        for _ in range(3):  # Newton's method for the zeros of the error's derivative
            p = _sigmoid(centre[:, None] + radius[:, None] * inner)
            slope = radius[:, None] * p - p1[:, None] - 2 * p2[:, None] * inner
            curvature = radius[:, None] ** 2 * p * (1 - p) - 2 * p2[:, None]
            inner = np.clip(inner - slope / curvature, -0.999, 0.999)
        moved = np.abs(inner - points[:, 1:3]).max(initial=0.0)
        points[:, 1:3] = inner
        if moved < 1e-9:  # the level is stationary there: its error is the square of this
            break
    errors = 2 * level
    # The level is a weighted mean of phi at the four points, with alternating signs; at its
    # stationary points only the ends move it.
    gaps = points[:, :, None] - points[:, None, :] + np.eye(4)
    weights = 1 / np.abs(gaps.prod(axis=2))
    weights /= weights.sum(axis=1, keepdims=True)
    slope_left = _sigmoid(left) - (p1 - 2 * p2) / radius
    slope_right = _sigmoid(right) - (p1 + 2 * p2) / radius
    by_left = -2 * weights[:, 0] * slope_left
    by_right = 2 * weights[:, 3] * slope_right
    a = p2 / radius**2
    slope = p1 / radius
    b = slope - 2 * a * centre
    c = base + p0 + level - slope * centre + a * centre**2
    return errors, a, b, c, by_left, by_right


def _fit_middle(k: float, degree: Degree) -> tuple[float, float, float, float, float, float]:
    """Fit the piece from k < 0 to -k: x/2 plus a best even function.

    The even part of phi, h(x) = log(2 cosh(x/2)), is a concave function of x^2.
    """
    end = _even_part(k)
    if degree == "linear":
        return end - np.log(2.0), 0.0, 0.5, end, np.tanh(k / 2) / 2, 0.0
    # The chord in x^2 is below h by most at x where dh/d(x^2) = tanh(x/2) / (4 x) equals its slope.
    a = (end - np.log(2.0)) / k**2
    low, high = 0.0, -k
    for _ in range(200):
        touch = (low + high) / 2
        if np.tanh(touch / 2) > 4 * a * touch:
            low = touch
        else:
            high = touch
    error = _even_part(touch) - np.log(2.0) - a * touch**2
    by_k = -(touch**2) * (np.tanh(k / 2) / 2 - 2 * a * k) / k**2
    return error, a, 0.5, np.log(2.0) + error, by_k, 0.0


def _phi(x: Array) -> Array:
    result: Array = np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))
    return result


def _even_part(x: float) -> float:
    return float(abs(x) / 2 + np.log1p(np.exp(-abs(x))))


def _sigmoid(x: Array) -> Array:
    # Only called for x <= 0, where this form loses nothing.
    e = np.exp(x)
    result: Array = e / (1 + e)
    return result
