"""Build models, which compute an objective, its gradient g and its curvature H."""

from gvibench.models.base import Model
from gvibench.models.protocols import Rows
from gvibench.models.sampling import Sampling
from gvibench.numerics.base import Backend
from gvibench.registry import MODELS
from gvibench.spec.compatibility import validate_targets
from gvibench.spec.run import RunSpec

__all__ = ["build"]


def build(
    spec: RunSpec, backend: Backend, train: Rows, test: Rows, *, multiplicity: int = 1
) -> Model:
    """Return the model of a run on the given rows.

    After a reduction, the last coordinate represents `multiplicity` coordinates.
    """
    kind: type[Model] = MODELS.load(spec.model)
    validate_targets(spec, kind="classes" if (abs(train.y) == 1).all() else "real")
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
        exact_loss=exact_loss,
    )
