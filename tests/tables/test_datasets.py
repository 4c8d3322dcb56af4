"""Table `datasets`."""

from figures.made_aggregate import Run, make_dataset, study
from gvibench.tables import datasets


def test_many_steps_are_shown_as_a_range(tmp_path):
    runs = [Run([15.0], step=step) for step in (0.1, 0.2, 0.3, 0.4, 0.5)]
    steps = datasets.build(make_dataset(tmp_path, runs)).blocks[1]
    assert steps.cells["VN"].tolist() == ["0.1 … 0.5 (5 values)"]


def test_rows_and_features_are_those_of_the_study(tmp_path):
    """A study may use 300 of 70,000 rows, so the numbers of the catalogue would be wrong."""
    for row in datasets.build(make_dataset(tmp_path, study())).values.to_dict("records"):
        assert (row["training rows"], row["test rows"], row["features"]) == ("40", "10", "3")


def test_tuned_steps_are_marked(tmp_path):
    cost = {"trials": 40, "iterations": 12000, "seconds": 2.5}
    runs = [Run([15.0, 11.0], seed=seed, tuning=cost) for seed in range(2)]
    table = datasets.build(make_dataset(tmp_path, runs))
    assert table.blocks[1].cells["VN"].tolist() == ["0.1 (tuned)"]


def test_settings_that_differ_between_data_sets_are_shown(tmp_path):
    runs = [
        Run([20.0, 11.0], "a", "vn", spec={"mean_scale": 0.5}),
        Run([20.0, 11.0], "b", "vn"),
        Run([20.0, 11.0], "b", "gd"),
    ]
    table = datasets.build(make_dataset(tmp_path, runs))
    shown = dict(zip(table.values["data set"], table.values["settings of VN"], strict=True))
    assert shown == {"a": "mean_scale 0.5", "b": "mean_scale 1.0"}
