"""The theory measured: constants, claimed bounds and the PL inequality, run by run."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import xarray as xr

from gvibench.analysis.theory_checks import Claim, Inequality, Measurement, Verdict, measure
from gvibench.tables.formats import Block, Table, number

__all__ = ["build"]

NOTHING = "–"
"""In place of what there is none of."""
DIGITS = 3
SR_VN = "sr-vn"
CONSTANTS = ("delta", "smoothness", "lambda_min", "lambda_max", "xi_l", "xi_u", "rho_1", "rho_2")

Columns = dict[str, Any]
Cells = dict[str, Callable[[Measurement], str]]


def build(dataset: xr.Dataset) -> Table:
    """Return the table: a row for every run."""
    every = measure(dataset)
    measured = [one for one in every if one.constants is not None]
    claimed = [one for one in measured if one.claim is not None]
    blocks = [
        Block(caption, _cells(shown, columns), text_columns=2)
        for caption, shown, columns in (
            (CONSTANTS_CAPTION, measured, CONSTANTS_CELLS),
            (BOUND_CAPTION, claimed, BOUND_CELLS),
            (PL_CAPTION, measured, PL_CELLS),
        )
        if shown
    ]
    values = pd.DataFrame([_row(one) for one in every], dtype=object).fillna("")
    return Table(values, [*blocks, _findings(every)])


# For machines


def _row(one: Measurement) -> Columns:
    configuration, constants = one.configuration, one.constants
    row: Columns = {
        "dataset": configuration.dataset,
        "problem": configuration.panel,
        "solver": configuration.solver,
        "method": configuration.line,
        "solver_id": configuration.solver_id,
        "step": configuration.step,
        "init_scale": configuration.init_scale,
        "seed": one.seed,
        "not_measured": one.missing,
    }
    if constants is not None:
        row |= {name: getattr(constants, name) for name in CONSTANTS}
    if constants is not None and configuration.solver_id == SR_VN:
        row["eta"] = constants.eta(configuration.step)
        row["omega_m"], row["omega_C"] = constants.omegas(configuration.step)
    if one.claim is not None:
        row |= _claim_columns(one.claim)
    for name, found in (("pl_printed", one.pl_printed), ("pl_valid", one.pl_valid)):
        if found is not None:
            row |= {name: found.constant, **_verdict_columns(name, found.verdict)}
    row["pl_measured"] = one.pl_measured
    row |= _verdict_columns("fisher_lemma", one.fisher)
    row["failures"] = "; ".join(one.failures)
    return row


def _claim_columns(claim: Claim) -> Columns:
    columns: Columns = {
        "claim": claim.name,
        "quantity": claim.quantity,
        "applicable": not claim.not_applicable,
        "not_applicable": claim.not_applicable,
        "permissible_step_printed": claim.printed_step,
        "permissible_step_needed": claim.needed_step,
        "rate_unit": f"1/{claim.unit}",
        "claimed_rate": claim.claimed_rate,
        "measured_rate": claim.measured_rate,
        "iterations_claimed_printed": claim.iterations_printed,
        "iterations_claimed_needed": claim.iterations_needed,
    }
    if len(claim.values):
        columns |= {"first_value": claim.values[0], "last_value": claim.values[-1]}
        columns["last_iteration"] = int(claim.iteration[-1])
    if claim.bound is not None:
        columns["last_bound"] = claim.bound[-1]
    return columns | _verdict_columns("bound", claim.verdict) | {"orders_loose": claim.orders_loose}


def _verdict_columns(name: str, verdict: Verdict | None) -> Columns:
    if verdict is None:
        return {}
    return {f"{name}_held": verdict.held, f"{name}_violated_at": verdict.violated_at}


# For people


def _number(value: float) -> str:
    return NOTHING if math.isnan(value) else number(value, DIGITS)


def _held(verdict: Verdict | None) -> str:
    if verdict is None:
        return NOTHING
    return "yes" if verdict.held else f"no: iteration {verdict.violated_at}"


def _of_constants(name: str) -> Callable[[Measurement], str]:
    return lambda one: _number(getattr(one.constants, name))


def _of_claim(name: str) -> Callable[[Measurement], str]:
    return lambda one: _number(getattr(one.claim, name))


def _applicable(one: Measurement) -> str:
    reason = one.claim.not_applicable if one.claim else ""
    return f"no: {reason}" if reason else "yes"


def _of_inequality(found: Inequality | None) -> str:
    return NOTHING if found is None else f"{_number(found.constant)}, {_held(found.verdict)}"


def _eta(one: Measurement) -> float:
    if one.constants is None or one.configuration.solver_id != SR_VN:
        return math.nan
    return one.constants.eta(one.configuration.step)


def _last_bound(one: Measurement) -> str:
    bound = one.claim.bound if one.claim else None
    return NOTHING if bound is None else _number(float(bound[-1]))


def _value(place: int) -> Callable[[Measurement], str]:
    def text(one: Measurement) -> str:
        values = one.claim.values if one.claim else ()
        return _number(float(values[place])) if len(values) else NOTHING

    return text


KEY_CELLS: Cells = {
    "data set": lambda one: one.configuration.panel,
    "solver": lambda one: one.configuration.line,
    "step": lambda one: number(one.configuration.step),
    "C0": lambda one: number(one.configuration.init_scale),
    "seed": lambda one: str(one.seed),
}

CONSTANTS_CAPTION = (
    "Constants of each run over its recorded iterates: strong convexity delta and smoothness M of "
    "the loss, the smallest eigenvalue of V, the smallest and largest Frobenius norm of C, and eta "
    "of the theorem on SR-VN at the step of the run."
)
CONSTANTS_CELLS: Cells = {
    "delta": _of_constants("delta"),
    "M": _of_constants("smoothness"),
    "lambda_min": _of_constants("lambda_min"),
    "xi_l": _of_constants("xi_l"),
    "xi_u": _of_constants("xi_u"),
    "rho_1": _of_constants("rho_1"),
    "rho_2": _of_constants("rho_2"),
    "eta": lambda one: _number(_eta(one)),
}

BOUND_CAPTION = (
    "Claimed bounds, value(t) <= exp(-rate t) value(0), of the objective gap (SR-VN, flow) or of "
    "the squared Wasserstein distance to the optimum (Wasserstein). Rates are per iteration, those "
    "of the flow per unit of time. Permissible steps: the longest as printed, and as the argument "
    "needs it. Loose: by how many orders of magnitude the last value above rounding was below its "
    "bound."
)
BOUND_CELLS: Cells = {
    "claim": lambda one: one.claim.name if one.claim else NOTHING,
    "step, printed": _of_claim("printed_step"),
    "step, needed": _of_claim("needed_step"),
    "applicable": _applicable,
    "first value": _value(0),
    "last value": _value(-1),
    "last bound": _last_bound,
    "claimed rate": _of_claim("claimed_rate"),
    "measured rate": _of_claim("measured_rate"),
    "held throughout": lambda one: _held(one.claim.verdict if one.claim else None),
    "loose": _of_claim("orders_loose"),
}

PL_CAPTION = (
    "The PL inequality, |grad|^2 >= 2 mu gap in the Fisher-Rao norm: mu as printed and from the "
    "valid bound on the Fisher matrix, each with whether it held at every recorded iterate; the "
    "largest mu with which it did; and whether the printed bound on the Fisher matrix held at the "
    "iterates that were kept."
)
PL_CELLS: Cells = {
    "mu printed, held": lambda one: _of_inequality(one.pl_printed),
    "mu valid, held": lambda one: _of_inequality(one.pl_valid),
    "mu measured": lambda one: _number(one.pl_measured),
    "Fisher lemma held": lambda one: _held(one.fisher),
}

FINDINGS_CAPTION = "Where a claim fails, or a run could not be measured."


def _cells(shown: Sequence[Measurement], columns: Cells) -> pd.DataFrame:
    return pd.DataFrame(
        {title: [text(one) for one in shown] for title, text in (KEY_CELLS | columns).items()}
    )


def _findings(every: Sequence[Measurement]) -> Block:
    rows = [
        {title: text(one) for title, text in KEY_CELLS.items()} | {"finding": finding}
        for one in every
        for finding in one.findings
    ]
    if not rows:
        rows = [dict.fromkeys(KEY_CELLS, "all") | {"finding": "no claim fails"}]
    return Block(FINDINGS_CAPTION, pd.DataFrame(rows), text_columns=len(KEY_CELLS) + 1)
