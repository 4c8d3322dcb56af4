"""Test all commands and flags: a valid value works, an invalid one gives a one-line error.

In both cases only the declared output changes in the working directory. The flags are read from the
parser, so a new flag fails until the tables below have an entry for it.
"""

import argparse
import functools
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
import yaml

from figures.made_aggregate import Run, write_aggregate
from gvibench.check import device
from gvibench.cli import study
from gvibench.cli.main import build_parser, main

STUDY = {
    "datasets": ["synthetic"],
    "solvers": ["vn"],
    "step": 0.1,
    "iterations": 2,
    "seeds": 1,
    "figures": [],
    "tables": [],
}
ORPHAN = "results/made/runs/wdbc/vn/step-9.0/seed-0.zarr.zip"


@dataclass(frozen=True)
class Case:
    """A valid and an invalid value of one flag."""

    good: str | None
    """None for a flag that takes no value."""
    bad: str
    required: Mapping[str, str] = field(default_factory=dict)
    """Flags required by the values."""
    alone: bool = False
    """Whether the flag replaces the other flags of the command, as `--spec` does."""
    touched: Sequence[str] = ()
    """Files or folders that a valid value changes in addition to the command's output."""


@dataclass(frozen=True)
class Command:
    """A command with its required arguments, and the files it then writes."""

    flags: Mapping[str, str | None] = field(default_factory=dict)
    positionals: Mapping[str, str] = field(default_factory=dict)
    writes: Sequence[str] = ()


RUN = {"--dataset": "synthetic", "--solver": "vn", "--step": "0.1", "--iterations": "2"}
SPEC = {"data": {"dataset": "synthetic"}, "beta": 0.1}
RUN_SPEC = {**SPEC, "solver": "vn", "step": 0.1, "iterations": 2}
COMMANDS = {
    "run": Command({**RUN, "--out": "new.zarr.zip"}, {}, ["new.zarr.zip"]),
    "optimum": Command({"--dataset": "synthetic", "--out": "new.zarr.zip"}, {}, ["new.zarr.zip"]),
    "prepare": Command({"--dataset": "synthetic", "--out": "new.zarr.zip"}, {}, ["new.zarr.zip"]),
    "show": Command({}, {"file": "t.zarr.zip"}),
    "plan": Command({}, {"config": "config/config.yaml"}),
    "study": Command({}, {"config": "config/config.yaml"}),
    "status": Command({}, {"config": "config/config.yaml"}),
    "watch": Command({"--once": None}, {"config": "config/config.yaml"}),
    "repair": Command({}, {"config": "config/config.yaml"}),
    "clean": Command({"--orphans": None}, {"config": "config/config.yaml"}, ["results/made/runs"]),
    "gallery": Command({}, {"config": "config/config.yaml", "out": "new"}, ["new"]),
    "compare": Command(
        {"--out": "new.html"}, {"A": "results/made", "B": "results/made"}, ["new.html"]
    ),
    "export": Command({"--out": "new.zip"}, {"study": "results/made"}, ["new.zip"]),
    "datasets": Command({}, {"name": "wdbc"}),
    "models": Command(),
    "solvers": Command(),
    "new": Command({}, {"what": "solver", "name": "grand-vn"}, ["grand_vn"]),
    "check": Command({}, {"what": "solver", "name": "vn"}),
    "doctor": Command(),
}

