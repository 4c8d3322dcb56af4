"""Compare the performance table of the paper with our results, with a verdict for each row.

A row is

- *reproduced* if its ELBO, test NLL and accuracy agree with our optimum;
- *impossible as printed* if no predictions on this number of test rows can have its accuracy, or if
  its loss is too low for its accuracy (each misclassified row costs at least log 2);
- *not converged in the paper* if it differs from our optimum and the ELBOs printed for its data set
  differ from each other, because solvers that have converged agree;
- *not judged* if our optimum is not known;
- *not reproduced* otherwise.
"""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import xarray as xr

from gvibench.errors import UserError
from gvibench.spec.paper_values import PAPER_RESULTS, PAPER_STEPS, Printed, paper_test_rows
from gvibench.spec.statuses import UNUSABLE
from gvibench.tables.formats import Block, Table, number
from gvibench.tables.runs import values_of

__all__ = [
    "IMPOSSIBLE",
    "NOT_CONVERGED",
    "NOT_JUDGED",
    "NOT_REPRODUCED",
    "REPRODUCED",
    "build",
    "judge",
    "verdict",
]

TOLERANCE = 0.015
"""Maximum difference in nats between a reproduced ELBO or NLL and the printed value."""
REPRODUCED = "reproduced"
IMPOSSIBLE = "impossible as printed"
NOT_CONVERGED = "not converged in the paper"
NOT_REPRODUCED = "not reproduced"
NOT_JUDGED = "not judged"

QUANTITIES = {
    "train_elbo": ("train_elbo_paper", "train ELBO (paper)"),
    "test_nll": ("test_nll", "test NLL (sum, under q)"),
    "accuracy": ("test_accuracy", "test accuracy"),
}
"""Printed quantities, each with the metric of a trace and its name for readers."""
DIGITS = {"train_elbo": 7, "test_nll": 7, "accuracy": 3}


def build(dataset: xr.Dataset) -> Table:
    """Return a table with a row for each row of the paper that the study covers."""
    values = judge(values_of(dataset))
    records = values.to_dict("records")
    return Table(values, [_verdicts(records), *(_numbers(records, name) for name in QUANTITIES)])


