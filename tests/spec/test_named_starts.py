"""Test that runs are recognised by the settings of their named start."""

from gvibench.spec.starts import start_name

STARTS = [
    {"name": "zero", "mean_scale": 0.0, "init_scale": 1.0},
    {"name": "prior", "mean_scale": 0.0, "init_scale": "prior"},
]


def found(beta, mean_scale, init_scale, starts=STARTS):
    spec = {"beta": beta, "mean_scale": mean_scale, "init_scale": init_scale}
    return start_name(starts, spec)


def test_a_start_at_the_prior_depends_on_its_precision():
    assert found(0.25, 0.0, 2.0) == "prior"
    assert found(0.01, 0.0, 0.01**-0.5) == "prior"
    assert found(0.25, 0.0, 1.0) == "zero"
    assert found(0.0, 0.0, 2.0) is None
    assert found(0.25, 1.0, 2.0) is None


def test_the_first_of_two_starts_that_coincide_counts():
    assert found(1.0, 0.0, 1.0) == "zero"
    assert found(1.0, 0.0, 1.0, STARTS[::-1]) == "prior"
