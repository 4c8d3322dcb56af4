# ruff: noqa: RUF005  (sums of values read better than unpacking)
"""Values for all keys of a config: typical, extreme and invalid ones.

`test_every_key_has_values` fails if a new key has no values here.
"""

from dataclasses import dataclass, field
from typing import Any

BASE: dict[str, Any] = {
    "datasets": {"wdbc": {}},
    "solvers": {"vn": {}, "second": {"solver": "sr-vn"}},
    "step": 0.1,
    "init_scale": 0.5,
    "iterations": 6,
    "seeds": 2,
    "figures": [],
    "tables": ["performance"],
}
"""Study to which each value is added."""


@dataclass(frozen=True)
class Value:
    """Value of a key."""

    value: Any
    beside: dict[str, Any] = field(default_factory=dict)
    """Other settings of the study that the value needs."""
    rejected: str = ""
    """Pattern of the error message, empty if the value is valid."""


def ok(*values, **beside):
    return [Value(value, beside) for value in values]


def bad(value, rejected, **beside):
    return [Value(value, beside, rejected)]


PIECEWISE = {"expectation": "piecewise"}
STOCHASTIC = {"expectation": "stochastic"}
EVERY_ROW = {**STOCHASTIC, "batch": "all"}
LINEAR = {"model": "linear"}
OWN = {"dataset": "own"}
TABLE = {**OWN, "path": "{folder}/table.csv"}

# Keys of a study, a data set, a solver, and a solver within a data set.
ANYWHERE = {
    "model": ok("logistic", "linear", "non-convex", "probit")
    + bad("probitt", "did you mean|should be")
    + bad("poisson", "needs counts, but the targets"),
    "prior": ok({"mean": 0.5}, {"precision": 2.0}, {"precision": {"x1": 0.0}, "mean": {"x2": 1.0}})
    + bad({"mean": [0.0, 1.0]}, "has 2 numbers, but 'wdbc' has")
    + bad({"precision": [[1.0, 2.0], [2.0, 1.0]]}, "should be positive semi-definite"),
    "gamma": ok(0.0, 0.001, 0.1, 1.0, 3.0) + bad(-1.0, "greater than or equal to 0"),
    "sigma": ok(0.01, 1.0, 30.0, **LINEAR) + bad(0.0, "greater than 0", **LINEAR),
    "expectation": ok("piecewise", "exact", "gauss-hermite", "stochastic")
    + bad("piecewise", "does not support expectation 'piecewise'", **LINEAR),
    "pieces": ok(3, 4, 20, 200, **PIECEWISE) + bad(2, "greater than or equal to 3", **PIECEWISE),
    "piece_degree": ok("linear", "quadratic", **PIECEWISE),
    "nodes": ok(1, 20, 200, expectation="gauss-hermite") + bad(0, "greater than or equal to 1"),
    "batch": ok(1, 50, 10**6, "all", **STOCHASTIC)
    + bad(0, "greater than or equal to 1")
    + bad("some", "batch", **STOCHASTIC),
    "samples": ok(1, 7, **STOCHASTIC),
    "minibatches": ok("independent", "epoch", **STOCHASTIC) + bad("shuffled", "minibatches"),
    "estimator": ok("price", "reparam", "stl", **STOCHASTIC) + bad("score", "estimator"),
    "form": ok("auto", "dense") + ok("reduced", solvers={"vn": {}, "second": {"solver": "bw-gd"}}),
    "mean_scale": ok(0.0, 1.0, 50.0),
    "basis_condition": ok(1.0, 10.0, 1000.0) + bad(0.5, "greater than or equal to 1"),
    "iterations": ok(0, 1, 30) + bad(-1, "greater than or equal to 0"),
    "seconds": ok(1e-9, 0.01, 100.0) + bad(0.0, "greater than 0"),
    "passes": ok(0.5, 7.0, 1e6) + ok(3.0, **STOCHASTIC) + bad(0.0, "greater than 0"),
    "tolerance": ok(0.0, 1e-3, 1e6),
    "record_every": ok(1, 4, 100, "log") + bad(0, "greater than or equal to 1|should be"),
    "test_every": ok(1, 3, 1000, "log") + bad(0, "greater than or equal to 1|should be"),
    "snapshots": ok(0, 1, 2, 500),
    "threads": ok(1, 2) + bad(0, "greater than or equal to 1"),
    "device": ok("auto", "cpu"),
    "dtype": ok("float64", "float32"),
    "beta": ok(0.0, 1e-5, 0.1, 1e4, "tuned") + bad(-1.0, "beta"),
    "step": ok(1e-8, 0.1, [0.05, 0.2], {"start": 0.01, "stop": 1.0, "count": 3}, "tuned")
    + ok("auto", {"rule": "auto", "shrink": 0.3, "grow": 3.0}, {"rule": "auto", "step": 0.01})
    + ok({"rule": "constant", "step": [0.05, 0.2]}, {"rule": "decay", "step": 0.1, "decay": 0.01})
    + ok({"rule": "decay", "step": "tuned", "decay": 0.1})
    + ok({"rule": "decay", "step": {"start": 0.01, "stop": 1.0, "count": 2}, "decay": 1.0})
    + bad("paper", "the paper has no step")
    + bad(0.0, "step")
    + bad(-0.1, "step")
    + bad(float("nan"), "step")
    + bad("steepest", "steepest")
    + bad("constant", "step rule 'constant' needs 'step'")
    + bad("none", "needs a step size")
    + bad("auto", "needs expectations that are not random", **STOCHASTIC)
    + bad({"rule": "steepest"}, "steepest")
    + bad({"rule": "auto", "step": [0.1, 0.2]}, "chooses the step size itself")
    + bad({"rule": "auto", "step": "tuned"}, "chooses the step size itself")
    + bad({"rule": "auto", "shrink": 1.0}, "shrink")
    + bad({"rule": "auto", "shrinc": 0.3}, "did you mean 'shrink'")
    + bad({"rule": "decay", "step": 0.1}, "decay")
    + bad({"rule": "decay", "step": 0.1, "decay": 0.0}, "decay"),
    "init_scale": ok(1e-6, 1.0, [0.1, 1.0], 30.0) + bad(0.0, "init_scale"),
    "record": ok(
        [],
        ["cov_eig_min", "cov_eig_max", "factor_norm"],
        ["sign_flips", "flow_time"],
        ["objective_exact"],
        ["covariance_factor", "covariance_factor_path"],
    )
    + bad(["objektive"], "objektive"),
}

