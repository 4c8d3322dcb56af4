"""Things by name: ours, and those that other packages add by entry point."""

import functools
import importlib
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any

from gvibench.errors import UserError
from gvibench.spec.run import suggest

__all__ = ["Registry"]


class Registry:
    """Solvers, figures or tables by name, loaded when they are used.

    Parameters
    ----------
    kind
        What they are, in messages.
    built_in
        Ours: `module` or `module:attribute`, as text, so that a job depends only on the code of
        what it uses.
    """

    def __init__(self, kind: str, built_in: Mapping[str, str]) -> None:
        self._kind = kind
        self._built_in = built_in

    def names(self) -> list[str]:
        """Return all names, ours first; a name of ours cannot be taken by another package."""
        return list({**self._built_in, **self._added()})

    def module_of(self, name: str) -> str:
        """Return the module that defines `name`."""
        return self._target(name).partition(":")[0]

    def load(self, name: str) -> Any:
        """Return what `name` stands for: a module, or an attribute of one."""
        module, _, attribute = self._target(name).partition(":")
        try:
            loaded = importlib.import_module(module)
            return getattr(loaded, attribute) if attribute else loaded
        except (ImportError, AttributeError) as error:
            raise UserError(f"{self._kind} '{name}' could not be loaded: {error}") from error

    def _target(self, name: str) -> str:
        # Looking for other packages takes time, so ours come first.
        if name in self._built_in:
            return self._built_in[name]
        if name in self._added():
            return self._added()[name]
        known = self.names()
        raise UserError(
            f"unknown {self._kind} '{name}'{suggest(name, known)}; there are: {', '.join(known)}"
        )

    def _added(self) -> Mapping[str, str]:
        return _installed(f"gvibench.{self._kind}s")


@functools.cache
def _installed(group: str) -> dict[str, str]:
    return {entry.name: entry.value for entry in entry_points(group=group)}
