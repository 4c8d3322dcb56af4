"""Prepare docstrings for Sphinx. They write code in single backticks, as Markdown does."""

import re

CODE_OR_BAR = re.compile(r"``.*?``|`(?P<code>[^`]+)`|(?P<bar>\|)")


def to_restructured_text(app, what, name, obj, options, lines):
    """Mark code as reStructuredText does, and escape bars, which would be substitutions."""
    lines[:] = CODE_OR_BAR.sub(_replacement, "\n".join(lines)).split("\n")


def _replacement(found):
    if found["bar"]:
        return r"\|"
    return f"``{found['code']}``" if found["code"] else found[0]


def setup(app):
    """Connect the conversion, before that of NumPy's sections."""
    app.connect("autodoc-process-docstring", to_restructured_text, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
