"""Files of outcomes: round trip, size, damage and merging."""

import numpy as np
import pytest
import xarray as xr

from analysis.made_outcomes import outcomes_from, random_outcomes
from gvibench.errors import UserError
from gvibench.store.outcomes import merge_outcomes, read_outcomes, write_outcomes
from gvibench.store.zarrzip import Group, write_zip


@pytest.fixture
def outcomes():
    costs = np.array([[[1.5, np.inf], [np.nan, np.nan]], [[0.1, 1e-300], [3.0, np.inf]]])
    made = outcomes_from(costs, ["a", "b"], entries=["VN, β 1", "GD"])
    made["reason"].values[1, 0] = "V is not positive definite"
    return made


def test_outcomes_survive_a_file(tmp_path, outcomes):
    path = tmp_path / "outcomes.zarr.zip"
    write_outcomes(path, outcomes, {"release": "2026.1", "cost": "seconds"})
    found = read_outcomes(path)
    assert found.attrs == {"cost": "seconds", "budget": 1000.0, "release": "2026.1"}
    xr.testing.assert_identical(
        found.assign_attrs(outcomes.attrs).drop_attrs(), outcomes.drop_attrs()
    )
    assert found["cost"].dtype == float


def test_equal_outcomes_have_equal_bytes(tmp_path, outcomes):
    for name in ("a", "b"):
        write_outcomes(tmp_path / name, outcomes, {})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_files_are_small(tmp_path):
    write_outcomes(tmp_path / "large", random_outcomes(40, 13, 10, 21), {})
    assert (tmp_path / "large").stat().st_size < 2e6


def test_other_files_are_rejected(tmp_path):
    path = tmp_path / "other"
    write_zip(path, Group({"kind": "gvibench optimum"}))
    with pytest.raises(UserError, match="is not a gvibench file of outcomes"):
        read_outcomes(path)


@pytest.mark.parametrize("missing", ["texts", "words", "attrs"])
def test_incomplete_files_are_rejected(tmp_path, missing):
    path = tmp_path / "other"
    attrs = {"kind": "gvibench outcomes", "texts": {}, "words": {}, "attrs": {}}
    write_zip(path, Group({name: value for name, value in attrs.items() if name != missing}))
    with pytest.raises(UserError, match="is damaged"):
        read_outcomes(path)


def test_flipped_bits_are_noticed(tmp_path, outcomes):
    path = tmp_path / "outcomes.zarr.zip"
    write_outcomes(path, outcomes, {})
    content = path.read_bytes()
    for at in range(0, len(content), 97):
        path.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        try:
            found = read_outcomes(path)
        except UserError:
            continue
        xr.testing.assert_identical(found.drop_attrs(), outcomes.drop_attrs())


def test_merging_joins_entries_in_any_order_of_instances(outcomes):
    first, second = outcomes.isel(entry=[0]), outcomes.isel(entry=[1], instance=[1, 0])
    second = second.assign_attrs(release="2026.1")
    merged = merge_outcomes([first, second])
    xr.testing.assert_identical(merged, outcomes)
    xr.testing.assert_identical(merge_outcomes([outcomes]), outcomes)


def test_targets_may_differ_by_rounding(outcomes):
    first, second = outcomes.isel(entry=[0]), outcomes.isel(entry=[1], target=[1, 0])
    second = second.assign_coords(target=second["target"].values * (1 + 1e-15))
    xr.testing.assert_identical(merge_outcomes([first, second]), outcomes)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda part: part.isel(target=[0]), "'GD' cannot be merged .* their targets differ"),
        (
            lambda part: part.assign_coords(target=[100.0, 10.001]),
            "their targets differ, so compute both with the same targets",
        ),
        (lambda part: part.isel(instance=[0]), "the instance 'b, seed 0' is missing"),
        (
            lambda part: part.assign_coords(instance=["a, seed 0", "c"]),
            "the instance 'b, seed 0' is missing",
        ),
        (lambda part: part.assign_coords(entry=["VN, β 1"]), "entry 'VN, β 1' appears more than"),
        (lambda part: part.assign_attrs(cost="seconds"), "cost is seconds instead of data_passes"),
        (lambda part: part.assign_attrs(budget=10.0), "budget is 10.0 instead of 1000.0"),
    ],
)
def test_outcomes_that_do_not_fit_are_an_error(outcomes, change, words):
    with pytest.raises(UserError, match=words):
        merge_outcomes([outcomes.isel(entry=[0]), change(outcomes.isel(entry=[1]))])


def test_nothing_to_merge_is_an_error():
    with pytest.raises(UserError, match="no outcomes to merge"):
        merge_outcomes([])
