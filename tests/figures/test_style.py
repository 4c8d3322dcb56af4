"""Colours and line styles of solvers."""

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from gvibench.figures.style import PALETTE, line_styles
from gvibench.registry import SOLVERS


def test_each_solver_has_a_fixed_colour_of_its_own():
    assert set(PALETTE) == set(SOLVERS.built_in)
    assert len({style.color for style in PALETTE.values()}) == len(PALETTE)
    assert PALETTE["vn"].color == "#0072B2"
    assert PALETTE["sr-vn"].color == "#D55E00"


def test_the_colour_of_other_labels_depends_on_their_name():
    labels = [f"variant-{k}" for k in range(20)]
    styles = line_styles(["vn", *labels])
    assert styles["vn"] == PALETTE["vn"]
    assert len({(style.color, style.dash) for style in styles.values()}) == 21
    assert line_styles(reversed(labels)) == line_styles(labels)
    assert len({style.color for style in line_styles(labels[:6]).values()}) == 6
    assert line_styles(["mine"])["mine"] == line_styles(["mine", "vn", "sr-vn"])["mine"]
    assert len(line_styles(map(str, range(99)))) == 99


def lightness(rgb):
    """Return L* of linear RGB values between 0 and 1."""
    y = float(np.dot([0.2126, 0.7152, 0.0722], rgb))
    return 116 * y ** (1 / 3) - 16 if y > 0.008856 else 903.3 * y


def linear(color):
    values = np.array(to_rgb(color))
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def difference(first, second):
    """Return the distance of two colours in linear RGB, relative to black and white."""
    return float(np.linalg.norm(first - second) / np.sqrt(3))


# Viénot, Brettel and Mollon (1999): what dichromats see, in linear RGB.
DICHROMATS = {
    "protanopia": [[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]],
    "deuteranopia": [[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]],
}


def same_dash(styles):
    pairs = itertools.combinations(styles.items(), 2)
    return [(a, b) for a, b in pairs if a[1].dash == b[1].dash]


@pytest.mark.parametrize("others", [False, True])
def test_lines_with_equal_dashes_differ_in_grey(others):
    styles = line_styles([f"variant-{k}" for k in range(6)]) if others else PALETTE
    for (first, one), (second, other) in same_dash(styles):
        distance = abs(lightness(linear(one.color)) - lightness(linear(other.color)))
        assert distance >= 10, (first, second)


@pytest.mark.parametrize("vision", DICHROMATS)
def test_lines_with_equal_dashes_differ_for_colour_blind_readers(vision):
    seen = np.array(DICHROMATS[vision])
    for (first, one), (second, other) in same_dash(PALETTE):
        colors = [seen @ linear(style.color) for style in (one, other)]
        assert difference(*colors) >= 0.08, (first, second)


def test_solvers_differ_in_dash_or_marker():
    assert len({style.marker for style in PALETTE.values()}) == len(PALETTE)
