"""Execute several runs in lockstep: one batched call takes the next step of all of them.

The overhead of a step is then paid once for all runs. Their times cannot be told apart, so only
trials of the tuning stage, whose times are not reported, run in lockstep. The objectives are those
of runs that are executed one by one.
"""

from collections.abc import Iterator, Sequence

from gvibench.engine.execute import backend_of
from gvibench.engine.run import Run, StepResult
from gvibench.errors import Diverged
from gvibench.models.protocols import Objectives
from gvibench.numerics.base import Array
from gvibench.solvers.base import stack, unstack
from gvibench.spec.run import RunSpec
from gvibench.store.prepared import Prepared

__all__ = ["run_trials"]

MAY_DIFFER = {"seed": 0, "init_scale": 1.0, "mean_scale": 1.0}
"""Fields of the initial state, in which runs in lockstep may differ, with arbitrary values."""


def run_trials(specs: Sequence[RunSpec], data: Prepared) -> Iterator[Run]:
    """Execute runs on the same data, of which only the objective is recorded. Yield them in order.

    Runs go in lockstep if they differ in their initial state only and their solver and model
    support batching. Otherwise they are executed one by one.
    """
    if not specs:
        return
    with backend_of(specs[0]) as backend:
        runs = (Run(spec, data, backend, objective_only=True) for spec in specs)
        first = next(runs)
        alike = len({spec.replace(**MAY_DIFFER).canonical() for spec in specs}) == 1
        if len(specs) > 1 and alike and first.supports_batching:
            together = [first, *runs]
            _run_lockstep(together)
            yield from together
            return
        for run in (first, *runs):
            run.start()
            while run.is_active:
                run.step()
            run.finish()
            yield run


def _run_lockstep(runs: Sequence[Run]) -> None:
    for run in runs:
        run.start()
    while active := [run for run in runs if run.is_active]:
        _step_lockstep(active)
    for run in runs:
        run.finish()


def _step_lockstep(runs: Sequence[Run]) -> None:
    """Advance runs at the same iteration up to the next recorded one.

    If one of them diverges, all take that step one by one, so that the run that diverges ends as it
    would by itself and the others continue.
    """
    first = runs[0]
    timer = first.model.backend.timer()
    start = state = stack([run.state for run in runs])
    objectives: Objectives | None = None
    diverged = False
    try:
        while state is start or not first.is_recorded(state.iteration):
            timer.start()
            following = first.rule.advance(first.solver, state, first.model)
            timer.stop()
            computed = first.recorder.objectives_of(following)
            for run, objective in zip(runs, computed.objective.tolist(), strict=True):
                run.recorder.check([objective], following.iteration)
            state, objectives = following, computed
    except Diverged:
        diverged = True
    if state is not start:
        share = timer.read() / len(runs)
        metrics: Sequence[Array | None] = [None] * len(runs)
        if first.recorder.is_due(state.iteration):
            metrics = list(first.recorder.measure(state, objectives))
        for run, own_state, own_metrics in zip(runs, unstack(state), metrics, strict=True):
            run.step(StepResult(own_state, share, own_metrics))
    if diverged:
        for run in runs:
            if run.is_active:
                run.step()
