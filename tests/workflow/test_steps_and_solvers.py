"""Run all step rules and the solvers with special requirements to the report with Snakemake."""

import re

import pytest
from project import STUDY, Project

SOLVERS = ("vn-pd", "fr-kl", "fr-r", "laplace", "advi", "bam", "gsm")
DECAY = {"rule": "decay", "decay": 0.05}
STUDIES = {
    "solvers": {
        **STUDY,
        "solvers": {name: {"step": 0.01} if name == "advi" else {} for name in SOLVERS},
        "step": "auto",
        "figures": ["gap", "time"],
    },
    "rules": {
        **STUDY,
        "solvers": {
            "searched": {"solver": "vn", "step": "auto"},
            "careful": {"solver": "vn", "step": {"rule": "auto", "shrink": 0.3, "step": 0.1}},
            "constant": {"solver": "vn", "step": {"rule": "constant", "step": [0.1, 0.5]}},
            "decaying": {"solver": "vn", "step": {**DECAY, "step": 0.5}},
            "tuned": {"solver": "vn", "step": {**DECAY, "step": "tuned"}},
        },
        "figures": ["gap", "sensitivity"],
        "tuning": {"rounds": 1, "iterations": 10, "seeds": [1000]},
    },
}
STEPS = {
    "solvers": {
        **{key: {"auto"} for key in ("VN-PD", "FR-KL", "FR-R")},
        **{key: {"–"} for key in ("Laplace", "BaM", "GSM")},
        "ADVI": {"0.01"},
    },
    "rules": {
        "searched": {"auto"},
        "careful": {"auto"},
        "constant": {"0.1", "0.5"},
        "decaying": {"0.5 (decaying)"},
    },
}
"""Steps in the table `performance`, by solver."""
ENDS = ("pdf", "svg", "png", "csv")


@pytest.mark.slow
def test_each_new_solver_and_rule_reaches_the_report(tmp_path):
    project = Project.create(tmp_path / "project", STUDY)
    project.configure_all(STUDIES)
    project.snakemake()
    for name, study in STUDIES.items():
        results = project.folder / "results" / name
        outputs = ["summary.md", "report/index.html", "tables/performance.csv"]
        outputs += [f"figures/{figure}.{end}" for figure in study["figures"] for end in ENDS]
        assert all((results / output).stat().st_size > 0 for output in outputs)
        steps = steps_in((results / "tables/performance.md").read_text())
        for solver, expected in STEPS[name].items():
            assert {step for data_set, s, step in steps if s == solver} == expected
            assert {data_set for data_set, s, _ in steps if s == solver} == {"first", "second"}
    tuned = {step for _, solver, step in steps if solver == "tuned"}
    assert tuned
    assert all(re.fullmatch(r"\S+ \(decaying\) \(tuned\)", step) for step in tuned)
    assert project.executed() == set()


def steps_in(table):
    """Return data set, solver and step of each row of a table in Markdown."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    column = rows[0].index("step")
    return [(row[0], row[1], row[column]) for row in rows if row[0] in {"first", "second"}]
