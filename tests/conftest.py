"""What all tests share: a cache of their own, and a strict mode that forbids skipping."""

import os
import tempfile
from pathlib import Path

import pytest

# Set before workers start, so that all of them share one cache and compile once.
if "GVIBENCH_TEST_CACHE" not in os.environ:
    os.environ["GVIBENCH_TEST_CACHE"] = tempfile.mkdtemp(prefix="gvibench-test-cache-")
os.environ["GVIBENCH_CACHE"] = os.environ["GVIBENCH_TEST_CACHE"]

MAY_SKIP = ("needs a GPU", "needs the internet", "needs conda")
"""Reasons that are accepted even in strict mode: what cannot be had on the machine that checks."""


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("GVIBENCH_STRICT") == "1":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not any(allowed in reason for allowed in MAY_SKIP):
            report.outcome = "failed"
            report.longrepr = f"skipped, which strict mode forbids: {reason}"


@pytest.fixture(scope="session")
def libsvm_data() -> Path:
    """The folder with the real LIBSVM files."""
    folder = os.environ.get("GVIBENCH_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("GVIBENCH_DATA does not name a folder with the LIBSVM files")
    return Path(folder)
