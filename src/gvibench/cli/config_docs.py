"""Generate the default config, its JSON schema and the reference page from the config models.

    python -m gvibench.cli.config_docs

writes `config/config.yaml`, `config/schema.json` and `docs/configure.md`. A test checks that they
are up to date.
"""

import json
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from gvibench.registry import DATASETS, SOLVERS
from gvibench.spec.catalogue import Setting, entry
from gvibench.spec.documentation import documentation
from gvibench.spec.run import DataSpec, RunSpec
from gvibench.spec.validate import kind_of, model_of
from gvibench.store.files import atomic_path
from gvibench.study.config import MODELS, Config, Settings, Study

__all__ = ["FILES", "default_config", "page", "schema", "settings_help"]

DEFAULT_STUDY: dict[str, Any] = {
    "title": "What does tuning buy? Five solvers with automatic and with tuned steps",
    "datasets": ["wdbc", "digits-odd-even", "synthetic"],
    "solvers": {
        **dict.fromkeys(("vn", "sr-vn", "fr-kl", "bw-gd", "gd-chol")),
        "VN-tuned": {"solver": "vn", "step": "tuned"},
        "SR-VN-tuned": {"solver": "sr-vn", "step": "tuned"},
        "FR-KL-tuned": {"solver": "fr-kl", "step": "tuned"},
        "BW-GD-tuned": {"solver": "bw-gd", "step": "tuned"},
        "GD-Chol-tuned": {"solver": "gd-chol", "step": "tuned"},
    },
    "step": "auto",
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
# The default study. It uses bundled data, needs no download and takes about two minutes on two
# cores. To run a study of your own, write config/mine.yaml and run
#
#     snakemake --configfile config/mine.yaml
#
# A setting can be given for the study, for a data set, for a solver, or for a solver within a data
# set. The most specific value wins. Numbers in exponential notation need a dot: YAML reads 1.0e-3
# as a number and 1e-3 as text.
"""


def settings_help(kind: type[BaseModel]) -> dict[str, str]:
    """Return the documentation of a model's fields, from the specs where the model has none."""
    inherited = {**documentation(DataSpec), **documentation(RunSpec)}
    own = documentation(kind_of(kind))
    return {name: text or inherited.get(name, "") for name, text in own.items()}


def default_config() -> str:
    """Return the text of `config/config.yaml`."""
    help_on = settings_help(Study)
    lines = [HEADER + "studies:", "  default:"]
    for name, value in DEFAULT_STUDY.items():
        lines += [f"    # {help_on[name]}", *_indent(_to_yaml(name, value), "    ")]
    lines += ["", "    # All other settings, with their default values:", ""]
    for name, text in help_on.items():
        if name not in DEFAULT_STUDY:
            lines += [f"    # {text}", *_indent(_to_yaml(name, _default(Study, name)), "    # ")]
    lines.append("")
    for name, text in settings_help(Config).items():
        if name != "studies":
            lines += [f"# {text}", *_indent(_to_yaml(name, _default(Config, name)), "# ")]
    return "\n".join(lines) + "\n"


def _default(kind: type[BaseModel], name: str) -> Any:
    """Return the default of a setting, which may be defined in the run spec."""
    default = kind.model_fields[name].default
    fields = model_of(RunSpec).model_fields
    if default is None and name in fields:
        field = fields[name]
        default = None if field.is_required() else field.default
    if isinstance(default, BaseModel):
        return default.model_dump(mode="json")
    return list(default) if isinstance(default, tuple) else default


def _to_yaml(name: str, value: Any) -> str:
    plain = not (isinstance(value, dict | list) and value)
    style = False if plain else None  # inner mappings and lists go on one line
    text: str = yaml.safe_dump({name: value}, sort_keys=False, width=90, default_flow_style=style)
    return text.replace(": null", ":").rstrip()


def _indent(text: str, by: str) -> list[str]:
    return [by + line for line in text.splitlines()]


def schema() -> str:
    """Return the text of `config/schema.json`."""
    root = Config.model_json_schema()
    for model in MODELS:
        definition = root if model is Config else root["$defs"][model.__name__]
        for name, text in settings_help(model).items():
            if text:
                definition["properties"][name]["description"] = text
    return json.dumps(root, indent=1, sort_keys=True) + "\n"


PAGE_HEADER = """\
# Configure a study

This page lists all settings of a config with their defaults, so that you can write a config of your
own. The shortest one names a data set and a solver:

```yaml
# config/mine.yaml
studies:
  mine:
    datasets: [wdbc]
    solvers: [vn]
```

```sh
gvibench plan config/mine.yaml
```

`gvibench plan` checks a config and estimates its cost, and `snakemake --configfile
config/mine.yaml` runs it. Misspelt keys and invalid values are reported before anything runs. A
config can contain several studies. Settings that define a run (the keys of *Study* up to `record`)
can also be given for a data set, for a solver, or for a solver within a data set. The most specific
value wins.

Names of [solvers](solvers.md), [models and expectations](models.md), [data sets](datasets.md), and
[figures and tables](figures-and-tables.md) are listed on their own pages. Editors with support for
YAML schemas complete keys and show the texts of this page if the file begins with
`# yaml-language-server: $schema=schema.json`. The page is generated from the models that validate a
config.
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
    for name in SOLVERS.built_in:
        kind = SOLVERS.load(name)
        rows = [
            f"| `{option}` | `{getattr(kind, option)}` | {_cell(text)} |"
            for option, text in documentation(kind).items()
        ]
        if rows:
            parts.append(_section(f"Options of the solver `{name}`", "", rows))
    for name in DATASETS.built_in:
        rows = [
            f"| `{option}` | `{setting.default}` | {_cell(_meaning(setting))} |"
            for option, setting in entry(name).settings.items()
            if len(setting.choices) != 1  # one choice leaves nothing to set
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


def _meaning(setting: Setting) -> str:
    choices = f" ({', '.join(setting.choices)})" if setting.choices else ""
    return setting.meaning + choices


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


FILES = {
    Path("config/config.yaml"): default_config,
    Path("config/schema.json"): schema,
    Path("docs/configure.md"): page,
}
"""Generated files and the functions that return their text."""


def main() -> None:
    """Write all generated files."""
    for path, generate in FILES.items():
        with atomic_path(path) as part:
            part.write_text(generate())


if __name__ == "__main__":
    main()
