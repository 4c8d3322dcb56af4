"""Convert formulas to MathML, which browsers display without scripts."""

import html
import re

from latex2mathml.converter import convert

# Output of the Markdown extension `arithmatex` for $...$ and $$...$$ outside code.
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(content, **_):
    """Convert the formulas of a page."""
    return FORMULA.sub(as_mathml, content)


def as_mathml(formula):
    """Convert one formula."""
    display = "block" if formula[2] == "[" else "inline"
    return convert(html.unescape(formula[3]).strip(), display=display)