def judge(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the paper with our results beside them, from the table of all runs.

    Our results are the runs at the step of the paper. If the study has no such runs, the row
    compares the printed numbers only with the optimum.
    """
    rows = []
    for _, group in runs.groupby(["dataset", "problem", "method"], sort=False):
        first = group.iloc[0]
        solver = first["solver_id"].removesuffix("-rotated")
        printed = PAPER_RESULTS.get(first["source"], {}).get(solver)
        if printed is None:
            continue
        at_step = group[group["step"] == PAPER_STEPS[first["source"]][solver]]
        for scale in at_step["init_scale"].unique() if len(at_step) else [None]:
            chosen = at_step[at_step["init_scale"] == scale]
            labels = {"dataset": first["problem"], "solver": first["method"], "init_scale": scale}
            rows.append({**labels, **_row(first, printed, chosen)})
    if not rows:
        raise UserError("the table 'paper' needs a data set and a solver of the paper")
    return pd.DataFrame(rows)


def _row(first: pd.Series, printed: Printed, runs: pd.DataFrame) -> dict[str, Any]:
    source, usable = first["source"], runs[~runs["status"].isin(UNUSABLE)]
    row: dict[str, Any] = {
        "step": float(usable["step"].iloc[0]) if len(usable) else math.nan,
        "iterations": int(usable["iterations_done"].max()) if len(usable) else 0,
        "seeds": len(usable),
        "unusable": len(runs) - len(usable),
        "n_train": int(first["n_train"]),
        "n_test": int(first["n_test"]),
    }
    for name, (metric, _) in QUANTITIES.items():
        ours = float(usable[metric].mean()) if len(usable) else math.nan
        best = float(first[f"optimum_{metric}"])
        target = getattr(printed, name)
        row |= {
            f"{name}_printed": target,
            f"{name}_ours": ours,
            f"{name}_difference": ours - target,
            f"{name}_optimum": best,
            f"{name}_optimum_difference": best - target,
        }
    row["seconds_printed"] = printed.seconds
    row["seconds_ours"] = float(usable["seconds"].mean()) if len(usable) else math.nan
    at_optimum = Printed(
        row["train_elbo_optimum"], row["test_nll_optimum"], row["accuracy_optimum"], math.nan
    )
    # The paper states the size of the full data set. A subset under another label is our guess, and
    # then the number of its rows counts.
    n_test = paper_test_rows(source) if first["dataset"] == source else row["n_test"]
    others = [result.train_elbo for result in PAPER_RESULTS[source].values()]
    row["verdict"], row["why"] = verdict(printed, at_optimum, others, n_test)
    return row


def verdict(
    printed: Printed, optimum: Printed, elbos: Sequence[float], n_test: int
) -> tuple[str, str]:
    """Return the verdict on a printed row and its reason.

    Parameters
    ----------
    printed
        Printed row.
    optimum
        Our optimum.
    elbos
        Printed ELBOs of all solvers on the data set.
    n_test
        Number of test rows.
    """
    accuracy = printed.accuracy
    correct = round(accuracy * n_test)
    if round(correct / n_test, 3) != accuracy:
        return IMPOSSIBLE, (
            f"{n_test} test rows allow no accuracy of {accuracy:g}: "
            f"{correct}/{n_test} is {correct / n_test:.3f}"
        )
    # The printed accuracy is rounded, so it may be off by half a unit of its last digit.
    least = (1.0 - accuracy - 5e-4) * n_test * math.log(2.0)
    if printed.test_nll < least:
        return IMPOSSIBLE, (
            f"at accuracy {accuracy:g} the {n_test} test rows cost at least "
            f"{1 - accuracy:.3f} x {n_test} x log 2 = {least:.0f} nats, "
            f"not {printed.test_nll:g}"
        )
    if math.isnan(optimum.train_elbo):
        return NOT_JUDGED, "the optimum is not known"
    close = (
        abs(printed.train_elbo - optimum.train_elbo) <= TOLERANCE
        and abs(printed.test_nll - optimum.test_nll) <= TOLERANCE
        and accuracy == round(optimum.accuracy, 3)
    )
    if close:
        return REPRODUCED, f"all numbers within {TOLERANCE:g} of our optimum"
    spread = max(elbos) - min(elbos)
    if spread > TOLERANCE:
        return NOT_CONVERGED, (
            f"the printed ELBOs of the solvers differ by {spread:.2f}, and this one is "
            f"{printed.train_elbo - optimum.train_elbo:+.2f} from our optimum"
        )
    return NOT_REPRODUCED, (
        f"the solvers agree on an ELBO {printed.train_elbo - optimum.train_elbo:+.2f} "
        "from our optimum"
    )


def _verdicts(records: Sequence[dict[Any, Any]]) -> Block:
    cells = {
        "data set": [row["dataset"] for row in records],
        "solver": [row["solver"] for row in records],
        "verdict": [row["verdict"] for row in records],
        "because": [row["why"] for row in records],
        "seconds, printed (RTX 3090)": [number(row["seconds_printed"]) for row in records],
        "seconds, ours (this machine)": [_known(row["seconds_ours"], 3) for row in records],
    }
    caption = (
        "The rows of the paper's performance table. A reproduced row has ELBO and test NLL within "
        f"{TOLERANCE:g} nats of our optimum, and its accuracy to three digits. Seconds are not "
        "comparable, because machines and numbers of iterations differ."
    )
    return Block(caption, pd.DataFrame(cells), text_columns=4)


def _numbers(records: Sequence[dict[Any, Any]], name: str) -> Block:
    digits = DIGITS[name]
    title = QUANTITIES[name][1]
    cells = {
        "data set": [row["dataset"] for row in records],
        "solver": [row["solver"] for row in records],
        "step": [_known(row["step"]) for row in records],
        "C0": [_known(row["init_scale"]) for row in records],
        "iterations": [str(row["iterations"] or "–") for row in records],
        "printed": [number(row[f"{name}_printed"]) for row in records],
        "ours": [_known(row[f"{name}_ours"], digits) for row in records],
        "difference": [_signed(row[f"{name}_difference"]) for row in records],
        "at the optimum": [_known(row[f"{name}_optimum"], digits) for row in records],
        "difference ": [_signed(row[f"{name}_optimum_difference"]) for row in records],
    }
    caption = (
        f"{title[0].upper()}{title[1:]}: printed values, our values after the given number of "
        "iterations at the paper's step (mean over the seeds that neither diverged nor failed; "
        "–: not run at this step), and values at the optimum."
    )
    return Block(caption, pd.DataFrame(cells), text_columns=2)


def _known(value: float | None, digits: int = 6) -> str:
    return "–" if value is None or math.isnan(value) else number(value, digits)


def _signed(value: float) -> str:
    if math.isnan(value):
        return "–"
    return f"{value:+.3g}" if abs(value) >= 0.0005 else "0"
