"""Recompute the numbers of tables and summaries from the traces, in plain Python.

This module is independent of the analysis in the package. It opens traces with Zarr, uses lists of
numbers, and implements the rules from the sentences that the reports print.
"""

import csv
import functools
import json
import math
import re
import statistics
import zipfile
from collections import Counter, defaultdict
from pathlib import Path

import zarr
from zarr.storage import ZipStore

LEVELS = (1e-2, 1e-4, 1e-6)
STATUSES = ("converged", "completed", "stalled", "failed", "diverged")
UNUSABLE = ("failed", "diverged")
TIE = 1e-8
LEVEL = 1e-4
ROUNDING = 1e-10
SINGLE_ROUNDING = 1e-6


class Run:
    """Trace of a run, with its labels and its optimum from the manifest."""

    def __init__(self, entry, starts):
        root = zarr.open_group(ZipStore(entry["path"], mode="r"), mode="r")
        group = root[entry["group"]] if entry["group"] else root
        self.attrs = dict(group.attrs)
        self.spec = json.loads(self.attrs["spec"])
        self.curves = {
            name: array[:].tolist()
            for name, array in group.arrays()
            if array.ndim == 1 and name != "snapshot"
        }
        self.dataset, self.label = entry["dataset"], entry["solver"]
        self.status = self.attrs["status"]
        self.usable = self.status not in UNUSABLE
        self.seed = self.spec["seed"]
        self.start = _start(starts, self.spec)
        self.exact = "objective_exact" in self.curves
        self.optimum = _optimum(entry["exact_optimum"] if self.exact else entry["optimum"])

    def measured(self, name):
        """Return the curve by which runs on the same problem are compared."""
        own = self.curves[name]
        if self.exact and name in {"objective", "neg_elbo", "train_elbo_paper"}:
            pairs = zip(own, self.curves["objective_exact"], self.curves["objective"], strict=True)
            return [value + (exact - approximate) for value, exact, approximate in pairs]
        return own

    @property
    def problem(self):
        spec = dict(self.spec)
        keys = ["data", "model", "beta", "prior", "basis_condition", "gamma", "sigma"]
        if not (self.exact or spec["expectation"] in {"exact", "stochastic"}):
            keys += ["expectation", "pieces", "piece_degree", "nodes"]
        return json.dumps([self.dataset, {key: spec[key] for key in keys}], sort_keys=True)

    @property
    def contest(self):
        """Return the problem and the named start on which solvers are compared."""
        return self.problem, self.start

    @property
    def configuration(self):
        return json.dumps([self.dataset, self.label, {**self.spec, "seed": None}], sort_keys=True)


def _start(starts, spec):
    for start in starts:
        scale = start["init_scale"]
        scale = 1 / math.sqrt(spec["beta"]) if scale == "prior" else scale
        if start["mean_scale"] == spec["mean_scale"] and math.isclose(scale, spec["init_scale"]):
            return start["name"]
    return None


def _optimum(path):
    if path is None:
        return math.nan
    with zipfile.ZipFile(path) as archive:
        attrs = json.loads(archive.read("zarr.json"))["attributes"]
    return float(attrs["objective"])


def read_runs(root, study):
    """Return the distinct runs of a study and its manifest."""
    return _read_runs(Path(root).resolve(), study)


@functools.lru_cache(maxsize=2)
def _read_runs(root, study):
    manifest = json.loads((Path(root) / study / "manifest.json").read_text())
    runs = {}
    for entry in manifest["runs"]:
        run = Run(entry, manifest["starts"])
        runs.setdefault((run.dataset, run.label, run.attrs["spec"]), run)
    return list(runs.values()), manifest


def gaps_of(runs, manifest):
    """Return the gap along each run, or an empty list if the run is unusable."""
    lowest = defaultdict(lambda: math.inf)
    for run in runs:
        if run.usable:
            best = min(
                (v for v in run.measured("objective") if not math.isnan(v)), default=math.inf
            )
            lowest[run.problem] = min(lowest[run.problem], best)
    gaps = {}
    for run in runs:
        reference = run.optimum
        if manifest["gap"] != "optimum" or not math.isfinite(reference):
            reference = lowest[run.problem]
        values = [value - reference for value in run.measured("objective")]
        relative = SINGLE_ROUNDING if run.spec["dtype"] == "float32" else ROUNDING
        rounding = relative * (1 + abs(reference))
        gaps[run] = (
            [0.0 if -rounding <= value < 0 else value for value in values] if run.usable else []
        )
    return gaps


def settles(run, gaps, level):
    """Return the first and the last iteration at which the gap may have settled, or None."""
    at = run.curves["iteration"]
    outside = [k for k, gap in enumerate(gaps) if not gap <= level]
    if not gaps or (outside and outside[-1] == len(gaps) - 1):
        return None
    if not outside:
        return at[0], at[0]
    return at[outside[-1]] + 1, at[outside[-1] + 1]


