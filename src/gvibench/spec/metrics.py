"""Names of the quantities that runs record."""

__all__ = ["COSTS", "CURVES", "EXTRA_CURVES", "EXTRA_RECORDS", "METRICS", "TEST_METRICS"]

TEST_METRICS = ("test_nll", "test_nll_at_mean", "test_accuracy")
"""Metrics that are evaluated only at some of the recorded iterates."""

METRICS = (
    "objective",
    "neg_elbo",
    "train_elbo_paper",
    *TEST_METRICS,
    "grad_norm",
)
"""Metrics of each recorded iterate."""

COSTS = ("evaluations", "data_passes", "seconds")
"""Cost of the run up to a recorded iterate: model evaluations, passes over the training rows, and
solver time."""

CURVES = (*METRICS, *COSTS)
"""Numbers of each recorded iterate that all runs record, and that aggregates contain."""

EXTRA_CURVES = (
    "cov_eig_min",
    "cov_eig_max",
    "factor_norm",
    "sign_flips",
    "flow_time",
    "objective_exact",
)
"""Numbers of each recorded iterate that a run records only on request."""

EXTRA_RECORDS = (*EXTRA_CURVES, "covariance_factor", "covariance_factor_path")
"""Quantities that a run records only on request."""
