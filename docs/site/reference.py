"""Generate the lists of the reference pages from the registry, the parser and docstrings."""

import argparse
import dataclasses
import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING
from typing import Any

import gvibench
from gvibench import plugin
from gvibench.cli.main import build_parser
from gvibench.registry import (
    DATASETS,
    EXPECTATIONS,
    FIGURES,
    MODELS,
    SOLVERS,
    STEP_RULES,
    TABLES,
    Registry,
)
from gvibench.spec import catalogue
from gvibench.spec.documentation import documentation
from gvibench.spec.run import RunSpec
from gvibench.store.certified import certified_optima
from gvibench.study.dataset_cards import origin

TITLES = {"positional arguments": "argument", "options": "option"}
"""Titles of tables in place of those of argparse."""
LITERAL = re.compile(r"(?:^|(?<=:))::?\n\n((?:(?: {4}.*)?\n)+)", re.MULTILINE)
"""An indented block after a paragraph that ends with two colons."""
SAMPLING = ("batch", "samples", "minibatches", "estimator")
"""Settings of random expectations."""
VERB = re.compile(r"^(?:Draw|Return|Build the) (\w)")
"""Start of the docstring of a figure or a table. A list of them reads better without it."""


def solvers() -> str:
    """Describe each solver: update, cost, reference and options."""
    return "\n".join(map(_solver, SOLVERS.built_in))


def _solver(name: str) -> str:
    kind = SOLVERS.load(name)
    rows = [
        (f"`{option}`", f"`{getattr(kind, option)}`", text)
        for option, text in documentation(kind).items()
    ]
    options = ["Options:\n", _table(("option", "default", "meaning"), rows)] if rows else []
    reference = f"Reference: {_text(kind.reference)}.\n"
    title = "" if kind.title.lower() == name else f"Called {kind.title} in figures and tables.\n"
    steps = f"{_supported_steps(kind)}\n"
    return "\n".join([f"## `{name}`\n", _docstring(kind), title, steps, reference, *options])


def _supported_steps(kind: Any) -> str:
    if not kind.has_step:
        return "The solver has no step size."
    return f"Step rule `auto`: {'supported' if kind.has_slope() else 'not supported'}."


def step_rules() -> str:
    """Describe each step rule by its docstring, with its settings."""
    return "\n".join(map(_step_rule, STEP_RULES.built_in))


def _step_rule(name: str) -> str:
    kind = STEP_RULES.load(name)
    texts = documentation(kind) if name != "none" else {}
    required = {field.name for field in dataclasses.fields(kind) if field.default is MISSING}
    if not kind.searches:
        required.add("step")
    rows = [
        (f"`{key}`", "required" if key in required else f"`{getattr(kind, key)}`", text)
        for key, text in texts.items()
    ]
    settings = [_table(("setting", "default", "meaning"), rows)] if rows else []
    return "\n".join([f"### `{name}`\n", _docstring(kind), *settings])


def models() -> str:
    """Describe each model by the docstrings of its module and of its class."""
    parts = []
    for name in MODELS.built_in:
        kind = MODELS.load(name)
        module = inspect.getmodule(kind)
        parts.append(f"### `{name}`\n\n{_docstring(module)}\n{_docstring(kind)}")
    return "\n".join(parts)


def expectations() -> str:
    """Describe each expectation by the docstring of its class."""
    parts = []
    for name in EXPECTATIONS.built_in:
        kind = inspect.get_annotations(EXPECTATIONS.load(name), eval_str=True)["return"]
        parts.append(f"### `{name}`\n\n{_docstring(kind)}")
    help_on = documentation(RunSpec)
    sampled = "\n".join(f"- `{name}`: {_text(help_on[name])}" for name in SAMPLING)
    return "\n".join([*parts, f"### `stochastic`\n\nDraws rows and parameters.\n\n{sampled}\n"])


def datasets() -> str:
    """Tabulate the data sets, with their options below."""
    entries = [catalogue.entry(name) for name in DATASETS.built_in]
    head = ("data set", "origin", "rows", "features", "`beta`", "content", "source")
    rows = [
        (
            *(f"`{e.name}`", origin(e.name), e.n or "any", e.d or "any"),
            *(f"{e.beta:g}", e.title, e.source),
        )
        for e in entries
    ]
    parts = [_table(head, rows), _certified_optima()]
    for entry in entries:
        options = [
            (f"`{name}`", f"`{setting.default}`", setting.meaning)
            for name, setting in entry.settings.items()
            if len(setting.choices) != 1
        ]
        if options:
            parts.append(f"## Options of `{entry.name}`\n")
            parts.append(_table(("option", "default", "meaning"), options))
    return "\n".join(parts)