def reaches(run, gaps, level):
    """Return the limits of the iteration at which the run first reached the level, or None."""
    at = run.curves["iteration"]
    inside = [k for k, gap in enumerate(gaps) if gap <= level]
    if not inside:
        return None
    first = inside[0]
    return (at[first - 1] + 1 if first else at[0]), at[first]


def check_statuses(runs):
    """Check the status of each run against its trace."""
    for run in runs:
        objective, norm = run.curves["objective"], run.curves["grad_norm"]
        reason = run.attrs["reason"]
        assert reason, run.attrs["spec"]
        if run.status == "failed":
            no_step = reason.startswith(("no step worked", "line search failed"))
            assert objective[-1] > objective[0] or no_step, reason
            continue
        if run.status == "diverged":
            continue
        slack = 1e-3 if run.spec["dtype"] == "float32" else 1e-9
        assert objective[-1] <= objective[0] + slack * (1 + abs(objective[0])), reason
        own = run.spec["tolerance"]
        tolerance = own if own is not None else 1e-3 * math.sqrt(run.spec["gamma"]) or 1e-6
        assert (run.status == "converged") == (norm[-1] <= tolerance and tolerance > 0), reason


def check_performance(root, study):
    """Check all numbers of the table `performance` against the traces and return their count."""
    runs, manifest = read_runs(root, study)
    check_statuses(runs)
    gaps = gaps_of(runs, manifest)
    with (Path(root) / study / "tables/performance.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    groups = defaultdict(list)
    for run in runs:
        groups[run.configuration].append(run)
    assert len(rows) == len(groups)
    best = best_of(groups, gaps)
    checked = 0
    for row, members in zip(rows, _members_of(rows, groups), strict=True):
        checked += _check_row(row, members, gaps, best)
    return checked


def _members_of(rows, groups):
    """Yield the runs of each row, which are found by their labels and settings."""
    left = list(groups.values())
    for row in rows:
        for members in left:
            first = members[0]
            same = (
                row["dataset"] == first.dataset
                and row["solver"] == first.label
                and _is_step(row["step"], first)
                and row["step_rule"] == first.spec["step_rule"]
                and float(row["init_scale"]) == first.spec["init_scale"]
                and row.get("start", first.start) == first.start
                and all(
                    str(first.spec[field]) == value
                    for field, value in row.items()
                    if field in first.spec
                    and field not in {"solver", "step", "init_scale"}
                    and value
                )
                and all(
                    str(first.spec["data"][field.removeprefix("data.")]) == value
                    for field, value in row.items()
                    if field.startswith("data.") and value
                )
            )
            if same:
                left.remove(members)
                yield members
                break
        else:
            raise AssertionError(f"no runs for {row['problem']}, {row['method']}")


def _is_step(text, run):
    """Return whether a cell shows the step size of a run. It is empty without a set step size."""
    if run.spec["step_rule"] not in {"constant", "decay"}:
        return not _is_number(text)
    return float(text) == run.spec["step"]


def _check_row(row, members, gaps, best):
    usable = [run for run in members if run.usable]
    assert int(row["seeds"]) == len(members)
    counts = Counter(run.status for run in members)
    for status in STATUSES:
        assert int(row[status]) == counts[status]
    checked = 6
    columns = {name: [run.measured(name)[-1] for run in usable] for name in METRICS}
    columns["gap"] = [gaps[run][-1] for run in usable]
    for name, values in columns.items():
        checked += _check_statistics(row, name, [v for v in values if math.isfinite(v)])
    for level in LEVELS:
        for kind, rule in (("first", reaches), ("settled", settles)):
            bounds = {run: rule(run, gaps[run], level) for run in usable}
            reached = [pair for pair in bounds.values() if pair]
            assert int(row[f"reached_{kind}_{level:g}"]) == len(reached)
            if reached:
                low, high = min(a for a, _ in reached), max(b for _, b in reached)
                for statistic in ("min", "median", "mean", "max"):
                    assert low <= float(row[f"iterations_{kind}_{level:g}_{statistic}"]) <= high
                if all(a == b for a, b in reached):
                    exact = [a for a, _ in reached]
                    _check_statistics(row, f"iterations_{kind}_{level:g}", exact)
            checked += 5
    winner = best[members[0].contest]
    assert (row["is_best"] == "True") == (winner is members)
    if winner and usable:
        theirs = {run.seed: run.measured("objective")[-1] for run in winner if run.usable}
        pairs = [
            run.measured("objective")[-1] - theirs[run.seed] for run in usable if run.seed in theirs
        ]
        checked += _check_statistics(row, "difference_to_best", pairs)
    return checked


METRICS = (
    "objective",
    "neg_elbo",
    "train_elbo_paper",
    "test_nll",
    "test_nll_at_mean",
    "test_accuracy",
    "seconds",
)


def _check_statistics(row, name, values):
    if not values:
        assert not _is_number(row[f"{name}_median"]), (name, row[f"{name}_median"])
        return 1
    expected = {
        "median": statistics.median(values),
        "mean": statistics.fmean(values),
        "min": min(values),
        "max": max(values),
    }
    for key, value in expected.items():
        shown = float(row[f"{name}_{key}"])
        assert math.isclose(shown, value, rel_tol=1e-9, abs_tol=1e-9 * (1 + abs(value))), (
            name,
            key,
        )
    return 4


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def stopped_by_tolerance(groups):
    """Return the runs that reached the tolerance common to all runs on their problem."""
    runs = [run for members in groups.values() for run in members]
    tolerances = defaultdict(set)
    for run in runs:
        tolerances[run.problem].add(run.spec["tolerance"])
    return {
        run
        for run in runs
        if run.status == "converged"
        and len(tolerances[run.problem]) == 1
        and None not in tolerances[run.problem]
    }


def merit(members, gaps, stopped):
    """Return the criteria of the ranking according to the printed rule."""
    usable = [run for run in members if run.usable]
    if not usable:
        return (1.0, 1.0, math.inf, math.inf)
    finals = [0.0 if run in stopped or gaps[run][-1] < TIE else gaps[run][-1] for run in usable]
    efforts = [settles(run, gaps[run], LEVEL) for run in usable]
    # If the recording schedule does not determine an effort, its upper limit is used.
    latest = sorted(pair[1] if pair else math.inf for pair in efforts)
    middle = statistics.median(latest) if math.isfinite(latest[-1]) else latest[len(latest) // 2]
    solved = [run for run in usable if run in stopped or settles(run, gaps[run], LEVEL)]
    return (
        1 - len(solved) / len(members),
        1 - len(usable) / len(members),
        statistics.median(finals),
        middle,
    )


def best_of(groups, gaps):
    """Return the best configuration of each problem, or None if no run is usable."""
    best = {}
    stopped = stopped_by_tolerance(groups)
    for members in groups.values():
        problem = members[0].contest
        first = members[0].spec
        identity = json.dumps({**first, "seed": None}, sort_keys=True)
        key = (*merit(members, gaps, stopped), first["step"], first["init_scale"], identity)
        if problem not in best or key < best[problem][0]:
            best[problem] = (key, members)
    return {
        problem: members if any(run.usable for run in members) else None
        for problem, (_, members) in best.items()
    }


def check_summary(root, study):
    """Check the sentences of a summary against the traces and return their count."""
    runs, manifest = read_runs(root, study)
    gaps = gaps_of(runs, manifest)
    text = (Path(root) / study / "summary.md").read_text()
    groups = defaultdict(list)
    for run in runs:
        groups[run.configuration].append(run)
    counted = re.search(
        r": (\d+) runs?, (\d+) problems?, (\d+) solvers?, (\d+) configurations?, (\d+) seeds?\.",
        text,
    )
    counts = [int(number) for number in counted.groups()]
    assert counts[0] == len(manifest["runs"])
    assert counts[1] == len({run.contest for run in runs})
    assert counts[3] == len(groups)
    assert counts[4] == len({run.seed for run in runs})
    statuses = Counter(run.status for run in runs)
    for status in STATUSES:
        line = re.search(rf"^- (\d+) {status}: ", text, re.MULTILINE)
        assert (int(line.group(1)) if line else 0) == statuses[status]
    known = [math.isfinite(run.optimum) for run in runs]
    from_best = "measured from the best value seen on the same problem" in text
    assert from_best == (manifest["gap"] != "optimum" or not any(known))
    return 9 + _check_best(text, groups, gaps)


def _check_best(text, groups, gaps):
    section = text.partition("## Best solvers")[2].partition("\n## ")[0]
    sentences = [line for line in section.splitlines() if line.startswith("- ")]
    best = best_of(groups, gaps)
    assert len(sentences) == len(best)
    nobody = [line for line in sentences if ": no run is usable (" in line]
    assert len(nobody) == sum(members is None for members in best.values())
    expected = Counter(_claims(members, gaps) for members in best.values() if members)
    claimed = Counter()
    for line in sentences:
        if line in nobody:
            continue
        match = re.search(
            r"\*\* \(step (.+?), C0 (\S+)\): final gap (\S+) nat, objective (\S+), "
            r"(settles|reaches|never)",
            line,
        )
        assert match, line
        claimed[match.groups()] += 1
    assert claimed == expected
    return len(sentences)


def _claims(members, gaps):
    usable = [run for run in members if run.usable]
    gap = statistics.median(gaps[run][-1] for run in usable)
    objective = statistics.median(run.measured("objective")[-1] for run in usable)
    if any(settles(run, gaps[run], LEVEL) for run in usable):
        verb = "settles"
    else:
        verb = "reaches" if any(reaches(run, gaps[run], LEVEL) for run in usable) else "never"
    spec = members[0].spec
    return (
        _step_text(spec),
        f"{spec['init_scale']:.6g}",
        "0" if gap < TIE else f"{gap:.3g}",
        f"{objective:.6g}",
        verb,
    )


def _step_text(spec):
    if spec["step_rule"] == "none":
        return "–"
    size = f"{spec['step']:.6g}"
    return {"constant": size, "decay": f"{size} (decaying)"}.get(
        spec["step_rule"], spec["step_rule"]
    )
