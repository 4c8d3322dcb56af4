"""Choose beta on a held-out part of the training rows."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gvibench.engine.optimum import NoOptimumError, find_optimum
from gvibench.errors import UserError
from gvibench.spec.run import ProblemSpec
from gvibench.store.files import atomic_path
from gvibench.store.prepared import Prepared

__all__ = ["choose_beta"]


def choose_beta(
    template: Mapping[str, Any],
    betas: Sequence[float],
    data: Prepared,
    out: Path,
    code_hash: str = "",
) -> float:
    """Choose the beta with the smallest expected log-loss on a held-out fifth of the training rows.

    Each candidate is evaluated at its own optimum, so that the choice depends neither on a solver
    nor on the test rows.
    """
    order = np.random.default_rng([data.spec.split_seed, len(data.train_y)]).permutation(
        len(data.train_y)
    )
    held_out, rest = np.split(order, [max(1, len(order) // 5)])
    part = data.with_training_rows(rest).with_test_rows_of(data.with_training_rows(held_out))
    results = [
        _validation_loss(ProblemSpec.from_dict({**template, "beta": beta}), part, code_hash)
        for beta in sorted(betas)
    ]
    valid = [result for result in results if result["validation_nll"] is not None]
    if not valid:
        raise UserError(
            f"beta cannot be tuned, because no candidate has an optimum: {results[0]['error']}"
        )
    best = min(valid, key=lambda result: (result["validation_nll"], result["beta"]))["beta"]
    ends = {results[0]["beta"]: "smallest", results[-1]["beta"]: "largest"}
    edge = ends.get(best) if len(results) > 1 else None
    choice = {"beta": best, "edge": edge, "tried": results}
    with atomic_path(out) as temporary:
        temporary.write_text(json.dumps(choice, indent=1) + "\n")
    return float(best)


def _validation_loss(spec: ProblemSpec, part: Prepared, code_hash: str) -> dict[str, Any]:
    """Return beta and the expected log-loss per held-out row at its optimum."""
    try:
        optimum = find_optimum(spec, part, code_hash=code_hash)
        loss = optimum.attrs["test_nll"] / len(part.test_y)
    except NoOptimumError as error:
        return {"beta": spec.beta, "validation_nll": None, "error": str(error)}
    return {"beta": spec.beta, "validation_nll": loss}
