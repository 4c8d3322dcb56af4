"""What is under fire: every reader of foreign input, how to spoil its input and how to feed it.

A feed returns quietly, raises `UserError`, or is a bug.
"""

import bz2
import contextlib
import functools
import gzip
import io
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from mutations import ODD, misspelt, mutate_bytes, mutate_members, mutate_tree, places, spoil
from small_study import STUDY, Study

from gvibench import solvers
from gvibench.analysis.configurations import open_aggregate
from gvibench.cli import main as cli
from gvibench.cli.flags import spec_of
from gvibench.datasets import build, catalogue
from gvibench.datasets import loaders as sources
from gvibench.datasets.read import read_idx
from gvibench.engine.execute import execute
from gvibench.engine.optimum import find_optimum, read_optimum, write_optimum
from gvibench.engine.tuning import read_round, try_grid
from gvibench.engine.tuning_grid import Grid
from gvibench.errors import UserError
from gvibench.spec.run import DataSpec, RunSpec, parse
from gvibench.store.choices import read_choice, read_choices
from gvibench.store.prepared import read_prepared
from gvibench.store.traces import PACKED, read_traces, to_group, write_trace
from gvibench.store.zarrzip import Group, write_zip
from gvibench.study.aggregate import aggregate, check, read_manifest
from gvibench.study.cleanup import estimate_cost
from gvibench.study.config import load_config
from gvibench.study.expand import expand
from gvibench.study.resources import runtime_minutes


@dataclass(frozen=True)
class Target:
    """One reader and the mutations it has to survive."""

    name: str
    count: int
    """How many inputs."""
    make: Callable[[random.Random, int], Any]
    """Return the k-th input."""
    feed: Callable[[Any], object]
    place: str
    """A pattern that every refusal must contain: it says where the mistake is."""


def through_cli(*words: str) -> None:
    """Call the command line; a refusal must be exit code 2 and one line, and write nothing."""
    printed = io.StringIO()
    with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(io.StringIO()):
        try:
            code = cli.main(words)
        except SystemExit as leaving:  # argparse, which prints the usage as well
            if leaving.code != 2:
                raise
            raise UserError(printed.getvalue().splitlines()[-1]) from leaving
    text = printed.getvalue()
    assert code in (0, 2), f"exit code {code}"
    if code == 2:
        assert text.startswith("gvibench: "), text
        assert text.count("\n") == 1, text
        raise UserError(text.strip())


def all_targets(folder: Path) -> list[Target]:
    """Return every target; they write into `folder`."""
    cli._parser = functools.cache(cli._parser)  # building it takes longer than most inputs
    folder.mkdir(parents=True, exist_ok=True)
    return [
        *_raw_files(folder),
        *_configs(folder),
        *_specs(folder),
        *_stores(folder),
        *_json_files(folder),
    ]


# Raw data

SVMLIGHT = (
    b"1 1:0.5 2:1 7:-3e-2\n-1 2:3\n1 1:1\n-1 3:2 # comment\n-1 1:1\n1 2:2\n" * 4,
    b"# header\n0 qid:1 0:1.5\n1 qid:2 0:2 1:1\n0 1:1\n1 0:4\n0 0:1\n1 1:1\n",
    b"2 1:1\r\n1 1:2\r\n2 1:3\r\n1 1:4\r\n2 1:5\r\n1 1:6\r\n",
    b"+1 5:1e-3\n-1 1:1e3\n+1 2:1\n-1 1:.5\n-1 3:1.\n+1 1:1 2:1 3:1 4:1 5:1",
)
DATA_FLAGS = (
    (),
    ("--scaling", "standardize"),
    ("--intercept",),
    ("--split", "random", "--test-size", "0.4"),
    ("--split", "first", "--train-size", "4"),
    ("--split", "random", "--train-size", "3"),
    ("--data-option", "target=regression"),
    ("--test-size", "1"),
)


