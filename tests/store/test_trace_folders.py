"""Problem folders and trace folders: what is read, and what is rejected with which sentence."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmark_folders import CARD, arrays, instance, problem_folder, read_traces, trace_folder
from gvibench.errors import UserError
from gvibench.store.problem_folders import open_problems
from gvibench.store.trace_folders import read_card, read_trace

PROBLEM = instance()
OTHER = instance("poisson", "affine")
VALID = arrays(PROBLEM)


@pytest.fixture(scope="module")
def problems(tmp_path_factory):
    return problem_folder(tmp_path_factory.mktemp("problems"), PROBLEM, OTHER)


def changed(name, index, value):
    """Return an array of a valid trace with one entry replaced."""
    array = VALID[name].copy()
    array[index] = value
    return {name: array}


# What is written is read again


def test_instances_round_trip(problems):
    for made in (PROBLEM, OTHER):
        found = problems.read(made.name)
        assert (found.name, found.model, found.optimum, found.gamma) == (
            *(made.name, made.model, made.optimum),
            1.0,
        )
        for name in ("rows", "y", "precision", "mean0", "factor0", "held_out_rows", "held_out_y"):
            np.testing.assert_array_equal(getattr(found, name), getattr(made, name))
    assert problems.release == "2000.1"
    assert problems.budgets["B"] == 10_000
    assert problems.targets["A"] == (1e2, 1e-8)


def test_traces_are_read(tmp_path, problems):
    [trace] = read_traces(trace_folder(tmp_path, PROBLEM), problems).values()
    assert (trace.instance, trace.status, trace.reason) == (PROBLEM.name, "completed", "")
    for name in ("cost", "seconds", "mean", "covariance_factor", "objective"):
        np.testing.assert_array_equal(getattr(trace, name), VALID[name])
    card = read_card(tmp_path)
    assert card.track == "A"
    assert not card.replaces_start


def test_other_files_are_ignored(tmp_path, problems):
    trace_folder(tmp_path, PROBLEM)
    (tmp_path / "README.md").write_text("notes")
    assert read_traces(tmp_path, problems)


def test_records_beyond_the_budget_are_read(tmp_path, problems):
    trace_folder(tmp_path, PROBLEM, cost=np.array([0, 10, 1e6]))
    assert read_traces(tmp_path, problems)[PROBLEM.name].cost[-1] == 1e6


def test_signs_of_columns_do_not_matter(tmp_path, problems):
    factors = VALID["covariance_factor"] * np.array([1, -1, 1, -1])
    trace_folder(tmp_path, PROBLEM, covariance_factor=factors)
    assert read_traces(tmp_path, problems)


def test_integers_and_single_precision_are_read(tmp_path, problems):
    start = VALID["mean"].astype(np.float32)
    trace_folder(tmp_path, PROBLEM, cost=np.arange(3), mean=start)
    assert read_traces(tmp_path, problems)[PROBLEM.name].mean.dtype == np.float64


def test_a_failed_run_may_have_no_records(tmp_path, problems):
    none = {name: VALID[name][:0] for name in VALID if VALID[name].ndim}
    reason = np.array("out of memory")
    trace_folder(tmp_path, PROBLEM, **none, status=np.array("failed"), reason=reason)
    assert read_traces(tmp_path, problems)[PROBLEM.name].reason == "out of memory"


@pytest.mark.parametrize("objective", [None, np.full(3, np.nan)])
def test_stochastic_libraries_need_not_compute_the_objective(tmp_path, problems, objective):
    trace_folder(tmp_path, PROBLEM, {**CARD, "track": "B"}, objective=objective)
    assert np.isnan(read_traces(tmp_path, problems)[PROBLEM.name].objective).all()


def test_a_card_may_replace_the_start(tmp_path, problems):
    changes = changed("mean", (0, 0), 3.0)
    trace_folder(tmp_path, PROBLEM, {**CARD, "replaces_start": True}, **changes)
    assert read_traces(tmp_path, problems)


# What is rejected

LONG = VALID["covariance_factor"].copy()
LONG[1, 2, 2] = 0
TRACES = {
    "no array 'cost'": {"cost": None},
    "no array 'status'": {"status": None},
    "'mean' has shape (2, 4) instead of (3, 4)": {"mean": VALID["mean"][:2]},
    "'mean' has shape (3, 3) instead of (3, 4)": {"mean": VALID["mean"][:, :3]},
    "'covariance_factor' has shape (4, 4)": {"covariance_factor": np.eye(4)},
    "'objective' has shape (1,)": {"objective": np.zeros(1)},
    "'cost' decreases from 2 to 1 at record 2": changed("cost", 2, 1),
    "'cost' is negative at record 0": changed("cost", 0, -1),
    "'seconds' decreases": changed("seconds", 1, 1),
    "'cost' is not finite at record 2": changed("cost", 2, np.inf),
    "'mean' is not finite at record 1": changed("mean", (1, 2), np.nan),
    "'covariance_factor' is not lower triangular at record 2": changed(
        "covariance_factor", (2, 0, 1), 1e-20
    ),
    "a zero on its diagonal at record 1": {"covariance_factor": LONG},
    "'mean' of record 0 differs from the given start by 1e-06": changed("mean", (0, 1), 1e-6),
    "'covariance_factor' of record 0 differs": {
        "covariance_factor": VALID["covariance_factor"] * (1 + 1e-6)
    },
    "'objective' is missing at record 1": changed("objective", 1, np.nan),
    "'objective' is missing at record 0": {"objective": None},
    "'objective' is -inf at record 1": changed("objective", 1, -np.inf),
    "'status' is 'done'": {"status": np.array("done")},
    "the status is 'diverged' but 'reason' is empty": {"status": np.array("diverged")},
    "'status' is not a text": {"status": np.array(1)},
    "'reason' is not a text": {"reason": np.array(["a", "b"])},
    "unknown array 'objectives' (did you mean 'objective'?)": {"objectives": np.zeros(3)},
    "'cost' has type complex128": {"cost": np.arange(3) * 1j},
    "'mean' has type <U": {"mean": VALID["mean"].astype(str)},
    "cannot be read (ValueError: Object arrays": {"cost": np.array([0, 1, None])},
}


@pytest.mark.parametrize("sentence", TRACES)
def test_invalid_traces_are_rejected(tmp_path, problems, sentence):
    trace_folder(tmp_path, PROBLEM, **TRACES[sentence])
    with pytest.raises(UserError) as error:
        read_traces(tmp_path, problems)
    assert str(error.value).startswith(str(tmp_path / f"{PROBLEM.name}.npz"))
    assert sentence in str(error.value)
    assert ": " in str(error.value).partition(sentence)[2], "how to fix it"


def test_a_completed_run_has_records(tmp_path, problems):
    none = {name: VALID[name][:0] for name in VALID if VALID[name].ndim}
    trace_folder(tmp_path, PROBLEM, **none)
    with pytest.raises(UserError, match="there are no records"):
        read_traces(tmp_path, problems)


def test_unknown_instances_are_rejected(tmp_path, problems):
    trace_folder(tmp_path, PROBLEM)
    (tmp_path / f"{PROBLEM.name}.npz").rename(tmp_path / "logistic.identity.star.npz")
    with pytest.raises(UserError, match=r"no instance .*did you mean 'logistic.identity.start'"):
        read_traces(tmp_path, problems)


def test_a_folder_without_traces_is_rejected(tmp_path, problems):
    (tmp_path / "card.json").write_text(json.dumps(CARD))
    with pytest.raises(UserError, match="has no traces"):
        read_traces(tmp_path, problems)


CARDS = {
    "the key 'league' is missing": {"league": None},
    "the key 'authors' is missing": {"authors": None},
    "'track' is 'D': choose one of A, B, C": {"track": "D"},
    "'league' is 'Tuned'": {"league": "Tuned"},
    "'name' is not a text, or it is empty": {"name": " "},
    "'name' is 'a\\nb': use one line": {"name": "a\nb"},
    "use one line of at most 60 characters without $": {"name": "$x$"},
    "of at most 60 characters": {"name": 61 * "x"},
    "'version' is not a text": {"version": 1.0},
    "unknown key 'license' (did you mean 'licence'?)": {"license": "MIT"},
    "'trials' is not a number from 0 to 8": {"trials": -1},
    "'trials' is not a number from 0 to 8: ": {"trials": 9},
    "'trials' is missing": {"league": "tuned"},
    "'replaces_start' is neither true nor false": {"replaces_start": "yes"},
    "'other_divergence' is neither true nor false": {"other_divergence": 1},
}


@pytest.mark.parametrize("sentence", CARDS)
def test_invalid_cards_are_rejected(tmp_path, sentence):
    card = {**CARD, **CARDS[sentence]}
    text = json.dumps({key: value for key, value in card.items() if value is not None})
    (tmp_path / "card.json").write_text(text)
    with pytest.raises(UserError) as error:
        read_card(tmp_path)
    assert str(error.value).startswith(str(tmp_path / "card.json"))
    assert sentence in str(error.value)


def test_a_file_with_huge_arrays_is_rejected_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("gvibench.store.problem_folders.MAX_SIZE", 1000)
    folder = trace_folder(tmp_path / "traces", PROBLEM)
    monkeypatch.setattr("gvibench.store.problem_folders.MAX_SIZE", 1000)
    with pytest.raises(UserError, match=f"{PROBLEM.name}.npz has .* GB of arrays, more than 1e-06"):
        read_trace(folder / f"{PROBLEM.name}.npz", read_card(folder), PROBLEM)


@pytest.mark.parametrize("text", [None, "", "[]", "{", "\x00", '"text"', "[" * 100_000])
def test_cards_that_are_no_mapping_are_rejected(tmp_path, text):
    if text is not None:
        (tmp_path / "card.json").write_text(text)
    with pytest.raises(UserError, match=r"card\.json (cannot be read|is not a mapping)"):
        read_card(tmp_path)


INDEXES = {
    "'release' is not a text": {"release": 2000},
    "'instances' does not have the tracks": {"instances": ["a.b.c"]},
    "'instances' of track B is not a list": {
        "instances": {"A": ["a.b.c"], "B": ["../secret.a.b"], "C": []}
    },
    "'budgets' does not have the tracks": {"budgets": {"A": 1}},
    "'budgets' of track B is not a positive number": {"budgets": {"A": 1, "B": -1, "C": 1}},
    "'targets' of track A is not a list": {"targets": {"A": 1, "B": [1], "C": [1]}},
}


@pytest.mark.parametrize("sentence", INDEXES)
def test_invalid_indexes_are_rejected(tmp_path, sentence):
    problem_folder(tmp_path, PROBLEM)
    index = json.loads((tmp_path / "problems.json").read_text())
    (tmp_path / "problems.json").write_text(json.dumps({**index, **INDEXES[sentence]}))
    with pytest.raises(UserError) as error:
        open_problems(tmp_path)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("sentence", "changes"),
    [
        ("no array 'y'", {"y": None}),
        ("'precision' has shape", {"precision": np.eye(3)}),
        ("'rows' is not finite", {"rows": np.full((40, 4), np.nan)}),
        ("unknown model 'linear'", {"model": np.array("linear")}),
        ("'rows' has shape (40,)", {"rows": np.ones(40)}),
    ],
)
def test_invalid_instances_are_rejected(tmp_path, sentence, changes):
    problems = problem_folder(tmp_path, PROBLEM)
    path = tmp_path / f"{PROBLEM.name}.npz"
    with np.load(path) as file:
        values = {**file, **changes}
    np.savez(path, **{name: value for name, value in values.items() if value is not None})
    with pytest.raises(UserError) as error:
        problems.read(PROBLEM.name)
    assert sentence in str(error.value)


# Damaged files


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_give_one_sentence(tmp_path_factory, problems, data):
    """Replace or cut bytes anywhere: the file is read, or rejected with one sentence."""
    folder = trace_folder(tmp_path_factory.mktemp("damaged"), PROBLEM)
    path = folder / data.draw(st.sampled_from(["card.json", f"{PROBLEM.name}.npz"]))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(content) - 1))
        content[position] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content)))]
    path.write_bytes(content)
    sentence = ""
    try:
        traces = read_traces(folder, problems).values()
    except UserError as error:
        sentence, traces = str(error), []
    assert traces or str(folder) in sentence
    for trace in traces:
        assert (np.diff(trace.cost) >= 0).all()
        assert np.isfinite(trace.covariance_factor).all()
