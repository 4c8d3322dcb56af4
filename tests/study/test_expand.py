import json
from pathlib import Path, PurePosixPath

import pytest
from study_config import jobs, specs, study

from gvibench.errors import UserError
from gvibench.spec.run import RunSpec
from gvibench.study.config import load_config, read_config
from gvibench.study.cost import suggest_pack
from gvibench.study.expand import expand

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda p: p.name)
def test_configs_of_the_project_expand(path):
    assert expand(read_config(path)).runs


def test_all_combinations_of_settings_are_run():
    runs = specs(
        datasets=["wdbc", "synthetic"],
        solvers=["vn", "sr-vn"],
        step=[0.1, 0.2],
        init_scale=[0.5, 1.0],
        seeds=[3, 4, 9],
        expectation="piecewise",
        vary={"gamma": [0.5, 1.0], "pieces": [10, 20]},
    )
    assert len(runs) == 2 * 2 * 2 * 2 * 3 * 2 * 2
    assert len({spec.spec_hash for spec in runs}) == len(runs)
    assert {spec.seed for spec in runs} == {3, 4, 9}
    assert {spec.gamma for spec in runs} == {0.5, 1.0}


def test_a_solver_can_have_two_names():
    plan = jobs(
        solvers={
            "centred": {"solver": "svgd-density", "options": {"kernel": "centred"}},
            "svgd-density": None,
        },
        seeds=1,
    )
    options = {job.solver: job.specs[0].solver_options for job in plan.runs.values()}
    assert options == {"centred": {"kernel": "centred"}, "svgd-density": {"kernel": "linear"}}


def test_a_data_set_can_have_two_names():
    plan = jobs(datasets={"wdbc": None, "half": {"dataset": "wdbc", "test_size": 0.5}}, seeds=1)
    assert {job.dataset for job in plan.runs.values()} == {"wdbc", "half"}
    assert {job.spec.test_size for job in plan.data.values()} == {0.2, 0.5}


def test_settings_that_a_run_does_not_use_add_no_runs():
    solvers = {"bound": {"solver": "vn", "expectation": "piecewise"}, "vn": {}}
    changes = {"solvers": solvers, "record": ["objective_exact"], "seeds": 1}
    plan = jobs(vary={"pieces": [10, 20], "gamma": [0.5, 1.0]}, **changes)
    labels = {Path(path).parent.name for path, job in plan.runs.items() if job.solver == "vn"}
    assert labels == {f"step-0.1_scale-1.0_gamma-{gamma}" for gamma in (0.5, 1.0)}
    assert sum(job.solver == "bound" for job in plan.runs.values()) == 4
    # An unused setting does not change the spec of a run.
    unused = {"pieces": 5, "piece_degree": "linear", "nodes": 5, "batch": 5, "samples": 5}
    assert specs(**unused, sigma=2.0) == specs()
    assert specs(model="linear", sigma=2.0) != specs(model="linear")


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({}, ["seeds-0", "seeds-1"]),
        ({"iterations": 10_000_000}, [f"seed-{k}" for k in range(7)]),
        ({"exclusive": True}, [f"seed-{k}" for k in range(7)]),
        ({"device": "cuda"}, [f"seed-{k}" for k in range(7)]),
        ({"exclusive": True, "pack": 7}, ["seeds-0"]),
        ({"pack": 1}, [f"seed-{k}" for k in range(7)]),
    ],
)
def test_five_seeds_of_short_runs_share_a_job(changes, names):
    plan = jobs(seeds=7, **changes)
    assert [PurePosixPath(path).name.partition(".")[0] for path in plan.runs] == names
    assert sorted(spec.seed for job in plan.runs.values() for spec in job.specs) == list(range(7))


STARTS = {
    "zero": {"mean_scale": 0.0, "init_scale": 1.0},
    "random": {"mean_scale": 1.0, "init_scale": 0.1},
}


