"""Scores against brute-force loops, and their properties."""

import itertools
import math

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.made_outcomes import made_outcomes, outcomes_from, random_outcomes
from gvibench.analysis.scores import (
    area,
    bands,
    bootstrap,
    expected_run_time,
    failures,
    letters,
    nearest_target,
    profiles,
    shares,
    tie_groups,
    ties,
)
from gvibench.errors import UserError

BUDGET = 1000.0


def brute_area(outcomes, entry, budget, least=1.0):
    """Integrate the ECDF over log10 cost between its jumps."""
    problems = outcomes["problem"].values.tolist()
    costs = outcomes["cost"].sel(entry=entry).values.tolist()
    points = []  # cost, weight
    for problem, row in zip(problems, costs, strict=True):
        weight = 1 / len(set(problems)) / problems.count(problem) / len(row)
        points += [(cost, weight) for cost in row]
    jumps = sorted({least, budget, *(c for c, _ in points if least < c < budget)})
    total = 0.0
    for left, right in itertools.pairwise(jumps):
        share = sum(weight for cost, weight in points if cost <= left)
        total += share * (math.log10(right) - math.log10(left))
    return total / (math.log10(budget) - math.log10(least))


@given(made_outcomes())
@settings(deadline=None, max_examples=30)
def test_area_is_the_integral_of_the_ecdf(outcomes):
    scores = area(outcomes, BUDGET)
    for entry in outcomes["entry"].values:
        expected = brute_area(outcomes, entry, BUDGET)
        assert float(scores.sel(entry=entry)) == pytest.approx(expected, abs=1e-12)


@given(made_outcomes(), st.floats(0.5, 20.0), st.floats(25.0, 5000.0))
@settings(deadline=None, max_examples=30)
def test_area_between_other_limits(outcomes, least, budget):
    scores = area(outcomes, budget, least)
    expected = [brute_area(outcomes, entry, budget, least) for entry in outcomes["entry"].values]
    np.testing.assert_allclose(scores, expected, atol=1e-12)


@given(made_outcomes(), st.data())
@settings(deadline=None, max_examples=30)
def test_a_further_entry_changes_no_score(outcomes, data):
    kept = data.draw(
        st.lists(st.sampled_from(outcomes["entry"].values.tolist()), min_size=1, unique=True)
    )
    np.testing.assert_array_equal(
        area(outcomes.sel(entry=kept), BUDGET), area(outcomes, BUDGET).sel(entry=kept)
    )


@given(made_outcomes(), st.randoms())
@settings(deadline=None, max_examples=30)
def test_the_order_of_entries_and_instances_is_irrelevant(outcomes, random):
    orders = {dim: list(range(outcomes.sizes[dim])) for dim in ("entry", "instance")}
    for order in orders.values():
        random.shuffle(order)
    shuffled = outcomes.isel(orders)
    names = outcomes["entry"].values
    np.testing.assert_allclose(area(shuffled, BUDGET).sel(entry=names), area(outcomes, BUDGET))
    xr.testing.assert_identical(
        bootstrap(shuffled, BUDGET, draws=50), bootstrap(outcomes, BUDGET, draws=50)
    )
    ours, theirs = (expected_run_time(each, BUDGET) for each in (shuffled, outcomes))
    ours = ours.sel(entry=names, problem=theirs["problem"].values)
    np.testing.assert_allclose(ours.values, theirs.values)
    target = float(outcomes["target"][0])
    ratios = profiles(shuffled, target).sel(entry=names, instance=outcomes["instance"].values)
    np.testing.assert_array_equal(ratios.values, profiles(outcomes, target).values)


@given(made_outcomes(), st.floats(1.0, 3.0))
@settings(deadline=None, max_examples=30)
def test_scores_do_not_rise_with_the_cost(outcomes, factor):
    slower = outcomes.assign(cost=factor * outcomes["cost"])
    assert (area(slower, BUDGET) <= area(outcomes, BUDGET) + 1e-15).all()
    assert ((area(outcomes, BUDGET) >= 0) & (area(outcomes, BUDGET) <= 1 + 1e-12)).all()


def test_the_best_and_the_worst_score():
    costs = np.stack([np.full((3, 2), 1.0), np.full((3, 2), np.inf), np.full((3, 2), np.nan)])
    scores = area(outcomes_from(costs, ["a", "a", "b"]), BUDGET)
    np.testing.assert_allclose(scores, [1.0, 0.0, 0.0], atol=1e-15)


def test_a_cost_halfway_to_the_budget_is_worth_one_half():
    outcomes = outcomes_from([[[math.sqrt(1000.0)]]], ["a"])
    assert float(area(outcomes, BUDGET)[0]) == pytest.approx(0.5)


