"""Test the workflow with configs other than the plain study of `test_reruns`."""

import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr
import yaml
from project import ROOT, STUDY, Project, in_order

from gvibench.cli.main import main
from gvibench.numerics.cuda_backend import why_unavailable
from gvibench.report.gallery import FIGURE_DIGITS, MARK
from gvibench.store.optima import read_optimum
from gvibench.store.trials import read_trials
from gvibench.store.zarrzip import open_zip

SMALL = {**STUDY, "seeds": 1, "datasets": {"first": STUDY["datasets"]["first"]}}

AGGREGATE = {"results/s/aggregate.zarr.zip", "results/s/manifest.json"}


def read_aggregate(project, study="s"):
    path = project.folder / f"results/{study}/aggregate.zarr.zip"
    with xr.open_dataset(path) as dataset:
        return dataset.load()


@pytest.mark.slow
def test_smoke_config_from_start_to_report(tmp_path):
    project = Project.create(tmp_path / "project", STUDY)
    project.write_config((ROOT / "config/smoke.yaml").read_text())
    project.snakemake()
    for name in (
        *("summary.md", "report/index.html", "tables/performance.tex"),
        *("figures/gap.svg", "figures/gap.csv", "figures/gap.json"),
    ):
        assert (project.folder / "results/smoke" / name).stat().st_size > 0
    project.snakemake("--report", "report.html")
    page = (project.folder / "report.html").read_text()
    for word in ("Figures", "Tables", "Summary", "medians over seeds"):
        assert word.lower() in page.lower()


@pytest.mark.slow
def test_tuned_study(tmp_path):
    tuning = {"steps": {"start": 0.01, "stop": 1.0, "count": 3}, "rounds": 2, "iterations": 15}
    study = {**SMALL, "solvers": ["vn"], "step": "tuned", "seeds": 2, "tuning": tuning}
    project = Project.create(tmp_path / "project", study)
    project.snakemake()
    choice = json.loads(
        (project.folder / "results/s/tuning/first/vn/tuned/choice.json").read_text()
    )
    dataset = read_aggregate(project)
    assert dataset["step_used"].values.tolist() == [choice["step"]] * 2
    assert dataset["init_scale"].values.tolist() == [choice["init_scale"]] * 2
    assert dataset["tuning_trials"].values.tolist() == [choice["trials"]] * 2
    assert choice["trials"] >= 2 * 3 * 2 * 2
    assert project.executed() == set()
    # A new seed uses the tuned choice; tuning is not re-run.
    project.configure({**study, "seeds": 6})
    outputs = project.executed()
    assert not any("/tuning/" in path for path in outputs)
    runs = {path.rpartition("/")[2] for path in outputs if "/runs/" in path}
    assert runs == {"seeds-0.zarr.zip", "seeds-1.zarr.zip"}
    # One more round continues with the trials of the others.
    trials = project.folder / "results/s/tuning/first/vn/tuned/trials.zarr.zip"
    before = {trial.key: trial.seconds for trial in read_trials(trials).trials}
    project.configure({**study, "seeds": 6, "tuning": {**tuning, "rounds": 3}})
    assert "results/s/tuning/first/vn/tuned/choice.json" in project.executed()
    after = {trial.key: trial.seconds for trial in read_trials(trials).trials}
    assert before.items() < after.items()


ALL_FIGURES = ["gap", "test", "time", "test-time", "profile"]
ALL_TABLES = ["datasets", "performance", "winners", "runs"]


