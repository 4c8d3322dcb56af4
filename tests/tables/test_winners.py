"""Table `winners`."""

import pytest

from figures.made_aggregate import Run, make_dataset
from gvibench.tables import performance, winners


def test_without_a_settled_gap_the_smallest_final_gap_wins(tmp_path):
    runs = [Run([20.0, 13.0], "wdbc", "vn"), Run([20.0, 12.0], "wdbc", "gd")]
    (row,) = winners.build(make_dataset(tmp_path, runs)).values.to_dict("records")
    assert row["measure"] == "smallest final gap (nat)"
    assert row["winner"].startswith("GD")
    assert row["value"] == pytest.approx(2.0)


def test_winners_that_the_records_cannot_resolve_are_marked(tmp_path):
    runs = [
        Run([20.0, 15.0, 10.0 + 1e-7], "wdbc", "vn", iteration=[0, 50, 100]),
        Run([20.0, 14.0, 10.0 + 2e-7], "wdbc", "gd", iteration=[0, 50, 100]),
        Run([20.0, 12.0, 10.0 + 1e-7], "other", "vn", iteration=[0, 1, 2]),
        Run([20.0, 12.0, 11.0, 10.0], "other", "gd", iteration=[0, 1, 2, 3]),
    ]
    table = winners.build(make_dataset(tmp_path, runs))
    takes = dict(zip(table.values["problem"], table.blocks[0].cells["takes"], strict=True))
    assert takes["wdbc"] == "not resolved by the records"
    assert takes["other"] == "1.5 x"


def test_winners_follow_the_ranking(tmp_path):
    """A solver with a diverged seed does not win by the gaps of its other seeds."""
    runs = [
        Run([20.0, 13.0], "wdbc", "vn", seed=0),
        Run([20.0, 13.0], "wdbc", "vn", seed=1),
        Run([20.0, 11.0], "wdbc", "gd", seed=0),
        Run([20.0, 99.0], "wdbc", "gd", seed=1, status="diverged"),
    ]
    dataset = make_dataset(tmp_path, runs)
    (row,) = winners.build(dataset).values.to_dict("records")
    best = performance.values_of(dataset)
    assert best[best["is_best"]]["method"].tolist() == ["VN"]
    assert row["winner"].startswith("VN")


def test_tied_winners_share_a_row(tmp_path):
    runs = [Run([20.0, 10.0], "wdbc", solver) for solver in ("vn", "gd")]
    runs.append(Run([20.0, 11.0, 10.0], "wdbc", "sr-vn"))
    rows = winners.build(make_dataset(tmp_path, runs)).values
    row = rows[rows["measure"] == "fewest iterations"].iloc[0]
    assert row["winner"] == "VN (step 0.1, C0 1) and GD (step 0.1, C0 1) (tied)"
    assert (row["runner_up"], row["factor"]) == ("SR-VN", 2.0)
