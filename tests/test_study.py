import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from gvibench.cli import config_docs as configdoc
from gvibench.errors import UserError
from gvibench.spec.run import DataSpec
from gvibench.study.config import LogGrid, load_config, read_config
from gvibench.study.expand import expand
from gvibench.study.yaml_file import read_yaml

ROOT = Path(__file__).parents[1]


def study(**changes):
    values = {"datasets": ["wdbc"], "solvers": ["vn"], "step": 0.1, **changes}
    return {"studies": {"s": {key: value for key, value in values.items() if value is not None}}}


def jobs(**changes):
    return expand(load_config(study(**changes)))


def specs(**changes):
    return [spec for job in jobs(**changes).runs.values() for spec in job.specs]


@pytest.mark.parametrize("path", configdoc.FILES, ids=str)
def test_generated_files_are_in_step(path):
    made = configdoc.FILES[path]()
    assert (ROOT / path).read_text() == made, "run python -m gvibench.cli.config_docs"


@pytest.mark.parametrize("path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda p: p.name)
def test_every_config_expands(path):
    assert expand(read_config(path)).runs


def test_every_setting_is_documented():
    for model in configdoc.MODELS:
        for name, text in configdoc.settings_help(model).items():
            assert text, f"{model.__name__}.{name} has no docstring"


def test_fan_out_over_everything():
    made = specs(
        datasets=["wdbc", "synthetic"],
        solvers=["vn", "sr-vn"],
        step=[0.1, 0.2],
        init_scale=[0.5, 1.0],
        seeds=[3, 4, 9],
        expectation="piecewise",
        vary={"gamma": [0.5, 1.0], "pieces": [10, 20]},
    )
    assert len(made) == 2 * 2 * 2 * 2 * 3 * 2 * 2
    assert len({spec.spec_hash for spec in made}) == len(made)
    assert {spec.seed for spec in made} == {3, 4, 9}
    assert {spec.gamma for spec in made} == {0.5, 1.0}


def test_the_nearest_setting_wins():
    made = specs(
        datasets={
            "wdbc": {"iterations": 2, "solvers": {"vn": {"iterations": 4}}},
            "synthetic": None,
        },
        solvers={"vn": None, "sr-vn": {"iterations": 3}, "bw-gd": None},
        iterations=1,
        seeds=1,
    )
    found = {(spec.data.dataset, spec.solver): spec.iterations for spec in made}
    assert found == {
        ("wdbc", "vn"): 4,
        ("wdbc", "sr-vn"): 3,
        ("wdbc", "bw-gd"): 2,
        ("synthetic", "vn"): 1,
        ("synthetic", "sr-vn"): 3,
        ("synthetic", "bw-gd"): 1,
    }


def test_one_solver_under_two_names():
    made = jobs(
        solvers={
            "centred": {"solver": "svgd-density", "options": {"kernel": "centred"}},
            "svgd-density": None,
        },
        seeds=1,
    )
    options = {job.solver: job.specs[0].solver_options for job in made.runs.values()}
    assert options == {"centred": {"kernel": "centred"}, "svgd-density": {"kernel": "linear"}}


def test_one_data_set_under_two_names():
    made = jobs(datasets={"wdbc": None, "half": {"dataset": "wdbc", "test_size": 0.5}}, seeds=1)
    assert {job.dataset for job in made.runs.values()} == {"wdbc", "half"}
    assert {job.spec.test_size for job in made.data.values()} == {0.2, 0.5}


def test_defaults_come_from_the_catalogue_and_the_paper():
    made = specs(datasets=["diabetes_scale"], solvers=["vn", "bw-gd"], step="paper", seeds=1)
    assert {spec.beta for spec in made} == {1e-2}
    assert {spec.solver: spec.step for spec in made} == {"vn": 5e-3, "bw-gd": 9e-4}


def test_log_grid():
    grid = LogGrid(start=1e-3, stop=1.0, count=4)
    assert grid.values() == [0.001, 0.01, 0.1, 1.0]
    assert len(specs(step={"start": 0.001, "stop": 1.0, "count": 7}, seeds=1)) == 7


def test_data_fields_may_vary():
    made = jobs(vary={"data.split_seed": [1, 2]}, seeds=1)
    assert len(made.data) == len(made.optima) == len(made.runs) == 2


MADE = {"dataset": "synthetic", "options": {"n": 60, "d": 3}}
DATA_FIELDS = {
    "dataset": ({}, ["digits-odd-even", "covtype"]),
    "path": ({}, ["mine.npz"]),
    "test_path": ({"path": "mine.svm"}, ["test.svm"]),
    "split": ({"train_size": 40}, ["random", "first"]),
    "split_seed": ({}, [1, 2]),
    "train_size": ({}, [20, 0.5, None]),
    "test_size": ({"train_size": 20}, [10, 0.25]),
    "scaling": ({}, ["standardize", "none"]),
    "intercept": ({}, [True, False]),
    "options": (MADE, [{"n": 50}, {"seed": 1, "d": 2}, {"target": "binary"}, {}]),
}


@pytest.mark.parametrize("model", ["logistic", "linear"])
@pytest.mark.parametrize("field", DataSpec.model_fields)
def test_varying_a_data_field_is_setting_it(field, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("mine", "test"):
        (tmp_path / f"{name}.svm").write_text("1 1:0.5\n0 2:0.5\n" * 50)
    np.savez(tmp_path / "mine.npz", X=np.ones((100, 2)), y=np.arange(100) % 2)
    others, values = DATA_FIELDS[field]
    for value in values:
        name = "own" if "path" in field else "wdbc"
        varied = specs(
            datasets={name: others}, model=model, vary={f"data.{field}": [value]}, seeds=1
        )
        merged = {**others.get("options", {}), **value} if field == "options" else value
        given = specs(datasets={name: {**others, field: merged}}, model=model, seeds=1)
        assert varied == given


def test_the_model_decides_what_targets_mean(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "mine.npz", X=np.ones((100, 2)), y=np.arange(100) % 2)
    own = {"mine": {"path": "mine.npz"}, "synthetic": {}, "wdbc": {}}
    made = specs(datasets=own, vary={"model": ["logistic", "linear", "non-convex"]}, seeds=1)
    found = {(one.data.dataset, one.model): one.data.options.get("target") for one in made}
    for model, target in (
        ("logistic", "binary"),
        ("linear", "regression"),
        ("non-convex", "binary"),
    ):
        assert found["mine", model] == found["synthetic", model] == target
        assert found["wdbc", model] is None  # two classes, whatever the model
    with pytest.raises(UserError, match="are real numbers: use model 'linear'"):
        specs(datasets={"synthetic": {"options": {"target": "regression"}}})


def test_runs_that_differ_in_nothing_they_use_are_one():
    solvers = {"bound": {"solver": "vn", "expectation": "piecewise"}, "vn": {}}
    changes = {"solvers": solvers, "record": ["objective_exact"], "seeds": 1}
    made = jobs(vary={"pieces": [10, 20], "gamma": [0.5, 1.0]}, **changes)
    labels = {Path(path).parent.name for path, job in made.runs.items() if job.solver == "vn"}
    assert labels == {f"step-0.1_scale-1.0_gamma-{gamma}" for gamma in (0.5, 1.0)}
    assert sum(job.solver == "bound" for job in made.runs.values()) == 4
    # An unused setting leaves no mark on the spec of a run.
    unused = {"pieces": 5, "piece_degree": "linear", "nodes": 5, "batch": 5, "samples": 5}
    assert specs(**unused, sigma=2.0) == specs()
    assert specs(model="linear", sigma=2.0) != specs(model="linear")


@pytest.mark.parametrize(
    ("field", "values", "needed"),
    [
        ("pieces", [4, 8], "expectation 'piecewise'"),
        ("piece_degree", ["linear", "quadratic"], "expectation 'piecewise'"),
        ("nodes", [4, 8], "expectation 'gauss-hermite'"),
        ("batch", [4, 8], "expectation 'stochastic'"),
        ("samples", [4, 8], "expectation 'stochastic'"),
        ("sigma", [0.5, 1.0], "model 'linear'"),
    ],
)
def test_varying_what_no_run_uses_is_refused(field, values, needed):
    sentence = f"vary.{field} has no effect: no run of the study uses {needed}"
    with pytest.raises(UserError, match=sentence):
        jobs(vary={field: values})


def test_options_of_a_solver_may_vary():
    made = specs(
        solvers={"svgd-density": {}}, vary={"solver_options": [{"kernel": "centred"}, {}]}, seeds=1
    )
    assert [one.solver_options for one in made] == [{"kernel": "centred"}, {"kernel": "linear"}]


def test_packed_blocks_are_aligned():
    made = jobs(seeds=[0, 1, 2, 3, 9], pack=4)
    assert [[spec.seed for spec in job.specs] for job in made.runs.values()] == [
        [0, 1, 2, 3],
        [9],
    ]
    assert [Path(path).name for path in made.runs] == ["seeds-0.zarr.zip", "seeds-2.zarr.zip"]


def test_order_and_comments_do_not_matter():
    text = yaml.safe_dump(study(datasets=["wdbc", "synthetic"], beta=0.5, seeds=2))
    reordered = yaml.safe_dump(yaml.safe_load(text), sort_keys=True) + "# a comment\n"
    one, other = (expand(load_config(yaml.safe_load(t))) for t in (text, reordered))
    assert {path: job.text for path, job in one.runs.items()} == {
        path: job.text for path, job in other.runs.items()
    }


def test_gap_reference():
    assert not jobs(gap="best-seen").optima
    assert not jobs(model="non-convex").optima
    assert len(jobs(solvers=["vn", "sr-vn"], seeds=3).optima) == 1


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"stepp": 1}, "config: unknown key 'studies.s.stepp' (did you mean 'step'?)"),
        ({"steps": 1}, "unknown key 'studies.s.steps' (did you mean 'step'?)"),
        ({"tuning": {"step": 1}}, "unknown key 'studies.s.tuning.step' (did you mean 'steps'?)"),
        ({"tolerance": "1e-3"}, "'studies.s.tolerance' is text to YAML"),
        (
            {"step": {"start": 1.0, "stop": 0.1, "count": 3}},
            "'start' 1 should be less than 'stop' 0.1",
        ),
        ({"step": "1e-3"}, "'studies.s.step' is text to YAML, which wants 1.0e-3 for a number"),
        ({"beta": "1e-3"}, "'studies.s.beta' is text to YAML"),
        ({"step": []}, "'studies.s.step' list should have at least 1 item, not 0, got []"),
        ({"step": [0.1, -1.0]}, "'studies.s.step.1' should be greater than 0, got -1.0"),
        ({"step": [0.1, 0.1]}, "'studies.s.step' names 0.1 twice"),
        ({"step": "papr"}, "got 'papr' (did you mean 'paper'?)"),
        ({"step": {"start": 0.1, "stop": 1.0, "count": 1}}, "'studies.s.step.count' should be"),
        ({"seeds": [1, 1]}, "'studies.s.seeds' names 1 twice, got [1, 1]"),
        ({"seeds": 0}, "'studies.s.seeds' should be greater than or equal to 1, got 0"),
        ({"datasets": ["wdbcc"]}, "unknown data set 'wdbcc' (did you mean 'wdbc'?)"),
        ({"datasets": []}, "at least 1 item, not 0 (at studies.s.datasets)"),
        ({"datasets": ["wdbc", "wdbc"]}, "names wdbc twice"),
        ({"solvers": ["sr-vm"]}, "unknown solver 'sr-vm' (did you mean 'sr-vn'?)"),
        (
            {"solvers": {"svgd-density": {"options": {"kernl": 1}}}},
            "unknown key 'kernl' (did you mean 'kernel'?)",
        ),
        ({"datasets": {"wdbc": {"splitt": 1}}}, "(did you mean 'split'?)"),
        ({"datasets": {"wdbc": {"solvers": {"vm": {}}}}}, "'vm' is not a solver of the study"),
        ({"vary": {"gama": [1.0]}}, "unknown field 'gama' (did you mean 'gamma'?)"),
        ({"vary": {"seed": [1]}}, "'seed' has a place of its own"),
        ({"vary": {"gamma": [-1.0]}}, "'gamma' should be greater than or equal to 0"),
        ({"step": "paper"}, "the paper has no step for 'vn' on 'wdbc'"),
        ({"step": None}, "'step' is missing"),
        ({"step": "tuned", "seeds": [1000]}, "seed 1000 is used for tuning and for reporting"),
        ({"figures": ["gapp"]}, "(did you mean 'gap'?)"),
        ({"iterations": "100"}, "'studies.s.iterations' should be a valid integer, got '100'"),
    ],
)
def test_every_mistake_is_one_sentence(changes, sentence):
    with pytest.raises(UserError) as caught:
        jobs(**changes)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "studies.s" in str(caught.value)