def _certified_optima() -> str:
    """Tabulate the certified optima of bundled problems."""
    head = (
        *("data set", "model", "training rows", "features", "+1 / -1", "condition number"),
        *("separable", "optimal objective", "bound"),
    )
    rows = [
        (
            *(f"`{known.dataset}`", known.model, known.n_train, known.d),
            " / ".join(map(str, known.train_counts.values())) or "counts",
            f"{known.condition:.3g}",
            {True: "yes", False: "no", None: "–"}[known.separable],
            f"{known.objective:.10g}",
            f"{known.bound:.0e}",
        )
        for known in certified_optima()
    ]
    return f"## Certified optima\n\n{_table(head, rows)}"


def figures() -> str:
    """Describe each figure by the docstring of its function."""
    return _functions(FIGURES)


def tables() -> str:
    """Describe each table by the docstrings of its module and of its function."""
    return _functions(TABLES)


def _functions(registry: Registry) -> str:
    parts = []
    for name in registry.built_in:
        function = registry.load(name)
        module = inspect.getmodule(function)
        shared = [
            other for other in registry.built_in if registry.module_of(other) == module.__name__
        ]
        texts = [_docstring(found) for found in ([module] if shared == [name] else []) + [function]]
        parts.append(f"### `{name}`\n\n" + "\n".join(VERB.sub(_capitalise, t) for t in texts))
    return "\n".join(parts)


def _capitalise(verb: re.Match[str]) -> str:
    return verb[1].upper()


def commands() -> str:
    """Describe each command: usage and arguments."""
    parser = build_parser(with_help=True)
    [commands] = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    return "\n".join(
        _command(commands.choices[entry.dest], entry.help) for entry in commands._choices_actions
    )


def _command(parser: argparse.ArgumentParser, about: str) -> str:
    actions = [a for a in parser._actions if not isinstance(a, argparse._HelpAction)]
    needed = [_usage(action) for action in actions if action.required]
    places = [_usage(a).join("[]") for a in actions if a.nargs == "?" and not a.required]
    optional = ["[options]"] if len(needed) + len(places) < len(actions) else []
    usage = " ".join([parser.prog, *needed, *places, *optional])
    parts = [f"## `{parser.prog}`\n", f"{_text(about)[0].upper()}{_text(about)[1:]}.\n"]
    parts.append(f"```text\n{usage}\n```\n")
    for group in parser._action_groups:
        rows = [
            (f"`{_usage(action)}`", _help(parser, action))
            for action in group._group_actions
            if action in actions and action.help
        ]
        if rows:
            title = TITLES.get(group.title, group.title)
            parts.append(_table((title, "meaning"), rows))
    return "\n".join(parts)


def _usage(action: argparse.Action) -> str:
    """Return an argument as it is typed, e.g. `--out OUT`."""
    default = action.dest.upper() if action.option_strings else action.dest
    value = "" if action.nargs == 0 else str(action.metavar or default)
    if action.choices:
        value = "|".join(map(str, action.choices))
    return " ".join([*action.option_strings[:1], *([value] if value else [])])


def _help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    return parser._get_formatter()._expand_help(action) if action.help else ""


def functions() -> str:
    """List the functions for notebooks, which Sphinx documents from their docstrings."""
    names = [name for name in gvibench.__all__ if name != "__version__"]
    lines = [f".. autofunction:: gvibench.{name}" for name in names]
    return _autodoc([*lines, "", ".. autoclass:: gvibench.api.result.Fit", "   :members:"])


def plugins() -> str:
    """List the names for authors of plug-ins, which Sphinx documents from their docstrings."""
    lines = []
    for name in plugin.__all__:
        found = getattr(plugin, name)
        if inspect.isclass(found):
            lines += [f".. autoclass:: gvibench.plugin.{name}", "   :members:", ""]
        elif inspect.isfunction(found):
            lines += [f".. autofunction:: gvibench.plugin.{name}", ""]
    return _autodoc(lines)


def _autodoc(lines: Iterable[str]) -> str:
    return "\n".join(["```{eval-rst}", *lines, "```", ""])


def _docstring(documented: Any) -> str:
    """Return a docstring as Markdown; it uses two colons before literal blocks."""
    text = inspect.getdoc(documented) + "\n"
    parts, last = [], 0
    for found in LITERAL.finditer(text):
        code = inspect.cleandoc(found[1])
        parts += [_text(text[last : found.start()]), f"\n\n```text\n{code}\n```\n\n"]
        last = found.end()
    return "".join([*parts, _text(text[last:])])


def _text(text: str) -> str:
    """Escape what Markdown would read as HTML or as a link."""
    return re.sub(r"(`[^`]*`)|([<\[\]])", lambda part: part[1] or "\\" + part[2], text)


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    cells = ([_text(str(cell)).replace("|", r"\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells) + "\n"


GENERATED: dict[str, Callable[[], str]] = {
    function.__name__: function
    for function in (
        *(solvers, step_rules, models, expectations, datasets, figures, tables),
        *(commands, functions, plugins),
    )
}
"""Lists by the name in their marker."""