def _raw_files(folder: Path) -> list[Target]:
    def prepare(name: str, content: bytes, flags: tuple[str, ...]) -> None:
        path, out = folder / name, folder / "new" / "out.zarr.zip"
        path.write_bytes(content)
        try:
            through_cli(
                "prepare", "--dataset", "mine", "--path", str(path), *flags, "--out", str(out)
            )
        except UserError:
            assert not out.parent.exists(), "a refused input left a file"
            raise
        read_prepared(out)
        out.unlink()
        out.parent.rmdir()

    def svmlight(rng: random.Random, k: int) -> tuple[bytes, tuple[str, ...]]:
        packed = rng.choice((bytes, bytes, bytes, gzip.compress, bz2.compress))
        content = rng.choice(SVMLIGHT)
        if rng.random() < 0.5:  # spoilt before it is packed
            return packed(mutate_bytes(rng, content)), rng.choice(DATA_FLAGS)
        return mutate_bytes(rng, packed(content)), rng.choice(DATA_FLAGS)

    archives = list(_npz_archives())

    def npz(rng: random.Random, k: int) -> tuple[bytes, tuple[str, ...]]:
        content = archives[k % len(archives)]
        if k >= len(archives):
            content = rng.choice((mutate_bytes, mutate_members))(rng, content)
        return content, rng.choice((*DATA_FLAGS, ("--split", "given"), ("--split", "given")))

    def two_files(rng: random.Random, k: int) -> tuple[bytes, bytes, str]:
        end = rng.choice((".svm", ".npz"))
        first = rng.choice(SVMLIGHT if end == ".svm" else archives[:2])
        second = rng.choice((first, rng.choice(SVMLIGHT if end == ".svm" else archives)))
        spoilt = [mutate_bytes(rng, first, rounds=1), mutate_bytes(rng, second, rounds=1)]
        return (*rng.choice(((first, spoilt[1]), (spoilt[0], second), (first, second))), end)

    def feed_two(given: tuple[bytes, bytes, str]) -> None:
        first, second, end = given
        test = folder / f"test{end}"
        test.write_bytes(second)
        prepare(f"train{end}", first, ("--test-path", str(test)))

    digits = np.arange(12 * 28 * 28, dtype=np.uint8).reshape(12, 28, 28)
    images = _idx(digits), _idx(np.arange(12, dtype=np.uint8) % 10)

    def idx(rng: random.Random, k: int) -> list[bytes]:
        files = [*images, *images]
        at = rng.randrange(4)
        packed = rng.choice((bytes, gzip.compress))
        spoilt = mutate_bytes(rng, files[at][: rng.choice((4, 16, 10**6))] + files[at][16:])
        files[at] = (
            packed(spoilt) if rng.random() < 0.7 else mutate_bytes(rng, gzip.compress(spoilt))
        )
        return files

    def feed_idx(files: list[bytes]) -> None:
        paths = [folder / f"{k}-idx" for k in range(4)]
        for path, content in zip(paths, files, strict=True):
            path.write_bytes(content)
        for path in paths:
            read_idx(path)
        entry = catalogue.entry("mnist")
        spec = catalogue.complete(DataSpec(dataset="mnist", options={"negative": "1"}))
        _build_from(entry, spec, paths, folder)

    def mnist_text(rng: random.Random, k: int) -> bytes:
        rows = "".join(f"{k % 10} {k + 1}:{k} 780:255\n" for k in range(20)).encode()
        return rows if k == 0 else mutate_bytes(rng, rows)

    def feed_mnist(content: bytes) -> None:
        path = folder / "mnist-libsvm"
        path.write_bytes(content)
        entry = catalogue.entry("mnist")
        spec = catalogue.complete(DataSpec(dataset="mnist", options={"source": "libsvm"}))
        _build_from(entry, spec, [path, path], folder)

    def libsvm(content: bytes) -> None:
        path = folder / "libsvm-file"
        path.write_bytes(content)
        entry = replace(catalogue.entry("australian_scale"), d=7)
        spec = catalogue.complete(DataSpec(dataset="australian_scale", train_size=10))
        _build_from(entry, spec, [path], folder)

    return [
        Target(
            "svmlight", 2500, svmlight, lambda given: prepare("raw.svm", *given), "raw.svm|'mine'"
        ),
        Target("npz", 1500, npz, lambda given: prepare("raw.npz", *given), "raw.npz|'mine'"),
        Target("train and test file", 500, two_files, feed_two, "train|test|'mine'"),
        Target("idx", 600, idx, feed_idx, "idx"),
        Target("MNIST as svmlight", 200, mnist_text, feed_mnist, "mnist"),
        Target(
            "catalogued svmlight",
            200,
            lambda rng, k: SVMLIGHT[0] if k == 0 else mutate_bytes(rng, SVMLIGHT[0]),
            libsvm,
            "",
        ),
    ]