REGRESSION = {"--model": "linear", "--data-option": "targets=real"}
OWN = {"--dataset": "mine"}
CREDIT = {**OWN, "--path": "credit.csv"}
DATA = {
    "--dataset": Case("wdbc", "wdbcc"),
    "--path": Case("rows.npz", "missing.npz", OWN),
    "--test-path": Case("rows.npz", "missing.npz", {**OWN, "--path": "rows.npz"}),
    "--split": Case("0.25", "halves"),
    "--split-seed": Case("7", "-1"),
    "--train-size": Case("30", "0"),
    "--test-size": Case("0.3", "1.5"),
    "--scale": Case("standardize", "logarithm"),
    "--intercept": Case(None, "yes"),
    "--no-intercept": Case(None, "yes", CREDIT),
    "--target": Case("pays", "paid", CREDIT),
    "--positive": Case("no", "maybe", CREDIT),
    "--drop": Case("age", "agee", CREDIT),
    "--categorical": Case("zip", "zipp", CREDIT),
    "--offset": Case("exposure", "exposed", CREDIT),
    "--data-option": Case("n=50", "size=50"),
}
PROBLEM = {
    **DATA,
    "--data": Case("synthetic.zarr.zip", "notes.md"),
    "--model": Case("linear", "cubic", {"--data-option": "targets=real"}),
    "--beta": Case("0.5", "-1"),
    "--prior": Case('{"precision": {"x1": 2.0}, "mean": 0.5}', "strong"),
    "--gamma": Case("0.5", "much"),
    "--basis-condition": Case("10", "0.5"),
    "--sigma": Case("2", "0", REGRESSION),
    "--expectation": Case("gauss-hermite", "magic"),
    "--pieces": Case("10", "2", {"--expectation": "piecewise"}),
    "--piece-degree": Case("linear", "cubic", {"--expectation": "piecewise"}),
    "--nodes": Case("10", "0", {"--expectation": "gauss-hermite"}),
}
STOCHASTIC = {"--expectation": "stochastic"}
FORCED = "other.zarr.zip"
CONFIGURED = {"config": Case("c.yaml", "missing.yaml"), "--results": Case("elsewhere", "{x}")}
CASES: dict[str, dict[str, Case]] = {
    "run": {
        **PROBLEM,
        "--spec": Case(json.dumps(RUN_SPEC), "{", alone=True),
        "--out": Case("deep/new.zarr.zip", "notes.md", touched=["deep"]),
        "--force": Case(None, "yes", {"--out": FORCED}, touched=[FORCED]),
        "--checkpoint-every": Case("0", "soon"),
        "--batch": Case("10", "0", STOCHASTIC),
        "--samples": Case("3", "0", STOCHASTIC),
        "--minibatches": Case("epoch", "shuffled", STOCHASTIC),
        "--estimator": Case("stl", "score", STOCHASTIC),
        "--solver": Case("sr-vn", "vm"),
        "--solver-option": Case("kernel=centred", "kernel", {"--solver": "svgd-density"}),
        "--form": Case("dense", "sparse"),
        "--step": Case("5e-3", "abc"),
        "--step-rule": Case("constant", "steepest"),
        "--step-option": Case("shrink=0.3", "shrink=2.0", {"--step-rule": "auto"}),
        "--init-scale": Case("0.5", "0"),
        "--mean-scale": Case("0", "-1"),
        "--seed": Case("3", "-1"),
        "--iterations": Case("3", "1.5"),
        "--seconds": Case("0.5", "0"),
        "--passes": Case("5", "0"),
        "--tolerance": Case("1e-3", "-1"),
        "--record-every": Case("log", "0"),
        "--test-every": Case("1", "0"),
        "--record": Case("cov_eig_min", "everything"),
        "--snapshots": Case("0", "-1"),
        "--threads": Case("2", "0"),
        "--device": Case("cpu", "tpu"),
        "--dtype": Case("float32", "float16"),
    },
    "optimum": {
        **PROBLEM,
        "--spec": Case(json.dumps(SPEC), "[]", alone=True),
        "--out": Case("deep/new.zarr.zip", "data", touched=["deep"]),
        "--force": Case(None, "yes", {"--out": FORCED}, touched=[FORCED]),
    },
    "prepare": {
        **DATA,
        "--spec": Case(json.dumps(SPEC["data"]), "{}", alone=True),
        "--model": Case("linear", "quadratic"),
        "--out": Case("deep/new.zarr.zip", "t.zarr.zip", touched=["deep"]),
        "--force": Case(None, "yes", {"--out": FORCED}, touched=[FORCED]),
    },
    "show": {"file": Case("synthetic.zarr.zip", "notes.md")},
    "plan": CONFIGURED,
    "study": {**CONFIGURED, "--results": Case("results", "{x}")},
    "status": CONFIGURED,
    "watch": {**CONFIGURED, "--once": Case(None, "yes")},
    "repair": CONFIGURED,
    "clean": {**CONFIGURED, "--orphans": Case(None, "yes"), "--dry-run": Case(None, "yes")},
    "gallery": {
        "config": Case("c.yaml", "notes.md"),
        "out": Case("empty", "config", touched=["empty"]),
        "--results": Case("results", "elsewhere"),
    },
    "compare": {
        "A": Case("results/made/aggregate.zarr.zip", "notes.md"),
        "B": Case("results/made/aggregate.zarr.zip", "missing"),
        "--out": Case("deep/new.html", "thesis.html", touched=["deep"]),
        "--force": Case(None, "yes", {"--out": "thesis.html"}, touched=["thesis.html"]),
    },
    "export": {
        "study": Case("results/made", "results"),
        "--out": Case("deep/new.zip", "other.zip", touched=["deep"]),
        "--force": Case(None, "yes", {"--out": "other.zip"}, touched=["other.zip"]),
        "--traces": Case(None, "yes"),
        "--author": Case("Ada Lovelace", ""),
        "--license": Case("CC-BY-4.0", "do what you like"),
    },
    "datasets": {"name": Case("sonar", "sonarr")},
    "models": {},
    "solvers": {},
    "new": {
        "what": Case("solver", "figure"),
        "name": Case("other-vn", "class", touched=["other_vn"]),
        "--into": Case("deep", "notes.md", touched=["deep"]),
    },
    "check": {"what": Case("solver", "figure"), "name": Case("vn", "vm")},
    "doctor": {"--device": Case("cpu", "tpu")},
}