@pytest.mark.slow
@pytest.mark.parametrize("pack", [1, 2])
def test_report_has_a_row_for_a_solver_without_a_working_step(tmp_path, pack):
    tuning = {"steps": {"start": 1e10, "stop": 1e12, "count": 3}, "rounds": 1, "seeds": [1000]}
    solvers = {"vn": {"step": 0.5}, "gd": {"step": "tuned"}}
    study = {**SMALL, "solvers": solvers, "seeds": 2, "pack": pack, "tuning": tuning}
    shown = {"figures": ALL_FIGURES, "tables": ALL_TABLES}
    project = Project.create(tmp_path / "project", {**study, **shown})
    project.snakemake()
    dataset = read_aggregate(project).sel(run=read_aggregate(project)["solver"] == "gd")
    assert dataset["status"].values.tolist() == ["failed"] * 2
    assert dataset["tuning_note"].values.tolist() == ["no step worked"] * 2
    [reason] = set(dataset["reason"].values)
    assert reason.startswith("no step worked: with each step tried (1e+06 to 1e+12)")
    assert dataset["iterations_done"].values.tolist() == [0, 0]
    table = (project.folder / "results/s/tables/performance.md").read_text()
    assert re.search(r"^\| first \| GD \|", table, re.MULTILINE)
    assert (project.folder / "results/s/report/index.html").stat().st_size > 0
    assert project.executed() == set()


@pytest.mark.slow
def test_report_is_written_if_no_optimum_is_found(tmp_path):
    # Twenty nodes are too few for such large variances.
    problem = {"expectation": "gauss-hermite", "gamma": 30.0, "beta": 1e-4, "step": 1e-3}
    study = {**SMALL, **problem, "datasets": ["wdbc"], "solvers": ["vn", "sr-vn"]}
    shown = {"figures": ALL_FIGURES, "tables": ALL_TABLES}
    project = Project.create(tmp_path / "project", {**study, **shown})
    project.snakemake()
    dataset = read_aggregate(project)
    [note] = set(dataset["optimum_note"].values)
    assert note.startswith("no optimum found for 'wdbc' with beta 0.0001 and gamma 30")
    assert np.isnan(dataset["optimum_objective"]).all()
    assert (project.folder / "results/s/report/index.html").stat().st_size > 0
    assert project.gvibench("status").returncode == 0
    assert project.executed() == set()


@pytest.mark.slow
def test_tuned_beta(tmp_path):
    tuning = {"steps": {"start": 0.1, "stop": 1.0, "count": 2}, "rounds": 1, "betas": [0.01, 50.0]}
    study = {**SMALL, "solvers": {"vn": {"step": "tuned"}, "sr-vn": {}}, "beta": "tuned"}
    project = Project.create(tmp_path / "project", {**study, "tuning": tuning})
    project.snakemake("--", "results/s/aggregate.zarr.zip")
    [path] = (project.folder / "results/s/tuning/first").glob("beta-*.json")
    choice = json.loads(path.read_text())
    losses = {tried["beta"]: tried["validation_nll"] for tried in choice["tried"]}
    assert choice["beta"] == min(losses, key=losses.get)
    dataset = read_aggregate(project)
    assert set(dataset["beta"].values) == {choice["beta"]}
    # The optimum uses the chosen beta, so no run is below it.
    last = dataset["objective"].min("record")
    assert (last >= dataset["optimum_objective"] - 1e-9).all()
    assert project.executed("--", "results/s/aggregate.zarr.zip") == set()


@pytest.mark.slow
def test_files_have_the_code_hash_of_the_plan_on_each_device(tmp_path):
    tuning = {"steps": {"start": 0.1, "stop": 1.0, "count": 2}, "rounds": 1, "iterations": 5}
    study = {**SMALL, "vary": {"device": ["cpu", "auto"]}, "tuning": tuning}
    study |= {"solvers": {"vn": {}, "sr-vn": {"step": "tuned"}}, "seeds": 2, "pack": 2}
    project = Project.create(tmp_path / "project", study)
    project.snakemake("--", "results/s/aggregate.zarr.zip")
    plan = project.plan()
    hashes = set()
    for path, job in plan.runs.items():
        hashes.add(json.loads(job.params)["code_hash"])
        with open_zip(project.folder / path) as root:
            in_file = {root.group(name).attrs["code_hash"] for name in root.names()}
        assert in_file == {json.loads(job.params)["code_hash"]}
    assert len(hashes) == 2 * 2  # two devices and two solvers
    for path, job in plan.optima.items():
        optimum = read_optimum(project.folder / path)
        assert optimum.attrs["code_hash"] == json.loads(job.params)["code_hash"]


