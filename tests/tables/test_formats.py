"""CSV, Markdown and LaTeX."""

import pandas as pd

from gvibench.tables.formats import (
    Block,
    Table,
    escape_latex,
    number,
    spread,
    to_latex,
    to_markdown,
    with_full_cells,
)


def test_latex_is_escaped():
    assert escape_latex(r"a_b & 50% {x} #1 $ ~ ^ \ – <") == (
        r"a\_b \& 50\% \{x\} \#1 \$ \textasciitilde{} \textasciicircum{} \textbackslash{} -- "
        r"\textless{}"
    )
    cells = pd.DataFrame({"a_1": ["[x", "50%"], "n": ["1", "2"]})
    text = to_latex(Table(cells, [Block("100% of {it}", cells)]))
    assert r"a\_1 & n \\" in text
    assert r"{}[x & 1 \\" in text
    assert r"50\% & 2 \\" in text
    assert r"\caption{100\% of \{it\}}" in text
    assert [text.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [2, 2, 1]


def test_a_vertical_bar_is_escaped_in_markdown():
    cells = pd.DataFrame({"a|b": ["x|y"]})
    assert r"| x\|y |" in to_markdown(Table(cells, [Block("c", cells)]))


def test_spread_is_short_if_all_seeds_agree():
    assert spread(1.0, 1.0, 1.0) == "1"
    assert spread(2.0, 1.0, 3.0) == "2 [1, 3]"
    assert spread(1.23456789, 1.23456788, 1.2345679, 3) == "1.23"


def test_a_block_can_have_its_cells_with_all_digits():
    def build():
        return Block("", pd.DataFrame({"value": [number(1 / 3, 3), spread(2.0, 1 / 7, 3.0, 2)]}))

    block = with_full_cells(build)
    assert block.cells["value"].tolist() == ["0.333", "2 [0.14, 3]"]
    assert block.full is not None
    assert block.full["value"].tolist() == [repr(1 / 3), f"2 [{1 / 7!r}, 3]"]
    assert number(1 / 3, 3) == "0.333"
