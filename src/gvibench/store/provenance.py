"""Describe the software versions and the machine that produced a result."""

import contextlib
import functools
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["machine", "versions"]

PACKAGES = ("gvibench", "numpy", "scipy", "numba", "cupy-cuda13x")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages that affect results."""
    return dict(_versions())


@functools.cache
def _versions() -> dict[str, str]:
    # Finding the versions takes milliseconds, and they cannot change within a process.
    installed = {"python": platform.python_version()}
    for package in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            installed[package] = version(package)
    return installed


def machine() -> dict[str, str]:
    """Return the host name, the processor, the system, the Slurm job and the visible GPUs."""
    return {
        "host": platform.node(),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.release()}",
        "slurm_job": os.environ.get("SLURM_JOB_ID", ""),
        "cuda_visible_devices": os.environ.get("CUDA_VISIBLE_DEVICES", ""),
    }


@functools.cache
def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
