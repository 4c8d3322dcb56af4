"""Ranking of configurations."""

from figures.made_aggregate import Run, make_dataset
from gvibench.analysis.configurations import configurations
from gvibench.analysis.ranking import Ranking


def test_the_best_has_fewest_diverged_then_lowest_gap_then_least_effort(tmp_path):
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
