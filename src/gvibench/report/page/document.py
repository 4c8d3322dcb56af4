"""Build the HTML file of a page from the template, the style, the scripts and the data."""

import base64
import hashlib
import html
import json
import re
from pathlib import Path
from typing import Any

from plotly.offline import get_plotlyjs

from gvibench.store.files import atomic_path

__all__ = ["document", "write_document"]

ASSETS = Path(__file__).with_name("assets")
SCRIPTS = (
    *("numbers.js", "selection.js", "tables.js", "plots.js", "legends.js", "page.js"),
    "print.js",
)
"""Scripts in an order in which each one uses only those before it."""

MODULE = re.compile(
    r"(?P<licence>/\*.*?\*/\n)\(\s*function\(root, factory\) \{.*?, \(\) => \{\n"
    r"(?P<body>.*window\.Plotly = Plotly;\n)return Plotly;\n\}\)\);?\s*",
    re.DOTALL,
)
"""Pattern of Plotly's script, which is wrapped in a function."""


def write_document(content: dict[str, Any], out: Path) -> None:
    """Write the page for the given content."""
    text = document(content)
    with atomic_path(out) as part:
        part.write_text(text, encoding="utf-8")


def document(content: dict[str, Any]) -> str:
    """Return the page as HTML.

    The content security policy forbids all requests and all scripts except the two scripts of the
    page, which are identified by their hashes. A name that contains a script therefore cannot run.
    """
    script = "\n".join(_asset(name) for name in SCRIPTS)
    scripts = [
        _escape_script(_unwrapped(get_plotlyjs())),
        _escape_script(f"(() => {{\n'use strict';\n{script}}})();\n"),
    ]
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(map(_source_hash, scripts))}",
            "style-src 'unsafe-inline'",  # Plotly sets inline styles
            "img-src data: blob:",
        ]
    )
    parts = {
        "POLICY": policy,
        "TITLE": html.escape(content["title"]),
        "STYLE": _asset("page.css"),
        "CONTENT": _json(content),
        "PLOTLY": scripts[0],
        "SCRIPT": scripts[1],
    }
    head, *pieces = _asset("page.html").split("{{")
    # Fill the template in one pass, so that inserted text is not searched for placeholders.
    for piece in pieces:
        name, _, rest = piece.partition("}}")
        head += parts[name] + rest
    return head


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def _unwrapped(plotly: str) -> str:
    """Return Plotly's script without the function that wraps it, if there is one.

    Browsers parse the body of a nested function once per level. Without the wrapper around these
    five megabytes, a page opens about 20 % faster.
    """
    match = MODULE.fullmatch(plotly)
    return f"{match['licence']}{match['body']}" if match else plotly


def _escape_script(script: str) -> str:
    """Return a script that cannot close the HTML element that contains it."""
    return script.replace("</script", r"<\/script").replace("<!--", r"<\!--")


def _json(content: dict[str, Any]) -> str:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def _source_hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