ELSEWHERE = {"benchmark", "score"}
"""Commands with tests in `tests/benchmark`, because they need the config of the benchmark."""


@functools.cache
def flags_of_parser() -> dict[str, list[str]]:
    """Return the flags and positional arguments of each command."""
    parser = build_parser()
    [commands] = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    return {
        name: [
            action.option_strings[-1] if action.option_strings else action.dest
            for action in command._actions
            if not isinstance(action, argparse._HelpAction)
        ]
        for name, command in commands.choices.items()
        if name not in ELSEWHERE
    }


ALL_FLAGS = [(name, flag) for name, flags in flags_of_parser().items() for flag in flags]


def test_each_command_and_flag_has_an_entry():
    assert {name: set(flags) for name, flags in flags_of_parser().items()} == {
        name: set(cases) for name, cases in CASES.items()
    }
    assert set(COMMANDS) == set(CASES)


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A working directory with a config, results and unrelated files."""
    folder = tmp_path_factory.mktemp("template")
    results = folder / "results/made"
    runs = results / "runs/wdbc/vn/step-0.1"
    runs.mkdir(parents=True)
    for path in (write_aggregate(runs, [Run([20.0, 12.0])]), runs / "manifest.json"):
        path.rename(results / path.name)
    for name in ("summary.md", "config.yaml"):
        (results / name).write_text("# made\n\nThe conclusion.\n")
    (folder / ORPHAN).parent.mkdir()
    (folder / ORPHAN).write_text("of an earlier config")
    (folder / "config").mkdir()
    for name in ("config/config.yaml", "c.yaml"):
        (folder / name).write_text(yaml.safe_dump({"studies": {"made": STUDY}}))
    for name in ("notes.md", "thesis.html", "other.zip", FORCED):
        (folder / name).write_text("years of work")
    (folder / "empty").mkdir()
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 3))
    np.savez(folder / "rows.npz", X=x, y=x[:, 0] + rng.standard_normal(60) > 0)
    lines = [
        f"{20 + k % 30},{k % 3},{'abc'[k // 2 % 3]},{k % 7},{'yes' if k % 4 else 'no'}"
        for k in range(60)
    ]
    (folder / "credit.csv").write_text("\n".join(["age,zip,job,exposure,pays", *lines]))
    words = ["--dataset", "synthetic", "--out"]
    assert main(["prepare", *words, str(folder / "synthetic.zarr.zip")]) == 0
    made = ["run", "--solver", "vn", "--step", "0.1", "--iterations", "2"]
    assert main([*made, *words, str(folder / "t.zarr.zip")]) == 0
    return folder


@pytest.fixture
def folder(template, tmp_path, monkeypatch):
    """A copy of the template as working directory, with short timings in `doctor`.

    In the place of Snakemake, `study` runs a process that ends at once.
    """
    monkeypatch.setattr(study, "SNAKEMAKE", (sys.executable, "-c", ""))
    for name, value in {"TIMED_ROWS": 200, "TIMED_FEATURES": 10, "TIMED_POINTS": 1000}.items():
        monkeypatch.setattr(device, name, value)
    copy = tmp_path / "copy"
    shutil.copytree(template, copy)
    monkeypatch.chdir(copy)
    return copy


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def words_of(name, flag, case, value, *, glued=False):
    """Return the command line. `glued` gives a value to a flag that takes none."""
    command = COMMANDS[name]
    positionals = dict(command.positionals)
    flags = {} if case.alone else {**command.flags, **case.required}
    if case.alone:
        flags["--out"] = command.flags["--out"]
    if flag in positionals:
        positionals[flag] = value
    elif not glued:
        flags[flag] = value
    given = [
        word for key, text in flags.items() for word in ([key, text] if text is not None else [key])
    ]
    return [name, *positionals.values(), *given, *([f"{flag}={value}"] if glued else [])]


def call(words):
    try:
        return main(words)
    except SystemExit as stop:
        return stop.code


@pytest.mark.parametrize(("name", "flag"), ALL_FLAGS)
def test_a_valid_value_works_and_changes_only_the_output(folder, capsys, name, flag):
    case, before = CASES[name][flag], contents(folder)
    code = call(words_of(name, flag, case, case.good))
    assert code == 0, capsys.readouterr().err
    after = contents(folder)
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    declared = (*COMMANDS[name].writes, *case.touched)
    others = {path for path in changed if not path.startswith(declared)}
    assert not others


@pytest.mark.parametrize(("name", "flag"), ALL_FLAGS)
def test_an_invalid_value_gives_one_line_and_changes_nothing(folder, capsys, name, flag):
    case, before = CASES[name][flag], contents(folder)
    capsys.readouterr()
    assert call(words_of(name, flag, case, case.bad, glued=case.good is None)) == 2
    message = capsys.readouterr().err
    assert message.startswith("gvibench")
    assert message.count("\n") == 1
    assert "Traceback" not in message
    assert contents(folder) == before


@pytest.mark.parametrize("name", COMMANDS)
def test_required_arguments_suffice_and_help_lists_all_flags(folder, capsys, name):
    command = COMMANDS[name]
    flags = [word for pair in command.flags.items() for word in pair if word is not None]
    assert call([name, *command.positionals.values(), *flags]) == 0
    capsys.readouterr()
    assert call([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert all(flag in text for flag in flags_of_parser()[name] if flag.startswith("--"))


@pytest.mark.parametrize("name", ["run", "optimum", "prepare"])
def test_help_shows_the_default_of_each_setting(capsys, name):
    call([name, "--help"])
    text = " ".join(capsys.readouterr().out.partition("\n\n")[2].split())
    repeated = {"--data-option", "--solver-option", "--step-option"}
    for flag in set(flags_of_parser()[name]) - {"--spec", "--out", "--force"} - repeated:
        _, separator, rest = text.partition(f" {flag} ")
        assert separator, flag
        own = rest.partition(" --")[0]
        assert "default: " in own or "required" in own, flag


@pytest.mark.parametrize("words", [[], ["unknown"], ["run", "--unknown", "3"], ["--unknown"]])
def test_unknown_arguments_give_one_line(capsys, words):
    assert call(words) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_version_and_help(capsys, word):
    assert call([word]) == 0
    assert "gvibench" in capsys.readouterr().out