def _build_from(entry: catalogue.Entry, spec: DataSpec, paths: list[Path], folder: Path) -> None:
    """Prepare a data set of the catalogue from other files than its own."""
    remaining = iter(paths)
    files, fetched = entry.files or catalogue.MNIST_IDX, sources.raw_file
    sources.raw_file = lambda file: next(remaining)
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            source = getattr(sources, entry.loader.partition(":")[2])(
                replace(entry, files=files), spec
            )
    finally:
        sources.raw_file = fetched
    _, y, own = build._stack(source)
    build.split_rows(spec, len(y), own, y)


def _idx(values: np.ndarray) -> bytes:
    header = bytes([0, 0, 8, values.ndim])
    return header + b"".join(size.to_bytes(4, "big") for size in values.shape) + values.tobytes()


def _npz_archives() -> Iterator[bytes]:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((12, 3)), np.arange(12) % 2
    own = {"X": x, "y": y}
    yield _npz(**own)
    yield _npz(**own, X_test=x[:4], y_test=y[:4])
    yield _npz(**own, X_test=x[:4, :2], y_test=y[:4])
    yield _npz(**own, X_test=x[:4])
    yield _npz(X=x, y=y[:5])
    yield _npz(X=x)
    yield _npz(X=x[0], y=y)
    yield _npz(X=x[:0], y=y[:0])
    yield _npz(X=x[:, :0], y=y)
    yield _npz(X=np.where(x > 2, np.nan, x), y=y)
    yield _npz(X=x.astype(complex), y=y)
    yield _npz(X=x.astype(str), y=y)
    yield _npz(X=x.astype(object), y=y)  # a pickle
    yield _npz(X=np.asfortranarray(x.astype(np.float32)), y=y.astype(bool))
    yield _npz(X=np.full((12, 3), 1e308), y=y)
    yield _npz(X=np.full((12, 3), 5e-324), y=y)
    yield _npz(X=x, y=np.zeros(12))
    yield _npz(X=x[:1], y=y[:1])


def _npz(**arrays: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=True, **arrays)
    return stream.getvalue()


# Configs and specs

CONFIG = r"^(gvibench: )?(config|studies\.|without)"
"""How a complaint about a config begins."""


def full_config(folder: Path) -> dict[str, Any]:
    """Return a valid config in which every key of every model stands somewhere."""
    own = folder / "own.svm"
    own.write_bytes(SVMLIGHT[0])
    tuned = {"steps": {"start": 0.01, "stop": 1.0, "count": 3}, "init_scales": [0.1, 1.0]}
    tuned |= {"rounds": 2, "iterations": 10, "seeds": [1000], "rows": 50, "prefer": "quick"}
    settings = {
        **{"model": "logistic", "gamma": 1.0, "sigma": 1.0, "expectation": "piecewise"},
        **{"pieces": 20, "piece_degree": "linear", "nodes": 20, "batch": 10, "samples": 3},
        **{"form": "auto", "step_decay": 0.1, "mean_scale": 1.0, "iterations": 20},
        **{"seconds": 10.0, "tolerance": 1e-8, "record_every": "log", "snapshots": 4},
        **{"threads": 1, "device": "cpu", "dtype": "float64", "beta": 0.5},
        **{"step": [0.1, 0.2], "init_scale": [0.5, 1.0], "record": ["objective_exact"]},
    }
    own_set = {"path": str(own), "split": "random", "split_seed": 1, "train_size": 0.5}
    own_set |= {"test_size": 4, "scaling": "standardize", "intercept": True}
    datasets = {
        "synthetic": {
            "options": {
                **{"n": 60, "d": 3, "condition": 10.0, "separation": 2.0, "seed": 1},
                "target": "binary",
            }
        },
        "again": {"dataset": "wdbc", "solvers": {"vn": {"step": 0.3, "options": {}}}},
        "mine": own_set,
        "with-test": {"path": str(own), "test_path": str(own), "split": "given"},
    }
    kernel = {"solver": "svgd-density", "options": {"kernel": "centred"}}
    study = {
        **{"title": "t", "datasets": datasets, "solvers": {"vn": {}, "other": kernel}, **settings},
        **{"seeds": [0, 1], "vary": {"gamma": [0.5, 1.0], "data.split_seed": [1, 2]}},
        **{"gap": "optimum", "tuning": {**tuned, "betas": [0.1, 1.0]}, "exclusive": False},
        **{"pack": 2, "figures": ["gap"], "tables": ["performance"]},
    }
    small = {
        **{"datasets": ["wdbc"], "solvers": ["vn", "sr-vn"], "step": "tuned", "beta": "tuned"},
        **{"seeds": 2, "tuning": tuned},
    }
    grid = {"start": 0.01, "stop": 0.1, "count": 3}
    third = {"datasets": ["mushrooms"], "solvers": {"vn": {"step": "paper"}, "gd": {"step": grid}}}
    return {
        "studies": {"a": study, "b": small, "c": third},
        **{"results": "results", "without": []},
        "dask": {"scheduler_address": "tcp://127.0.0.1:1"},
        "style": {"width": "page", "font_size": 8.0, "center": "median"},
    }


