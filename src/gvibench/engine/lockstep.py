"""Execute several runs in lockstep: one batched call takes the next step of all of them.

The overhead of a step is then paid once for all runs. The numbers are those of `execute`.
"""

from collections.abc import Sequence

from gvibench.engine.execute import Clock, backend_of, build_trace, execute
from gvibench.engine.run import Progress, Run, StepResult
from gvibench.errors import Diverged
from gvibench.numerics.base import Array
from gvibench.solvers.base import stack, unstack
from gvibench.spec.run import RunSpec
from gvibench.store.prepared import Prepared
from gvibench.store.traces import Trace

__all__ = ["execute_lockstep"]

MAY_DIFFER = {"seed": 0, "init_scale": 1.0, "mean_scale": 1.0}
"""Fields of the initial state, in which runs in lockstep may differ, with arbitrary values."""


def execute_lockstep(
    specs: Sequence[RunSpec],
    data: Prepared,
    *,
    code_hash: str = "",
    exclusive: bool = False,
    progress: Sequence[Progress | None] = (),
    no_step: str = "",
) -> list[Trace]:
    """Execute several runs on the same data and return their traces.

    Runs go in lockstep if they differ in their initial state only and their solver and model
    support batching. Otherwise, and for `exclusive` timings, they are executed one by one. The
    other parameters are those of `execute`; `progress` has one function per run.
    """
    clock = Clock()
    progress = progress or [None] * len(specs)
    pairs = list(zip(specs, progress, strict=True))
    if not exclusive and len({spec.replace(**MAY_DIFFER).canonical() for spec in specs}) == 1:
        with backend_of(specs[0]) as backend:
            if Run(specs[0], data, backend).supports_batching:
                runs = [Run(spec, data, backend, progress=report) for spec, report in pairs]
                _run_lockstep(runs, no_step)
                size = len(runs)
                return [
                    build_trace(run, data, clock, code_hash, exclusive=False, lockstep_size=size)
                    for run in runs
                ]
    return [
        execute(
            spec,
            data,
            code_hash=code_hash,
            exclusive=exclusive,
            progress=report,
            no_step=no_step,
        )
        for spec, report in pairs
    ]


def _run_lockstep(runs: Sequence[Run], no_step: str) -> None:
    for run in runs:
        run.start(no_step)
    while active := [run for run in runs if run.is_active]:
        _step_lockstep(active)


def _step_lockstep(runs: Sequence[Run]) -> None:
    """Advance runs at the same iteration up to the next recorded one.

    If one of them diverges, all take that step one by one, so that the run that diverges ends as it
    would by itself and the others continue.
    """
    first = runs[0]
    timer = first.model.backend.timer()
    start = state = stack([run.state for run in runs])
    diverged = False
    try:
        while state is start or not first.is_recorded(state.iteration):
            timer.start()
            following = first.solver.step(state, first.model, first.step_size(state.iteration))
            timer.stop()
            objectives = first.recorder.objective_of(following).tolist()
            for run, objective in zip(runs, objectives, strict=True):
                run.recorder.check([objective], following.iteration)
            state = following
    except Diverged:
        diverged = True
    if state is not start:
        share = timer.read() / len(runs)
        metrics: Sequence[Array | None] = [None] * len(runs)
        if first.recorder.is_due(state.iteration):
            metrics = list(first.model.metrics(state.mean, state.factor, state.oracle))
        for run, own_state, own_metrics in zip(runs, unstack(state), metrics, strict=True):
            run.step(StepResult(own_state, share, own_metrics))
    if diverged:
        for run in runs:
            if run.is_active:
                run.step()