def test_files_that_are_no_configs(tmp_path):
    for text, sentence in (("a: [", "is not YAML"), ("- 1", "holds no settings")):
        (tmp_path / "c.yaml").write_text(text)
        with pytest.raises(UserError, match=sentence):
            read_config(tmp_path / "c.yaml")
    with pytest.raises(UserError, match="cannot read"):
        read_config(tmp_path / "none.yaml")


def test_a_key_that_stands_twice_is_refused(tmp_path):
    path = tmp_path / "c.yaml"
    text = yaml.safe_dump(study())
    path.write_text(text + text)
    with pytest.raises(UserError, match="the key 'studies' stands twice, again in line"):
        read_config(path)
    # What a merge brings may be replaced, also where it comes from a mapping with a merge itself.
    path.write_text("""
    x: &x {seeds: 1, gamma: 0.5}
    y: &y {<<: *x, gamma: 0.7}
    z: {<<: *y, gamma: 0.9}
    """)
    assert read_yaml(path)["z"] == {"seeds": 1, "gamma": 0.9}


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("1e-3", "1.0e-3"),
        ("1e3", "1.0e+3"),
        ("2.5E5", "2.5e+5"),
        ("100", "100.0, without quotes,"),
        ("0.1", "0.1, without quotes,"),
        ("1_000.5", "1000.5, without quotes,"),
    ],
)
def test_hints_for_numbers_are_numbers(text, hint):
    with pytest.raises(
        UserError, match=f"which wants {re.escape(hint)} for a number, got '{text}'"
    ):
        jobs(step=text)
    assert isinstance(yaml.safe_load(hint.split(",")[0]), float)