def _configs(folder: Path) -> list[Target]:
    base = full_config(folder)
    expand(load_config(base))  # nothing is wrong with it
    everywhere = [place for place in places(base) if "vary" not in place[:-1]]
    every_key = [
        (place, how)
        for place in everywhere
        for how in (*range(len(ODD)), "drop", "rename", "rename", "wrap")
    ]
    random.Random(0).shuffle(every_key)

    def one_key(rng: random.Random, k: int) -> Any:
        place, how = every_key[k % len(every_key)]
        if isinstance(how, str):
            return spoil(base, place, how, rng)
        return _with(base, place, ODD[how])

    def at_random(rng: random.Random, k: int) -> Any:
        return mutate_tree(rng, base, rounds=4)

    def feed(config: Any) -> None:
        if not isinstance(config, dict):
            raise UserError("config holds no settings")  # read_config says so
        plan = expand(load_config(config))
        estimate_cost(plan)
        for study in plan.config.studies:
            plan.manifest(study)
        for job in list(plan.runs.values())[:3]:
            runtime_minutes(job)

    text = yaml.safe_dump(base).encode()
    short = b"studies:\n  s:\n    datasets: [wdbc]\n    solvers: {vn: , sr-vn: {step: 0.1}}\n"
    short += b"    step: 1.0e-3\n    iterations: 10\n    seeds: 2\nresults: results\n"

    def spoilt_text(rng: random.Random, k: int) -> bytes:
        return mutate_bytes(rng, text if k % 20 == 0 else short, rounds=4)

    def feed_text(content: bytes) -> None:
        path = folder / "spoilt.yaml"
        path.write_bytes(content)
        through_cli("plan", str(path))

    def vary(rng: random.Random, k: int) -> Any:
        known = [*RunSpec.model_fields, *(f"data.{name}" for name in DataSpec.model_fields)]
        key = rng.choice((rng.choice(known), misspelt(rng, rng.choice(known))))
        values = [rng.choice(ODD) for _ in range(rng.randint(0, 3))]
        study = {"datasets": ["synthetic"], "solvers": ["vn"], "step": 0.1}
        return {"studies": {"s": {**study, "seeds": 1, "vary": {key: values}}}}

    def combination(rng: random.Random, k: int) -> Any:
        """Settings that are all right one by one."""
        target = rng.choice(("binary", "regression"))
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
        data = {"synthetic": {"options": {"n": 20, "d": rng.choice((2, 40)), "target": target}}}
        return {
            "studies": {"s": {"datasets": data, "solvers": [rng.choice(solvers.names())], **chosen}}
        }

    return [
        Target("config, every key", 3000, one_key, feed, CONFIG),
        Target("config, several keys", 800, at_random, feed, CONFIG),
        Target("config, combinations", 300, combination, feed, "studies.s"),
        Target("config, vary", 400, vary, feed, CONFIG),
        Target("config, text", 800, spoilt_text, feed_text, f"spoilt.yaml|{CONFIG}"),
    ]


