"""Fuzz the validation of configs, specs and flags."""

import json
import random
from pathlib import Path
from typing import Any

import yaml
from fuzz_raw_files import SVMLIGHT
from fuzz_target import Target, through_cli
from mutations import ODD, corrupt_node, misspelt, mutate_bytes, mutate_tree, places

from gvibench.errors import UserError
from gvibench.registry import SOLVERS
from gvibench.spec.run import DataSpec, RunSpec
from gvibench.spec.validate import parse
from gvibench.study.config import load_config
from gvibench.study.cost import estimate_cost
from gvibench.study.defaults import complete_data, validate_solver
from gvibench.study.expand import expand
from gvibench.study.resources import runtime_minutes

CONFIG = r"^(gvibench: )?(config|studies\.|without)"
"""Beginning of an error message about a config."""


def config_targets(folder: Path) -> list[Target]:
    """Return the targets that read configs, specs and flags."""
    return [*_configs(folder), *_texts(folder), *_specs(folder)]


def run_spec() -> RunSpec:
    """Return the spec of a small run."""
    data = complete_data({"dataset": "synthetic", "options": {"n": 30, "d": 2}})
    return RunSpec(data=data, beta=0.5, solver="vn", step=0.1, iterations=6, record=("flow_time",))


def _fields() -> tuple[list[str], list[str]]:
    """Return the names of the fields of a run and of its data."""
    spec = json.loads(run_spec().canonical())
    return list(spec), list(spec["data"])


def full_config(folder: Path) -> dict[str, Any]:
    """Return a valid config that uses every key of every section."""
    path = folder / "own.svm"
    path.write_bytes(SVMLIGHT[0])
    tuning = {"steps": {"start": 0.01, "stop": 1.0, "count": 3}, "init_scales": [0.1, 1.0]}
    tuning |= {"rounds": 2, "iterations": 10, "seeds": [1000], "rows": 50, "prefer": "quick"}
    settings = {
        **{"model": "logistic", "gamma": 1.0, "sigma": 1.0, "expectation": "piecewise"},
        **{"pieces": 20, "piece_degree": "linear", "nodes": 20, "batch": 10, "samples": 3},
        **{"form": "auto", "mean_scale": 1.0, "iterations": 20},
        **{"seconds": 10.0, "tolerance": 1e-8, "record_every": "log", "snapshots": 4},
        **{"test_every": 2},
        **{"threads": 1, "device": "cpu", "dtype": "float64", "beta": 0.5},
        **{"step": [0.1, 0.2], "init_scale": [0.5, 1.0], "record": ["objective_exact"]},
    }
    study = {
        **{"title": "t", "datasets": _datasets(path), "solvers": _solvers(), **settings},
        **{"seeds": [0, 1], "vary": {"gamma": [0.5, 1.0], "data.split_seed": [1, 2]}},
        **{"gap": "optimum", "tuning": {**tuning, "betas": [0.1, 1.0]}, "exclusive": False},
        **{"pack": 2, "figures": ["gap"], "tables": ["performance"]},
    }
    tuned = {
        **{"datasets": ["wdbc"], "solvers": ["vn", "sr-vn"], "step": "tuned", "beta": "tuned"},
        **{"seeds": 2, "tuning": tuning},
    }
    grid = {"start": 0.01, "stop": 0.1, "count": 3}
    stepped = {
        "datasets": ["mushrooms"],
        "solvers": {"vn": {"step": "paper"}, "gd": {"step": grid}},
    }
    return {
        "studies": {"a": study, "b": tuned, "c": stepped},
        **{"results": "results", "without": []},
        "dask": {"scheduler_address": "tcp://127.0.0.1:1"},
        "style": {"width": "page", "font_size": 8.0, "center": "median"},
    }


def _datasets(path: Path) -> dict[str, Any]:
    user_file = {"path": str(path), "split": "random", "split_seed": 1, "train_size": 0.5}
    user_file |= {"test_size": 4, "scale": "standardize", "intercept": True}
    synthetic = {"n": 60, "d": 3, "condition": 10.0, "separation": 2.0, "seed": 1}
    return {
        "synthetic": {"options": {**synthetic, "targets": "classes"}},
        "again": {"dataset": "wdbc", "solvers": {"vn": {"step": 0.3, "options": {}}}},
        "mine": user_file,
        "with-test": {"path": str(path), "test_path": str(path), "split": "given"},
    }


def _solvers() -> dict[str, Any]:
    return {"vn": {}, "other": {"solver": "svgd-density", "options": {"kernel": "centred"}}}


def _configs(folder: Path) -> list[Target]:
    valid = full_config(folder)
    expand(load_config(valid))
    changes = [
        (place, how)
        for place in places(valid)
        if "vary" not in place[:-1]
        for how in (*range(len(ODD)), "drop", "rename", "rename", "wrap")
    ]
    random.Random(0).shuffle(changes)

    def make_one_change(rng: random.Random, k: int) -> Any:
        place, how = changes[k % len(changes)]
        if isinstance(how, str):
            return corrupt_node(valid, place, how, rng)
        return _with(valid, place, ODD[how])

    def make_several_changes(rng: random.Random, k: int) -> Any:
        return mutate_tree(rng, valid, rounds=4)

    return [
        Target("config, every key", 3000, make_one_change, _feed_config, CONFIG),
        Target("config, several keys", 800, make_several_changes, _feed_config, CONFIG),
        Target("config, combinations", 300, _make_combination, _feed_config, "studies.s"),
        Target("config, vary", 400, _make_vary, _feed_config, CONFIG),
    ]


