"""Report the progress of a study from its files.

A run that diverged or failed is a result, so its job is done. A job is in error if its process
failed and wrote nothing.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gvibench.errors import UserError
from gvibench.spec.messages import duration
from gvibench.store.checkpoints import checkpoint_iteration, checkpoint_path, finished_seeds
from gvibench.store.traces import check_attributes
from gvibench.store.zarrzip import open_zip
from gvibench.study.inventory import Job, jobs_of
from gvibench.study.plan import Plan, RunJob
from gvibench.study.resources import START_SECONDS, run_seconds

__all__ = ["Progress", "headline", "progress_of", "progress_of_job", "report"]

JOB_STATES = ("done", "running", "error", "pending")
RUN_STATES = ("done", "diverged", "failed", "running", "pending")
NOT_DONE = ("diverged", "failed")
"""Statuses of finished runs that are counted separately."""
STALE_AFTER_SECONDS = 600.0
"""Age after which a checkpoint or log belongs to a run that is no longer active."""
INTERRUPTED = "gvibench.stages: interrupted"
MAX_LISTED = 20
"""Maximum number of jobs listed per state."""


@dataclass(frozen=True)
class Progress:
    """Progress of one job."""

    job: Job
    state: str
    """One of `JOB_STATES`."""
    share: float = 0.0
    """Completed share of the iterations of a run."""
    note: str = ""
    seconds: float = 0.0
    """Duration of a finished run."""
    ended: int = 0
    """Number of finished seeds of an unfinished job."""
    endings: dict[str, list[str]] = field(default_factory=dict)
    """Reasons of the runs with a status in `NOT_DONE`, by status."""

    @property
    def runs(self) -> Counter[str]:
        """Number of runs of this job by state."""
        if not isinstance(self.job.of, RunJob):
            return Counter()
        counts = Counter({ending: len(reasons) for ending, reasons in self.endings.items()})
        counts["done"] += self.ended
        left = len(self.job.of.specs) - counts.total()
        if self.state == "running":  # its seeds run one after the other
            counts["running"] += min(left, 1)
            left -= min(left, 1)
        counts["done" if self.state == "done" else "pending"] += left
        return counts


def progress_of(plan: Plan, study: str) -> Iterator[Progress]:
    """Yield the progress of each job of a study."""
    for job in jobs_of(plan, study):
        yield progress_of_job(job)


def progress_of_job(job: Job) -> Progress:
    """Return the progress of one job."""
    if isinstance(job.of, RunJob):
        return _progress_of_run(job, job.of)
    return Progress(job, "done", 1.0) if job.is_done else _not_finished(job)


def _progress_of_run(job: Job, run: RunJob) -> Progress:
    out = Path(job.path)
    if out.exists():
        return _finished(job, run, out)
    iteration = checkpoint_iteration(out)
    ended = finished_seeds(out, (spec.seed for spec in run.specs))
    if iteration is None and not ended:
        return _not_finished(job)
    share = (ended + (iteration or 0) / max(run.specs[0].iterations, 1)) / len(run.specs)
    if iteration is not None and _is_fresh(checkpoint_path(out)) and not _last_line(job):
        of = f" of seed {ended + 1} of {len(run.specs)}" if len(run.specs) > 1 else ""
        return Progress(job, "running", share, f"iteration {iteration}{of}", ended=ended)
    return replace(_not_finished(job), share=share, ended=ended)


def _finished(job: Job, run: RunJob, out: Path) -> Progress:
    try:
        with open_zip(out) as root:
            groups = [root] if not run.packed else [root.group(name) for name in root.names()]
            attributes = [check_attributes(group, str(out)) for group in groups]
    except UserError as error:
        return Progress(job, "error", note=str(error))
    endings: dict[str, list[str]] = {}
    for attrs in attributes:
        if attrs["status"] in NOT_DONE:
            endings.setdefault(attrs["status"], []).append(attrs["reason"])
    seconds = sum(attrs.get("wall_seconds", 0.0) for attrs in attributes)
    return Progress(job, "done", 1.0, seconds=seconds, endings=endings)


def _is_fresh(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime < STALE_AFTER_SECONDS
    except OSError:  # a trace has just replaced it
        return True


def _not_finished(job: Job) -> Progress:
    last = _last_line(job)
    if last.startswith(INTERRUPTED):  # the next start of Snakemake resumes it
        return Progress(job, "pending")
    if last:
        return Progress(job, "error", note=last)
    log = Path(job.log)
    return Progress(job, "running" if log.exists() and _is_fresh(log) else "pending")


def _last_line(job: Job) -> str:
    """Return the last line of a job's log if its process failed."""
    try:
        text = Path(job.log).read_text(errors="replace")
    except OSError:
        return ""
    ended = "gvibench.stages:" in text or "Traceback" in text
    return text.strip().splitlines()[-1] if ended else ""


def report(plan: Plan) -> str:
    """Return the state of each study as text."""
    lines: list[str] = []
    for study in plan.config.studies:
        progress_of_jobs = list(progress_of(plan, study))
        lines.append(headline(study, progress_of_jobs))
        named: dict[str, list[str]] = {state: [] for state in ("running", "error", *NOT_DONE)}
        for progress in progress_of_jobs:
            for state, line in _lines(progress):
                named[state].append(line)
        for state, of_state in named.items():
            lines += of_state[:MAX_LISTED]
            if len(of_state) > MAX_LISTED:
                lines.append(f"  {state}: {len(of_state) - MAX_LISTED} more")
    return "\n".join(lines)


def headline(study: str, progress: Sequence[Progress]) -> str:
    """Return the numbers of runs and jobs of a study by state, and the remaining time."""
    runs = sum((job.runs for job in progress), Counter[str]())
    jobs = Counter(job.state for job in progress)
    return (
        f"{study}: {runs.total()} runs: {_counted(runs, RUN_STATES)}; "
        f"{jobs.total()} jobs: {_counted(jobs, JOB_STATES)}{_remaining_time(progress)}"
    )


def _counted(counts: Counter[str], states: Iterable[str]) -> str:
    words = {"error": "in error"}
    present = [state for state in states if counts[state]]
    return ", ".join(f"{counts[state]} {words.get(state, state)}" for state in present)


def _remaining_time(progress: Sequence[Progress]) -> str:
    """Estimate the remaining time of the runs from finished runs."""
    pairs = [(p, p.job.of) for p in progress if isinstance(p.job.of, RunJob)]
    done = [(p, run) for p, run in pairs if p.state == "done" and not p.endings]
    expected = sum(_expected(run) for _, run in done)
    pace = sum(p.seconds for p, _ in done) / expected if expected else 1.0
    left = [
        START_SECONDS + pace * (1 - p.share) * _expected(run)
        for p, run in pairs
        if p.state != "done"
    ]
    return f"; about {duration(sum(left))} left on one core" if left else ""


def _expected(job: RunJob) -> float:
    return len(job.specs) * run_seconds(job.specs[0])


def _lines(progress: Progress) -> Iterator[tuple[str, str]]:
    """Yield the lines about a job, each with the state under which it is listed."""
    path, note = progress.job.path, f": {progress.note}" if progress.note else ""
    if progress.state == "running":
        yield "running", f"  running {progress.share:.0%} {path}{note}"
    elif progress.state == "error":
        yield "error", f"  error in job {path}{note}"
    for ending, reasons in progress.endings.items():
        yield ending, f"  run {ending}: {path}: {'; '.join(reasons)}"
