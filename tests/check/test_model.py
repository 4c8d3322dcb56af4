import pytest

from gvibench.check.model import check_model
from gvibench.models.poisson import PoissonLoss, PoissonModel
from gvibench.models.probit import ProbitModel
from gvibench.registry import MODELS


@pytest.mark.parametrize("name", MODELS.built_in)
def test_built_in_models_conform(name):
    report = check_model(name)
    assert report.passed, str(report)
    assert str(report).endswith(f"{name} conforms")


class _Wrong(PoissonLoss):
    def expect(self, mu, s2, y, f0, f1, f2):
        super().expect(mu, 0.0 * s2, y, f0, f1, f2)


class WrongExpectation(PoissonModel):
    """Model whose expectations ignore the variance."""

    @classmethod
    def build_loss(cls, backend, spec):
        return _Wrong(backend)


class WrongDeclaration(PoissonModel):
    """Model that declares a bounded second derivative."""

    smooth = True


class WrongTargets(ProbitModel):
    """Model for targets that do not exist."""

    targets = ("colours",)


class Broken(ProbitModel):
    """Model without a loss."""

    @classmethod
    def build_loss(cls, backend, spec):
        raise ValueError("no loss")


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (WrongExpectation, "has expectations that equal quadrature: F0 of `expect` differs"),
        (WrongExpectation, "derivative by the variance: F2 / 2 is not the derivative"),
        (WrongDeclaration, "`smooth` is True, but `steepest` is inf"),
        (WrongTargets, "`targets` must be some of classes, real, counts"),
        (Broken, "raised ValueError: no loss"),
    ],
)
def test_a_wrong_model_fails(add_plugin, kind, sentence):
    add_plugin("gvibench.models", "wrong", f"{__name__}:{kind.__name__}")
    report = check_model("wrong")
    assert not report.passed
    assert sentence in str(report)
