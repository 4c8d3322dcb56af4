"""Test submissions: a folder of traces scores like the same run of gvibench, or is rejected."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gvibench.benchmark.entries import entry_outcomes
from gvibench.benchmark.folders import repeat, score_folder
from gvibench.benchmark.instances import arrays_of, export, instances, study_of
from gvibench.benchmark.verify import agreement, run_instance
from gvibench.errors import UserError
from gvibench.models.basis import basis_of
from gvibench.study.config import load_config
from gvibench.study.yaml_file import read_yaml

ROOT = Path(__file__).parents[2]
CARD = {
    **{"name": "plain VN", "version": "1", "track": "A", "league": "untuned"},
    **{"cost": "one pass per step", "search_space": "none", "licence": "BSD", "authors": "we"},
}
SMALL = ("haberman", "banknote")


@pytest.fixture(scope="module")
def config():
    """Return the config of the benchmark with two of its problems."""
    values = read_yaml(ROOT / "config/benchmark.yaml")
    for study in values["studies"].values():
        study["datasets"] = {name: {} for name in SMALL}
    return load_config(values)


def softplus_moments(mu, s):
    """Return E phi, E phi' and E phi'' of N(mu, s^2) by integrating the bump phi''."""
    from scipy.special import expit
    from scipy.stats import norm

    u = np.arange(-44, 44.01, 0.125)[:, None]
    bump = 0.125 * expit(u) * expit(-u)
    t = (mu - u) / s
    first = (bump * norm.cdf(t)).sum(0)
    second = (bump * norm.pdf(t) / s).sum(0)
    return (bump * s * (t * norm.cdf(t) + norm.pdf(t))).sum(0), first, second


def plain_newton(arrays, steps=25):
    """Run VN with step 1/2 in plain NumPy. Return cost, mean, factor and objective by record."""
    a, prior = -arrays.y[:, None] * arrays.rows, arrays.precision
    m, factor = arrays.mean0.copy(), arrays.factor0.copy()
    precision = np.linalg.inv(factor @ factor.T)
    records = []
    for k in range(steps + 1):
        covariance = factor @ factor.T
        s = np.sqrt(np.einsum("ij,jk,ik->i", a, covariance, a))
        f0, f1, f2 = softplus_moments(a @ m, s)
        value = f0.sum() + 0.5 * (m @ prior @ m + np.trace(prior @ covariance))
        value -= np.log(np.diag(factor)).sum()
        records.append((k + 1.0, m.copy(), factor.copy(), value))
        precision = 0.5 * precision + 0.5 * ((a * f2[:, None]).T @ a + prior)
        m = m - 0.5 * np.linalg.solve(precision, a.T @ f1 + prior @ m)
        factor = np.linalg.cholesky(np.linalg.inv(precision))
    return [np.array(column) for column in zip(*records, strict=True)]


@pytest.fixture(scope="module")
def folder(config, tmp_path_factory):
    path = tmp_path_factory.mktemp("submission")
    (path / "card.json").write_text(json.dumps(CARD))
    for each in instances(study_of(config, "A")):
        if ".prior" in each.name:  # VN with a constant step does not converge from there
            continue
        cost, mean, factor, objective = plain_newton(arrays_of(each))
        np.savez(
            path / f"{each.name}.npz",
            **{"cost": cost, "seconds": 0.01 * cost, "mean": mean, "covariance_factor": factor},
            **{"objective": objective, "status": "completed", "reason": ""},
        )
    return path


def test_a_folder_scores_like_the_same_runs_of_gvibench(config, folder):
    study = study_of(config, "A")
    card, submitted, traces = score_folder(folder, config)
    assert card.name == "plain VN"
    assert len(traces) == len(list(folder.glob("*.npz")))
    runs = {}
    for each in instances(study, "vn"):
        if ".prior" not in each.name:
            spec = each.spec.replace(step_rule="constant", step=0.5, step_options={}, iterations=25)
            runs[each.name] = run_instance(type(each)(each.name, each.problem, spec))
    ours = entry_outcomes("vn", runs, instances(study), study)
    assert np.isfinite(ours["cost"].values).sum() > 100
    assert np.array_equal(ours["cost"].values, submitted["cost"].values)
    assert_allclose(ours["final_gap"], submitted["final_gap"], atol=1e-8)


def test_missing_instances_have_failed(config, folder):
    outcomes = score_folder(folder, config).outcomes
    missing = outcomes.sel(instance="haberman.identity.prior")
    assert missing["reason"].values == ["no trace"]
    assert np.isinf(missing["cost"].values).all()


def changed(folder, tmp_path, name="haberman.affine.zero", **changes):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    with np.load(copy / f"{name}.npz") as file:
        arrays = {key: file[key] for key in file}
    arrays |= {key: change(arrays[key]) for key, change in changes.items()}
    np.savez(copy / f"{name}.npz", **arrays)
    return copy


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"objective": lambda x: x * (1 - 1e-6)}, "the objective of record 0 is"),
        ({"mean": lambda x: x + 1e-5 * (np.arange(len(x)) > 3)[:, None]}, "objective of record 4"),
        ({"covariance_factor": lambda x: x * 1.001}, "start"),
        ({"cost": lambda x: x[::-1]}, "cost"),
        ({"mean": lambda x: x[:, :-1]}, "shape"),
    ],
)
def test_tampered_traces_are_rejected_with_the_reason(config, folder, tmp_path, changes, sentence):
    copy = changed(folder, tmp_path, **changes)
    with pytest.raises(UserError, match=sentence):
        score_folder(copy, config)


