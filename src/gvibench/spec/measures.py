"""Names of the measures of a Gaussian, and of the outputs that need them."""

__all__ = [
    "BINS",
    "DISTANCES",
    "MEASURED_FIGURES",
    "MEASURED_TABLES",
    "MEASURES",
    "OPTIMUM",
    "TEXTS",
    "TRUTH_MEASURES",
]

MEASURED_TABLES = ("quality", "truth")
MEASURED_FIGURES = ("calibration",)
"""Outputs for which a study measures Gaussians."""
OPTIMUM = "optimum"
"""Name of the optimal Gaussian of a problem beside the names of solvers."""

PREDICTIVE = ("pred_nll", "brier", "auc", "ece")
SAMPLED = (
    *("neg_elbo", "log_evidence", "log_evidence_error", "evidence_gap"),
    *("ess", "k_hat", "elbo_sampled", "elbo_sampled_error", "draws"),
)
DISTANCES = ("kl", "w2")
TRUTH_MEASURES = (
    *("mean_error_max", "mean_error_rms", "mean_error_mc"),
    *("sd_ratio_min", "sd_ratio_median", "sd_ratio_max", "sd_ratio_mc"),
)
MEASURES = (*PREDICTIVE, *SAMPLED, *DISTANCES, *TRUTH_MEASURES)
"""Numbers of each Gaussian."""
BINS = ("bin_predicted", "bin_observed", "bin_count")
"""Lists of each Gaussian, with one number per bin of the reliability diagram."""
TEXTS = ("reading", "worst", "truth")
"""Words of each Gaussian: reading of k-hat, worst coordinate, source of the true posterior."""
