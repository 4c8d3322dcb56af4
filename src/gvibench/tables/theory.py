"""Build the table of theory checks: constants, claimed bounds and the PL inequality by run."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import xarray as xr

from gvibench.analysis.theory_checks import Claim, Inequality, Measurement, Verdict, measure
from gvibench.tables.formats import Block, Table, number

__all__ = ["build"]

NONE = "–"
"""Text of an empty cell."""
DIGITS = 3
SR_VN = "sr-vn"
CONSTANTS = ("delta", "smoothness", "lambda_min", "lambda_max", "xi_l", "xi_u", "rho_1", "rho_2")

Columns = dict[str, Any]
Cells = dict[str, Callable[[Measurement], str]]


def build(dataset: xr.Dataset) -> Table:
    """Return a table with a row for each run."""
    runs = measure(dataset)
    measured = [run for run in runs if run.constants is not None]
    claimed = [run for run in measured if run.claim is not None]
    blocks = [
        Block(caption, _cells(shown, columns), text_columns=2)
        for caption, shown, columns in (
            (CONSTANTS_CAPTION, measured, CONSTANTS_CELLS),
            (BOUND_CAPTION, claimed, BOUND_CELLS),
            (PL_CAPTION, measured, PL_CELLS),
        )
        if shown
    ]
    values = pd.DataFrame([_row(run) for run in runs], dtype=object).fillna("")
    return Table(values, [*blocks, _findings(runs)])


# Values for programs


def _row(run: Measurement) -> Columns:
    config, constants = run.configuration, run.constants
    row: Columns = {
        "dataset": config.dataset,
        "problem": config.panel,
        "solver": config.solver,
        "method": config.line,
        "solver_id": config.solver_id,
        "step": config.step,
        "init_scale": config.init_scale,
        "seed": run.seed,
        "not_measured": run.missing,
    }
    if constants is not None:
        row |= {name: getattr(constants, name) for name in CONSTANTS}
    if constants is not None and config.solver_id == SR_VN:
        row["eta"] = constants.eta(config.step)
        row["omega_m"], row["omega_C"] = constants.omegas(config.step)
    if run.claim is not None:
        row |= _claim_columns(run.claim)
    for name, inequality in (("pl_printed", run.pl_printed), ("pl_valid", run.pl_valid)):
        if inequality is not None:
            row |= {name: inequality.constant, **_verdict_columns(name, inequality.verdict)}
    row["pl_measured"] = run.pl_measured
    row |= _verdict_columns("fisher_lemma", run.fisher)
    row["failures"] = "; ".join(run.failures)
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


# Cells for readers


def _number(value: float) -> str:
    return NONE if math.isnan(value) else number(value, DIGITS)


def _held(verdict: Verdict | None) -> str:
    if verdict is None:
        return NONE
    return "yes" if verdict.held else f"no: iteration {verdict.violated_at}"


def _constant(name: str) -> Callable[[Measurement], str]:
    return lambda run: _number(getattr(run.constants, name))


def _claim_number(name: str) -> Callable[[Measurement], str]:
    return lambda run: _number(getattr(run.claim, name))


def _applicable(run: Measurement) -> str:
    reason = run.claim.not_applicable if run.claim else ""
    return f"no: {reason}" if reason else "yes"


def _inequality(inequality: Inequality | None) -> str:
    if inequality is None:
        return NONE
    return f"{_number(inequality.constant)}, {_held(inequality.verdict)}"


def _eta(run: Measurement) -> float:
    if run.constants is None or run.configuration.solver_id != SR_VN:
        return math.nan
    return run.constants.eta(run.configuration.step)


def _last_bound(run: Measurement) -> str:
    bound = run.claim.bound if run.claim else None
    return NONE if bound is None else _number(float(bound[-1]))


def _value(index: int) -> Callable[[Measurement], str]:
    def text(run: Measurement) -> str:
        values = run.claim.values if run.claim else ()
        return _number(float(values[index])) if len(values) else NONE

    return text


KEY_CELLS: Cells = {
    "data set": lambda run: run.configuration.panel,
    "solver": lambda run: run.configuration.line,
    "step": lambda run: number(run.configuration.step),
    "C0": lambda run: number(run.configuration.init_scale),
    "seed": lambda run: str(run.seed),
}

CONSTANTS_CAPTION = (
    "Constants of each run over its recorded iterates: strong convexity delta and smoothness M of "
    "the loss, the smallest eigenvalue of V, the smallest and largest Frobenius norm of C, and eta "
    "of the SR-VN theorem at the step of the run."
)
CONSTANTS_CELLS: Cells = {
    "delta": _constant("delta"),
    "M": _constant("smoothness"),
    "lambda_min": _constant("lambda_min"),
    "xi_l": _constant("xi_l"),
    "xi_u": _constant("xi_u"),
    "rho_1": _constant("rho_1"),
    "rho_2": _constant("rho_2"),
    "eta": lambda run: _number(_eta(run)),
}

BOUND_CAPTION = (
    "Claimed bounds, value(t) <= exp(-rate t) value(0), of the objective gap (SR-VN, flow) or the "
    "squared Wasserstein distance to the optimum (Wasserstein). Rates are per iteration, except "
    "for the flow, whose rates are per unit of time. Permissible steps: the largest as printed, "
    "and the largest that the proof supports. Loose: orders of magnitude between the last "
    "value above rounding and its bound."
)
BOUND_CELLS: Cells = {
    "claim": lambda run: run.claim.name if run.claim else NONE,
    "step, printed": _claim_number("printed_step"),
    "step, needed": _claim_number("needed_step"),
    "applicable": _applicable,
    "first value": _value(0),
    "last value": _value(-1),
    "last bound": _last_bound,
    "claimed rate": _claim_number("claimed_rate"),
    "measured rate": _claim_number("measured_rate"),
    "held throughout": lambda run: _held(run.claim.verdict if run.claim else None),
    "loose": _claim_number("orders_loose"),
}

PL_CAPTION = (
    "The PL inequality, |grad|^2 >= 2 mu gap in the Fisher-Rao norm. Printed and valid: mu as "
    "printed and mu from the valid bound on the Fisher matrix, and whether the inequality held at "
    "all recorded iterates. Measured: the largest mu with which it held. Fisher lemma: whether the "
    "printed bound on the Fisher matrix held at the stored iterates."
)
PL_CELLS: Cells = {
    "mu printed, held": lambda run: _inequality(run.pl_printed),
    "mu valid, held": lambda run: _inequality(run.pl_valid),
    "mu measured": lambda run: _number(run.pl_measured),
    "Fisher lemma held": lambda run: _held(run.fisher),
}

FINDINGS_CAPTION = "Claims that fail, and runs that could not be measured."


def _cells(shown: Sequence[Measurement], columns: Cells) -> pd.DataFrame:
    return pd.DataFrame(
        {title: [text(run) for run in shown] for title, text in (KEY_CELLS | columns).items()}
    )


def _findings(runs: Sequence[Measurement]) -> Block:
    rows = [
        {title: text(run) for title, text in KEY_CELLS.items()} | {"finding": finding}
        for run in runs
        for finding in run.findings
    ]
    if not rows:
        rows = [dict.fromkeys(KEY_CELLS, "all") | {"finding": "no claim fails"}]
    return Block(FINDINGS_CAPTION, pd.DataFrame(rows), text_columns=len(KEY_CELLS) + 1)
