"""Read the documentation of settings from the docstrings below their fields."""

import ast
import dataclasses
import inspect
import itertools
import textwrap
from typing import Any

__all__ = ["documentation"]


def documentation(kind: type) -> dict[str, str]:
    """Return the docstrings below the fields of a dataclass or Pydantic model, by field.

    They are read from the source on demand. Pydantic could collect them too, but at each start.
    """
    texts: dict[str, str] = {}
    for owner in reversed(kind.__mro__):
        if "__annotations__" in vars(owner):
            texts |= _docstrings(owner)
    return {name: texts.get(name, "") for name in _field_names(kind)}


def _field_names(kind: Any) -> list[str]:
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    return list(kind.model_fields)


def _docstrings(owner: type) -> dict[str, str]:
    try:
        source = inspect.getsource(owner)
    except (OSError, TypeError):  # a class without source, e.g. from `create_model`
        return {}
    tree = ast.parse(textwrap.dedent(source)).body[0]
    assert isinstance(tree, ast.ClassDef)
    texts: dict[str, str] = {}
    for field, text in itertools.pairwise(tree.body):
        match field, text:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str() as words)),
            ):
                texts[name] = " ".join(words.split())
    return texts
