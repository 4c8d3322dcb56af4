"""Compute the curves of benchmarks/peers.py in a plain NumPy loop.

    python benchmarks/plain_curves.py FOLDER

Reads `problem.json` and `rows.npz` in the folder, and writes the objective at each iterate to
`curves.npz`. It writes no figure, no table and no other quantity. It cannot be resumed.
"""

import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
from plain_numpy import bw_gd, expect_nodes, objective, quadrature, sr_vn


def main(folder: Path) -> None:
    problem = json.loads((folder / "problem.json").read_text())
    with np.load(folder / "rows.npz") as rows:
        A = -rows["y"][:, None] * rows["x"]
    points, weights = quadrature(problem["nodes"])
    expect = partial(expect_nodes, points=points, weights=weights)
    beta, scale, d = problem["beta"], problem["init_scale"], A.shape[1]

    curves = {}
    for solver, steps in problem["steps"].items():
        for step in steps:
            for seed in problem["seeds"]:
                m = np.random.default_rng(seed).standard_normal(d)
                values = []
                if solver == "sr-vn":
                    C = scale * np.eye(d)
                    for _ in range(problem["iterations"] + 1):
                        V = C @ C.T
                        old = m
                        m, C, value = sr_vn(A, m, C, step, beta, expect)
                        values.append(objective(value, old, V, beta))
                else:
                    V = scale**2 * np.eye(d)
                    for _ in range(problem["iterations"] + 1):
                        old, old_V = m, V
                        m, V, value = bw_gd(A, m, V, step, beta, expect)
                        values.append(objective(value, old, old_V, beta))
                curves[f"{solver} {step} {seed}"] = values
    np.savez(folder / "curves.npz", **curves)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
