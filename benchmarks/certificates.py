"""Compute the certified optima that the package ships, and facts about their problems.

    python benchmarks/certificates.py

Each bundled data set is solved with its defaults, gamma 1 and exact expectations. The bound on the
excess over the minimum follows from strong convexity (`gvibench.engine.certificate`). The script
fails if a bound is not below 1e-9 nats. With names of data sets as arguments, it prints their
results and writes nothing.
"""

import dataclasses
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.optimize import linprog

from gvibench.datasets.build import build
from gvibench.engine.optimum import find_optimum
from gvibench.registry import DATASETS
from gvibench.spec.catalogue import entry
from gvibench.spec.run import ProblemSpec
from gvibench.store.certified import FILE, CertifiedOptimum
from gvibench.store.prepared import read_prepared
from gvibench.study.defaults import complete_spec

MAX_BOUND = 1e-9
COUNTS = {"bike-day"}


def problems():
    """Return the data set and the model of each bundled problem."""
    bundled = ["wdbc", "digits-odd-even", *(n for n in DATASETS.built_in if entry(n).table)]
    pairs = [(name, "poisson" if name in COUNTS else "logistic") for name in bundled]
    return [*pairs, ("mammographic", "probit")]


def load(dataset, model):
    """Return the spec and the prepared data of a problem."""
    values = {"model": model, "expectation": "exact"}
    spec = complete_spec(ProblemSpec, {"dataset": dataset}, values, "certificates")
    with tempfile.TemporaryDirectory() as folder:
        build(spec.data, Path(folder) / "data.zarr.zip")
        return spec, read_prepared(Path(folder) / "data.zarr.zip")


def solve(dataset, model):
    """Return the certified optimum of a problem."""
    spec, data = load(dataset, model)
    attrs = find_optimum(spec, data).attrs
    is_counts = dataset in COUNTS
    rank, condition = condition_number(data.train_x)
    return CertifiedOptimum(
        dataset=dataset,
        model=model,
        spec_hash=spec.spec_hash,
        beta=spec.beta,
        gamma=spec.gamma,
        n_train=len(data.train_y),
        n_test=len(data.test_y),
        d=data.train_x.shape[1],
        train_counts={} if is_counts else class_counts(data.train_y),
        test_counts={} if is_counts else class_counts(data.test_y),
        objective=attrs["objective"],
        neg_elbo=attrs["neg_elbo"],
        bound=attrs["certificate"],
        rank=rank,
        condition=condition,
        separable=None if is_counts else is_separable(data.train_x, data.train_y),
    )


def class_counts(y):
    return {"+1": int((y == 1).sum()), "-1": int((y == -1).sum())}


def condition_number(x):
    """Return the rank of the rows and the ratio of their extreme non-zero singular values."""
    singular = np.linalg.svd(x, compute_uv=False)
    rank = int((singular > max(x.shape) * np.finfo(float).eps * singular[0]).sum())
    return rank, float(f"{singular[0] / singular[rank - 1]:.6g}")


def is_separable(x, y):
    """Return whether some theta has y_i x_i'theta >= 1 for all rows, by linear programming."""
    d = x.shape[1]
    found = linprog(
        np.zeros(d),
        A_ub=-y[:, None] * x,
        b_ub=-np.ones(len(y)),
        bounds=(None, None),
        method="highs",
    )
    if found.status not in {0, 2}:  # solved, infeasible
        raise RuntimeError(f"linear programming failed: {found.message}")
    return found.status == 0


def main():
    chosen = sys.argv[1:]
    results = []
    for dataset, model in problems():
        if chosen and dataset not in chosen:
            continue
        start = time.perf_counter()
        result = solve(dataset, model)
        print(
            f"{dataset:24} {model:8} {result.n_train:5} x {result.d:2} objective "
            f"{result.objective:.12g} bound {result.bound:.1e} rank {result.rank} condition "
            f"{result.condition:.3g} separable {result.separable} "
            f"({time.perf_counter() - start:.1f} s)",
            flush=True,
        )
        if not result.bound < MAX_BOUND:
            raise SystemExit(f"the bound of {dataset} is not below {MAX_BOUND:g}")
        results.append(dataclasses.asdict(result))
    print(f"largest bound: {max(result['bound'] for result in results):.1e}")
    if not chosen:
        FILE.write_text(json.dumps({"problems": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
