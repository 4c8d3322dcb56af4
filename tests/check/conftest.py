"""Share the simulated GPU of the tests of the CUDA backend."""

from numerics.cuda_on_cpu import kernels_on_cpu, stand_in

__all__ = ["kernels_on_cpu", "stand_in"]
