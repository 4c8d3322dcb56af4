"""Test the conclusion of a study against results that are computed from the made runs alone."""

import re

import numpy as np
import pytest

from figures.made_aggregate import Run, make_dataset, study
from gvibench.report.conclusion import conclusion

REACHES = [60.0, 11.0, 10.001, 10.00001]
FAR = [60.0, 40.0, 30.0, 20.0]
BLOWN_UP = {"status": "diverged", "reason": "at iteration 2: no"}


def conclude(folder, runs, **settings):
    return conclusion(make_dataset(folder, runs, **settings))


def seeds(curves, *where, **more):
    return [Run(curve, *where, seed=seed, **more) for seed, curve in enumerate(curves)]


def test_conclusion_of_a_study(tmp_path):
    assert conclude(tmp_path, study()) == (
        "With most seeds, VN settles within 0.0001 nat of the optimum on both problems; the "
        "other 2 solvers on none. VN ranks first on both problems; the difference in final gap "
        "to the runner-up is larger than the range of the seeds."
    )


def test_most_seeds_means_more_than_half_of_all_seeds(tmp_path):
    """A diverged seed counts as one that did not settle."""
    lost = seeds([[60.0, 70.0]] * 2, **BLOWN_UP)
    for run, seed in zip(lost, (2, 3), strict=True):
        run.seed = seed
    two_of_four = conclude(tmp_path, [*seeds([REACHES] * 2), *lost])
    assert two_of_four.startswith("No solver settles")
    other = tmp_path / "other"
    other.mkdir()
    two_of_three = conclude(other, [*seeds([REACHES] * 2), lost[0]])
    assert two_of_three == ("With most seeds, VN settles within 0.0001 nat of the optimum on wdbc.")


def test_a_gap_that_is_left_again_does_not_count(tmp_path):
    text = conclude(tmp_path, seeds([[60.0, 10.00001, 10.5]] * 3))
    assert text == (
        "No solver settles within 0.0001 nat of the optimum with most seeds; VN comes closest, "
        "with a median final gap of 0.5 nat on wdbc."
    )


def test_overlapping_final_gaps_are_within_the_range_of_the_seeds(tmp_path):
    runs = []
    for name, rival in (("a", [11.5, 13.0]), ("b", [14.0, 15.0]), ("c", [11.9, 30.0])):
        runs += seeds([[60.0, 11.0], [60.0, 12.0]], name, "vn")
        runs += seeds([[60.0, end] for end in rival], name, "gd")
    text = conclude(tmp_path, runs)
    assert "VN ranks first on all 3 problems" in text
    assert text.endswith("to the runner-up is within the range of the seeds on a and c.")


def test_a_runner_up_that_reaches_the_optimum_is_not_called_close(tmp_path):
    runs = []
    for name, rival in (("a", [60.0, 20.0, 10.0]), ("b", [60.0, 20.0, 19.0])):
        runs += seeds([[60.0, 10.0, 10.0]] * 2, name, "vn")
        runs += seeds([rival] * 2, name, "gd")
    text = conclude(tmp_path, runs)
    assert text.endswith(
        "VN ranks first on both problems; the runner-up also reaches the optimum on a; the "
        "difference in final gap to the runner-up is larger than the range of the seeds on b."
    )
    text = conclude(tmp_path, [run for run in runs if run.dataset == "a"], gap="best-seen")
    assert text.endswith("VN ranks first; the runner-up also reaches the best value seen.")


def test_several_winners_ties_and_missing_combinations(tmp_path):
    runs = [
        *seeds([REACHES] * 2, "a", "vn"),
        *seeds([FAR] * 2, "a", "gd"),
        *seeds([FAR] * 2, "b", "vn"),
        *seeds([REACHES] * 2, "b", "gd"),
        *seeds([REACHES] * 2, "c", "vn"),
        *seeds([REACHES] * 2, "c", "gd"),
        *seeds([FAR] * 2, "c", "mine", solver_id="fb-gvi"),
    ]
    assert conclude(tmp_path, runs) == (
        "With most seeds, VN and GD settle within 0.0001 nat of the optimum on 2 of 3 problems; "
        "mine on none. VN ranks first on 1 of 3 problems, GD on 1; first place is tied on c; the "
        "difference in final gap to the runner-up is larger than the range of the seeds. Not "
        "every solver was run on every problem."
    )


def test_places_of_more_than_three_winners_add_up_to_all_problems(tmp_path):
    winners = ("vn", "vn", "sr-vn", "gd", "bw-gd", "svgd")
    runs = []
    for problem, winner in zip("abcdef", winners, strict=True):
        for solver in dict.fromkeys(winners):
            runs += seeds([REACHES if solver == winner else FAR] * 2, problem, solver)
    text = conclude(tmp_path, runs)
    assert " ranks first on 2 of 6 problems, " in text
    counts = re.findall(r"on (\d)(?= of 6 problems,|,|;)", text.partition("VN ranks first")[2])
    assert [int(count) for count in counts] == [2, 1, 1, 2]
    assert ", others on 2; " in text


def test_one_seed_says_nothing_about_other_seeds(tmp_path):
    text = conclude(tmp_path, [Run(REACHES), Run(FAR, solver="gd")])
    assert text == (
        "VN settles within 0.0001 nat of the optimum on wdbc; GD does not. VN ranks first; with "
        "one seed each, the differences may be due to the seed."
    )


def test_all_solvers_are_counted_instead_of_listed(tmp_path):
    runs = [Run(REACHES, solver="vn"), Run(REACHES, solver="gd"), Run(REACHES, solver="bw-gd")]
    assert conclude(tmp_path, runs).startswith("All 3 solvers settle within 0.0001 nat")


def test_a_solver_with_several_settings_counts_several_times(tmp_path):
    runs = [Run(REACHES, spec={"mean_scale": 0.0}), Run(FAR, spec={"mean_scale": 0.5})]
    text = conclude(tmp_path, runs)
    assert text.startswith("“VN, mean_scale 0” settles within")
    assert "; “VN, mean_scale 0.5” does not. " in text


def test_the_reference_is_named(tmp_path):
    assert "of the best value seen on wdbc" in conclude(tmp_path, [Run(REACHES)], gap="best-seen")


def test_everything_diverged(tmp_path):
    assert conclude(tmp_path, [Run([15.0], **BLOWN_UP)]) == "All runs diverged or failed."


@pytest.mark.parametrize("seed", range(4))
def test_counts_agree_with_a_direct_count(tmp_path, seed):
    """Draw a study at random, and count without the functions of the package."""
    rng = np.random.default_rng(seed)
    names = {"vn": "VN", "gd": "GD", "bw-gd": "BW-GD"}
    runs, solved = [], dict.fromkeys(names.values(), 0)
    for problem in "abcde":
        for solver, title in names.items():
            gaps = 10.0 ** rng.uniform(-7, 0, size=3)
            solved[title] += int((gaps <= 1e-4).sum() >= 2)
            runs += seeds([[60.0, 20.0, 10.0 + end] for end in gaps], problem, solver)
    text = conclude(tmp_path, runs)
    most = max(solved.values())
    assert ("on all 5 problems" if most == 5 else f"on {most} of 5 problems") in text
    subject = re.match(r"With most seeds, (.*?) settles? ", text).group(1)
    leaders = [title for title, count in solved.items() if count == most]
    assert subject == " and ".join(leaders) or subject == "all 3 solvers"
    others = [count for count in solved.values() if count < most]
    if others and max(others):
        assert re.search(rf"on (at most )?{max(others)}\. ", text)
