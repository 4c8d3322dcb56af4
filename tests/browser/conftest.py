"""Start Chromium and check that its pages cause no error, no request and no dialog."""

import shutil
from pathlib import Path

import pytest

from browser.made_study import JOB, with_passes
from figures.made_aggregate import make_dataset, write_aggregate
from gvibench.report.page import write_page

DESKTOP = {"width": 1400, "height": 4000}
"""A viewport in which all plots are visible and therefore drawn."""
TIMEOUT_MS = 120_000
"""Time limit for all events. It is long because the machine may be busy."""


@pytest.fixture(scope="session")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api")
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as driver:
        # Without the sandbox, Chromium also runs as root, e.g. in a container.
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium):
    """A function that opens a file. Errors and requests are checked at the end of the test."""
    contexts, complaints = [], []

    def check_request(request):
        if not request.url.startswith(("file:", "data:", "blob:")):
            complaints.append(f"request: {request.url}")

    def open_file(path, fragment="", ready="html[data-ready]", **settings):
        context = chromium.new_context(**{"viewport": DESKTOP, **settings})
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.set_default_timeout(TIMEOUT_MS)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        page.on("request", check_request)
        page.goto(f"{Path(path).as_uri()}{fragment}")
        page.wait_for_selector(ready)
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """The dataset of a small study and its page."""
    folder = tmp_path_factory.mktemp("made")
    aggregate = write_aggregate(folder, with_passes())
    write_page(JOB, aggregate, [], folder / "index.html")
    return make_dataset(folder, with_passes()), folder / "index.html"