def _feed_config(config: Any) -> None:
    if not isinstance(config, dict):
        raise UserError("config has no settings")  # `read_config` rejects such files
    plan = expand(load_config(config))
    estimate_cost(plan)
    for study in plan.config.studies:
        plan.manifest(study)
    for job in list(plan.runs.values())[:3]:
        runtime_minutes(job)


def _make_vary(rng: random.Random, k: int) -> Any:
    of_run, of_data = _fields()
    names = [*of_run, *(f"data.{name}" for name in of_data)]
    key = rng.choice((rng.choice(names), misspelt(rng, rng.choice(names))))
    values = [rng.choice(ODD) for _ in range(rng.randint(0, 3))]
    study = {"datasets": ["synthetic"], "solvers": ["vn"], "step": 0.1}
    return {"studies": {"s": {**study, "seeds": 1, "vary": {key: values}}}}


def _make_combination(rng: random.Random, k: int) -> Any:
    """Return settings that are valid one by one but perhaps not together."""
    target = rng.choice(("classes", "real"))
    chosen = {
        "model": rng.choice(("logistic", "linear", "non-convex")),
        "expectation": rng.choice(("exact", "piecewise", "gauss-hermite", "stochastic")),
        "form": rng.choice(("auto", "dense", "reduced")),
        "beta": rng.choice((0.0, 0.5, "tuned")),
        "gamma": rng.choice((0.0, 1.0)),
        "step": rng.choice((0.1, "tuned")),
        "record": rng.choice(([], ["covariance_factor_path"], ["objective_exact"])),
        "gap": rng.choice(("optimum", "best-seen")),
    }
    data = {"synthetic": {"options": {"n": 20, "d": rng.choice((2, 40)), "targets": target}}}
    solver = rng.choice(SOLVERS.names())
    return {"studies": {"s": {"datasets": data, "solvers": [solver], **chosen}}}


def _texts(folder: Path) -> list[Target]:
    text = yaml.safe_dump(full_config(folder)).encode()
    short = b"studies:\n  s:\n    datasets: [wdbc]\n    solvers: {vn: , sr-vn: {step: 0.1}}\n"
    short += b"    step: 1.0e-3\n    iterations: 10\n    seeds: 2\nresults: results\n"

    def make(rng: random.Random, k: int) -> bytes:
        return mutate_bytes(rng, text if k % 20 == 0 else short, rounds=4)

    def feed(content: bytes) -> None:
        path = folder / "corrupt.yaml"
        path.write_bytes(content)
        through_cli("plan", str(path))

    return [Target("config, text", 800, make, feed, f"corrupt.yaml|{CONFIG}")]


def _with(tree: Any, place: tuple[Any, ...], value: Any) -> Any:
    """Return a copy of the tree with another value at a place."""
    if not place:
        return value
    copied = list(tree) if isinstance(tree, list) else dict(tree)
    copied[place[0]] = _with(tree[place[0]], place[1:], value)
    return copied


def _specs(folder: Path) -> list[Target]:
    spec = json.loads(run_spec().canonical())
    of_run, of_data = _fields()
    flag_names = [name for name in of_run if name not in ("data", "solver_options")]
    flag_names += [*of_data, "solver-option", "data-option"]
    missing = folder / "missing.zarr.zip"

    def make_spec(rng: random.Random, k: int) -> str:
        text = json.dumps(mutate_tree(rng, spec), default=str, skipkeys=True)
        if k % 4 == 0:
            return mutate_bytes(rng, text.encode()).decode(errors="replace")
        return text

    def feed_spec(text: str) -> None:
        run = parse(RunSpec, text, "--spec")
        complete_data(json.loads(text)["data"])
        validate_solver(run)
        run.problem().with_exact_expectations().canonical()

    def make_flags(rng: random.Random, k: int) -> list[str]:
        words = ["--dataset", "synthetic", "--solver", "vn", "--step", "0.1"]
        for _ in range(rng.randint(1, 3)):
            words += [f"--{rng.choice(flag_names).replace('_', '-')}", str(rng.choice(ODD))]
        return words

    def feed_flags(words: list[str]) -> None:
        try:
            through_cli("run", *words, "--data", str(missing), "--out", str(folder / "t.zarr.zip"))
        except UserError as error:
            if missing.name not in str(error):  # all flags were valid
                raise

    def make_data_spec(rng: random.Random, k: int) -> str:
        return json.dumps(mutate_tree(rng, spec["data"]), default=str, skipkeys=True)

    def feed_data_spec(text: str) -> None:
        parse(DataSpec, text, "--spec")
        complete_data(json.loads(text))

    return [
        Target("run spec", 600, make_spec, feed_spec, ""),
        Target("command line", 400, make_flags, feed_flags, ""),
        Target("data spec", 300, make_data_spec, feed_data_spec, ""),
    ]
