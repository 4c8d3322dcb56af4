"""Test that files of the project agree with each other."""

import re
import tomllib
from pathlib import Path

import yaml

import gvibench

ROOT = Path(__file__).parents[2]
DEPENDENCIES = (ROOT / "docs/dependencies.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def without_extras(requirement: str) -> str:
    return re.sub(r"\[.*?\]", "", requirement)


def test_conda_environment_agrees_with_pyproject():
    listed = yaml.safe_load((ROOT / "envs/gvibench.yaml").read_text())["dependencies"]
    python = f"python{PROJECT['requires-python']}"
    # Jobs may prepare any data set, so the environment has the packages for all of them.
    packages = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["data"]]
    assert listed == [python, *map(without_extras, packages)]


def test_dependencies_are_documented():
    lists = DEPENDENCIES.partition("\n## ")[0]
    rows = re.findall(r"^\| (\S+) \| (.+) \|$", lists, re.MULTILINE)
    rows = {name.strip("`"): text for name, text in rows if name not in {"package", "extra"}}
    required = {re.match(r"[\w-]+", entry).group() for entry in PROJECT["dependencies"]}
    # Described in the row of Snakemake.
    required.remove("snakemake-logger-plugin-rich")
    assert "`snakemake-logger-plugin-rich`" in rows["snakemake"]
    assert rows.keys() == required | PROJECT["optional-dependencies"].keys()


def test_the_image_is_documented():
    image = (ROOT / "Dockerfile").read_text()
    extras = re.search(r"'\.\[(.+)\]'", image)[1].split(",")
    listed = re.search(r"`Dockerfile` installs the extras (.+?) in", DEPENDENCIES)[1]
    assert re.findall(r"`(\w+)`", listed) == extras


def test_slurm_profiles_differ_only_in_gpus():
    plain, gpu = (
        yaml.safe_load((ROOT / f"profiles/{name}/config.yaml").read_text())
        for name in ("slurm", "slurm-gpu")
    )
    for rule in ("run_solver", "tune_step"):
        assert gpu["set-resources"][rule].pop("gpu") == 1
    assert not gpu["set-resources"].pop("tune_step")
    assert gpu == plain


def test_the_version_is_set_in_one_place():
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["version"]
    assert (ROOT / build["path"]).samefile(gvibench.__file__)
    assert PROJECT["dynamic"] == ["version"]
    for name in ("pyproject.toml", "CITATION.cff", "envs/gvibench.yaml", "Dockerfile"):
        assert gvibench.__version__ not in (ROOT / name).read_text()


def test_constraints_contain_no_urls():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    for line in lines:
        assert line.startswith("#") or re.fullmatch(r"[\w.-]+==[\w.+!]+", line), line
