"""All figures and tables on unusual studies are either produced or rejected by the plan."""

import json

import pytest

from gvibench import figures
from gvibench.engine import importance
from gvibench.registry import FIGURES, TABLES
from matrix.driver import rejection
from matrix.test_settings import check_studies

BASE = {
    "datasets": {"wdbc": {"train_size": 100}, "synthetic": {"options": {"n": 60, "d": 2}}},
    "solvers": {"vn": {}, "sr-vn": {}},
    "step": 0.1,
    "init_scale": 0.5,
    "iterations": 12,
    "seeds": 2,
}
PLANE = {"synthetic": {"options": {"n": 60, "d": 2, "targets": "real"}}}
AWKWARD = {
    "one seed": {"seeds": 1},
    "one solver": {"solvers": {"vn": {}}},
    "one run": {"seeds": [3], "solvers": {"vn": {}}, "datasets": {"wdbc": {}}},
    "all diverged": {"solvers": {"gd": {"step": 100.0}, "bw-gd": {"step": 1e4}}},
    "some diverged": {"solvers": {"vn": {}, "gd": {"step": [1e-4, 100.0]}}},
    "some failed": {"step": [0.1, 1.0], "init_scale": [0.1, 1.0], "iterations": 40},
    "another solver on one data set": {
        "datasets": {
            "wdbc": {"solvers": {"sr-vn": {"solver": "gd", "step": 1e-4}}},
            "synthetic": {},
        }
    },
    "several betas": {"vary": {"beta": [0.01, 0.1, 10.0]}},
    "temperatures": {"vary": {"gamma": [0.0, 0.1, 1.0]}},
    "zero iterations": {"iterations": 0},
    "one iteration": {"iterations": 1},
    "no step works": {
        "step": "tuned",
        "solvers": {"vn": {}, "gd": {}},
        "tuning": {"steps": {"start": 1e7, "stop": 1e8, "count": 2}, "rounds": 1, "seeds": [99]},
    },
    "no optimum": {"gap": "best-seen"},
    "no prior": {"beta": 0.0},
    "linear in the plane": {
        "datasets": PLANE,
        "model": "linear",
        "record": ["covariance_factor_path", "cov_eig_min", "factor_norm"],
        "snapshots": 2,
    },
    "bounds": {
        "expectation": "piecewise",
        "record": ["objective_exact"],
        "vary": {"pieces": [3, 10], "piece_degree": ["linear", "quadratic"]},
    },
    "different lengths": {
        "solvers": {"vn": {"iterations": 3}, "sr-vn": {}, "ng-flow": {"step": 0.5}}
    },
    "steps by a search": {"step": "auto", "solvers": {"vn": {}, "fr-r": {}, "gd": {"step": 1e-4}}},
    "a search that starts too far": {"step": {"rule": "auto", "step": 1e6}, "init_scale": 30.0},
    "decaying steps": {"step": {"rule": "decay", "step": [0.1, 0.3], "decay": 0.1}},
    "one iterate": {"solvers": {"laplace": {}, "vn": {"step": "auto"}}},
    "only solvers without a step": {
        "solvers": {"bam": {}, "gsm": {}},
        "expectation": "stochastic",
        "batch": "all",
    },
    "random expectations": {
        "solvers": {"vn": {}, "advi": {"step": {"rule": "decay", "step": 0.01, "decay": 0.1}}},
        "expectation": "stochastic",
        "minibatches": "epoch",
        "estimator": "stl",
        "batch": 30,
    },
    "sparse records": {"record_every": 100, "snapshots": 0},
    "one test row": {"datasets": {"wdbc": {"train_size": 100, "test_size": 1}}},
    "more features than rows": {"datasets": {"synthetic": {"options": {"n": 20, "d": 40}}}},
}


def save_svg(figure, table, metadata, out):
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out.with_suffix(".svg"))
    table.to_csv(out.with_suffix(".csv"), index=False)
    out.with_suffix(".json").write_text(json.dumps(metadata))


FIRST = (
    *("one run", "all diverged", "temperatures", "no step works", "linear in the plane"),
    *("different lengths", "only solvers without a step", "more features than rows"),
)
"""Studies that differ most from others."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        name if name in FIRST else pytest.param(name, marks=pytest.mark.exhaustive)
        for name in AWKWARD
    ],
)
def test_each_figure_and_table_is_produced_or_rejected(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    # One format suffices, because saving three takes longer than drawing.
    monkeypatch.setattr(figures, "_save", save_svg)
    monkeypatch.setattr(figures, "UNDATED", {"svg": {}})
    monkeypatch.setattr(importance, "MAX_EVALUATIONS", 1)  # few draws
    study = {**BASE, **AWKWARD[name], "figures": [], "tables": []}
    assert rejection(study) == ""
    accepted = {
        kind: [output for output in known if not rejection({**study, kind: [output]})]
        for kind, known in (("figures", FIGURES.built_in), ("tables", TABLES.built_in))
    }
    assert {"gap", "test", "time", "test-time", "profile"} <= set(accepted["figures"])
    assert {"datasets", "performance", "winners", "runs"} <= set(accepted["tables"])
    check_studies({"s": {**study, **accepted}}, capsys)


def test_each_figure_and_table_is_accepted_by_some_study():
    seen = {"figures": set(), "tables": set()}
    extra = {
        "paper": {"datasets": ["australian_scale"], "solvers": ["vn"], "step": "paper"},
        "sensitivity": {"step": [0.1, 0.2]},
    }
    for changes in [*AWKWARD.values(), *extra.values()]:
        study = {**BASE, **changes, "figures": [], "tables": []}
        for kind, known in (("figures", FIGURES.built_in), ("tables", TABLES.built_in)):
            seen[kind] |= {output for output in known if not rejection({**study, kind: [output]})}
    assert seen == {"figures": set(FIGURES.built_in), "tables": set(TABLES.built_in)}
