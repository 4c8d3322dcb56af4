"""The expectations on a CUDA device: one source, compiled when it is first used."""

from pathlib import Path

__all__ = [
    "COMPILE_OPTIONS",
    "SOURCE_DIGEST",
    "SOURCE_FILE",
    "THREADS",
    "blocks_for",
    "kernel_name",
]

SOURCE_FILE = Path(__file__).with_name("expectations.cu")
# The hash of a run's code covers Python alone; through this line it covers the source as well.
# A test keeps it right.
SOURCE_DIGEST = "f243965f14e93dbfb0f57134e9b74eff"

# Fused multiply-adds stand in the source where they are wanted; more of them would round
# differently from the kernels of the CPU.
COMPILE_OPTIONS = ("-std=c++17", "--fmad=false")

THREADS = 128
"""Threads of a block: few enough that their registers leave room for several blocks."""
MOST_BLOCKS = 65_535


def kernel_name(expectation: str, dtype: str) -> str:
    """Return the name in the source of the kernel for an expectation and a type of points."""
    return f"{expectation.replace('-', '_')}_{dtype}"


def blocks_for(points: int) -> int:
    """Return how many blocks to launch; kernels stride over what these do not cover."""
    return min(-(-points // THREADS), MOST_BLOCKS)
