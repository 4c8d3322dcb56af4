"""Names of the quantities that runs record."""

__all__ = ["EXTRA_RECORDS", "METRICS"]

METRICS = (
    "objective",
    "neg_elbo",
    "train_elbo_paper",
    "test_nll",
    "test_nll_at_mean",
    "test_accuracy",
    "grad_norm",
)
"""Metrics of each recorded iterate."""

EXTRA_RECORDS = (
    "cov_eig_min",
    "cov_eig_max",
    "factor_norm",
    "sign_flips",
    "data_passes",
    "flow_time",
    "objective_exact",
    "covariance_factor",
    "covariance_factor_path",
)
"""Quantities that a run records only on request."""
