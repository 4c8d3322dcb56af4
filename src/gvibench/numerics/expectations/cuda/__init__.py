"""Source of the CUDA kernels of the expectations, which is compiled on first use."""

from pathlib import Path

__all__ = [
    "COMPILE_OPTIONS",
    "SOURCE_FILE",
    "THREADS",
    "blocks_for",
    "kernel_name",
]

SOURCE_FILE = Path(__file__).with_name("expectations.cu")

# The source contains explicit fused multiply-adds. If the compiler introduced more, results would
# be rounded differently from those of the CPU.
COMPILE_OPTIONS = ("-std=c++17", "--fmad=false")

THREADS = 128
"""Threads per block: few enough that several blocks fit into the registers."""
MAX_BLOCKS = 65_535
"""Maximum number of blocks per launch."""


def kernel_name(expectation: str, dtype: str) -> str:
    """Return the name of the kernel for an expectation and a type of points."""
    return f"{expectation.replace('-', '_')}_{dtype}"


def blocks_for(points: int) -> int:
    """Return the number of blocks to launch. Kernels loop over points beyond these blocks."""
    return min(-(-points // THREADS), MAX_BLOCKS)
