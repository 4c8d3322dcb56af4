"""From what a person gives to a complete spec: defaults of the data set, steps of the paper."""

from typing import Any, TypeVar

from gvibench.datasets.catalogue import complete, find
from gvibench.spec.paper_values import PAPER_STEPS
from gvibench.spec.run import DataSpec, ProblemSpec, parse

__all__ = ["complete_spec"]

Problem = TypeVar("Problem", bound=ProblemSpec)


def complete_spec(
    kind: type[Problem],
    data: dict[str, Any],
    values: dict[str, Any],
    where: str,
    *,
    from_text: bool = False,
) -> Problem:
    """Return the spec with these values; what is not given comes from the data set's preset.

    `where` names the source of the values in messages; with `from_text` they may be words of a
    command line.
    """
    spec = complete(parse(DataSpec, data, "data", from_text=from_text), values.get("model"))
    values = {"data": spec, "beta": find(spec).beta, **values}
    if "solver" in kind.model_fields:
        step = PAPER_STEPS.get(spec.dataset, {}).get(str(values.get("solver")))
        if step is not None:
            values.setdefault("step", step)
    return parse(kind, values, where, from_text=from_text)
