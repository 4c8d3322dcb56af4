"""The documented default config and the JSON schema, both made from the models of `study`.

    python -m gvibench.configdoc

writes `config/config.yaml` and `config/schema.json`; a test keeps the files in step.
"""

import json
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from gvibench.files import atomic_path
from gvibench.spec import DataSpec, RunSpec, documentation
from gvibench.study import MODELS, Config, Study

__all__ = ["default_config", "schema", "settings_help"]

FOLDER = Path("config")

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
        "iterations": 100,
        "seeds": [1000, 1001, 1002],
    },
}

HEADER = """\
# yaml-language-server: $schema=schema.json
#
# The default study: bundled data, no download, about two minutes on two cores.
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


def main() -> None:
    """Write both files."""
    for name, text in (("config.yaml", default_config()), ("schema.json", schema())):
        with atomic_path(FOLDER / name) as part:
            part.write_text(text)


if __name__ == "__main__":
    main()
