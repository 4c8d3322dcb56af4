"""Problems and reference values that were computed with an independent implementation."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_svmlight_file
from sklearn.model_selection import train_test_split

from gvibench import solvers, steps
from gvibench.models.protocols import Rows
from problems import build

DIABETES_OPTIMUM = 301.1347485934
WDBC_OPTIMUM = 70.9651365015


def diabetes(folder, **changes):
    """Return the model of the training rows of diabetes_scale."""
    x, labels = load_svmlight_file(str(folder / "diabetes_scale"))
    y = np.where(labels == labels.max(), 1.0, -1.0)
    split = train_test_split(x.toarray(), y, test_size=0.2, random_state=42)
    train, test = Rows(split[0], split[2]), Rows(split[1], split[3])
    return build(train, test, beta=0.01, **changes)


def wdbc():
    """Return the model of all rows of wdbc, standardised, with an intercept."""
    x, labels = load_breast_cancer(return_X_y=True)
    x = np.column_stack([(x - x.mean(axis=0)) / x.std(axis=0), np.ones(len(x))])
    rows = Rows(x, np.where(labels == 1, 1.0, -1.0))
    return build(rows, rows, beta=1.0)


def objective(model, state):
    return float(model.objectives(state.mean, state.factor, state.oracle.value).objective)


def after_steps(model, name, count, rho, **options):
    """Return the objective after steps of constant size from m0 = 0, C0 = 0.3."""
    solver = solvers.create(name, options)
    state = solver.init(model, np.zeros(model.d), 0.3)
    for _ in range(count):
        state = solver.step(state, model, rho)
    return objective(model, state)


def evaluations_to(model, name, optimum, levels=(1e-4, 1e-8), init_scale=1.0, seed=0):
    """Return the number of evaluations with step rule `auto` until each gap is reached."""
    solver, rule = solvers.create(name, {}), steps.create("auto", 1.0, {})
    mean = np.random.default_rng(seed).standard_normal(model.d)
    state, reached = solver.init(model, mean, init_scale), []
    for level in levels:
        while objective(model, state) > optimum + level:
            state = rule.advance(solver, state, model)
        reached.append(int(state.evaluations))
    return reached
