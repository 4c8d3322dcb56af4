"""Colours and line styles of solvers."""

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