def _with(tree: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    copied = list(tree) if isinstance(tree, list) else dict(tree)
    copied[place[0]] = _with(tree[place[0]], place[1:], value)
    return copied


def _specs(folder: Path) -> list[Target]:
    spec = json.loads(_run_spec().canonical())

    def spoilt(rng: random.Random, k: int) -> str:
        text = json.dumps(mutate_tree(rng, spec), default=str, skipkeys=True)
        if k % 4 == 0:
            return mutate_bytes(rng, text.encode()).decode(errors="replace")
        return text

    def feed(text: str) -> None:
        run = parse(RunSpec, text, "--spec")
        catalogue.complete(run.data)
        solvers.configure(run.solver, run.solver_options)
        run.problem().with_exact_expectations().canonical()

    fields = [name for name in RunSpec.model_fields if name not in ("data", "solver_options")]

    def flags(rng: random.Random, k: int) -> list[str]:
        words = ["--dataset", "synthetic", "--solver", "vn", "--step", "0.1"]
        for _ in range(rng.randint(1, 3)):
            name = rng.choice((*fields, *DataSpec.model_fields, "solver-option", "data-option"))
            words += [f"--{name.replace('_', '-')}", str(rng.choice(ODD))]
        return words

    def feed_flags(words: list[str]) -> None:
        printed = io.StringIO()
        with contextlib.redirect_stderr(printed):
            try:
                options = cli._parser().parse_args(["run", "--out", "x", *words])
            except SystemExit as leaving:
                if leaving.code != 2:
                    raise
                raise UserError(printed.getvalue().splitlines()[-1]) from leaving
        spec_of(options, RunSpec)

    def data_spec(rng: random.Random, k: int) -> str:
        return json.dumps(mutate_tree(rng, spec["data"]), default=str, skipkeys=True)

    def feed_data(text: str) -> None:
        catalogue.complete(parse(DataSpec, text, "--spec"))

    return [
        Target("run spec", 600, spoilt, feed, ""),
        Target("command line", 400, flags, feed_flags, ""),
        Target("data spec", 300, data_spec, feed_data, ""),
    ]


def _run_spec() -> RunSpec:
    data = catalogue.complete(DataSpec(dataset="synthetic", options={"n": 30, "d": 2}))
    return RunSpec(data=data, beta=0.5, solver="vn", step=0.1, iterations=6, record=("flow_time",))


# Our own files


def _stores(folder: Path) -> list[Target]:
    spec = _run_spec()
    made = {name: folder / f"{name}.zarr.zip" for name in ("data", "trace", "optimum", "round")}
    cli.main(["prepare", "--spec", spec.data.model_dump_json(), "--out", str(made["data"])])
    sparse = folder / "sparse.zarr.zip"
    (folder / "rows.svm").write_bytes(SVMLIGHT[0])
    words = ["--dataset", "rows", "--path", str(folder / "rows.svm"), "--out", str(sparse)]
    cli.main(["prepare", *words])
    data = read_prepared(made["data"])
    trace = execute(spec, data, checkpoint=folder / "checkpoint", checkpoint_every=0.0)
    write_trace(made["trace"], trace)
    write_optimum(made["optimum"], find_optimum(spec.problem(), data))
    settings = {"rows": None, "seeds": [1000], "prefer": "safe"}
    try_grid(json.loads(spec.canonical()), settings, Grid((0.1,), (1.0,)), data, made["round"])
    entry = {"path": str(folder / "spoilt.zarr.zip"), "group": None, "opened": []}
    entry |= {"spec_hash": spec.spec_hash, "code_hash": trace.attrs["code_hash"]}

    def of(content: bytes, read: Callable[[Path], object]) -> Callable[[tuple[str, bytes]], None]:
        path = folder / "spoilt.zarr.zip"
        path.write_bytes(content)
        before = repr(read(path))

        def feed(given: tuple[str, bytes]) -> None:
            how, spoilt = given
            path.write_bytes(spoilt)
            found = read(path)
            if how == "bytes":  # damage is noticed, or has changed nothing
                assert repr(found) == before, "damage went unnoticed"

        return feed

    packed = folder / "packed.zarr.zip"
    root = Group({"kind": PACKED})
    root.groups["seed-0"] = root.groups["seed-1"] = to_group(trace)
    write_zip(packed, root)
    collected = _aggregated(folder / "study")

    def look(path: Path) -> object:
        if found := check([entry]):
            raise UserError(found[str(path)])
        return sorted(
            (name, values.tobytes()) for name, values in read_traces(path)[0].scalars.items()
        )

    def resume(path: Path) -> object:
        """A damaged checkpoint is no error: the run starts anew and ends alike."""
        resumed = execute(spec, data, checkpoint=path, checkpoint_every=1e9)
        return resumed.scalars["objective"].tobytes()

    targets = []
    for name, path, read, count in (
        ("trace", made["trace"], _trace, 600),
        ("trace of a study", made["trace"], look, 300),
        ("prepared data", made["data"], _prepared, 300),
        ("prepared sparse data", sparse, _prepared, 300),
        ("optimum", made["optimum"], _optimum, 300),
        ("tuning round", made["round"], _round, 300),
        ("checkpoint", folder / "checkpoint", resume, 150),
        ("packed traces", packed, _trace, 200),
        ("aggregate", collected, _values, 150),
    ):
        content = path.read_bytes()

        # Zarr reads the aggregate: it has its own ways with members that were made up.
        forged = mutate_bytes if path == collected else mutate_members

        def spoilt(
            rng: random.Random, k: int, content: bytes = content, forged: Mutation = forged
        ) -> tuple[str, bytes]:
            if k % 2:
                return "bytes", mutate_bytes(rng, content)
            return "members", forged(rng, content)

        targets.append(Target(name, count, spoilt, of(content, read), "spoilt.zarr.zip"))
    return targets


Mutation = Callable[[random.Random, bytes], bytes]


def _trace(path: Path) -> object:
    return [
        (trace.attrs, trace.iteration.tobytes(), sorted(trace.scalars), _bytes(trace.mean))
        for trace in read_traces(path)
    ]


def _prepared(path: Path) -> object:
    prepared = read_prepared(path)
    return prepared.spec, prepared.train_x.tobytes(), prepared.test_y.tobytes()


def _optimum(path: Path) -> object:
    optimum = read_optimum(path)
    return optimum.attrs, _bytes(optimum.mean), _bytes(optimum.covariance_factor)


def _round(path: Path) -> object:
    found = read_round(path)
    return *found[:3], [trace.attrs for trace in found.traces]


def _aggregated(folder: Path) -> Path:
    """Do a small study up to its aggregate."""
    study = Study(STUDY, folder)
    with contextlib.redirect_stdout(io.StringIO()):
        assert study.prepare() == study.run() == study.aggregate() == 0
    return study.aggregate_path


def _values(path: Path) -> object:
    with open_aggregate(path) as dataset:
        return {str(name): values.values.tolist() for name, values in dataset.variables.items()}


def _bytes(array: np.ndarray | None) -> bytes | None:
    return None if array is None else array.tobytes()


def _json_files(folder: Path) -> list[Target]:
    choice = {"step": 0.1, "init_scale": 1.0, "objective": 3.0, "trials": 4, "diverged": 0}
    choice |= {"iterations": 100, "seconds": 0.1, "share_of_rows": 1.0, "points": []}
    choice |= {"note": "", "failed": None, "edges": {}, "extensions": {"step": 0, "init_scale": 0}}
    plan = expand(
        load_config({"studies": {"s": {"datasets": ["wdbc"], "solvers": ["vn"], "step": 0.1}}})
    )
    manifest = json.loads(plan.manifest("s"))

    def of(tree: Any) -> Callable[[random.Random, int], bytes]:
        def spoilt(rng: random.Random, k: int) -> bytes:
            if k % 2:
                return mutate_bytes(rng, json.dumps(tree).encode())
            return json.dumps(mutate_tree(rng, tree), default=str, skipkeys=True).encode()

        return spoilt

    def feed(read: Callable[[Path], object]) -> Callable[[bytes], None]:
        def write_and_read(content: bytes) -> None:
            path = folder / "spoilt.json"
            path.write_bytes(content)
            read(path)

        return write_and_read

    def aggregated(path: Path) -> None:
        read_manifest(path)
        aggregate(path, folder / "never.zarr.zip")

    return [
        Target("choice", 150, of(choice), feed(read_choice), "spoilt.json"),
        Target("choices", 150, of(choice), feed(lambda path: read_choices([path])), "spoilt.json"),
        Target("manifest", 200, of(manifest), feed(aggregated), ""),
    ]
