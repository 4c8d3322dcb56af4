"""Represent tables and write them as CSV, Markdown and LaTeX."""

import contextlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace

import pandas as pd

from gvibench.errors import one_sentence

__all__ = [
    "ERROR",
    "Block",
    "Table",
    "error_table",
    "escape_latex",
    "escape_markdown",
    "markdown_block",
    "number",
    "spread",
    "step_text",
    "to_csv",
    "to_latex",
    "to_markdown",
    "with_full_cells",
]


@dataclass(frozen=True)
class Block:
    """Part of a table that fits on a page, with formatted text in all cells."""

    caption: str
    cells: pd.DataFrame
    text_columns: int = 1
    """Number of columns on the left with text instead of numbers."""
    full: pd.DataFrame | None = None
    """The same cells with all digits, for readers who point at a number."""


@dataclass(frozen=True)
class Table:
    """Values of a table and their presentation."""

    values: pd.DataFrame
    """Values for programs, in full precision and with one quantity per column."""
    blocks: Sequence[Block]
    """Rounded values for readers."""


ERROR = "error"
"""Name of the only column of a table that could not be built."""


def error_table(name: str, error: Exception) -> Table:
    """Return a table that contains an error message."""
    sentence = f"the table '{name}' could not be made: {one_sentence(error)}"
    values = pd.DataFrame({ERROR: [sentence]})
    return Table(values, [Block("This table could not be made.", values)])


_ALL_DIGITS: ContextVar[bool] = ContextVar("all_digits", default=False)


def with_full_cells(build: Callable[[], Block]) -> Block:
    """Build a block twice, rounded and with all digits, and return both in one block."""
    with _all_digits():
        full = build().cells
    return replace(build(), full=full)


@contextlib.contextmanager
def _all_digits() -> Iterator[None]:
    token = _ALL_DIGITS.set(True)
    try:
        yield
    finally:
        _ALL_DIGITS.reset(token)


def number(value: float, digits: int = 6) -> str:
    """Return a number as text with the given number of significant digits."""
    if _ALL_DIGITS.get():
        return repr(float(value)).removesuffix(".0")
    return f"{value:.{digits}g}"


def step_text(step: float | str, rule: str) -> str:
    """Return a step size for readers, or the name of the rule that determines it.

    `step` is NaN, or the text for missing numbers, if it was not set.
    """
    if rule == "none":
        return "–"
    if isinstance(step, str) or math.isnan(step):
        return rule
    note = {"constant": "", "decay": " (decaying)"}.get(rule, f" ({rule})")
    return number(step) + note


def spread(center: float, low: float, high: float, digits: int = 6) -> str:
    """Return "center [min, max]", or only the centre if all three have the same text."""
    texts = [number(value, digits) for value in (center, low, high)]
    return texts[0] if len(set(texts)) == 1 else f"{texts[0]} [{texts[1]}, {texts[2]}]"


def to_csv(table: Table) -> str:
    """Return the values as CSV. Reading a number back gives the same number."""
    text: str = table.values.to_csv(index=False, lineterminator="\n")
    return text


def to_markdown(table: Table) -> str:
    """Return the blocks as Markdown tables, each below its caption."""
    return "\n".join(f"{block.caption}\n\n{markdown_block(block)}" for block in table.blocks)


def markdown_block(block: Block) -> str:
    """Return one block as a Markdown table."""
    rules = [":--" if k < block.text_columns else "--:" for k in range(block.cells.shape[1])]
    lines = [_markdown_row(block.cells.columns), _markdown_row(rules)]
    lines += [_markdown_row(row) for row in block.cells.itertuples(index=False, name=None)]
    return "\n".join(lines) + "\n"


def _markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(escape_markdown(str(cell)) for cell in cells) + " |"


def escape_markdown(text: str) -> str:
    """Escape text for a Markdown cell, so that it contains no HTML and no cell separator."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("|", r"\|")


def to_latex(table: Table) -> str:
    """Return the blocks as LaTeX tables that can span several pages."""
    head = "% Needs \\usepackage{booktabs,longtable} and, for so many columns, a wide page.\n"
    return head + "\n".join(map(_latex_block, table.blocks))


def _latex_block(block: Block) -> str:
    width = block.cells.shape[1]
    columns = "l" * block.text_columns + "r" * (width - block.text_columns)
    header = _latex_row(block.cells.columns)
    lines = [
        r"{\footnotesize\setlength{\tabcolsep}{3pt}",
        rf"\begin{{longtable}}{{{columns}}}",
        rf"\caption{{{escape_latex(block.caption)}}}\\",
        r"\toprule",
        header,
        r"\midrule",
        r"\endfirsthead",
        r"\toprule",
        header,
        r"\midrule",
        r"\endhead",
        r"\bottomrule",
        r"\endlastfoot",
    ]
    lines += [_latex_row(row) for row in block.cells.itertuples(index=False, name=None)]
    return "\n".join([*lines, r"\end{longtable}}"]) + "\n"


def _latex_row(cells: Iterable[str]) -> str:
    # LaTeX would read a bracket at the start of a row as an option of the \\ before it.
    texts = [escape_latex(str(cell)) for cell in cells]
    return " & ".join(f"{{}}{text}" if text.startswith("[") else text for text in texts) + r" \\"


_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "–": "--",
    "—": "---",
    "…": r"\dots{}",
    "∞": r"$\infty$",
}
_SPECIAL = re.compile("|".join(map(re.escape, _LATEX)))


def escape_latex(text: str) -> str:
    """Escape special characters of LaTeX."""
    return _SPECIAL.sub(lambda match: _LATEX[match.group()], text)
