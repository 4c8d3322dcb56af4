"""A workbench for benchmark studies of Gaussian variational inference."""

__version__ = "0.1.0"