def test_a_home_folder_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "mine.svm").write_text("1 1:0.5\n0 2:0.5\n" * 50)
    own = {"mine": {"path": "~/mine.svm"}}
    plan = expand(load_config({**study(datasets=own), "results": "~/x"}))
    assert plan.config.results == f"{tmp_path}/x"
    assert [job.own_files for job in plan.data.values()] == [[f"{tmp_path}/mine.svm"]]


@pytest.mark.parametrize(
    ("labels", "title"),
    [
        ({"vn": {}, "VN": {"solver": "vn"}}, "VN"),
        ({"sr-vn": {}, "SR-VN": {"solver": "vn"}}, "SR-VN"),
        ({"mine": {"solver": "vn"}, "Mine": {"solver": "vn"}}, "Mine"),
        ({"sr-vn": {"solver": "sr-vn-rotated"}, "sr-vn-rotated": {}}, "SR-VN (rotated)"),
    ],
)
def test_solvers_that_readers_could_not_tell_apart_are_refused(labels, title):
    with pytest.raises(UserError, match=f"would both appear as '{re.escape(title)}' on 'wdbc'"):
        jobs(solvers=labels)


@pytest.mark.parametrize("name", ["a" * 80, "ab" * 30])
def test_names_that_snakemake_takes_for_mistakes_are_refused(name):
    with pytest.raises(UserError, match="20 times, which Snakemake takes for a mistake"):
        jobs(datasets={name: {"dataset": "wdbc"}})
    assert jobs(datasets={name[:19]: {"dataset": "wdbc"}})


