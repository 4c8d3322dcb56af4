"""Open pages at the widths of a desktop, a tablet and a phone."""

WIDTHS = {
    1440: {"viewport": {"width": 1440, "height": 900}},
    1024: {"viewport": {"width": 1024, "height": 768}},
    390: {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
}
"""Settings of a browser context by width."""


def draw_all(page):
    """Scroll through the page, so that all plots are drawn."""
    for panel in page.query_selector_all(".panel:not([hidden])"):
        panel.scroll_into_view_if_needed()
        panel.wait_for_selector(".main-svg", state="attached")
