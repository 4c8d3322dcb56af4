"""Describe the frozen rules of the public benchmark, and keep their page in step with its config.

`python -m gvibench.benchmark.protocol` writes the generated part of `docs/benchmark/protocol.md`.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gvibench.errors import UserError
from gvibench.spec.canonical import hash_values
from gvibench.store.certified import CertifiedOptimum, certified_optima, certified_optimum

__all__ = ["CONFIG", "FROZEN", "RELEASE", "TRACKS", "protocol_hash", "rules", "scored_studies"]

RELEASE = "gvi-bench 2026.1"
FROZEN = "15cde0eeedd576c8"
"""Hash of the rules of this release, set on 18 November 2026 before the first scored run."""
CONFIG = Path("config/benchmark.yaml")
PAGE = Path("docs/benchmark/protocol.md")
BEGIN, END = "<!-- written by gvibench.benchmark.protocol -->", "<!-- end of this part -->"
TRACKS = {"a": "untuned-a", "b": "untuned-b", "c": "untuned-c"}
"""Study without tuning of each track."""
NOT_RULES = ("title", "figures", "tables")
"""Settings of a study that change no score."""


def scored_studies(config: Mapping[str, Any]) -> list[str]:
    """Return the names of the studies of a league, i.e. all but those only shown."""
    return [name for name in config["studies"] if name.startswith(("untuned-", "tuned-"))]


def rules(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings, problems and certified optima of the release.

    Scores also depend on the code of the solvers and of the scores, which is not part of the rules.
    """
    studies = {
        name: {key: value for key, value in study.items() if key not in NOT_RULES}
        for name, study in config["studies"].items()
    }
    optima = [
        {"dataset": each.dataset, "model": each.model, "beta": each.beta, "value": each.objective}
        for each in certified_optima()
    ]
    return {"release": RELEASE, "studies": studies, "optima": optima}


def protocol_hash(config: Mapping[str, Any]) -> str:
    """Return the hash of the rules."""
    return hash_values(rules(config))


def generated_part(config: Mapping[str, Any]) -> str:
    """Return the part of the page that lists what the config sets."""
    studies = config["studies"]
    first = studies[TRACKS["a"]]
    lines = [
        BEGIN,
        f"Release: **{RELEASE}**. Hash of the rules: `{protocol_hash(config)}`.",
        "",
        "### Problems",
        "",
        *_table(
            ["problem", "model", "rows", "features", "beta", "optimum", "certificate"],
            [_problem_row(name, settings or {}) for name, settings in first["datasets"].items()],
        ),
        "",
        "### Tracks",
        "",
        *_table(
            [
                "study",
                "problems x starts x coordinates",
                "budget (passes)",
                "targets (nat)",
                "entries",
            ],
            [_study_row(name, studies[name]) for name in scored_studies(config)],
        ),
        "",
        "### Starts",
        "",
        *_table(
            ["start", "m0", "C0"],
            [_start_row(name, start) for name, start in first["starts"].items()],
        ),
        END,
    ]
    return "\n".join(lines)


def _table(header: list[str], rows: Iterable[list[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows)]


def _problem_row(name: str, settings: Mapping[str, Any]) -> list[str]:
    found = _certified(settings.get("dataset", name), settings.get("model", "logistic"))
    return [
        name,
        found.model,
        str(found.n_train),
        str(found.d),
        f"{found.beta:g}",
        f"{found.objective:.9f}",
        f"{found.bound:.0e}",
    ]


def _certified(dataset: str, model: str) -> CertifiedOptimum:
    found = certified_optimum(dataset, model)
    if found is None:
        raise UserError(f"'{dataset}' with model '{model}' has no certified optimum")
    return found


def _study_row(name: str, study: Mapping[str, Any]) -> list[str]:
    bases = len(study.get("vary", {}).get("basis_condition", [1.0]))
    targets = study["score"]["targets"]
    return [
        name,
        f"{len(study['datasets'])} x {len(study['starts'])} x {bases}",
        f"{study['score']['budget']:g}",
        f"{targets['count']} from {targets['start']:g} to {targets['stop']:g}",
        ", ".join(study["solvers"]),
    ]


def _start_row(name: str, start: Mapping[str, Any]) -> list[str]:
    mean = "0" if start["mean_scale"] == 0 else f"{start['mean_scale']:g} x N(0, I), seed 0"
    scale = start["init_scale"]
    return [name, mean, "that of the prior" if scale == "prior" else f"{scale:g} I"]


def _with_generated_part(page: str, part: str) -> str:
    before, _, rest = page.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise UserError(f"{PAGE} has no generated part: add the lines '{BEGIN}' and '{END}'")
    return before + part + after


if __name__ == "__main__":
    from gvibench.study.yaml_file import read_yaml

    PAGE.write_text(_with_generated_part(PAGE.read_text(), generated_part(read_yaml(CONFIG))))