OF_DATASETS = {
    "path": ok("{folder}/own.npz", "{folder}/own.svm", **OWN)
    + ok("{folder}/own.npz", "{folder}/own.svm", **OWN, **LINEAR)
    + bad("{folder}/none.npz", "does not exist|cannot", **OWN)
    + ok("{folder}/table.csv", **OWN)
    + bad("{folder}/notes.csv", "no rows|one column|1 row", **OWN)
    + bad("{folder}", "folder", **OWN)
    + bad("{folder}/own.npz", "another name"),
    "test_path": ok("{folder}/own.svm", path="{folder}/own.svm", split="given", **OWN)
    + bad("{folder}/own.svm", "path"),
    "target": ok("answer", **TABLE) + bad("answers", "did you mean 'answer'", **TABLE),
    "positive": ok("no", **TABLE)
    + bad("maybe", "no row has the label 'maybe'", **TABLE)
    + bad(True, "in quotes", **TABLE)
    + bad("no", "your own files"),
    "drop": ok(["a"], ["a", "kind"], **TABLE)
    + bad(["d"], "no column 'd'", **TABLE)
    + bad(["answer"], "remove it from 'drop'", target="answer", **TABLE),
    "categorical": ok(["c"], ["kind"], **TABLE) + bad(["d"], "no column 'd'", **TABLE),
    "offset": ok("b", **TABLE) + bad("bb", "no column 'bb'", **TABLE),
    "truth": bad("draws.txt", "npz"),  # tests/workflow/test_measures.py runs studies with draws
    "split": ok("sklearn", "random", 0.25)
    + bad(1.5, "less than 1")
    + bad(0.25, "remove 'test_size'", test_size=0.5)
    + [Value("first", {"train_size": 300})]
    + bad("given", "no test file"),
    "split_seed": ok(0, 7, 2**32 - 1) + bad(-1, "greater than or equal to 0"),
    "train_size": ok(2, 100, 0.5) + bad(100_000, "rows") + bad(0, "train_size"),
    "test_size": ok(1, 0.9) + bad(100_000, "rows"),
    "scale": ok("none", "standardize"),
    "intercept": ok(True, False),
    "dataset": [Value("synthetic"), Value("digits-odd-even", {"train_size": 200})]
    + bad("synthetik", "did you mean 'synthetic'"),
    "options": [
        Value({"n": 60, "d": 3}, {"dataset": "synthetic"}),
        Value({"n": 60, "d": 90}, {"dataset": "synthetic"}),
        Value({"targets": "real"}, {"dataset": "synthetic", "model": "linear"}),
        Value({"targets": "real"}, {"dataset": "synthetic"}, "two classes"),
        Value({"m": 3}, {"dataset": "synthetic"}, "m"),
    ],
    "solvers": ok({"vn": {"step": 0.3}}, {"second": {"solver": "gd", "step": 1e-4}})
    + bad({"bw-gd": {}}, "not a solver of the study"),
}

