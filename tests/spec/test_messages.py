import pytest

from gvibench.spec.messages import duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "0 s"), (0.4, "0 s"), (89, "89 s"), (90, "1.5 min"), (600, "10.0 min"), (7200, "2.0 h")],
)
def test_durations_have_a_readable_unit(seconds, text):
    assert duration(seconds) == text
