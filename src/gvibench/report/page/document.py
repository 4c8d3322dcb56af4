"""One HTML file from the template, the style, the scripts and the data of a page."""

import base64
import hashlib
import html
import json
import re
from pathlib import Path
from typing import Any

from plotly.offline import get_plotlyjs

from gvibench.report.page import ASSETS
from gvibench.store.files import atomic_path

__all__ = ["document", "write_document"]

SCRIPTS = ("numbers.js", "selection.js", "tables.js", "plots.js", "page.js")
"""In the order in which they need each other."""

MODULE = re.compile(
    r"(?P<licence>/\*.*?\*/\n)\(\s*function\(root, factory\) \{.*?, \(\) => \{\n"
    r"(?P<body>.*window\.Plotly = Plotly;\n)return Plotly;\n\}\)\);?\s*",
    re.DOTALL,
)
"""How Plotly's script is wrapped."""


def write_document(content: dict[str, Any], out: Path) -> None:
    """Write the page that shows the given content."""
    text = document(content)
    with atomic_path(out) as part:
        part.write_text(text, encoding="utf-8")


def document(content: dict[str, Any]) -> str:
    """Return the page as HTML.

    The browser is told to load nothing and to run the two scripts of the page only, known by
    their hashes: a name or a reason that looked like a script would not run.
    """
    script = "\n".join(_asset(name) for name in SCRIPTS)
    scripts = [
        _closed(_unwrapped(get_plotlyjs())),
        _closed(f"(() => {{\n'use strict';\n{script}}})();\n"),
    ]
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(map(_source_hash, scripts))}",
            "style-src 'unsafe-inline'",  # Plotly styles what it draws
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
    # In one pass: what is filled in is not looked at again.
    for piece in pieces:
        name, _, rest = piece.partition("}}")
        head += parts[name] + rest
    return head


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def _unwrapped(plotly: str) -> str:
    """Return Plotly's script without the function that makes a module of it, if it has one.

    Browsers read the inside of a function once more for every function around it, and there are
    five megabytes inside this one: a page opens a fifth faster without it.
    """
    found = MODULE.fullmatch(plotly)
    return f"{found['licence']}{found['body']}" if found else plotly


def _closed(script: str) -> str:
    """Return a script that cannot end the element it stands in."""
    return script.replace("</script", r"<\/script").replace("<!--", r"<\!--")


def _json(content: dict[str, Any]) -> str:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def _source_hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
