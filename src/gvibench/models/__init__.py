"""Build models, which compute an objective, its gradient g and its curvature H."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gvibench.models.base import Model
from gvibench.models.basis import basis_of
from gvibench.models.prior import build_prior
from gvibench.models.protocols import Rows
from gvibench.models.sampling import Sampling
from gvibench.numerics.base import Array, Backend
from gvibench.registry import MODELS
from gvibench.spec.compatibility import validate_model, validate_targets
from gvibench.spec.run import ProblemSpec, RunSpec

if TYPE_CHECKING:
    from gvibench.store.prepared import Prepared

__all__ = ["build", "names_of", "rows_of"]


def build(
    spec: RunSpec,
    backend: Backend,
    train: Rows,
    test: Rows,
    *,
    multiplicity: int = 1,
    names: Sequence[str] | None = None,
) -> Model:
    """Return the model of a run on the given rows, whose columns have these names.

    After a reduction, the last coordinate represents `multiplicity` coordinates.
    """
    d = int(train.x.shape[1])
    if names is None or len(names) != d:  # columns without names, or those of a reduction
        names = _default_names(d, spec.data.intercept)
    kind: type[Model] = MODELS.load(spec.model)
    validate_model(spec)
    validate_targets(spec, _kinds_of_targets(train.y))
    sampling = None
    if spec.expectation == "stochastic":
        sampling = Sampling(spec.batch, spec.samples, spec.seed, spec.estimator, spec.minibatches)
    exact_loss = None
    if "objective_exact" in spec.record:
        exact_loss = kind.build_loss(backend, spec.replace(expectation="exact"))
    return kind(
        backend,
        kind.build_loss(backend, spec),
        train,
        test,
        beta=spec.beta,
        gamma=spec.gamma,
        sampling=sampling,
        multiplicity=multiplicity,
        prior=build_prior(spec, backend, names, multiplicity),
        exact_loss=exact_loss,
    )


def rows_of(data: "Prepared", spec: ProblemSpec) -> tuple[Rows, Rows]:
    """Return the training rows and the test rows of prepared data in the coordinates of `spec`."""
    train_x, test_x = data.train_x, data.test_x
    basis = basis_of(spec, train_x.shape[1])
    if basis is not None:
        train_x, test_x = basis.rows(train_x), basis.rows(test_x)
    return (
        Rows(train_x, data.train_y, data.train_offset),
        Rows(test_x, data.test_y, data.test_offset),
    )


def names_of(data: "Prepared") -> list[str]:
    """Return the names of the columns of prepared data."""
    known = data.attrs.get("feature_names")
    return list(known or _default_names(data.train_x.shape[1], data.spec.intercept))


def _default_names(d: int, intercept: bool) -> list[str]:
    names = [f"x{k}" for k in range(1, d + 1)]
    return [*names[:-1], "intercept"] if intercept else names


def _kinds_of_targets(y: Array) -> list[str]:
    """Return the kinds of targets that fit the values, the most specific one first."""
    kinds = ["classes"] if (abs(y) == 1).all() else []
    if (y >= 0).all() and (y == y.round()).all():
        kinds.append("counts")
    return [*kinds, "real"]
