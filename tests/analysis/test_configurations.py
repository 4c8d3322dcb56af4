"""Configurations: how the runs of an aggregate are opened, grouped and named."""

import numpy as np
import pytest

from figures.made_aggregate import Run, make_dataset, study, write_aggregate
from gvibench.analysis.configurations import configurations, problem_codes, solver_title
from gvibench.analysis.gaps import final, gap, measured
from gvibench.analysis.outcomes import outcomes_of
from gvibench.errors import UserError
from gvibench.store.aggregates import open_aggregate
from gvibench.store.traces import write_trace


def test_opening_an_invalid_file_explains_the_error(tmp_path):
    (tmp_path / "text.zarr.zip").write_text("not a zip")
    write_trace(tmp_path / "t.zarr.zip", Run([1.0]).trace())
    for name, message in (
        ("no", "does not exist"),
        ("text", "not a zip file"),
        ("t", "is not a gvibench aggregate"),
    ):
        with (
            pytest.raises(UserError, match=message),
            open_aggregate(tmp_path / f"{name}.zarr.zip"),
        ):
            pass


def test_curves_are_read_only_when_used(tmp_path):
    path = write_aggregate(tmp_path, [Run([12.0, 11.0])])
    with open_aggregate(path) as dataset:
        assert not dataset["test_nll"].variable._in_memory
        gap(dataset, "objective")
        assert not dataset["test_nll"].variable._in_memory


def test_runs_that_differ_only_in_their_seed_are_grouped(tmp_path):
    dataset = make_dataset(tmp_path, study())
    configs = configurations(dataset)
    assert [
        (config.dataset, config.solver, config.step, config.init_scale) for config in configs
    ] == [
        (name, solver, step, scale)
        for name in ("wdbc", "digits_50%")
        for solver, step, scale in (
            ("vn", 0.5, 1.0),
            ("vn", 0.1, 1.0),
            ("sr-vn", 0.1, 0.1),
            ("mine", 7.0, 1.0),
        )
    ]
    assert [len(config.runs) for config in configs] == [3] * 8
    assert [config.unusable for config in configs] == [0, 0, 1, 3] * 2
    assert configs[2].endings == {"completed": 2, "diverged": 1}
    assert [config.line for config in configs[:4]] == ["VN", "VN", "SR-VN", "mine"]
    assert dataset["seed"].values[configs[2].usable].tolist() == [0, 1]


def test_names_contain_only_fields_that_vary(tmp_path):
    runs = [
        Run([12.0], "a", spec={"gamma": 1.0, "mean_scale": 1.0}),
        Run([12.0], "a", spec={"gamma": 0.5, "mean_scale": 1.0}),
        Run([12.0], "a", spec={"gamma": 1.0, "mean_scale": 0.0}),
        Run([12.0], "b", spec={"beta": 3.0}),
        Run([12.0], "b", "sr-vn", spec={"beta": 3.0, "iterations": 9}),
    ]
    names = [(config.panel, config.line) for config in configurations(make_dataset(tmp_path, runs))]
    assert names == [
        ("a, gamma 1", "VN, mean_scale 1"),
        ("a, gamma 0.5", "VN, mean_scale 1"),
        ("a, gamma 1", "VN, mean_scale 0"),
        ("b", "VN, mean_scale 1"),
        ("b", "SR-VN"),
    ]


