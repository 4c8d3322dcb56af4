"""Make outcomes of benchmark entries for tests of scores."""

import numpy as np
import xarray as xr
from hypothesis import strategies as st

STARTS = ("basis_condition", "mean_scale", "init_scale")


def outcomes_from(costs, problems, targets=None, entries=None, **changes):
    """Return outcomes with the given costs (entry, instance, target)."""
    costs = np.asarray(costs, dtype=float)
    entries = entries or [f"entry {k}" for k in range(costs.shape[0])]
    targets = targets or [10.0 ** (2 - k) for k in range(costs.shape[2])]
    missing = np.isnan(costs).all(axis=2)
    status = np.where(missing, "", "completed").astype(object)
    count = dict.fromkeys(problems, 0)
    settings = []
    for name in problems:
        settings.append(f"seed {count[name]}")
        count[name] += 1
    names = [f"{name}, {setting}" for name, setting in zip(problems, settings, strict=True)]
    values = {
        "cost": (("entry", "instance", "target"), costs),
        "seconds": (("entry", "instance", "target"), costs / 100),
        "final_gap": (("entry", "instance"), np.where(missing, np.nan, 1e-9)),
        "tuning_cost": (("entry", "instance"), np.zeros(missing.shape)),
        "status": (("entry", "instance"), status),
        "reason": (("entry", "instance"), np.full(missing.shape, "", dtype=object)),
    }
    coordinates = {
        "entry": np.array(entries, dtype=object),
        "other_limit": ("entry", np.full(len(entries), "", dtype=object)),
        "instance": np.array(names, dtype=object),
        "target": targets,
        "problem": ("instance", np.array(problems, dtype=object)),
        "setting": ("instance", np.array(settings, dtype=object)),
        **{name: ("instance", np.ones(len(problems))) for name in STARTS},
    }
    attrs = {"cost": "data_passes", "budget": 1000.0}
    return xr.Dataset({**values, **changes}, coordinates, attrs)


def random_outcomes(entries=20, problems=15, instances=8, targets=21, seed=0):
    """Return outcomes in which later entries are slower, with unreached targets."""
    rng = np.random.default_rng(seed)
    shape = (entries, problems * instances, targets)
    pace = np.linspace(1.0, 2.5, entries)[:, None, None]
    hard = np.sort(rng.uniform(0.0, 1.5, shape), axis=2)
    per_problem = np.repeat(rng.normal(0.0, 0.3, (entries, problems, 1)), instances, axis=1)
    costs = 10.0 ** (pace * hard + per_problem)
    names = [f"problem {k}" for k in range(problems) for _ in range(instances)]
    levels = np.geomspace(1e2, 1e-8, targets).tolist()
    return outcomes_from(np.where(costs > 1000, np.inf, costs), names, levels)


@st.composite
def made_outcomes(draw):
    """Draw small outcomes, with infinite and missing costs."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    problems = [f"problem {k}" for k, size in enumerate(sizes) for _ in range(size)]
    entries, targets = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    cost = st.one_of(st.floats(0.0, 2000.0), st.just(np.inf))
    run = st.one_of(
        st.lists(cost, min_size=targets, max_size=targets).map(sorted),
        st.just([np.nan] * targets),
    )
    row = st.lists(run, min_size=len(problems), max_size=len(problems))
    return outcomes_from(draw(st.lists(row, min_size=entries, max_size=entries)), problems)