@pytest.mark.parametrize("budget", [1.0, 0.5, math.inf])
def test_a_budget_without_area_is_an_error(budget):
    with pytest.raises(UserError, match="budget of scores must be finite and above 1"):
        area(random_outcomes(2, 2, 2, 3), budget)


@given(made_outcomes())
@settings(deadline=None, max_examples=30)
def test_shares_are_the_weighted_counts(outcomes):
    at = [0.0, 1.0, 30.0, 1500.0]
    found = shares(outcomes, at)
    problems = list(outcomes["problem"].values)
    for e, j in itertools.product(range(outcomes.sizes["entry"]), range(len(at))):
        total = 0.0
        for problem in set(problems):
            members = [k for k, name in enumerate(problems) if name == problem]
            hits = [np.mean(outcomes["cost"].values[e, k] <= at[j]) for k in members]
            total += np.mean(hits) / len(set(problems))
        assert float(found[e, j]) == pytest.approx(total)


@given(made_outcomes())
@settings(deadline=None, max_examples=30)
def test_expected_run_times(outcomes):
    found = expected_run_time(outcomes, BUDGET)
    assert found["problem"].values[0] == "all problems"
    for entry, problem, target in itertools.product(*(found[dim].values for dim in found.dims)):
        spent, successes, failed = 0.0, 0, 0
        costs = outcomes["cost"].sel(entry=entry, target=target).values.tolist()
        for name, cost in zip(outcomes["problem"].values, costs, strict=True):
            if problem not in {name, "all problems"} or math.isnan(cost):
                continue
            if cost <= BUDGET:
                spent, successes = spent + cost, successes + 1
            else:
                failed += 1
        value = float(found.sel(entry=entry, problem=problem, target=target))
        if successes + failed == 0:
            assert math.isnan(value)
        elif successes == 0:
            assert value == math.inf
        else:
            assert value == pytest.approx((spent + BUDGET * failed) / successes)


@given(made_outcomes())
@settings(deadline=None, max_examples=30)
def test_profiles_are_ratios_to_the_best(outcomes):
    target = float(outcomes["target"][-1])
    found = profiles(outcomes, target)
    for k in range(outcomes.sizes["instance"]):
        costs = outcomes["cost"].values[:, k, -1].tolist()
        costs = [math.inf if math.isnan(cost) else max(cost, 1.0) for cost in costs]
        for e, cost in enumerate(costs):
            ratio = cost / min(costs) if cost < math.inf else math.inf
            assert float(found[e, k]) == (ratio if ratio <= 100 else math.inf)


def test_the_profile_of_an_unknown_target_is_an_error():
    with pytest.raises(KeyError):
        profiles(random_outcomes(2, 2, 2, 3), 0.123)


def test_the_nearest_target_is_that_of_the_logarithms():
    outcomes = outcomes_from(np.ones((1, 1, 3)), ["a"], [100.0, 1.0, 1e-6])
    assert [nearest_target(outcomes, t) for t in (1e3, 11.0, 2.0, 1e-2, 1e-8)] == [
        *(100.0, 100.0, 1.0, 1.0, 1e-6)
    ]


def test_failures_are_counted_by_status_and_reason():
    costs = np.ones((2, 4, 1))
    costs[1, 3] = np.nan
    outcomes = outcomes_from(costs, ["a", "a", "b", "c"])
    outcomes["status"].values[0] = ["diverged", "diverged", "diverged", "completed"]
    outcomes["reason"].values[0] = ["no V", "no V", "too large", ""]
    table = failures(outcomes)
    assert table.to_numpy().tolist() == [
        ["entry 0", "diverged", "no V", 2, "a"],
        ["entry 0", "completed", "", 1, "c"],
        ["entry 0", "diverged", "too large", 1, "b"],
        ["entry 1", "completed", "", 3, "a; b"],
        ["entry 1", "missing", "", 1, "c"],
    ]
    assert table["count"].sum() == 8


def exact_samples(outcomes):
    """Return the scores (sample, entry) of all equally likely samples of two problems with two
    instances each."""
    worth = np.array(
        [
            [brute_area(outcomes.isel(entry=[e], instance=[k]), name, BUDGET) for k in range(4)]
            for e, name in enumerate(outcomes["entry"].values)
        ]
    )
    samples = []
    for first, second in itertools.product((0, 1), repeat=2):
        for picks in itertools.product((0, 1), repeat=4):
            chosen = [2 * first + picks[0], 2 * first + picks[1]]
            chosen += [2 * second + picks[2], 2 * second + picks[3]]
            samples.append(worth[:, chosen].mean(axis=1))
    return np.array(samples)


