import pytest
from project import STUDY, Project


@pytest.fixture(scope="session")
def finished(build_once):
    """A finished study. Tests must not change it, so they copy it first."""

    def build(folder):
        Project.create(folder / "project", STUDY).snakemake()

    return Project(build_once("finished-study", build) / "project")