@pytest.mark.parametrize(
    ("cost", "status", "expected"),
    [
        (lambda x: x, "completed", "completed"),
        (lambda x: x, "diverged", "diverged"),
        (lambda x: 50 * x, "diverged", "completed"),  # the budget ended before
    ],
)
def test_runs_end_at_the_budget(config, folder, tmp_path, cost, status, expected):
    texts = {"status": lambda _: np.array(status), "reason": lambda _: np.array("not finite")}
    copy = changed(folder, tmp_path, cost=cost, **texts)
    found = score_folder(copy, config).outcomes.sel(instance="haberman.affine.zero")
    assert found["status"].values == [expected]


def test_a_run_that_ends_above_its_start_has_failed(config, folder, tmp_path):
    """It reaches no target, as in gvibench, even if it had reached some before."""
    name = "haberman.affine.zero"
    with np.load(folder / f"{name}.npz") as file:
        last = {key: file[key][-1:] for key in ("mean", "covariance_factor", "cost", "seconds")}
    last["mean"] = last["mean"] + 1e4
    changes = {key: lambda x, y=value: np.concatenate([x, y]) for key, value in last.items()}
    copy = changed(folder, tmp_path, name, objective=lambda x: np.append(x, 0.0), **changes)
    with pytest.raises(UserError, match="objective of record 26") as caught:
        score_folder(copy, config)
    value = float(str(caught.value).split(" in the trace but ")[1].split()[0])
    shutil.rmtree(copy)
    copy = changed(folder, tmp_path, name, objective=lambda x: np.append(x, value), **changes)
    found = score_folder(copy, config).outcomes.sel(instance=name)
    assert found["status"].values == ["failed"]
    assert "above the starting one" in found["reason"].values[0]
    assert np.isinf(found["cost"].values).all()


def test_a_repetition_in_another_track_is_rejected(config, folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "card.json").write_text(json.dumps({**CARD, "track": "B"}))
    for path in folder.glob("*.identity.zero.npz"):
        shutil.copy(path, other)
    command = f"cp -r {other}/. {{out}}"
    with pytest.raises(UserError, match="wrote runs of track B, league 'untuned', but"):
        repeat(folder, command, config, seed=0)


def test_unknown_instances_are_rejected(config, folder, tmp_path):
    copy = changed(folder, tmp_path)
    (copy / "haberman.affine.zero.npz").rename(copy / "haberman.affin.zero.npz")
    with pytest.raises(UserError, match=r"did you mean 'haberman\.affine\.zero'"):
        score_folder(copy, config)


def test_exported_instances_are_the_same_problem_in_all_coordinates(config, tmp_path):
    problems = export(tmp_path, config)
    for track, names in problems.instances.items():
        assert names == tuple(each.name for each in instances(study_of(config, track)))
    plain, mapped = (problems.read(f"banknote.{name}.prior") for name in ("identity", "affine"))
    assert plain.optimum == mapped.optimum
    study = study_of(config, "A")
    spec = next(e.spec for e in instances(study) if e.name == "banknote.affine.prior")
    basis = basis_of(spec, 5)
    assert_allclose(mapped.rows, plain.rows @ basis.map, rtol=1e-12)
    root = basis.map @ mapped.factor0
    assert_allclose(root @ root.T, plain.factor0 @ plain.factor0.T, atol=1e-8)


def test_a_repetition_of_the_adapter_agrees(config, tmp_path):
    problems, out = tmp_path / "problems", tmp_path / "out"
    names = [f"haberman.identity.{start}" for start in ("zero", "random")]
    export(problems, config, names)
    script = ROOT / "examples/adapters/plain_numpy.py"
    subprocess.run([sys.executable, script, problems, out, *names], check=True)
    command = f"{sys.executable} {script} {{problems}} {{out}} {{instances}}"
    found = agreement(*repeat(out, command, config, share=0.5, seed=1))
    assert found.instances == 1
    assert found.agreeing == found.targets
    for command, sentence in {
        "false {problems} {out} {instances}": "failed",
        "python {problem}": "invalid placeholder '{problem}'",
        "python {out.name}": "invalid placeholder",
        "python 'a": "invalid quote",
        "": "is empty",
    }.items():
        with pytest.raises(UserError, match=sentence):
            repeat(out, command, config)


def test_the_tuned_league_has_an_instance_per_search(config, folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "tuned")
    (copy / "card.json").write_text(json.dumps({**CARD, "league": "tuned", "trials": 8}))
    with pytest.raises(UserError, match=r"the track has no instance 'banknote\.affine"):
        score_folder(copy, config)
    for path in copy.glob("*.npz"):
        if path.stem.endswith("identity.random"):
            path.rename(copy / f"{path.stem}.search-2.npz")
        else:
            path.unlink()
    found = score_folder(copy, config).outcomes
    assert found.sizes["instance"] == 3 * len(SMALL)
    reached = np.isfinite(found["cost"].values).any(axis=(0, 2))
    assert found["instance"].values[reached].tolist() == [
        f"{name}.identity.random.search-2" for name in SMALL
    ]
