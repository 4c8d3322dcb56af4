"""Decide which settings of a run can be combined."""

from collections.abc import Collection, Sequence
from typing import Protocol

from gvibench.errors import UserError, suggest
from gvibench.registry import MODELS, SOLVERS
from gvibench.spec.run import ProblemSpec, RunSpec

__all__ = [
    *("is_reduced", "validate_limitation", "validate_model"),
    *("validate_prior", "validate_targets"),
]

TARGETS = {"classes": "two classes", "real": "real numbers", "counts": "counts"}
"""Kinds of targets, in words."""


class Symmetry(Protocol):
    """Behaviour of a solver under rotations of the features."""

    @property
    def rotation_invariant(self) -> bool:
        """Whether rotating the features rotates the iterates."""

    @property
    def rotated(self) -> bool:
        """Whether the solver is defined in the basis of the rows."""


def is_reduced(spec: RunSpec, solver: Symmetry, n: int, d: int) -> bool:
    """Return whether a run works in the span of its n rows; raise UserError if it cannot as asked.

    A reduced run solves the same problem in fewer coordinates. That requires a solver, a model and
    a prior that are invariant to rotations.
    """
    wanted = spec.form == "reduced" or solver.rotated
    if not wanted and (spec.form != "auto" or d <= n):
        return False
    possible = (
        (solver.rotation_invariant or solver.rotated)
        and MODELS.load(spec.model).rotation_invariant
        and spec.is_rotation_invariant
        # A stochastic run draws in its own coordinates: in other coordinates it is another run.
        and (spec.expectation != "stochastic" or solver.rotated)
    )
    prior = "" if spec.prior is None else ", the setting 'prior'"
    if spec.basis_condition != 1:
        prior += ", the setting 'basis_condition'"
    if wanted and (not possible or (spec.form == "dense" and solver.rotated)):
        raise UserError(
            f"solver '{spec.solver}' cannot work in the basis of the rows with model "
            f"'{spec.model}', expectation '{spec.expectation}'{prior} and form '{spec.form}': "
            "choose another solver or form"
        )
    if possible and "covariance_factor_path" in spec.record:
        raise UserError(
            "'covariance_factor_path' cannot be recorded of a run in the basis of the rows: "
            "use form 'dense', or do not record it"
        )
    return possible


def validate_limitation(spec: RunSpec) -> None:
    """Raise UserError if the solver of a run cannot carry it out."""
    limitation = SOLVERS.load(spec.solver).limitation(spec)
    if limitation:
        raise UserError(f"solver '{spec.solver}' {limitation}")


def validate_model(spec: ProblemSpec) -> None:
    """Raise UserError if a model is unknown or does not support the expectation."""
    supported = MODELS.load(spec.model).expectations
    if spec.expectation not in supported:
        listed = " or ".join(f"'{name}'" for name in supported)
        raise UserError(
            f"model '{spec.model}' does not support expectation '{spec.expectation}': use {listed}"
        )


def validate_prior(spec: ProblemSpec, columns: int | None, names: Collection[str] = ()) -> None:
    """Raise UserError if a prior does not fit the features, as far as a plan can know them.

    `columns` is the number of features and `names` are the columns that they follow from, both
    without the intercept and if they are known.
    """
    prior, data = spec.prior, spec.data
    if prior is None:
        return
    d = None if columns is None else columns + int(data.intercept)
    if prior.length is not None and d is not None and prior.length != d:
        raise UserError(
            f"prior: 'mean' or 'precision' has {prior.length} numbers, but '{data.dataset}' has "
            f"{d} features, {'including' if data.intercept else 'without'} an intercept"
        )
    if "intercept" in prior.features and not data.intercept:
        raise UserError(
            f"prior: '{data.dataset}' has no intercept: set 'intercept: true' for the data set"
        )
    for name in prior.features if names else ():
        # A feature of a nominal column has the name `column=level`.
        if name != "intercept" and not {name, name.partition("=")[0]} & set(names):
            raise UserError(
                f"prior: '{data.dataset}' has no feature '{name}'{suggest(name, names)}"
            )


def validate_targets(spec: ProblemSpec, kinds: Sequence[str]) -> None:
    """Raise UserError if the model accepts none of the kinds that the targets have.

    The first of these kinds is the one that describes the targets best.
    """
    accepted = MODELS.load(spec.model).targets
    if set(kinds) & set(accepted):
        return
    others = [name for name in MODELS.built_in if kinds[0] in MODELS.load(name).targets]
    needed = " or ".join(TARGETS[kind] for kind in accepted)
    more = ", and counts are 0, 1, 2, ..." if "counts" in accepted else ""
    raise UserError(
        f"model '{spec.model}' needs {needed}, but the targets of '{spec.data.dataset}' are "
        f"{TARGETS[kinds[0]]}{more}: use model {' or '.join(map(repr, others))}"
    )
