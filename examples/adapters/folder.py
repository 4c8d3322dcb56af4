"""Read problem folders and write trace folders. Needs only NumPy, apart from the densities in JAX.

docs/benchmark/trace-format.md describes both formats.
"""

import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np

RECORDS = 60
"""Number of records of a trace, about."""


class Diverged(Exception):  # noqa: N818  (a result of a run, not an error)
    """The iterate is no longer a Gaussian."""


class Trace:
    """Records of one run. The clock is paused while a record is written."""

    def __init__(self, problem, budget):
        self.budget = budget
        """Maximum cost in data passes."""
        self._problem = problem
        self._records = []
        self._seconds = 0.0
        self.start_clock()

    def start_clock(self):
        """Start to count seconds, e.g. after compilation."""
        self._started = time.perf_counter()

    def record(self, cost, mean, factor, objective=np.nan):
        """Append a record, and raise Diverged if it is not a Gaussian."""
        # Arrays of other libraries may still be being computed; this waits for them.
        mean, factor = np.array(mean, np.float64), np.tril(np.array(factor, np.float64))
        self._seconds += time.perf_counter() - self._started
        if not (np.isfinite(mean).all() and np.isfinite(factor).all() and np.diag(factor).all()):
            raise Diverged(f"mean or covariance not finite at cost {cost:g}")
        self._records.append((cost, self._seconds, mean, factor, objective))
        self.start_clock()

    def write(self, path, status, reason):
        """Write the records."""
        d = len(self._problem.mean0)
        shapes = {"cost": (), "seconds": (), "mean": (d,), "covariance_factor": (d, d)}
        columns = zip(*self._records, strict=True) if self._records else [()] * 5
        arrays = {
            name: np.array(values, np.float64).reshape(-1, *shapes.get(name, ()))
            for name, values in zip([*shapes, "objective"], columns, strict=True)
        }
        np.savez_compressed(path, **arrays, status=np.array(status), reason=np.array(reason))


def checkpoints(draws, budget):
    """Return the numbers of steps after which to record, for steps that cost `draws` passes."""
    last = int(budget // draws)
    return np.unique(np.geomspace(1, last, RECORDS).round().astype(int)).tolist()


def jax_log_likelihood(problem):
    """Return a JAX function of theta: the log-likelihood of all rows, without constants."""
    import jax
    import jax.numpy as jnp

    X, y = jnp.asarray(problem.rows), jnp.asarray(problem.y)
    by_row = {
        "logistic": lambda t: jax.nn.log_sigmoid(y * t),
        "probit": lambda t: jax.scipy.stats.norm.logcdf(y * t),
        "poisson": lambda t: y * t - jnp.exp(t),
    }[str(problem.model)]
    return lambda theta: by_row(X @ theta).sum()


def jax_log_density(problem):
    """Return a JAX function of theta: the log-density of the posterior, without constants."""
    log_likelihood = jax_log_likelihood(problem)
    return lambda theta: log_likelihood(theta) - 0.5 * theta @ problem.precision @ theta


def names_of(instances, league):
    """Return the names of the runs of a league: all instances, or three searches on some."""
    if league == "untuned":
        return instances
    tuned = [name for name in instances if name.endswith(".identity.random")]
    return [f"{name}.search-{k}" for name in tuned for k in (1, 2, 3)]


def main(card, solve):
    """Run `solve(problem, trace)` on all instances of a track: NAME.py PROBLEMS OUT [INSTANCE ...].

    `problem` has the arrays of an instance as attributes, and its `name`.
    """
    problems, out, *chosen = sys.argv[1:]
    index = json.loads((Path(problems) / "problems.json").read_text())
    budget = index["budgets"][card["track"]]
    Path(out).mkdir(parents=True, exist_ok=True)
    Path(out, "card.json").write_text(json.dumps(card, indent=1) + "\n")
    for name in chosen or names_of(index["instances"][card["track"]], card["league"]):
        # In the tuned league, names end in the number of the search: the problem is the same.
        with np.load(Path(problems) / f"{name.partition('.search-')[0]}.npz") as arrays:
            problem = SimpleNamespace(name=name, **{key: arrays[key] for key in arrays})
        trace = Trace(problem, budget)
        status, reason = "completed", ""
        try:
            solve(problem, trace)
        except Diverged as error:
            status, reason = "diverged", str(error)
        except Exception as error:  # any error of the library is a failure of this instance
            status, reason = "failed", f"{type(error).__name__}: {error}"
        trace.write(Path(out) / f"{name}.npz", status, reason)
        print(f"{name}: {status} {reason}".rstrip(), flush=True)
