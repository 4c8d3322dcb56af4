"""Formulas become MathML when the site is built, which browsers show without any script."""

import html
import re

from latex2mathml.converter import convert

# What the Markdown extension `arithmatex` makes of $...$ and $$...$$, code left alone.
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(content, **_):
    """Convert the formulas of a page."""
    return FORMULA.sub(as_mathml, content)


def as_mathml(found):
    """Convert one formula."""
    display = "block" if found[2] == "[" else "inline"
    return convert(html.unescape(found[3]).strip(), display=display)
