"""Make small problem folders and trace folders."""

import json

import numpy as np

from gvibench.store.problem_folders import TRACKS, Instance, write_problems
from gvibench.store.trace_folders import read_card, read_trace, trace_files
from problems import random_gaussian, rows_for

BUDGETS = {"A": 1000, "B": 10_000, "C": 10_000}
TARGETS = {"A": [1e2, 1e-8], "B": [1e2, 1e-3], "C": [1e2, 1e-3]}
CARD = {
    "name": "test",
    "version": "1.0",
    "track": "A",
    "league": "untuned",
    "cost": "passes",
    "search_space": "none",
    "licence": "BSD-3-Clause",
    "authors": "A. Nonymous",
}


def instance(model="logistic", basis="identity", *, n=40, d=4, optimum=0.0):
    """Return an instance. The basis `affine` has a full prior precision and its own start."""
    data = rows_for(model, n, d)
    x, precision = data.x, 0.5 * np.eye(d)
    mean0, factor0 = np.zeros(d), np.eye(d)
    if basis == "affine":
        mean0, lower = random_gaussian(d, seed=5)
        change = lower + 0.3 * np.triu(np.ones((d, d)), 1)
        x, precision = x @ change, 0.5 * change.T @ change
        factor0 = np.linalg.cholesky(np.linalg.inv(precision))
    held_out = {"held_out_rows": x[:5], "held_out_y": data.y[:5]}
    name = f"{model}.{basis}.start"
    return Instance(name, model, x, data.y, precision, mean0, factor0, optimum, **held_out)


def problem_folder(folder, *instances):
    tracks = {track: [each.name for each in instances] for track in TRACKS}
    rules = {"budgets": BUDGETS, "targets": TARGETS, "tracks": tracks}
    return write_problems(folder, instances, release="2000.1", **rules)


def arrays(problem, records=3, seed=0):
    """Return the arrays of a valid trace."""
    rng = np.random.default_rng(seed)
    d = problem.dimension
    means = rng.standard_normal((records, d))
    factors = np.tril(rng.standard_normal((records, d, d))) + 3 * np.eye(d)
    means[0], factors[0] = problem.mean0, problem.factor0
    return {
        "cost": np.arange(records) * 2.0,
        "seconds": np.arange(records) * 0.1,
        "mean": means,
        "covariance_factor": factors,
        "objective": rng.standard_normal(records),
        "status": np.array("completed"),
        "reason": np.array(""),
    }


def trace_folder(folder, problem, card=CARD, **changes):
    """Write a trace folder with one trace. Arrays that are None are left out."""
    folder.mkdir(exist_ok=True)
    (folder / "card.json").write_text(json.dumps(card))
    values = {**arrays(problem), **changes}
    given = {name: value for name, value in values.items() if value is not None}
    np.savez(folder / f"{problem.name}.npz", **given)
    return folder


def read_traces(folder, problems):
    """Return the valid traces of a folder by instance."""
    card, files = read_card(folder), trace_files(folder, problems.names)
    return {name: read_trace(path, card, problems.read(name)) for name, path in files.items()}
