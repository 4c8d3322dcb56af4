"""Test reading draws of the user, and the posteriors that the package ships."""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from gvibench.errors import UserError
from gvibench.store.shipped_posteriors import FOLDER, is_shipped, shipped
from gvibench.store.truths import read_draws, read_shipped

DRAWS = np.random.default_rng(0).standard_normal((4, 50, 3))


def test_draws_in_both_formats(tmp_path):
    np.savez(tmp_path / "chains.npz", draws=DRAWS)
    np.savez(tmp_path / "flat.npz", draws=DRAWS.reshape(-1, 3), other=1)
    swapped = xr.DataArray(DRAWS.swapaxes(0, 1), dims=("draw", "chain", "feature"))
    xr.Dataset({"theta": swapped}).to_netcdf(tmp_path / "plain.nc", engine="scipy")
    assert read_draws(tmp_path / "chains.npz", 3).tolist() == DRAWS.tolist()
    assert read_draws(tmp_path / "flat.npz", 3).tolist() == [DRAWS.reshape(-1, 3).tolist()]
    assert read_draws(tmp_path / "plain.nc", 3).tolist() == DRAWS.tolist()


def test_the_group_of_arviz(tmp_path, monkeypatch):
    """The format needs a library that is no dependency, so its reader is replaced."""
    posterior = xr.Dataset({"theta": (("chain", "draw", "feature"), DRAWS)})

    def load(path, group=None):
        return posterior if group == "posterior" else xr.Dataset()

    monkeypatch.setattr(xr, "load_dataset", load)
    assert read_draws(tmp_path / "inference.nc", 3).tolist() == DRAWS.tolist()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"samples": DRAWS}, "should contain 'draws' with the axes .*, not samples"),
        ({"draws": DRAWS[0, 0]}, "not an array with the shape"),
        ({"draws": DRAWS.astype(str)}, "not an array with the shape"),
        ({"draws": DRAWS[:, :, :2]}, "have 2 features, but the problem has 3"),
        ({"draws": DRAWS[:1, :9]}, "fewer than 100 draws"),
        ({"draws": np.where(DRAWS > 2, np.nan, DRAWS)}, "not finite"),
        ({"draws": DRAWS * np.array([1.0, 0.0, 1.0])}, "the same value in all draws"),
    ],
)
def test_wrong_draws_are_rejected(tmp_path, arrays, message):
    np.savez(tmp_path / "draws.npz", **arrays)
    with pytest.raises(UserError, match=message):
        read_draws(tmp_path / "draws.npz", 3)


def test_unreadable_files_are_rejected(tmp_path):
    for name in ("draws.npz", "draws.nc"):
        (tmp_path / name).write_text("theta")
        with pytest.raises(UserError, match=f"cannot read the draws in .*{name}"):
            read_draws(tmp_path / name, 3)
    values = dict.fromkeys(("a", "b"), ("draw", DRAWS[0, :, 0]))
    xr.Dataset(values).to_netcdf(tmp_path / "two.nc", engine="scipy")
    with pytest.raises(UserError, match="one variable, or one called 'draws', not a, b"):
        read_draws(tmp_path / "two.nc", 3)


def test_shipped_posteriors_meet_the_requirements():
    assert len(shipped()) >= 4
    for entry in shipped():
        assert entry["r_hat_max"] < 1.01
        assert min(entry["ess_min"].values()) > 10_000
        assert entry["divergent"] == 0
        truth = read_shipped(entry["fingerprint"])
        assert truth.mean.shape == truth.sd.shape == (entry["d"],)
        assert (truth.mean_error / truth.sd).max() == pytest.approx(entry["mean_error_max"])
        assert (truth.sd_error / truth.sd).max() == pytest.approx(entry["sd_error_max"])
        assert entry["mean_error_max"] < 0.01
        assert entry["sd_error_max"] < 0.01
        with np.load(FOLDER / entry["file"]) as arrays:
            assert np.sqrt(np.diag(arrays["covariance"])) == pytest.approx(truth.sd, rel=1e-10)
    assert read_shipped("0" * 16) is None


def test_the_index_names_all_files():
    listed = {
        entry["file"] for entry in json.loads((FOLDER / "index.json").read_text())["posteriors"]
    }
    assert listed == {path.name for path in FOLDER.glob("*.npz")}


def test_settings_of_a_shipped_problem():
    problem = {"data": {"dataset": "wdbc", "options": {}}, "model": "logistic", "beta": 0.1}
    assert is_shipped(problem)
    assert not is_shipped({**problem, "beta": 0.2})
    assert not is_shipped({**problem, "model": "probit"})
    assert not is_shipped({**problem, "data": {"dataset": "wdbc", "options": {}, "path": "a.csv"}})


def test_the_documentation_lists_the_shipped_posteriors():
    page = (Path(__file__).parents[2] / "docs/posterior-quality.md").read_text()
    for entry in shipped():
        fewest = min(entry["ess_min"].values())
        cells = f"| {entry['n']} | {entry['d']} | {entry['r_hat_max']:.4f} | {fewest:,} |"
        assert sum(cells in line and entry["dataset"] in line for line in page.splitlines()) == 1
