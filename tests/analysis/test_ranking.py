"""Ranking of configurations."""

from figures.made_aggregate import Run, make_dataset
from gvibench.analysis.configurations import configurations
from gvibench.analysis.ranking import Ranking, rule_of


def order(dataset):
    """Return the names of the solvers from the best to the worst."""
    ranking = Ranking.of(dataset)
    return [config.solver for config in sorted(configurations(dataset), key=ranking.key)]


def seeds(solver, ends, **more):
    return [
        Run([900.0, 20.0, end], "wdbc", solver, seed=seed, **more) for seed, end in enumerate(ends)
    ]


def test_a_seed_that_ends_far_away_costs_the_first_place(tmp_path):
    """One of five seeds stalls 762 nat away; the median gap alone would not show it."""
    runs = [
        *seeds("vn", [10.0, 10.0, 10.0, 10.0, 772.0]),
        *seeds("sr-vn", [10.0 + 5e-6] * 5),
        *seeds("gd", [11.0] * 5),
    ]
    runs[4].status = "stalled"
    assert order(make_dataset(tmp_path, runs)) == ["sr-vn", "vn", "gd"]
    # The status does not matter, only where the seed ends.
    runs[4].status = "completed"
    assert order(make_dataset(tmp_path, runs)) == ["sr-vn", "vn", "gd"]


def test_solving_most_seeds_counts_more_than_one_divergence(tmp_path):
    runs = [*seeds("vn", [10.0, 10.0, 10.0]), *seeds("gd", [60.0, 60.0, 60.0])]
    runs[2].status = "diverged"
    assert order(make_dataset(tmp_path, runs)) == ["vn", "gd"]


def test_without_a_solved_seed_the_fewest_divergences_decide(tmp_path):
    runs = [*seeds("vn", [11.0, 11.0, 11.0]), *seeds("gd", [12.0, 12.0, 12.0])]
    runs[2].status = "failed"
    assert order(make_dataset(tmp_path, runs)) == ["gd", "vn"]


def test_the_best_solves_most_seeds_then_has_the_lowest_gap_then_the_least_effort(tmp_path):
    runs = [
        Run([20.0, 11.0, 11.0], step=0.1),
        Run([20.0, 12.0, 10.0], step=0.2),
        Run([20.0, 10.0, 10.0 + 1e-11], step=0.3),
        Run([20.0, 10.0, 10.0], step=0.4),
        Run([20.0, 10.0, 10.0], step=0.4, seed=1, status="diverged"),
        Run([20.0], "b", step=0.1, status="diverged"),
    ]
    dataset = make_dataset(tmp_path, runs)
    chosen = Ranking.of(dataset).best_lines(configurations(dataset))
    assert [(config.dataset, config.step) for config in chosen] == [("wdbc", 0.3), ("b", 0.1)]


def test_overshooting_a_common_tolerance_does_not_make_a_run_better(tmp_path):
    """Runs that stop at a tolerance are compared by effort, not by how far they are below it."""
    stop = {"tolerance": 1e-2, "iterations": 50}
    quick = [20.0, 12.0, 10.0 + 6e-5]
    slow = [20.0, 15.0, 12.0, 11.0, 10.0 + 4e-5]
    runs = [
        Run(quick, "wdbc", "vn", spec=stop, status="converged"),
        Run(slow, "wdbc", "gd", spec=stop, status="converged"),
    ]
    dataset = make_dataset(tmp_path, runs)
    best = Ranking.of(dataset).best(configurations(dataset), lambda config: config.problem)
    assert [config.solver for config in best.values()] == ["vn"]
    # If tolerances differ, a loose tolerance is not an advantage.
    runs[0].spec = {**stop, "tolerance": 1e9}
    dataset = make_dataset(tmp_path, runs)
    best = Ranking.of(dataset).best(configurations(dataset), lambda config: config.problem)
    assert [config.solver for config in best.values()] == ["gd"]


def test_equal_gaps_are_ranked_by_the_cost_of_the_study(tmp_path):
    # SR-VN needs fewer iterations, but rejected trial steps make them expensive.
    costly = {"evaluations": [1, 10, 20, 30], "data_passes": [1, 10, 20, 30]}
    runs = [
        Run([15.0, 12.0, 10.0, 10.0], "wdbc", "vn"),
        Run([15.0, 10.0, 10.0, 10.0], "wdbc", "sr-vn", scalars=costly),
    ]
    first = {}
    for cost in ("iterations", "evaluations"):
        dataset = make_dataset(tmp_path, runs, cost=cost)
        [best] = Ranking.of(dataset).best(configurations(dataset), lambda c: c.problem).values()
        first[cost] = best.solver
        assert f"the fewest {cost} until the gap settles" in rule_of(dataset)
    assert first == {"iterations": "sr-vn", "evaluations": "vn"}