def test_names_that_no_file_system_takes_are_refused():
    with pytest.raises(UserError, match="file systems allow 255"):
        jobs(
            datasets=["synthetic"],
            vary={
                "data.options": [{"n": 100, "seed": 10**9}] * 1,
                "record": [
                    [
                        "cov_eig_min",
                        "cov_eig_max",
                        "factor_norm",
                        "sign_flips",
                        "data_passes",
                        "flow_time",
                        "objective_exact",
                        "covariance_factor",
                    ]
                ],
                **{
                    f"data.{name}": [value]
                    for name, value in (
                        ("split_seed", 2**31),
                        ("scaling", "standardize"),
                        ("intercept", True),
                        ("train_size", 0.123456789),
                    )
                },
            },
        )


def test_data_sets_can_be_left_out():
    config = {
        "studies": {
            "a": {"datasets": ["wdbc", "synthetic"], "solvers": ["vn"], "step": 0.1},
            "b": {"datasets": ["wdbc"], "solvers": ["vn"], "step": 0.1},
        }
    }
    plan = expand(load_config({**config, "without": ["wdbc"]}))
    assert set(plan.config.studies) == {"a"}
    assert {job.dataset for job in plan.runs.values()} == {"synthetic"}
    # What is left is the same run as without the omission.
    assert plan.runs.keys() <= expand(load_config(config)).runs.keys()
    with pytest.raises(UserError, match="did you mean 'wdbc'"):
        expand(load_config({**config, "without": ["wdcb"]}))
    with pytest.raises(UserError, match="nothing to run"):
        expand(load_config({**config, "without": ["wdbc", "synthetic"]}))


def test_different_expectations_must_be_measured_alike():
    mixed = {"bound": {"solver": "vn", "expectation": "piecewise"}, "vn": {}}
    with pytest.raises(UserError, match="different expectations"):
        jobs(solvers=mixed)
    made = jobs(solvers=mixed, record=["objective_exact"])
    of_bound = [job for job in made.runs.values() if job.solver == "bound"]
    assert {job.exact_optimum.spec.expectation for job in of_bound} == {"exact"}
    assert {job.optimum.spec.expectation for job in of_bound} == {"piecewise"}
    # A stochastic run records exact values anyhow.
    assert jobs(solvers={"vn": {}, "noisy": {"solver": "vn", "expectation": "stochastic"}})
