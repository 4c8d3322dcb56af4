"""Run one solver under the rules of the benchmark and compare it with the published entries."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from gvibench.benchmark.instances import instances
from gvibench.benchmark.protocol import CONFIG, TRACKS
from gvibench.errors import UserError, suggest
from gvibench.registry import SOLVERS
from gvibench.study.config import Study
from gvibench.study.yaml_file import read_yaml

__all__ = ["RESULTS", "entry_config", "require_rules", "write_entry_config"]

RESULTS = "results/benchmark-entries"
"""Folder for the runs of new entries."""
ALLOWED = ("options", "estimator", "samples", "step")
"""Settings that an entry may choose. All others belong to the track."""
OWN_FIELDS = {
    *("solver", "solver_options", "step", "step_rule", "step_options"),
    *("estimator", "samples"),
}
"""Fields of a run in which an entry may differ from the published entries."""


def entry_config(
    solver: str, track: str, settings: Mapping[str, Any], name: str = ""
) -> dict[str, Any]:
    """Return the config that runs one solver on all instances of a track.

    Parameters
    ----------
    solver
        Id of the solver, which may belong to another package.
    track
        A, B or C.
    settings
        Settings of the solver in the study: those in `ALLOWED`.
    name
        Name of the entry (default: the solver).
    """
    SOLVERS.load(solver)
    _validate_settings(settings)
    if track.lower() not in TRACKS:
        raise UserError(f"unknown track '{track}': use A, B or C")
    study: dict[str, Any] = dict(read_yaml(CONFIG)["studies"][TRACKS[track.lower()]])
    name = name or solver
    study["solvers"] = {name: {"solver": solver, **settings}}
    study["title"] = f"{study['title']}: {name}"
    return {"studies": {name: study}, "results": f"{RESULTS}/track-{track.lower()}"}


def _validate_settings(settings: Mapping[str, Any]) -> None:
    """Raise UserError for settings that would change the problem or the league."""
    for key in map(str, settings):
        if key not in ALLOWED:
            raise UserError(
                f"--settings: '{key}' is fixed by the track{suggest(key, ALLOWED)}: use only "
                f"{', '.join(ALLOWED)}"
            )
    step = settings.get("step")
    values = [*step.values()] if isinstance(step, dict) and "rule" in step else [step]
    if any(isinstance(value, list | dict) or value == "tuned" for value in values):
        raise UserError(
            "--settings: 'step' should be one value, because this league has one configuration for "
            "all problems"
        )


def require_rules(study: Study, rules: Study) -> None:
    """Raise UserError if the solver of a study has defaults that change the rules of its track.

    Parameters
    ----------
    study
        Study with one solver.
    rules
        Study of the track.
    """
    (entry,) = study.solvers
    specs = {each.name: each.spec.to_dict() for each in instances(rules)}
    for each in instances(study):
        expected = specs.get(each.name, {})
        for key, value in each.spec.to_dict().items():
            if key in OWN_FIELDS or expected.get(key) == value:
                continue
            advice = (
                "use --track B or C"
                if key == "expectation" and value == "stochastic"
                else "remove it from the defaults of the solver"
            )
            raise UserError(
                f"'{entry}' sets {key} to '{value}', but the track fixes it at "
                f"'{expected.get(key)}': {advice}"
            )


def write_entry_config(config: Mapping[str, Any]) -> Path:
    """Write a config beside its results, and return its path."""
    (name,) = config["studies"]
    path = Path(config["results"], f"{name}.yaml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(dict(config), sort_keys=False))
    return path