@pytest.mark.parametrize(
    ("changes", "count", "label"),
    [
        ({}, 1, "step-0.1_starts"),
        ({"seeds": 3}, 2, "step-0.1_starts"),
        ({"step": [0.1, 0.2]}, 2, "step-0.1_starts"),
        ({"pack": 1}, 2, "step-0.1_scale-1.0_start-zero"),
        ({"pack": 4, "seeds": 4}, 1, "step-0.1_starts"),
        ({"exclusive": True}, 2, "step-0.1_scale-1.0_start-zero"),
        ({"iterations": 10_000_000}, 2, "step-0.1_scale-1.0_start-zero"),
        ({"step": "tuned"}, 2, "tuned_start-zero"),
        ({"tables": ["quality"], "expectation": "exact"}, 2, "step-0.1_scale-1.0_start-zero"),
    ],
)
def test_named_starts_of_short_runs_share_a_job(changes, count, label):
    settings = {"seeds": 1, "starts": STARTS, **changes}
    runs = list(jobs(**settings).runs.values())
    assert len(runs) == count
    assert PurePosixPath(runs[0].path).parent.name == label
    specs = [spec for job in runs for spec in job.specs]
    assert len({spec.canonical() for spec in specs}) == len(specs)
    for job in runs:
        groups = [row["group"] for row in job.manifest_rows()]
        assert len(set(groups)) == len(groups)


def test_jobs_repeat_the_specs_of_their_starts_and_seeds():
    (job,) = jobs(seeds=2, starts=STARTS).runs.values()
    params = json.loads(job.params)
    repeated = [
        RunSpec.from_dict({**params["spec"], **start, "seed": seed})
        for start in params["starts"]
        for seed in params["seeds"]
    ]
    assert repeated == list(job.specs)


def test_runs_with_a_limit_of_passes_are_short():
    limited = {"iterations": 10_000_000, "passes": 100.0}
    (job,) = jobs(seeds=3, **limited).runs.values()
    assert len(job.specs) == 3


def test_the_parameters_of_a_block_stay_short():
    """Linux limits one argument of a command to 128 KiB."""
    (job,) = jobs(seeds=1000, pack=1000).runs.values()
    assert len(job.params) < 2**16


@pytest.mark.parametrize(
    ("changes", "pack"),
    [
        ({"seeds": 4000}, None),
        ({"seeds": 6000}, 10),
        ({"seeds": 100_000}, 100),
        ({"seeds": 6000, "pack": 20}, None),
        ({"seeds": 6000, "iterations": 10_000_000}, None),
        ({"step": [0.001 * k for k in range(1, 2001)], "seeds": 3}, None),
        ({"step": [0.001 * k for k in range(1, 2001)], "seeds": 8}, 8),
    ],
)
def test_larger_blocks_are_suggested_for_many_short_runs(changes, pack):
    plan = jobs(**changes)
    assert suggest_pack(plan, "s") == pack
    if pack:
        assert len(jobs(**changes, pack=pack).runs) < len(plan.runs)


def test_packed_blocks_are_aligned():
    plan = jobs(seeds=[0, 1, 2, 3, 9], pack=4)
    assert [[spec.seed for spec in job.specs] for job in plan.runs.values()] == [
        [0, 1, 2, 3],
        [9],
    ]
    assert [Path(path).name for path in plan.runs] == ["seeds-0.zarr.zip", "seeds-2.zarr.zip"]


def test_an_optimum_is_found_only_if_gaps_need_it():
    assert not jobs(gap="best-seen").optima
    assert not jobs(model="non-convex").optima
    assert len(jobs(solvers=["vn", "sr-vn"], seeds=3).optima) == 1


def test_a_tilde_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "mine.svm").write_text("1 1:0.5\n0 2:0.5\n" * 50)
    own = {"mine": {"path": "~/mine.svm"}}
    plan = expand(load_config({**study(datasets=own), "results": "~/x"}))
    assert plan.config.results == f"{tmp_path}/x"
    assert [job.own_files for job in plan.data.values()] == [[f"{tmp_path}/mine.svm"]]


@pytest.mark.parametrize("name", ["a" * 80, "ab" * 30])
def test_names_that_snakemake_rejects_are_an_error(name):
    with pytest.raises(UserError, match="20 times, which Snakemake does not accept"):
        jobs(datasets={name: {"dataset": "wdbc"}})
    assert jobs(datasets={name[:19]: {"dataset": "wdbc"}})


