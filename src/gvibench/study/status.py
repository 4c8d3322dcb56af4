"""What of a study is done, running or pending, and what went wrong, read from its files alone.

A *run* may end as diverged or failed; that is a result, and its job is done. A *job* has an error
if its process failed and wrote nothing.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gvibench.engine.checkpointing import checkpoint_iteration, checkpoint_path
from gvibench.engine.progress import duration
from gvibench.errors import UserError
from gvibench.store.traces import check_attributes
from gvibench.store.zarrzip import open_zip
from gvibench.study.inventory import Job, jobs_of
from gvibench.study.plan import Plan, RunJob
from gvibench.study.resources import START_SECONDS, run_seconds

__all__ = ["Progress", "headline", "progress_of", "progress_of_job", "report"]

JOB_STATES = ("done", "running", "error", "pending")
RUN_STATES = ("done", "diverged", "failed", "running", "pending")
NOT_DONE = ("diverged", "failed")
"""Endings of runs that are told apart from those that are done."""
ALIVE_SECONDS = 600.0
"""A checkpoint or log older than this belongs to a run that nobody works on."""
INTERRUPTED = "gvibench.stages: interrupted"
LISTED = 20
"""Jobs of one state that are named; of thousands nobody reads more."""


@dataclass(frozen=True)
class Progress:
    """How far one job is."""

    job: Job
    state: str
    """One of `JOB_STATES`."""
    share: float = 0.0
    """Share of a run's iterations that is done."""
    note: str = ""
    seconds: float = 0.0
    """Time that a finished run took."""
    endings: dict[str, list[str]] = field(default_factory=dict)
    """Reasons of the runs in this job that ended as `NOT_DONE`, by how they ended."""

    @property
    def runs(self) -> Counter[str]:
        """How many runs of this job are in which state."""
        if not isinstance(self.job.of, RunJob):
            return Counter()
        counts = Counter({ending: len(reasons) for ending, reasons in self.endings.items()})
        state = "pending" if self.state == "error" else self.state
        counts[state] += len(self.job.of.specs) - counts.total()
        return counts


def progress_of(plan: Plan, study: str) -> Iterator[Progress]:
    """Yield the progress of every job of a study."""
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
    if iteration is None:
        return _not_finished(job)
    share = iteration / max(run.specs[0].iterations, 1)
    if _is_fresh(checkpoint_path(out)) and not _last_words(job):
        return Progress(job, "running", share, f"iteration {iteration}")
    return replace(_not_finished(job), share=share)


def _finished(job: Job, run: RunJob, out: Path) -> Progress:
    try:
        with open_zip(out) as root:
            groups = [root] if not run.packed else [root.group(name) for name in root.names()]
            found = [check_attributes(group, str(out)) for group in groups]
    except UserError as error:
        return Progress(job, "error", note=str(error))
    endings: dict[str, list[str]] = {}
    for attrs in found:
        if attrs["status"] in NOT_DONE:
            endings.setdefault(attrs["status"], []).append(attrs["reason"])
    seconds = sum(attrs.get("wall_seconds", 0.0) for attrs in found)
    return Progress(job, "done", 1.0, seconds=seconds, endings=endings)


def _is_fresh(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime < ALIVE_SECONDS
    except OSError:  # it has just been replaced by a trace
        return True


def _not_finished(job: Job) -> Progress:
    last = _last_words(job)
    if last.startswith(INTERRUPTED):  # it was told to stop, and will be done by the next start
        return Progress(job, "pending")
    if last:
        return Progress(job, "error", note=last)
    log = Path(job.log)
    return Progress(job, "running" if log.exists() and _is_fresh(log) else "pending")


def _last_words(job: Job) -> str:
    """Return the last line of a job's log if its process ended early."""
    try:
        text = Path(job.log).read_text(errors="replace")
    except OSError:
        return ""
    ended = "gvibench.stages:" in text or "Traceback" in text
    return text.strip().splitlines()[-1] if ended else ""


def report(plan: Plan) -> str:
    """Return the state of every study in a few lines."""
    lines: list[str] = []
    for study in plan.config.studies:
        found = list(progress_of(plan, study))
        lines.append(headline(study, found))
        named: dict[str, list[str]] = {state: [] for state in ("running", "error", *NOT_DONE)}
        for progress in found:
            for state, line in _lines(progress):
                named[state].append(line)
        for state, of_state in named.items():
            lines += of_state[:LISTED]
            if len(of_state) > LISTED:
                lines.append(f"  {state}: {len(of_state) - LISTED} more")
    return "\n".join(lines)


def headline(study: str, found: Sequence[Progress]) -> str:
    """Return how many runs and jobs of a study are in which state, and how long the rest takes."""
    runs = sum((progress.runs for progress in found), Counter[str]())
    jobs = Counter(progress.state for progress in found)
    return (
        f"{study}: {runs.total()} runs: {_counted(runs, RUN_STATES)}; "
        f"{jobs.total()} jobs: {_counted(jobs, JOB_STATES)}{_left(found)}"
    )


def _counted(counts: Counter[str], states: Iterable[str]) -> str:
    words = {"error": "in error"}
    return ", ".join(f"{counts[one]} {words.get(one, one)}" for one in states if counts[one])


def _left(found: Sequence[Progress]) -> str:
    """Estimate the remaining time of the runs from finished runs."""
    pairs = [(one, one.job.of) for one in found if isinstance(one.job.of, RunJob)]
    done = [(one, run) for one, run in pairs if one.state == "done" and not one.endings]
    expected = sum(_expected(run) for _, run in done)
    pace = sum(one.seconds for one, _ in done) / expected if expected else 1.0
    left = [
        START_SECONDS + pace * (1 - one.share) * _expected(run)
        for one, run in pairs
        if one.state != "done"
    ]
    return f"; about {duration(sum(left))} left on one core" if left else ""


def _expected(job: RunJob) -> float:
    return len(job.specs) * run_seconds(job.specs[0])


def _lines(progress: Progress) -> Iterator[tuple[str, str]]:
    """Yield what to say about a job, with the state it is listed under."""
    path, note = progress.job.path, f": {progress.note}" if progress.note else ""
    if progress.state == "running":
        yield "running", f"  running {progress.share:.0%} {path}{note}"
    elif progress.state == "error":
        yield "error", f"  error in job {path}{note}"
    for ending, reasons in progress.endings.items():
        yield ending, f"  run {ending}: {path}: {'; '.join(reasons)}"
