"""Test that files of the project agree with each other."""

import re
import tomllib
from pathlib import Path

import yaml

import gvibench

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def without_extras(requirement: str) -> str:
    return re.sub(r"\[.*?\]", "", requirement)


def test_conda_environment_agrees_with_pyproject():
    listed = yaml.safe_load((ROOT / "envs/gvibench.yaml").read_text())["dependencies"]
    python = f"python{PROJECT['requires-python']}"
    assert listed == [python, *map(without_extras, PROJECT["dependencies"])]


def test_dependencies_are_documented():
    text = (ROOT / "docs/dependencies.md").read_text()
    for requirement in PROJECT["dependencies"]:
        name = re.match(r"[\w-]+", requirement).group()
        assert f"| {name} |" in text or f"`{name}`" in text, name


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