OF_SOLVERS = {
    "solver": ok("gd", "bw-gd", "sr-vn-rotated", "vn-pd", "fr-kl", "fr-r", "laplace")
    + ok("advi", "bam", "gsm", **EVERY_ROW)
    + bad("srvn", "did you mean 'sr-vn'")
    + bad("advi", "needs expectation 'stochastic'", expectation="exact")
    + bad("bam", "set expectation to 'stochastic'", expectation="exact")
    + bad("gsm", "set batch to 'all'", batch=10, **STOCHASTIC)
    + bad("laplace", "uses all rows", **STOCHASTIC)
    + bad("laplace", "needs a convex model", model="non-convex")
    + bad("laplace", "above 0", beta=0.0)
    + bad("bam", "has no penalty", model="non-convex", **EVERY_ROW),
    "options": bad({"colour": "red"}, "colour"),
}

OF_STUDIES = {
    "title": ok("", "A study", "Größe & <b>|") + bad("two\nlines", "one line"),
    "datasets": ok(["wdbc", "synthetic"], {"a": {"dataset": "wdbc"}, "b": {"dataset": "synthetic"}})
    + bad([], "datasets"),
    "solvers": ok(
        ["vn"],
        [
            "vn",
            "sr-vn",
            "sr-vn-rotated",
            "bw-gd",
            "gd",
            "gd-chol",
            "svgd-density",
            "ng-flow",
            "fb-gvi",
        ],
        {"mine": {"solver": "vn"}, "vn": {}},
    )
    + bad({"vn": {}, "VN": {"solver": "vn"}}, "give them different names")
    + bad([], "solvers"),
    "seeds": ok(1, 3, [5], [7, 3]) + bad([1, 1], "twice") + bad(0, "seeds"),
    "vary": ok(
        {},
        {"gamma": [0.5, 1.0]},
        {"seconds": [1.0, 2.0]},
        {"device": ["cpu", "auto"]},
        {"data.train_size": [100, 200]},
        {"mean_scale": [0.0, 1.0], "dtype": ["float64", "float32"]},
        {"beta": [0.1, 1.0]},
        {"model": ["logistic", "non-convex"]},
        {"record_every": [1, 3]},
        {"test_every": [1, "log"]},
        {"tolerance": [None, 1e-3]},
    )
    + [
        Value({"pieces": [4, 10]}, {**PIECEWISE, "record": ["objective_exact"]}),
        Value({"pieces": [4, 10]}, PIECEWISE),
        Value({"expectation": ["exact", "piecewise"]}, {"record": ["objective_exact"]}),
        Value({"expectation": ["exact", "piecewise"]}, {}, "objective_exact"),
        Value({"pieces": [4, 10]}, {}, "no effect"),
        Value({"data.options": [{"n": 50}, {"n": 80}]}, {"datasets": {"synthetic": {}}}),
        Value({"step": [0.1]}, {}, "directly in the study"),
    ],
    "starts": ok(
        {},
        {
            "zero": {"mean_scale": 0.0, "init_scale": 1.0},
            "prior": {"mean_scale": 0.0, "init_scale": "prior"},
        },
    )
    + [
        Value({"far": {"mean_scale": 3.0, "init_scale": 0.1}}, {"step": "tuned"}),
        Value({"here": {"mean_scale": 0.0, "init_scale": "prior"}}, {"beta": 0.0}, "beta above 0"),
    ]
    + bad({"here": {"mean_scale": 1.0}}, "init_scale"),
    "gap": ok("optimum", "best-seen"),
    "cost": ok("evaluations", "data_passes", "seconds", "iterations") + bad("flops", "cost"),
    "score": ok({}) + bad({"budgets": 10.0}, "did you mean 'budget'"),
    "tuning": ok({}, {"rounds": 1}),
    "exclusive": ok(True, False),
    "pack": ok(1, 2, 100),
    "figures": ok(["gap", "test", "time", "test-time", "profile", "ecdf"])
    + [
        Value(["sensitivity"], {"step": [0.1, 0.2]}),
        Value(["heatmap"], {"init_scale": [0.1, 1.0]}),
        Value(["temperature"], {"vary": {"gamma": [0.5, 1.0]}}),
        Value(["bias"], {**PIECEWISE, "record": ["objective_exact"]}),
        Value(["runtime"]),
        Value(["theory"], {"record": ["cov_eig_min", "factor_norm"]}),
        Value(
            ["path"],
            {
                "datasets": {"synthetic": {"options": {"n": 50, "d": 2, "targets": "real"}}},
                "model": "linear",
                "record": ["covariance_factor_path"],
            },
        ),
    ]
    + bad(["path"], "figure 'path'")
    + bad(["bias"], "figure 'bias'")
    + bad(["theory"], "figure 'theory'")
    + bad(["gapp"], "did you mean 'gap'"),
    "tables": ok(["datasets", "performance", "winners", "runs", "runtime"])
    + [Value(["theory"], {"record": ["cov_eig_min", "factor_norm"]})]
    + bad(["paper"], "table 'paper'")
    + bad(["theory"], "table 'theory'"),
}

