"""Each pair of values of two settings occurs in a study with a correct report."""

import itertools
import re

import numpy as np
import pytest

from matrix.driver import rejection
from matrix.test_settings import check_studies

FACTORS = {
    "solver": [
        *("vn", "sr-vn", "sr-vn-rotated", "bw-gd", "gd", "gd-chol"),
        *("svgd-density", "ng-flow", "fb-gvi", "vn-pd", "fr-kl", "fr-r"),
        *("laplace", "advi", "bam", "gsm"),
    ],
    "rule": ["constant", "decay", "auto"],
    "expectation": ["exact", "piecewise", "gauss-hermite", "stochastic"],
    "estimator": ["price", "reparam", "stl"],
    "minibatches": ["independent", "epoch"],
    "batch": [20, "all"],
    "model": ["logistic", "linear", "non-convex", "probit"],
    "prior": [{"precision": 0.3}, {"mean": 0.5, "precision": {"x1": 2.0, "x2": 0.0}}],
    "device": ["auto", "cpu"],
    "dtype": ["float64", "float32"],
    "pack": [1, 2],
    "threads": [1, 2],
    "record": [[], ["objective_exact"], ["cov_eig_min", "factor_norm", "flow_time"]],
    "stop": ["iterations", "seconds", "tolerance"],
    "split": ["sklearn", "random", "first", "given"],
    "data": ["wdbc", "synthetic", "own.npz", "own.svm"],
}
NO_STEP = ("laplace", "bam", "gsm")
NEEDED = {
    "advi": {"expectation": "stochastic"},
    "bam": {"expectation": "stochastic", "batch": "all"},
    "gsm": {"expectation": "stochastic", "batch": "all"},
}
"""Settings without which a solver is always rejected."""
STEPS = {"gd": 1e-4, "gd-chol": 1e-4, "bw-gd": 1e-3, "fb-gvi": 1e-3, "svgd-density": 1e-5}
IMPOSSIBLE = (
    "model '(linear|probit)' does not support expectation",
    "cannot work in the basis of the rows",
    "has no test file|has no test rows",
    "records nothing exact|objective_exact",
    "does not support step rule 'auto'|needs expectations that are not random",
    "has no penalty|uses all rows|needs a convex model",
)
"""Patterns of the messages with which a combination may be rejected."""


def covering(factors, rng):
    """Yield rows that together contain each pair of values of two factors."""
    names = list(factors)
    left = {
        ((a, i), (b, j))
        for a, b in itertools.combinations(names, 2)
        for i in range(len(factors[a]))
        for j in range(len(factors[b]))
    }
    while left:
        best, most = None, -1
        for _ in range(30):
            row = {name: int(rng.integers(len(values))) for name, values in factors.items()}
            (a, i), (b, j) = next(iter(sorted(left)))
            row |= {a: i, b: j}
            pairs = {pair for pair in left if all(row[name] == value for name, value in pair)}
            if len(pairs) > most:
                best, most, covered = row, len(pairs), pairs
        left -= covered
        yield {name: factors[name][k] for name, k in best.items()}


def study_of(row, folder):
    """Return the study of one row."""
    row = row | NEEDED.get(row["solver"], {})
    data = {"split": row["split"]}
    if row["data"].startswith("own"):
        name = "given.npz" if (row["data"], row["split"]) == ("own.npz", "given") else row["data"]
        data |= {"dataset": "own", "path": str(folder / name)}
        if row["split"] == "given" and row["data"].endswith("svm"):
            data["test_path"] = str(folder / row["data"])
    else:
        data["dataset"] = row["data"]
    if row["split"] == "first":
        data["train_size"] = 50
    stop = {"iterations": 12}
    if row["stop"] == "seconds":
        stop = {"iterations": 10**6, "seconds": 0.02, "record_every": 50}
    elif row["stop"] == "tolerance":
        stop |= {"tolerance": 5.0}
    fields = ("expectation", "model", "prior", "device", "dtype", "pack", "threads", "record")
    if row["expectation"] == "stochastic":
        fields += ("estimator", "minibatches", "batch")
    return {
        "datasets": {"data": data},
        "solvers": {row["solver"]: {}},
        **({} if row["solver"] in NO_STEP else {"step": step_of(row)}),
        "init_scale": 0.5,
        "seeds": 2,
        "figures": [],
        "tables": ["performance"],
        **stop,
        **{name: row[name] for name in fields},
    }


def step_of(row):
    """Return the step rule of one row with its settings."""
    size = STEPS.get(row["solver"], 0.05)
    return {
        "constant": size,
        "decay": {"rule": "decay", "step": size, "decay": 0.1},
        "auto": "auto",
    }[row["rule"]]


def test_each_pair_is_covered():
    rows = list(covering(FACTORS, np.random.default_rng(0)))
    for a, b in itertools.combinations(FACTORS, 2):
        met = {(str(row[a]), str(row[b])) for row in rows}
        assert len(met) == len(FACTORS[a]) * len(FACTORS[b])


@pytest.mark.slow
@pytest.mark.exhaustive
def test_pairs_of_settings_have_correct_reports(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    studies = {}
    for number, row in enumerate(covering(FACTORS, np.random.default_rng(0))):
        study = study_of(row, folder)
        sentence = rejection(study)
        if sentence:
            assert any(re.search(why, sentence) for why in IMPOSSIBLE), f"{row}: {sentence}"
        else:
            studies[f"s{number}"] = study
    assert len(studies) > 20
    check_studies(studies, capsys)