def test_duplicate_key_in_config_is_rejected(tmp_path):
    project = Project.create(tmp_path / "project", SMALL)
    text = (project.folder / "config/config.yaml").read_text()
    project.write_config(text + text.replace("studies:", "studies: "))
    done = project.snakemake("-n", check=False)
    assert done.returncode == 1
    assert "duplicate key 'studies' in line" in done.stderr


@pytest.mark.skipif(why_unavailable() is None, reason="there is a device")
def test_cuda_study_without_a_device_fails_before_the_first_job(tmp_path):
    project = Project.create(tmp_path / "project", {**SMALL, "device": "cuda"})
    assert "cannot run on this machine" in project.gvibench("plan").stdout
    done = project.snakemake(check=False)
    assert done.returncode == 1
    assert "device 'cuda' is not available" in done.stderr
    assert project.outputs() == {}
    project.snakemake("-n")  # a dry run may be for another machine


@pytest.mark.slow
def test_packed_runs_equal_single_runs_and_a_new_seed_reruns_one_block(tmp_path):
    single = Project.create(tmp_path / "single", {**SMALL, "seeds": 5, "pack": 1})
    single.snakemake("--", "results/s/aggregate.zarr.zip")
    packed = Project.create(tmp_path / "packed", {**SMALL, "seeds": 4, "pack": 3})
    packed.snakemake("--", "results/s/aggregate.zarr.zip")
    packed.configure({**SMALL, "seeds": 5, "pack": 3})
    outputs = packed.executed("--", "results/s/aggregate.zarr.zip")
    assert {path.rsplit("/", 1)[1] for path in outputs if "/runs/" in path} == {"seeds-1.zarr.zip"}
    from_single, from_packed = (in_order(read_aggregate(one)) for one in (single, packed))
    assert from_single["seed"].values.tolist() == from_packed["seed"].values.tolist()
    np.testing.assert_array_equal(from_single["iteration"], from_packed["iteration"])
    np.testing.assert_array_equal(from_single["objective"], from_packed["objective"])


@pytest.mark.slow
def test_exclusive_runs_reserve_all_cores_and_record_it(tmp_path):
    project = Project.create(tmp_path / "project", {**SMALL, "exclusive": True})
    dry_run = ("--workflow-profile", "none", "-n", "--", sorted(project.plan().runs)[0])
    done = project.snakemake(*dry_run)
    run = (done.stdout + done.stderr).partition("rule run_solver")[2]
    assert "threads: 2" in run  # all cores
    project.snakemake("--", "results/s/aggregate.zarr.zip")
    assert read_aggregate(project)["exclusive"].values.all()


@pytest.mark.slow
def test_diverged_runs_are_finished_jobs(tmp_path):
    study = {**SMALL, "solvers": {"gd": {"step": 100.0}, "vn": {"step": 0.1}}}
    project = Project.create(tmp_path / "project", study)
    project.snakemake()
    assert sorted(read_aggregate(project)["status"].values) == ["completed", "diverged"]
    table = (project.folder / "results/s/tables/performance.md").read_text()
    assert "diverged" in table
    assert "nan" not in table.lower()


