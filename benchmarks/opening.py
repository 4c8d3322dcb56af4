"""Measure the processor time that Chromium needs to open a report page.

    python benchmarks/opening.py results/default/report/index.html

It counts the main thread of the page until the first interactive plot is drawn. Install Chromium
and Playwright with `make test-browser`.
"""

import shutil
import sys
from pathlib import Path
from statistics import median

REPEATS = 5


def opening_seconds(browser, path: Path) -> float:
    """Return the CPU seconds of the page's main thread until its first plot is drawn."""
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(f"{path.resolve().as_uri()}#explore")
    page.wait_for_function("() => performance.getEntriesByName('first-plot').length")
    metrics = session.send("Performance.getMetrics")["metrics"]
    page.close()
    return {entry["name"]: entry["value"] for entry in metrics}["TaskDuration"]


if __name__ == "__main__":
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name in sys.argv[1:]:
            times = [opening_seconds(chromium, Path(name)) for _ in range(REPEATS)]
            print(f"{name}: median {median(times):.2f} s, {min(times):.2f} to {max(times):.2f} s")
        chromium.close()
