"""Objectives after a few steps, computed with an independent implementation."""

import pytest

from anchors import after_steps, diabetes


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("vn", {}, 302.3155042237),
        ("vn-pd", {}, 309.6036287075),
        ("fr-kl", {}, 347.7903074664),
        ("fr-r", {}, 1362.3237323391),
        ("fr-kl", {"mean": "new"}, 302.6540806905),
        ("fr-r", {"mean": "new"}, 358.7981585843),
    ],
)
def test_five_steps_on_diabetes(libsvm_data, name, options, expected):
    value = after_steps(diabetes(libsvm_data), name, 5, 0.5, **options)
    assert value == pytest.approx(expected, abs=1e-9)
