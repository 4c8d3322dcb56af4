"""Provide all names that authors of solvers, step rules, models and data sets need.

Modules of gvibench may move between versions. The names in this module stay.
"""

from gvibench.datasets.read import Table
from gvibench.datasets.source import Source
from gvibench.errors import Diverged, Stopped, UserError
from gvibench.models import build as build_model
from gvibench.models.base import Model
from gvibench.models.prior import Prior
from gvibench.models.protocols import Oracle, PointwiseLoss, Rows
from gvibench.numerics import select as select_backend
from gvibench.numerics.base import Array, Backend
from gvibench.numerics.gaussian import CovarianceFactor, PrecisionFactor
from gvibench.numerics.special import special_functions
from gvibench.solvers.base import (
    Proposal,
    Scale,
    Search,
    Solver,
    State,
    initial_covariance,
    initial_factor,
    initial_precision,
)
from gvibench.spec.catalogue import DatasetEntry, File, Setting
from gvibench.spec.run import DataSpec, RunSpec
from gvibench.steps.base import StepRule

__all__ = [
    "Array",
    "Backend",
    "CovarianceFactor",
    "DataSpec",
    "DatasetEntry",
    "Diverged",
    "File",
    "Model",
    "Oracle",
    "PointwiseLoss",
    "PrecisionFactor",
    "Prior",
    "Proposal",
    "Rows",
    "RunSpec",
    "Scale",
    "Search",
    "Setting",
    "Solver",
    "Source",
    "State",
    "StepRule",
    "Stopped",
    "Table",
    "UserError",
    "build_model",
    "initial_covariance",
    "initial_factor",
    "initial_precision",
    "select_backend",
    "special_functions",
]
