"""Test that CI, hooks, the container image and the catalogue entry agree with the project."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
PYTHONS = [
    words[-1]
    for words in (line.split(" :: ") for line in PROJECT["classifiers"])
    if re.fullmatch(r"3\.\d+", words[-1])
]
MAKEFILE = (ROOT / "Makefile").read_text()


def jobs(workflow):
    return yaml.safe_load(workflow.read_text())["jobs"].values()


def commands(workflow):
    """Return all commands of a workflow as lists of words."""
    steps = [step for job in jobs(workflow) for step in job.get("steps", [])]
    lines = [line for step in steps for line in step.get("run", "").splitlines()]
    return [shlex.split(line) for line in lines]


def recipe(target):
    return re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)[1]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_call_targets_and_scripts_that_exist(workflow):
    for program, *words in commands(workflow):
        if program == "make":
            for target in (word for word in words if "=" not in word):
                assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), target
        elif program == "python":
            assert (ROOT / words[0]).is_file()
        else:
            assert [program, *words[:2]] == ["gh", "release", "create"]
    for job in jobs(workflow):
        if "uses" in job:
            assert (ROOT / job["uses"]).is_file()


def test_ci_runs_tests_linters_and_documentation():
    called = {words[1] for words in commands(ROOT / ".github/workflows/ci.yml")}
    assert {"test", "lint", "docs"} <= called


def test_ci_tests_the_supported_versions_of_python():
    ci = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    assert ci["test"]["strategy"]["matrix"]["python"] == PYTHONS
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    for workflow in WORKFLOWS:
        for job in jobs(workflow):
            versions = [
                step["with"]["python-version"]
                for step in job.get("steps", [])
                if "setup-python" in step.get("uses", "")
            ]
            assert versions in ([], [PYTHONS[0]], ["${{ matrix.python }}"])


def test_only_a_tag_starts_a_release():
    release = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
    assert release[True] == {"push": {"tags": ["v*"]}}  # YAML 1.1 reads `on` as true
    assert release["jobs"]["release"]["needs"] == "check"


def test_hooks_are_linters_in_the_versions_that_make_installs():
    [local] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    pinned = (ROOT / "constraints.txt").read_text().splitlines()
    for hook in local["hooks"]:
        command = hook["entry"].replace(" --force-exclude", "")
        assert f"\t{command}" in recipe("lint")
        [requirement] = hook["additional_dependencies"]
        assert requirement in pinned
        assert requirement.partition("==")[0] == command.split()[0]
    assert {hook["entry"].split()[0] for hook in local["hooks"]} == {
        *("ruff", "snakefmt", "codespell")
    }


def test_the_catalogue_finds_the_workflow():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert usage.keys() == {"mandatory-flags", "software-stack-deployment", "report"}
    # Criteria of the catalogue for any workflow, and for showing the settings.
    readme = (ROOT / "README.md").read_text().lower()
    assert "snakemake" in readme
    assert "workflow" in readme
    assert (ROOT / "Snakefile").is_file()
    assert not (ROOT / "workflow").exists(), "the catalogue would search there for the Snakefile"
    assert {path.suffix for path in (ROOT / "rules").iterdir() if path.is_file()} == {".smk"}
    assert (ROOT / "config/README.md").is_file()


def test_the_image_uses_the_tested_versions():
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    instructions = [shlex.split(line) for line in lines if line and not line.startswith("#")]
    assert instructions[0] == ["FROM", f"python:{PYTHONS[0]}-slim"]
    [install] = [words[1:] for words in instructions if words[0] == "RUN"]
    assert install[install.index("-c") + 1] == "constraints.txt"
    extras = re.fullmatch(r"\.\[(.+)\]", install[-1])[1].split(",")
    assert set(extras) <= PROJECT["optional-dependencies"].keys()
    sent = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    copied = [word for words in instructions if words[0] == "COPY" for word in words[1:-1]]
    assert sorted(copied) == sorted(sent)
    assert all((ROOT / name).exists() for name in copied)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_issue_forms_are_complete(path):
    form = yaml.safe_load(path.read_text())
    if path.name == "config.yml":
        assert form.keys() <= {"blank_issues_enabled", "contact_links"}
        return
    assert form["name"]
    assert form["description"]
    names = [field["id"] for field in form["body"]]
    assert len(set(names)) == len(names)
    assert all(field["attributes"]["label"] for field in form["body"])
    assert any(field.get("validations", {}).get("required") for field in form["body"])
