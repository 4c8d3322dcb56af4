"""Convert formulas to MathML, which browsers display without scripts."""

from docutils import nodes
from latex2mathml.converter import convert


def inline(translator, node):
    """Write a formula within a line."""
    translator.body.append(convert(node.astext().strip(), display="inline"))
    raise nodes.SkipNode


def block(translator, node):
    """Write a formula on its own line."""
    translator.body.append(convert(node.astext().strip(), display="block"))
    raise nodes.SkipNode


def setup(app):
    """Register the converter with Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
