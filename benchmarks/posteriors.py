"""Compute the posterior moments that the package ships, with NUTS of NumPyro.

    python -m venv nuts && nuts/bin/pip install -e '.[data]' numpyro arviz
    nuts/bin/python benchmarks/posteriors.py

NUTS samples the posterior in the coordinates of the optimal Gaussian (theta = m + C z), which
does not change the posterior and makes the chains mix quickly. Results replace the files in
`src/gvibench/store/posteriors`. The script fails if a chain did not converge: R-hat of all
coordinates must be below 1.01, and their effective sample sizes above 10,000.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import arviz
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro.infer import MCMC, NUTS

from gvibench import models, numerics
from gvibench.datasets.build import build
from gvibench.engine.optimum import find_optimum
from gvibench.engine.truth import fingerprint
from gvibench.models.protocols import Rows
from gvibench.spec.run import ProblemSpec, RunSpec
from gvibench.store.prepared import read_prepared
from gvibench.store.shipped_posteriors import FOLDER
from gvibench.study.defaults import complete_spec

PROBLEMS = {
    "wdbc": {"dataset": "wdbc"},
    "digits-odd-even": {"dataset": "digits-odd-even"},
    "synthetic": {"dataset": "synthetic"},
    "synthetic-few-rows": {
        "dataset": "synthetic",
        "options": {"n": 200, "d": 20, "condition": 100.0, "separation": 4.0},
    },
    "synthetic-many-columns": {
        "dataset": "synthetic",
        "options": {"n": 1000, "d": 50, "condition": 1000.0},
    },
}
MAX_R_HAT = 1.01
MIN_ESS = 10_000


def problem(settings):
    """Return the spec, the prepared data, the model and the optimum of a problem."""
    spec = complete_spec(ProblemSpec, settings, {}, "posteriors")
    with tempfile.TemporaryDirectory() as folder:
        build(spec.data, Path(folder) / "data.zarr.zip")
        data = read_prepared(Path(folder) / "data.zarr.zip")
    run = RunSpec(**{name: getattr(spec, name) for name in spec.names()}, solver="vn", step=1.0)
    train, test = Rows(data.train_x, data.train_y), Rows(data.test_x, data.test_y)
    model = models.build(run, numerics.select("cpu"), train, test)
    return spec, data, model, find_optimum(spec, data)


def sample(data, beta, optimum, chains, warmup, draws):
    """Return draws (chain, draw, feature) of the posterior of logistic regression."""
    x, y = jnp.asarray(data.train_x), jnp.asarray(data.train_y)
    mean, root = jnp.asarray(optimum.mean), jnp.asarray(optimum.covariance_factor)
    rows, shift = (y[:, None] * x) @ root, y * (x @ mean)

    def potential(z):
        theta = mean + root @ z
        return jnp.logaddexp(0.0, -(shift + rows @ z)).sum() + 0.5 * beta * theta @ theta

    kernel = NUTS(potential_fn=potential, target_accept_prob=0.9)
    mcmc = MCMC(
        kernel,
        num_warmup=warmup,
        num_samples=draws,
        num_chains=chains,
        chain_method="sequential",
        progress_bar=False,
    )
    start = jnp.asarray(np.random.default_rng(7).standard_normal((chains, len(mean))))
    mcmc.run(jax.random.PRNGKey(0), init_params=start, extra_fields=("diverging",))
    divergent = int(mcmc.get_extra_fields()["diverging"].sum())
    z = np.asarray(mcmc.get_samples(group_by_chain=True))
    return np.asarray(mean) + z @ np.asarray(root).T, divergent


def moments(draws):
    """Return the moments of draws, their Monte Carlo errors and the diagnostics of the chains."""
    flat = draws.reshape(-1, draws.shape[2])
    mean, sd = flat.mean(axis=0), flat.std(axis=0, ddof=1)
    squares = (draws - mean) ** 2

    def per_feature(function, values, **settings):
        posterior = arviz.convert_to_dataset({"theta": values})
        return np.asarray(function(posterior, **settings)["theta"])

    ess = {kind: per_feature(arviz.ess, draws, method=kind) for kind in ("bulk", "tail", "mean")}
    ess["squares"] = per_feature(arviz.ess, squares, method="mean")
    arrays = {
        "mean": mean,
        "sd": sd,
        "mean_error": sd / np.sqrt(ess["mean"]),
        # The error of the variance, divided by the derivative of its square root
        "sd_error": squares.std(axis=(0, 1)) / np.sqrt(ess["squares"]) / (2.0 * sd),
        "covariance": np.cov(flat.T),
    }
    diagnostics = {
        "r_hat_max": float(per_feature(arviz.rhat, draws).max()),
        "ess_min": {kind: round(float(values.min())) for kind, values in ess.items()},
        "mean_error_max": float((arrays["mean_error"] / sd).max()),
        "sd_error_max": float((arrays["sd_error"] / sd).max()),
    }
    return arrays, diagnostics


def compute(name, settings, options):
    """Sample one problem, write its moments and return its entry in the index."""
    start = time.perf_counter()
    spec, data, model, optimum = problem(settings)
    sizes = (options.chains, options.warmup, options.draws)
    draws, divergent = sample(data, spec.beta, optimum, *sizes)
    arrays, diagnostics = moments(draws)
    print(name, divergent, diagnostics, f"{time.perf_counter() - start:.0f} s", flush=True)
    if not diagnostics["r_hat_max"] < MAX_R_HAT or divergent:
        raise SystemExit(f"{name}: the chains did not converge")
    if not min(diagnostics["ess_min"].values()) > MIN_ESS:
        raise SystemExit(f"{name}: too few effective draws")
    np.savez_compressed(FOLDER / f"{name}.npz", **arrays)
    return {
        "file": f"{name}.npz",
        "dataset": spec.data.dataset,
        "options": {key: v for key, v in spec.data.options.items() if not isinstance(v, str)},
        "model": spec.model,
        "beta": spec.beta,
        "n": len(data.train_y),
        "d": data.train_x.shape[1],
        "fingerprint": fingerprint(model),
        "source": f"NUTS, {options.chains} x {options.draws} draws",
        "sampler": f"NumPyro {numpyro.__version__}, JAX {jax.__version__}",
        "warmup": options.warmup,
        "divergent": divergent,
        **diagnostics,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("problems", nargs="*", default=list(PROBLEMS), metavar="PROBLEM")
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--warmup", type=int, default=2000)
    parser.add_argument("--draws", type=int, default=25_000)
    options = parser.parse_args()
    numpyro.enable_x64()
    index = FOLDER / "index.json"
    known = json.loads(index.read_text())["posteriors"] if index.exists() else []
    entries = {entry["file"]: entry for entry in known}
    for name in options.problems:
        entry = compute(name, PROBLEMS[name], options)
        entries[entry["file"]] = entry
        content = {"script": "benchmarks/posteriors.py", "posteriors": list(entries.values())}
        index.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
