"""Execute the runs of a job: one run, or a block of starts and seeds one after the other.

Runs of a block share a process, which starts once. They do not overlap, so the times of each run
are its own. The trace of each finished run is kept next to the output until all runs are finished,
and a long run writes checkpoints. A job that was killed continues with the run, and at the
checkpoint, at which it was stopped.
"""

from collections.abc import Sequence
from pathlib import Path

from gvibench.engine.checkpointing import stop_on_signals
from gvibench.engine.execute import execute
from gvibench.engine.progress import ProgressReport
from gvibench.errors import UserError
from gvibench.spec.run import RunSpec, group_names
from gvibench.store.checkpoints import checkpoint_path, finished_path
from gvibench.store.describe import summarise_trace
from gvibench.store.prepared import Prepared
from gvibench.store.traces import Trace, read_trace, write_packed, write_trace

__all__ = ["execute_block"]


def execute_block(
    specs: Sequence[RunSpec],
    data: Prepared,
    out: Path,
    *,
    packed: bool,
    code_hash: str,
    exclusive: bool,
    no_step: str,
) -> None:
    """Execute runs that differ in their start or seed, and write their traces to one file.

    Parameters
    ----------
    specs
        Specifications of the runs.
    data
        Prepared data of the runs.
    out
        File for the traces.
    packed
        Whether the file has one group per run. Otherwise it contains the trace of the only run.
    code_hash, exclusive, no_step
        Passed to `gvibench.engine.execute.execute`.
    """
    checkpoint = checkpoint_path(out)
    names = group_names([(spec.mean_scale, spec.init_scale, spec.seed) for spec in specs])
    kept = [finished_path(out, name) for name in names]
    traces = []
    with stop_on_signals():
        for spec, finished in zip(specs, kept, strict=True):
            trace = _finished_trace(finished, spec, data, code_hash)
            if trace is None:
                with ProgressReport(spec) as report:
                    trace = execute(
                        spec,
                        data,
                        code_hash=code_hash,
                        exclusive=exclusive,
                        checkpoint=checkpoint,
                        progress=report,
                        no_step=no_step,
                    )
                if len(specs) > 1:
                    write_trace(finished, trace)
                    checkpoint.unlink(missing_ok=True)  # the next run starts from nothing
            print(summarise_trace(trace), flush=True)
            traces.append(trace)
    if packed:
        write_packed(out, traces)
    else:
        write_trace(out, traces[0])
    for path in (checkpoint, *kept):
        path.unlink(missing_ok=True)


def _finished_trace(path: Path, spec: RunSpec, data: Prepared, code_hash: str) -> Trace | None:
    """Return the trace that an interrupted job has kept, if it is of the same run."""
    if not path.exists():
        return None
    try:
        trace = read_trace(path)
    except UserError:  # damaged: run it again
        return None
    kept = trace.attrs["spec_hash"], trace.attrs["code_hash"], trace.attrs.get("data_hash")
    return trace if kept == (spec.spec_hash, code_hash, data.content_hash) else None
