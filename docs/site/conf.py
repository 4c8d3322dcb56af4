"""Configure Sphinx. Neither the build nor the pages use the network."""

from pygments.lexers import PythonLexer
from sphinx.application import Sphinx

project = "gvibench"
author = "The gvibench developers"
language = "en"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "docstrings",
    "links",
    "mathml",
]
smartquotes = False  # would turn the two hyphens of flags into a dash

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 6
myst_dmath_double_inline = False

autodoc_typehints = "signature"
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = "gvibench"
html_math_renderer = "mathml"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_search_summary = False  # it fetches pages, which browsers refuse for local files
html_use_index = False
html_show_sphinx = False
html_show_copyright = False


def setup(app: Sphinx) -> None:
    """Highlight Snakefiles as Python. Pygments has no lexer of its own for them."""
    app.add_lexer("snakemake", PythonLexer)
