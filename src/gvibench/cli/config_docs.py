"""The documented default config, the JSON schema and a page, all made from the models of `study`.

    python -m gvibench.cli.config_docs

writes `config/config.yaml`, `config/schema.json` and `docs/configure.md`; a test keeps them in
step.
"""

import json
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from gvibench import solvers
from gvibench.datasets import catalogue
from gvibench.spec.run import DataSpec, RunSpec, documentation
from gvibench.store.files import atomic_path
from gvibench.study.config import MODELS, Config, Settings, Study

__all__ = ["FILES", "default_config", "page", "schema", "settings_help"]

DEFAULT_STUDY: dict[str, Any] = {
    "title": "Eight solvers on bundled data, each with its own tuned step",
    "datasets": ["wdbc", "digits-odd-even", "synthetic"],
    "solvers": {
        "vn": None,
        "sr-vn": None,
        "bw-gd": None,
        "gd": None,
        "gd-chol": None,
        "svgd-density": None,
        "ng-flow": {"step": 0.1, "iterations": 60},
        "fb-gvi": None,
    },
    "step": "tuned",
    "iterations": 300,
    "seeds": 5,
    "tuning": {
        "steps": {"start": 0.0001, "stop": 1.0, "count": 5},
        "init_scales": [0.1, 1.0],
        "rounds": 2,
        "seeds": [1000, 1001, 1002],
    },
}

HEADER = """\
# yaml-language-server: $schema=schema.json
#
# The default study: bundled data, no download, about four minutes on two cores.
#
# Write your own beside it and run it with
#
#     snakemake --configfile config/mine.yaml
#
# A setting may stand in the study, under a data set, under a solver, and under a solver within a
# data set; the nearest to the run wins. Numbers in exponential notation need a dot: 1.0e-3 is a
# number to YAML, 1e-3 is text.
"""


def settings_help(kind: type[BaseModel]) -> dict[str, str]:
    """Return the documentation of a model's fields, those of the run and the data included."""
    inherited = {**documentation(DataSpec), **documentation(RunSpec)}
    return {name: text or inherited.get(name, "") for name, text in documentation(kind).items()}


def default_config() -> str:
    """Return the text of `config/config.yaml`."""
    help_on = settings_help(Study)
    lines = [HEADER + "studies:", "  default:"]
    for name, value in DEFAULT_STUDY.items():
        lines += [f"    # {help_on[name]}", *_indent(_to_yaml(name, value), "    ")]
    lines += ["", "    # Everything else, with the value it has when it is not set:", ""]
    for name, text in help_on.items():
        if name not in DEFAULT_STUDY:
            lines += [f"    # {text}", *_indent(_to_yaml(name, _default(Study, name)), "    # ")]
    lines.append("")
    for name, text in settings_help(Config).items():
        if name != "studies":
            lines += [f"# {text}", *_indent(_to_yaml(name, _default(Config, name)), "# ")]
    return "\n".join(lines) + "\n"


def _default(kind: type[BaseModel], name: str) -> Any:
    """Return what a setting is when nobody sets it."""
    default = kind.model_fields[name].default
    if default is None and name in RunSpec.model_fields:
        field = RunSpec.model_fields[name]
        default = None if field.is_required() else field.default
    if isinstance(default, BaseModel):
        return default.model_dump(mode="json")
    return list(default) if isinstance(default, tuple) else default


def _to_yaml(name: str, value: Any) -> str:
    plain = not (isinstance(value, dict | list) and value)
    style = False if plain else None  # short mappings and lists within on one line
    text: str = yaml.safe_dump({name: value}, sort_keys=False, width=90, default_flow_style=style)
    return text.replace(": null", ":").rstrip()


def _indent(text: str, by: str) -> list[str]:
    return [by + line for line in text.splitlines()]


def schema() -> str:
    """Return the text of `config/schema.json`."""
    made = Config.model_json_schema()
    for model in MODELS:
        described = made if model is Config else made["$defs"][model.__name__]
        for name, text in settings_help(model).items():
            if text:
                described["properties"][name]["description"] = text
    return json.dumps(made, indent=1, sort_keys=True) + "\n"


PAGE_HEADER = """\
# Configure a study

A config holds one study or several; `snakemake --configfile config/mine.yaml` runs them. Anything
that defines a run (the keys of *Study* up to `record`) may also stand under a data set, under a
solver, and under a solver within a data set; the nearest to the run wins. A misspelt key or a value
out of range is refused with one sentence before anything runs.

This page is made from the models that check a config. Editors that know YAML schemas complete keys
and show the same text if the file begins with `# yaml-language-server: $schema=schema.json`.
"""


def page() -> str:
    """Return the text of `docs/configure.md`."""
    parts = [PAGE_HEADER]
    for model in MODELS:
        rows = [
            f"| `{name}` | {_default_cell(model, name)} | {_cell(text)} |"
            for name, text in settings_help(model).items()
            if model is Study or not (issubclass(model, Settings) and name in Settings.model_fields)
        ]
        parts.append(_section(model.__name__, (model.__doc__ or "").split("\n")[0], rows))
    for name in solvers.MODULES:
        kind = solvers.solver_class(name)
        rows = [
            f"| `{option}` | `{kind.model_fields[option].default}` | {_cell(text)} |"
            for option, text in documentation(kind).items()
        ]
        if rows:
            parts.append(_section(f"Options of the solver `{name}`", "", rows))
    for name in catalogue.BUILT_IN:
        rows = [
            f"| `{option}` | `{setting.default}` | {_cell(_meaning(setting))} |"
            for option, setting in catalogue.entry(name).settings.items()
        ]
        if rows:
            parts.append(_section(f"Options of the data set `{name}`", "", rows))
    return "\n".join(parts)


def _section(title: str, text: str, rows: list[str]) -> str:
    head = [f"## {title}", "", *([text, ""] if text else [])]
    return "\n".join([*head, "| key | default | meaning |", "|---|---|---|", *rows, ""])


def _default_cell(model: type[BaseModel], name: str) -> str:
    if model.model_fields[name].is_required():
        return "required"
    default = _default(model, name) if issubclass(model, Study | Config) else None
    if default is None:
        default = model.model_fields[name].default
    if isinstance(default, BaseModel):
        default = default.model_dump(mode="json")
    return "" if default is None or default == {} else f"`{json.dumps(default)}`"


def _meaning(setting: catalogue.Setting) -> str:
    choices = f" ({', '.join(setting.choices)})" if setting.choices else ""
    return setting.meaning + choices


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


FILES = {
    Path("config/config.yaml"): default_config,
    Path("config/schema.json"): schema,
    Path("docs/configure.md"): page,
}
"""What is generated, and by what."""


def main() -> None:
    """Write all of them."""
    for path, make in FILES.items():
        with atomic_path(path) as part:
            part.write_text(make())


if __name__ == "__main__":
    main()
