"""Test the file of measures."""

import math

import pytest

from gvibench.errors import UserError
from gvibench.store.measures import read_measures, write_measures

RESULT = {
    "seed": 3,
    "pred_nll": 0.25,
    "auc": math.nan,
    "bin_count": [4, 5],
    "reading": "good",
    "notes": {"auc": "the targets are not classes"},
}


def test_measures_are_read_back(tmp_path):
    write_measures(tmp_path / "m.json", [RESULT], "abc")
    (found,) = read_measures(tmp_path / "m.json", "abc")
    assert (found["seed"], found["pred_nll"], found["reading"]) == (3, 0.25, "good")
    assert math.isnan(found["auc"])
    assert math.isnan(found["k_hat"])
    assert found["bin_count"] == [4.0, 5.0]
    assert found["bin_observed"] == []
    assert found["notes"] == RESULT["notes"]


def test_files_of_other_code_are_rejected(tmp_path):
    write_measures(tmp_path / "m.json", [RESULT], "abc")
    with pytest.raises(UserError, match="different version of the code"):
        read_measures(tmp_path / "m.json", "xyz")


@pytest.mark.parametrize("text", ["", "[]", '{"kind": "other"}', '{"kind": "gvibench measures"}'])
def test_other_files_are_rejected(tmp_path, text):
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(UserError, match="is not a file of measures"):
        read_measures(tmp_path / "m.json")
