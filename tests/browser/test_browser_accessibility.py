"""Check report pages with axe-core, and the contrast and distance of their colours."""

import itertools
import re

import numpy as np
import pytest

from browser.made_study import JOB
from browser.widths import WIDTHS, draw_all
from figures.made_aggregate import Run, write_aggregate
from gvibench.figures.style import PALETTE
from gvibench.report.page import write_page

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_no_serious_violation(open_page, made, width, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    _, path = made
    page = open_page(path, color_scheme=scheme, **WIDTHS[width])
    if not page.is_visible("#metric"):
        page.click("#controls summary")
    draw_all(page)
    found = axe.Axe().run(page).response
    serious = [
        (violation["id"], [node["html"] for node in violation["nodes"]][:3])
        for violation in found["violations"]
        if violation["impact"] in {"serious", "critical"}
    ]
    assert serious == []
    assert {"color-contrast", "label", "button-name"} & {rule["id"] for rule in found["passes"]}


OTHERS = ("a", "b", "c", "d", "e", "f")
"""Labels that get each of the further colours once."""


@pytest.fixture(scope="module")
def colorful(tmp_path_factory):
    folder = tmp_path_factory.mktemp("colorful")
    runs = [Run([60.0, 20.0], solver=solver) for solver in PALETTE]
    runs += [Run([60.0, 20.0], solver=label, solver_id=label) for label in OTHERS]
    write_page(JOB, write_aggregate(folder, runs), [], folder / "index.html")
    return folder / "index.html"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_are_distinct(open_page, colorful, scheme):
    page = open_page(colorful, color_scheme=scheme)
    swatches = page.eval_on_selector_all(
        "#solvers .choice path", "paths => paths.map((path) => path.getAttribute('stroke'))"
    )
    colors = [np.array(re.findall(r"\d+", text), dtype=float) for text in swatches]
    assert len(colors) == len(PALETTE) + len(OTHERS)
    nearest = min(
        np.linalg.norm(lab(first) - lab(second))
        for first, second in itertools.combinations(colors, 2)
    )
    assert nearest > 18
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    paper = luminance(np.array(re.findall(r"\d+", background), dtype=float))
    for color in colors:
        dark, light = sorted([luminance(color), paper])
        # In the light theme, the colours are those of the static figures.
        assert (light + 0.05) / (dark + 0.05) > (3 if scheme == "dark" else 2.2)


def linear(color):
    """Return linear RGB values of an sRGB colour."""
    share = color / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def luminance(color):
    """Return the relative luminance as defined by WCAG."""
    return float(np.array([0.2126, 0.7152, 0.0722]) @ linear(color))


def lab(color):
    """Return the colour in CIELAB, where distances correspond to visible differences."""
    to_xyz = np.array(
        [[0.41246, 0.35758, 0.18044], [0.21267, 0.71515, 0.07218], [0.01933, 0.11919, 0.95030]]
    )
    ratio = to_xyz @ linear(color) / np.array([0.95047, 1.0, 1.08883])
    root = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])
