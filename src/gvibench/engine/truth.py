"""Compare a Gaussian with the true posterior: its mean, standard deviations and worst coordinate.

The truth is exact for linear regression. For other models, it consists of moments from long MCMC
runs: those that the package ships for some problems, or those of the user's own draws.
"""

import hashlib
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gvibench.models.base import Model
from gvibench.models.linear import LinearModel
from gvibench.numerics.gaussian import Factor
from gvibench.store.truths import Truth

__all__ = ["analytic_truth", "compare", "fingerprint", "from_draws"]

Floats = NDArray[np.float64]

DECIMALS = 6
"""Decimals of the data that identify a problem. Rounding differs between machines in the last."""
MIN_BATCHES = 20


def fingerprint(model: Model) -> str:
    """Return a hash of what defines a posterior: training rows, kind of loss and prior.

    Training rows are rounded, because the last digits of standardised rows depend on the machine.
    """
    digest = hashlib.sha256(f"{type(model.loss).__name__} {model.beta:.12g} ".encode())
    digest.update(f"{model.loss.log_normaliser:.12g} {model.train.x.shape}".encode())
    arrays = [model.train.x, model.train.y]
    if model.train.offset is not None:
        arrays.append(model.train.offset)
    if not model.prior.is_isotropic:
        zeros = np.zeros(model.d)
        arrays += [model.prior.gradient(zeros), model.prior.times(np.eye(model.d))]
    for array in arrays:
        # Adding zero turns -0.0 into 0.0.
        digest.update((np.round(np.asarray(array), DECIMALS) + 0.0).astype("<f8").tobytes())
    return digest.hexdigest()[:16]


def analytic_truth(model: Model) -> Truth | None:
    """Return the exact posterior of linear regression, or None for other models."""
    if not isinstance(model, LinearModel):
        return None
    oracle = model.full_oracle(np.zeros(model.d), _no_spread(model), "hessian")
    covariance = np.linalg.inv(oracle.curvature)
    sd = np.sqrt(np.diag(covariance))
    zeros = np.zeros(model.d)
    mean = -covariance @ oracle.gradient
    return Truth(mean, sd, zeros, zeros, "exact posterior of linear regression")


def _no_spread(model: Model) -> Factor:
    from gvibench.models.map_estimate import collapsed

    return collapsed(model)


def from_draws(draws: Floats, source: str) -> Truth:
    """Return the moments of draws (chain, draw, feature) and their Monte Carlo errors.

    Errors come from the means of batches of consecutive draws, so that they account for
    correlation within chains and for differences between chains.
    """
    chains, count, features = draws.shape
    mean = draws.mean(axis=(0, 1))
    centred = draws - mean
    sd = np.sqrt(np.mean(centred**2, axis=(0, 1)))
    per_chain = max(math.isqrt(count), math.ceil(MIN_BATCHES / chains))
    size = max(1, count // per_chain)
    kept = count // size * size
    batches = centred[:, :kept].reshape(-1, size, features)
    number = len(batches)

    def error(values: Floats) -> Floats:
        return np.asarray(values.std(axis=0, ddof=1) / math.sqrt(number))

    with np.errstate(divide="ignore", invalid="ignore"):
        # The error of the variance, divided by the derivative of its square root
        sd_error = error(np.mean(batches**2, axis=1)) / (2.0 * sd)
    return Truth(mean, sd, error(batches.mean(axis=1)), sd_error, source)


def compare(truth: Truth, mean: Floats, factor: Factor) -> dict[str, Any]:
    """Return how far N(mean, V) is from the posterior, and the Monte Carlo errors of the truth.

    Errors of the mean are in posterior standard deviations. `worst` is the coordinate with the
    largest error of its mean.
    """
    root = np.asarray(factor.root())
    ratio = np.sqrt(np.vecdot(root, root)) / truth.sd
    error = np.abs(np.asarray(mean) - truth.mean) / truth.sd
    worst = int(np.argmax(error))
    return {
        "mean_error_max": float(error[worst]),
        "mean_error_rms": math.sqrt(float(np.mean(error**2))),
        "mean_error_mc": float(np.max(truth.mean_error / truth.sd)),
        "sd_ratio_min": float(ratio.min()),
        "sd_ratio_median": float(np.median(ratio)),
        "sd_ratio_max": float(ratio.max()),
        "sd_ratio_mc": float(np.max(truth.sd_error / truth.sd)),
        "worst": worst,
        "truth": truth.source,
    }
