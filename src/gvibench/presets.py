"""The paper's settings, as printed in its table of hyperparameters."""

__all__ = ["PAPER_STEPS"]

PAPER_STEPS: dict[str, dict[str, float]] = {
    "australian_scale": {"vn": 5e-3, "sr-vn": 5e-3, "bw-gd": 4.4e-3},
    "diabetes_scale": {"vn": 5e-3, "sr-vn": 5e-3, "bw-gd": 9e-4},
    "breast-cancer_scale": {"vn": 9e-3, "sr-vn": 6e-3, "bw-gd": 6.3e-3},
    "mushrooms": {"vn": 2.5e-4, "sr-vn": 2.5e-4, "bw-gd": 8.5e-5},
    "phishing": {"vn": 4e-4, "sr-vn": 4e-4, "bw-gd": 8e-5},
    "mnist": {"vn": 5e-6, "sr-vn": 5e-6, "bw-gd": 1e-6},
    "covtype": {"vn": 1e-5, "sr-vn": 1e-5, "bw-gd": 1e-6},
    "leukemia": {"vn": 5e-6, "sr-vn": 5e-6, "bw-gd": 1.5e-6},
}
"""Step sizes by data set and solver; the paper's beta is the catalogue's default."""