def test_names_that_are_too_long_for_a_file_are_an_error():
    with pytest.raises(UserError, match="file systems allow 255"):
        jobs(
            datasets=["synthetic"],
            vary={
                "data.options": [{"n": 100, "seed": 10**9}],
                "record": [
                    [
                        "cov_eig_min",
                        "cov_eig_max",
                        "factor_norm",
                        "sign_flips",
                        "covariance_factor_path",
                        "flow_time",
                        "objective_exact",
                        "covariance_factor",
                    ]
                ],
                **{
                    f"data.{name}": [value]
                    for name, value in (
                        ("split_seed", 2**31),
                        ("scale", "standardize"),
                        ("intercept", True),
                        ("train_size", 0.123456789),
                    )
                },
            },
        )


def test_data_sets_can_be_excluded():
    config = {
        "studies": {
            "a": {"datasets": ["wdbc", "synthetic"], "solvers": ["vn"], "step": 0.1},
            "b": {"datasets": ["wdbc"], "solvers": ["vn"], "step": 0.1},
        }
    }
    plan = expand(load_config({**config, "without": ["wdbc"]}))
    assert set(plan.config.studies) == {"a"}
    assert {job.dataset for job in plan.runs.values()} == {"synthetic"}
    # The other runs are the same as without the exclusion.
    assert plan.runs.keys() <= expand(load_config(config)).runs.keys()
    with pytest.raises(UserError, match="did you mean 'wdbc'"):
        expand(load_config({**config, "without": ["wdcb"]}))
    with pytest.raises(UserError, match="nothing to run"):
        expand(load_config({**config, "without": ["wdbc", "synthetic"]}))


def test_different_expectations_need_the_exact_objective():
    mixed = {"bound": {"solver": "vn", "expectation": "piecewise"}, "vn": {}}
    with pytest.raises(UserError, match="different expectations"):
        jobs(solvers=mixed)
    plan = jobs(solvers=mixed, record=["objective_exact"])
    bound_jobs = [job for job in plan.runs.values() if job.solver == "bound"]
    assert {job.exact_optimum.spec.expectation for job in bound_jobs} == {"exact"}
    assert {job.optimum.spec.expectation for job in bound_jobs} == {"piecewise"}
    # A stochastic run always records exact values.
    assert jobs(solvers={"vn": {}, "noisy": {"solver": "vn", "expectation": "stochastic"}})


def test_only_what_is_untracked_follows_the_order_of_the_config():
    datasets, solvers = ["wdbc", "synthetic", "digits-odd-even"], ["vn", "bw-gd", "sr-vn"]
    settings = study(datasets=datasets, solvers=solvers, step=[0.2, 0.1], seeds=2)
    plan = expand(load_config(settings))
    (name,) = settings["studies"]
    order = json.loads(plan.untracked(name))["order"]
    assert order == {"dataset": datasets, "solver": solvers}
    turned = study(datasets=datasets[::-1], solvers=solvers[::-1], step=[0.2, 0.1], seeds=2)
    assert expand(load_config(turned)).manifest(name) == plan.manifest(name)


def test_scores_of_times_need_their_own_range():
    settings = {"cost": "seconds", "tables": ["scores"], "expectation": "exact"}
    with pytest.raises(UserError, match="with cost 'seconds', 'scores' needs a range of times"):
        jobs(**settings)
    with pytest.raises(UserError, match="needs a range of times"):
        jobs(**settings, score={"budget": 10.0})
    jobs(**settings, score={"least": 1e-3, "budget": 10.0})


def test_held_out_rows_must_be_enough_for_the_batches():
    """Batches of most of the held-out rows would be less noisy than those of the runs."""
    data = {"wdbc": {"test_size": 20}}
    settings = {"expectation": "stochastic", "batch": 10, "step": "tuned"}
    with pytest.raises(UserError, match=r"tuning.rows is 20 \(held-out\), too few for batches"):
        jobs(datasets=data, **settings, tuning={"rows": "held-out"})
    jobs(datasets={"wdbc": {"test_size": 0.5}}, **settings, tuning={"rows": "held-out"})