@pytest.mark.slow
def test_edited_data_file_reruns_its_jobs(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((60, 2)), rng.integers(0, 2, 60)
    study = {**SMALL, "datasets": {"mine": {"path": "mine.npz"}}}
    project = Project.create(tmp_path / "project", study)
    np.savez(project.folder / "mine.npz", X=x, y=y)
    target = ("--", "results/s/aggregate.zarr.zip")
    project.snakemake(*target)
    assert project.executed(*target) == set()
    np.savez(project.folder / "mine.npz", X=2 * x, y=y)
    plan = project.plan()
    everything = {*plan.data, *plan.optima, *plan.runs, *AGGREGATE}
    assert project.executed(*target) == everything


@pytest.mark.slow
def test_several_studies_share_their_data(tmp_path):
    project = Project.create(tmp_path / "project", SMALL)
    other = {**SMALL, "solvers": ["sr-vn"]}
    project.write_config(yaml.safe_dump({"studies": {"s": SMALL, "t": other}}))
    project.snakemake("--", "results/s/aggregate.zarr.zip", "results/t/aggregate.zarr.zip")
    assert len(list((project.folder / "results/data").iterdir())) == 1
    assert set(read_aggregate(project, "t")["solver"].values) == {"sr-vn"}


@pytest.mark.slow
def test_config_on_the_command_line_replaces_the_default(tmp_path):
    project = Project.create(tmp_path / "project", STUDY)
    mine = {"studies": {"mine": SMALL}, "results": "elsewhere"}
    (project.folder / "mine.yaml").write_text(yaml.safe_dump(mine))
    project.snakemake("--configfile", "mine.yaml", "--", "elsewhere/mine/aggregate.zarr.zip")
    assert not (project.folder / "results").exists()
    project.snakemake("--config", "results=there", "--", "there/s/aggregate.zarr.zip")
    assert not (project.folder / "results").exists()


@pytest.mark.slow
def test_as_a_module_of_another_workflow(tmp_path):
    project = Project.create(tmp_path / "project", STUDY)
    outer = tmp_path / "outer"
    outer.mkdir()
    config = {"studies": {"inner": SMALL}}
    (outer / "Snakefile").write_text(
        f"""
module gvibench:
    snakefile: "{project.folder / "Snakefile"}"
    config: {config!r}

use rule * from gvibench as gvi_*

rule mine:
    default_target: True
    input: "results/inner/tables/performance.csv"
    output: "copy.csv"
    shell: "cp {{input}} {{output}}"
"""
    )
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "2"],
        cwd=outer,
        env=project.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (outer / "copy.csv").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stepp": 1.0}, "config: unknown key 'studies.s.stepp' (did you mean 'step'?)"),
        ({"step": "1e-3"}, "is text in YAML: write 1.0e-3"),
        ({"solvers": ["sr-vm"]}, "unknown solver 'sr-vm' (did you mean 'sr-vn'?)"),
    ],
)
def test_error_in_the_config_gives_one_sentence(tmp_path, change, message):
    project = Project.create(tmp_path / "project", {**SMALL, **change})
    done = project.snakemake(check=False)
    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (project.folder / "results").exists()


def test_lint_and_format():
    bin_folder = str(sys.executable).rpartition("/")[0]
    for words in (
        [sys.executable, "-m", "snakemake", "--lint"],
        [f"{bin_folder}/snakefmt", "--check", "Snakefile", "rules"],
    ):
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_gallery_contains_only_finished_studies(tmp_path, monkeypatch, capsys):
    project = Project.create(tmp_path / "project", {**SMALL, "title": "A | title"})
    monkeypatch.chdir(project.folder)
    words = ["gallery", "config/config.yaml", "docs/gallery"]
    assert main(words) == 2
    assert "run 'snakemake --configfile config/config.yaml' first" in capsys.readouterr().err
    assert not list((project.folder / "docs").iterdir())
    project.snakemake()
    assert main(words) == 0
    gallery = project.folder / "docs/gallery"
    (gallery / "stale").touch()
    with (gallery / MARK).open("a") as mark:
        mark.write("stale\n")  # as if an earlier gallery contained it
    assert main(words) == 0
    assert not (gallery / "stale").exists()
    for page in gallery.rglob("*.md"):
        for link in re.findall(r"\]\(([^)]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page}: {link}"
    for path in gallery.rglob("*.csv"):
        original = project.folder / "results" / path.relative_to(gallery)
        if path.parent.name == "figures":
            rounding = 5 * 10.0**-FIGURE_DIGITS  # relative, of a number that begins with 1
            pd.testing.assert_frame_equal(
                pd.read_csv(path), pd.read_csv(original), rtol=rounding, atol=0, check_dtype=False
            )
        else:
            assert path.read_bytes() == original.read_bytes()