def test_named_starts_belong_to_the_problem(tmp_path):
    """Runs from different starts do not compete, although their objectives are comparable."""
    runs = [
        Run([objective], "a", init_scale=scale, spec={"mean_scale": mean, "beta": 0.25})
        for objective, mean, scale in ((12.0, 0.0, 1.0), (11.0, 1.0, 1.0), (10.5, 0.0, 2.0))
    ]
    starts = [
        {"name": "zero", "mean_scale": 0.0, "init_scale": 1.0},
        {"name": "random", "mean_scale": 1.0, "init_scale": 1.0},
        {"name": "prior", "mean_scale": 0.0, "init_scale": "prior"},
    ]
    dataset = make_dataset(tmp_path, runs)
    assert {config.line for config in configurations(dataset)} == {
        "VN, mean_scale 0",
        "VN, mean_scale 1",
    }
    named = dataset.assign_attrs(starts=starts)
    configs = configurations(named)
    assert [config.panel for config in configs] == [
        "a, start zero",
        "a, start random",
        "a, start prior",
    ]
    assert {config.line for config in configs} == {"VN"}
    assert len({config.problem for config in configs}) == 3
    assert len(set(problem_codes(named).tolist())) == 1
    outcomes = outcomes_of(named, [1.0], "evaluations", None)
    assert outcomes["instance"].values.tolist() == [
        f"a, start {name}, seed 0" for name in ("zero", "random", "prior")
    ]
    assert outcomes["init_scale"].values.tolist() == [1.0, 1.0, 2.0]
    assert outcomes["cost"].values.ravel().tolist() == [np.inf, 1.0, 1.0]


def test_titles_come_from_the_manifest(tmp_path):
    runs = [Run([12.0], solver="sr-vn"), Run([13.0], solver="mine", solver_id="sr-vn")]
    dataset = make_dataset(tmp_path, runs)
    assert solver_title(dataset, "sr-vn", "sr-vn") == "SR-VN"
    assert solver_title(dataset, "mine", "sr-vn") == "mine"
    assert solver_title(dataset, "unknown", "unknown") == "unknown"


def test_equal_titles_get_their_labels_appended(tmp_path):
    runs = [Run([12.0], solver="vn"), Run([13.0], solver="VN", solver_id="vn")]
    lines = [config.line for config in configurations(make_dataset(tmp_path, runs))]
    assert lines == ["VN [vn]", "VN [VN]"]


def test_numbers_that_round_to_the_same_text_have_different_names(tmp_path):
    runs = [Run([12.0], spec={"gamma": value}) for value in (0.1234567, 0.1234568)]
    panels = [config.panel for config in configurations(make_dataset(tmp_path, runs))]
    assert panels == ["wdbc, gamma 0.1234567", "wdbc, gamma 0.1234568"]


def test_duplicate_runs_are_counted_once(tmp_path):
    runs = [Run([12.0, 11.0]), Run([12.0, 11.0]), Run([13.0, 12.0], seed=1)]
    (config,) = configurations(make_dataset(tmp_path, runs))
    assert config.runs.tolist() == [0, 2]


def test_approximations_with_exact_objectives_are_one_problem(tmp_path):
    """Runs on different bounds are lines of one panel, compared by the exact objective."""
    recorded = {"record": ("objective_exact",), "expectation": "piecewise"}
    runs = [
        Run([20.0, own], scalars={"objective_exact": [19.0, exact]}, spec={"pieces": k, **recorded})
        for k, own, exact in ((4, 17.0, 11.0), (20, 10.5, 10.4))
    ]
    runs.append(Run([20.0, 10.2], "wdbc", "sr-vn"))
    dataset = make_dataset(tmp_path, runs, gap="best-seen")
    configs = configurations(dataset)
    assert len({config.problem for config in configs}) == 1
    assert {config.panel for config in configs} == {"wdbc"}
    assert [config.line for config in configs] == ["VN, pieces 4", "VN, pieces 20", "SR-VN"]
    np.testing.assert_allclose(final(gap(dataset, "objective")), [0.8, 0.2, 0.0])
    # Metrics that contain the training loss are shifted by the same difference.
    np.testing.assert_allclose(final(measured(dataset, "neg_elbo")), [16.0, 15.4, 15.2])


def test_approximations_without_exact_objectives_are_different_problems(tmp_path):
    runs = [Run([12.0], spec={"expectation": "piecewise", "pieces": k}) for k in (4, 20)]
    panels = [config.panel for config in configurations(make_dataset(tmp_path, runs))]
    assert panels == ["wdbc, pieces 4", "wdbc, pieces 20"]
