"""Test the choice of beta among candidates."""

import json

import pytest

from gvibench.engine.beta import choose_beta
from gvibench.errors import UserError
from gvibench.store.choices import read_beta_note
from problems import prepared, spec


@pytest.mark.parametrize(
    ("betas", "edge"),
    [
        ([0.5], None),
        ([0.01, 1.0], "largest"),
        ([100.0, 1.0], "smallest"),
        ([0.01, 1.0, 100.0], None),
    ],
)
def test_a_beta_at_the_end_of_its_candidates_is_reported(tmp_path, betas, edge):
    problem = spec().problem().to_dict()
    out = tmp_path / "beta.json"
    best = choose_beta(problem, betas, prepared(seed=1), out)
    written = json.loads(out.read_text())
    assert (written["beta"], written["edge"]) == (best, edge)
    assert read_beta_note(out) == (f"beta {best:g} is the {edge} candidate" if edge else "")


def test_a_beta_without_an_optimum_is_skipped(tmp_path):
    data = prepared(n=200)
    data.train_x[:, 1] = data.train_x[:, 0]
    problem = spec().problem().to_dict()
    out = tmp_path / "beta.json"
    assert choose_beta(problem, [1e-30, 1.0], data, out) == 1.0
    assert "no optimum found" in json.loads(out.read_text())["tried"][0]["error"]
    with pytest.raises(UserError, match="no candidate has an optimum"):
        choose_beta(problem, [1e-30], data, out)