def test_the_bootstrap_has_the_exact_distribution():
    rng = np.random.default_rng(3)
    outcomes = outcomes_from(10 ** rng.uniform(0, 3, (3, 4, 2)), ["a", "a", "b", "b"])
    samples = exact_samples(outcomes)
    result = bootstrap(outcomes, BUDGET, draws=200_000, seed=1)
    names = outcomes["entry"].values.tolist()
    for i, j in itertools.product(range(3), repeat=2):
        wins = np.mean(samples[:, i] > samples[:, j] + 1e-12)
        equal = np.mean(np.abs(samples[:, i] - samples[:, j]) <= 1e-12)
        found = float(result["beats"].sel(entry=names[i], other=names[j]))
        assert found == pytest.approx(wins + equal / 2, abs=0.005)
    for i, name in enumerate(names):
        row = result.sel(entry=name)
        assert float(row["score"]) == pytest.approx(brute_area(outcomes, name, BUDGET))
        for end, share in (("low", 0.025), ("high", 0.975)):
            expected = np.quantile(samples[:, i], share, method="inverted_cdf")
            assert float(row[f"score_{end}"]) == pytest.approx(expected, abs=0.01)
        ranks = 1 + (samples > samples[:, [i]] + 1e-12).sum(axis=1)
        for end, share in (("low", 0.025), ("high", 0.975)):
            assert float(row[f"rank_{end}"]) == np.quantile(ranks, share, method="inverted_cdf")


def test_equal_entries_share_their_rank_and_tie():
    outcomes = random_outcomes(3, 4, 3, 5)
    twins = outcomes.isel(entry=[0, 0, 2]).assign_coords(entry=["x", "y", "z"])
    result = bootstrap(twins, BUDGET, draws=200)
    assert result["rank"].values.tolist() == [1, 1, 3]
    assert float(result["beats"].sel(entry="x", other="y")) == 0.5
    assert ("x", "y") in ties(result["beats"])
    np.testing.assert_allclose(result["beats"] + result["beats"].values.T, 1.0)


def test_one_instance_gives_intervals_of_no_width():
    result = bootstrap(outcomes_from([[[10.0]], [[100.0]]], ["a"]), BUDGET, draws=20)
    np.testing.assert_allclose(result["score_low"], result["score"])
    np.testing.assert_allclose(result["score_high"], [2 / 3, 1 / 3])
    assert ties(result["beats"]) == []


def test_seeds_repeat_and_differ():
    outcomes = random_outcomes(3, 4, 3, 5)
    first, again, other = (bootstrap(outcomes, BUDGET, 100, seed) for seed in (0, 0, 1))
    xr.testing.assert_identical(first, again)
    assert not first["score_low"].equals(other["score_low"])


def test_problems_are_resampled_and_not_only_instances():
    """With one good and one bad problem, the interval covers a benchmark of one of them."""
    costs = np.array([[[1.0]] * 50 + [[np.inf]] * 50])
    result = bootstrap(outcomes_from(costs, ["a"] * 50 + ["b"] * 50), BUDGET)
    assert (float(result["score_low"][0]), float(result["score_high"][0])) == (0.0, 1.0)


def test_bands_contain_the_shares():
    outcomes, at = random_outcomes(4, 6, 4, 9), np.geomspace(1.0, 1000.0, 30)
    low, high = bands(outcomes, at, draws=300)
    middle = shares(outcomes, at)
    assert low.dims == middle.dims == ("entry", "at")
    assert (low <= middle + 1e-12).all()
    assert (high >= middle - 1e-12).all()
    assert float((high - low).max()) > 0.02


def brute_groups(entries, pairs):
    """Return all sets of tied entries that no larger such set contains."""
    tied = {frozenset(pair) for pair in pairs}
    sets = [
        set(group)
        for size in range(1, len(entries) + 1)
        for group in itertools.combinations(entries, size)
        if all(frozenset(pair) in tied for pair in itertools.combinations(group, 2))
    ]
    return {frozenset(group) for group in sets if not any(group < other for other in sets)}


@given(st.integers(1, 6), st.data())
@settings(deadline=None, max_examples=50)
def test_tie_groups_are_the_largest_sets_of_ties(count, data):
    entries = [chr(ord("A") + k) for k in range(count)]
    every = list(itertools.combinations(entries, 2))
    pairs = [pair for pair in every if data.draw(st.booleans())]
    groups = tie_groups(entries, pairs)
    assert {frozenset(group) for group in groups} == brute_groups(entries, pairs)
    assert len(groups) == len({frozenset(group) for group in groups})
    assert groups == sorted(groups)
    marks = letters(groups)
    for first, second in every:
        assert bool(set(marks[first]) & set(marks[second])) == ((first, second) in pairs)