TUNED = {"step": "tuned"}
OF_TUNING = {
    "steps": ok({"start": 0.001, "stop": 1.0, "count": 4}, {"start": 1e3, "stop": 1e6, "count": 2}),
    "init_scales": ok([1.0], [0.1, 1.0, 10.0]) + bad([], "init_scales"),
    "search": ok("grid", "quasi-random") + bad("random", "search"),
    "trials": ok(1, 3) + bad(0, "trials"),
    "first_trial": ok(0, 8) + bad(-1, "first_trial"),
    "rounds": ok(1, 3) + bad(0, "rounds"),
    "iterations": ok(1, 20),
    "seeds": ok([1000], [9, 10]) + bad([0], "tuning and for reporting"),
    "rows": ok(50, 10**6, "held-out") + bad("test", "rows"),
    "prefer": ok("safe", "quick"),
    "betas": [
        Value([0.1, 1.0, 10.0], {"beta": "tuned", "step": 0.1}),
        Value([5.0], {"beta": "tuned"}),
    ],
}

OF_GRIDS = {"start": ok(1e-6, 0.01), "stop": ok(0.5, 10.0), "count": ok(2, 5) + bad(1, "count")}

OF_SCORES = {
    "targets": ok({}, {"start": 10.0, "stop": 1e-3, "count": 5}) + bad([1.0], "targets"),
    "budget": ok(10.0, 1e6) + bad(0.5, "should be more than 'least' 1") + bad(0.0, "budget"),
    "least": ok(1e-3, 20.0) + bad(1000.0, "should be more than 'least' 1000"),
    "draws": ok(100) + bad(99, "draws"),
}

OF_TARGETS = {
    "start": ok(1e-6, 1e6) + bad(1e-8, "should be more than 'stop' 1e-08"),
    "stop": ok(1e-10, 1.0) + bad(0.0, "stop"),
    "count": ok(2, 50) + bad(1, "count"),
}

OF_STYLE = {
    "width": ok("column", "page"),
    "font_size": ok(4.0, 8.0, 14.0) + bad(0.5, "font_size"),
    "center": ok("median", "mean", "geometric") + bad("mode", "center"),
}

OF_CONFIG = {
    "results": ok("results", "deep/er/results") + bad("a{b}", "braces"),
    "without": bad(["nothing"], "no study has a data set"),
    "style": ok({}),
    "dask": ok({}) + bad({"local": {}, "scheduler_address": "tcp://host:1"}, "choose one of them"),
}

OF_DASK = {
    "local": ok({}),
    "slurm": ok({}),
    "scheduler_address": ok("tcp://host:8786"),
    "runs_per_task": ok(1, 1000) + bad(0, "runs_per_task"),
    "retries": ok(0, 100) + bad(-1, "retries"),
    "dashboard": ok(True, False),
}
OF_LOCAL_WORKERS = {
    "workers": ok(1, 64) + bad(0, "workers"),
    "memory": ok("2GB", "1.5 GiB") + bad("2 potatoes", "size of memory"),
}
OF_SLURM_WORKERS = {
    "workers": ok(1, 64, {}) + bad(0, "workers"),
    "cores": ok(1, 64) + bad(0, "cores"),
    "memory": ok("500MB") + bad("2", "size of memory"),
    "walltime": ok("00:10:00", "1-00:00:00") + bad("1h", "is not a time"),
    "partition": ok("short"),
    "account": ok("me"),
    "interface": ok("ib0"),
    "local_directory": ok("/tmp"),
}
OF_WORKER_RANGE = {
    "min": ok(0, 8) + bad(9, "larger than max"),
    "max": ok(1, 100) + bad(0, "max"),
}
OF_SECTIONS = {
    "style": OF_STYLE,
    "dask": OF_DASK,
    "dask.local": OF_LOCAL_WORKERS,
    "dask.slurm": OF_SLURM_WORKERS,
    "dask.slurm.workers": OF_WORKER_RANGE,
}
"""Keys of the sections of a config outside the studies."""
