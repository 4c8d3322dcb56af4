"""Test the ranking at the top of the report page."""

from figures.made_aggregate import Run, make_dataset, study
from gvibench.report.page.ranking import ranking_block
from gvibench.report.page.sections import table_section


def test_ranks_agree_with_the_final_gaps_of_the_made_runs(tmp_path):
    """Computed directly: medians of the final gaps, and one diverged seed of the second solver."""
    block, leading = ranking_block(make_dataset(tmp_path, study()))
    rows = block.cells[["data set", "rank", "solver", "final gap"]].to_numpy().tolist()
    assert sorted(rows) == sorted(
        [
            [name, *texts]
            for name in ("wdbc", "digits_50%")
            for texts in (
                ["1", "VN", "0"],
                ["2", "SR-VN", "1.05 [1, 1.1]"],
                ["–", "mine", "diverged"],
            )
        ]
    )
    assert all(leading)


def test_tied_solvers_share_a_rank_and_later_ranks_are_hidden_at_first(tmp_path):
    ends = {"vn": 11.0, "gd": 11.0, "bw-gd": 12.0, "fb-gvi": 13.0}
    runs = [Run([60.0, end], solver=solver) for solver, end in ends.items()]
    block, leading = ranking_block(make_dataset(tmp_path, runs))
    by_solver = dict(zip(block.cells["solver"], block.cells["rank"], strict=True))
    assert by_solver == {"VN": "1", "GD": "1", "BW-GD": "3", "FB-GVI": "4"}
    assert leading == [True, True, True, False]
    compared = block.cells["compared with the best"].tolist()
    assert sorted(compared) == sorted(["best", "tied", "1 nat behind", "2 nat behind"])


def test_solvers_with_a_gap_of_zero_and_fewer_solved_seeds_are_told_apart(tmp_path):
    curves = {
        "vn": [[60.0, 10.0, 10.0]] * 3,
        "gd": [[60.0, 20.0, 10.0]] * 3,
        "bw-gd": [[60.0, 10.0, 10.0]] * 2 + [[60.0, 50.0, 50.0]],
    }
    runs = [
        Run(curve, solver=solver, seed=seed)
        for solver, own in curves.items()
        for seed, curve in enumerate(own)
    ]
    block, _ = ranking_block(make_dataset(tmp_path, runs))
    compared = dict(zip(block.cells["solver"], block.cells["compared with the best"], strict=True))
    assert compared == {"VN": "best", "GD": "also at gap 0", "BW-GD": "solves 2 of 3 seeds"}


def test_cells_with_all_digits_are_kept_where_they_differ(tmp_path):
    step = 10**-0.5
    block, _ = ranking_block(make_dataset(tmp_path, [Run([60.0, 11.0], step=step)]))
    section = table_section("", block)
    position = section["columns"].index("step")
    assert section["rows"][0][position] == "0.316228"
    assert section["full"][0][position] == repr(step)
    assert section["full"][0][section["columns"].index("C0")] is None
