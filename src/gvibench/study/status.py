"""Report the progress of a study from its files.

A run that diverged or failed is a result, so its job is done. A job is in error if its process
failed and wrote nothing. A job is outdated if the config or the code has changed since it was done.
"""

import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gvibench.errors import UserError
from gvibench.spec.canonical import hash_values
from gvibench.spec.messages import counted, duration
from gvibench.store.checkpoints import checkpoint_iteration, checkpoint_path, finished_runs
from gvibench.store.traces import check_attributes
from gvibench.store.zarrzip import open_zip
from gvibench.study.cost import JOB_SECONDS, job_seconds
from gvibench.study.inventory import Job, jobs_of
from gvibench.study.plan import Plan, RunJob
from gvibench.study.resources import run_seconds

__all__ = ["Progress", "Tracker", "headline", "one_line", "progress_of_job", "report"]

JOB_STATES = ("done", "running", "error", "outdated", "pending")
RUN_STATES = ("done", "diverged", "failed", "running", "outdated", "pending")
NOT_DONE = ("diverged", "failed")
"""Statuses of finished runs that are counted separately."""
AFTER_RUNS = ("measure", "aggregate", "table", "figure", "summary", "page")
"""Stages of jobs that are re-run after each run."""
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
        counts[self.state if self.state in {"done", "outdated"} else "pending"] += left
        return counts


class Tracker:
    """Progress of the jobs of a plan over time.

    Finished jobs are read again only if their first output has changed.
    """

    def __init__(self, plan: Plan) -> None:
        self._jobs = {study: jobs_of(plan, study) for study in plan.config.studies}
        self._done: dict[str, tuple[int, Progress]] = {}

    def read(self) -> dict[str, list[Progress]]:
        """Return the progress of each job, by study."""
        return {
            study: _mark_outdated([self._progress_of(job) for job in jobs])
            for study, jobs in self._jobs.items()
        }

    def _progress_of(self, job: Job) -> Progress:
        try:
            written = Path(job.path).stat().st_mtime_ns
        except OSError:  # not written yet, or removed by Snakemake before a re-run
            return progress_of_job(job)
        if job.path in self._done and self._done[job.path][0] == written:
            return self._done[job.path][1]
        progress = progress_of_job(job)
        if progress.state == "done":
            self._done[job.path] = written, progress
        return progress


def _mark_outdated(progress: list[Progress]) -> list[Progress]:
    """Mark the outputs of a study as outdated if one of its runs is not done."""
    if all(job.state == "done" for job in progress if job.job.stage == "run"):
        return progress
    return [
        replace(job, state="outdated", share=0.0)
        if job.state == "done" and job.job.stage in AFTER_RUNS
        else job
        for job in progress
    ]


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
    ended = finished_runs(out, run.groups)
    if iteration is None and not ended:
        return _not_finished(job)
    share = (ended + (iteration or 0) / max(run.specs[0].iterations, 1)) / len(run.specs)
    if iteration is not None and _is_fresh(checkpoint_path(out)) and not _last_line(job):
        of = f" of run {ended + 1} of {len(run.specs)}" if len(run.specs) > 1 else ""
        return Progress(job, "running", share, f"iteration {iteration}{of}", ended=ended)
    return replace(_not_finished(job), share=share, ended=ended)


def _finished(job: Job, run: RunJob, out: Path) -> Progress:
    try:
        with open_zip(out) as root:
            groups = [root] if not run.packed else [root.group(name) for name in root.names()]
            attributes = [check_attributes(group, str(out)) for group in groups]
            names = [None] if not run.packed else root.names()
    except UserError as error:
        return Progress(job, "error", note=str(error))
    rows = {row["group"]: row for row in run.manifest_rows()}
    if {*names} != {*rows} or any(map(_is_outdated, attributes, map(rows.__getitem__, names))):
        return Progress(job, "outdated")
    endings: dict[str, list[str]] = {}
    for attrs in attributes:
        if attrs["status"] in NOT_DONE:
            endings.setdefault(attrs["status"], []).append(attrs["reason"])
    seconds = sum(attrs.get("wall_seconds", 0.0) for attrs in attributes)
    return Progress(job, "done", 1.0, seconds=seconds, endings=endings)


def _is_outdated(attrs: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Return whether a trace differs from its row of the manifest, so that its job is re-run."""
    spec = json.loads(attrs["spec"]) | dict.fromkeys(row["tuned_fields"])
    return bool(attrs["code_hash"] != row["code_hash"] or hash_values(spec) != row["spec_hash"])


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
    for study, progress_of_jobs in Tracker(plan).read().items():
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
    runs, jobs = _count(progress)
    cores = os.cpu_count() or 1
    left = _remaining_seconds(progress) / cores
    return (
        f"{study}: {runs.total()} runs: {_counted(runs, RUN_STATES)}; "
        f"{jobs.total()} jobs: {_counted(jobs, JOB_STATES)}"
        + (f"; about {duration(left)} left on {counted(cores, 'core')}" if left else "")
    )


def one_line(studies: Mapping[str, Iterable[Progress]]) -> str:
    """Return the progress of all studies in one short line, the most important parts first."""
    # Studies can share data and optima.
    progress = list({job.job.path: job for jobs in studies.values() for job in jobs}.values())
    runs, jobs = _count(progress)
    left = _remaining_seconds(progress) / (os.cpu_count() or 1)
    return (
        f"{jobs['done']} of {jobs.total()} jobs"
        + (f", {jobs['error']} in error" if jobs["error"] else "")
        + (f", about {duration(left)} left" if left else "")
        + f"; {runs['done']} of {runs.total()} runs done"
        + "".join(f", {runs[state]} {state}" for state in ("running", *NOT_DONE) if runs[state])
    )


def _count(progress: Iterable[Progress]) -> tuple[Counter[str], Counter[str]]:
    """Return the numbers of runs and of jobs by state."""
    runs, jobs = Counter[str](), Counter[str]()
    for job in progress:
        runs += job.runs
        jobs[job.state] += 1
    return runs, jobs


def _counted(counts: Counter[str], states: Iterable[str]) -> str:
    words = {"error": "in error"}
    present = [state for state in states if counts[state]]
    return ", ".join(f"{counts[state]} {words.get(state, state)}" for state in present)


def _remaining_seconds(progress: Sequence[Progress]) -> float:
    """Estimate the remaining time on one core, from jobs' costs and the pace of finished runs."""
    done = [
        (job.seconds, len(job.job.of.specs) * run_seconds(job.job.of.specs[0]))
        for job in progress
        if isinstance(job.job.of, RunJob) and job.state == "done" and not job.endings
    ]
    expected = sum(seconds for _, seconds in done)
    pace = sum(seconds for seconds, _ in done) / expected if expected else 1.0
    return sum(
        JOB_SECONDS + (1 - job.share) * job_seconds(job.job) * (pace if job.job.of else 1.0)
        for job in progress
        if job.state != "done"
    )


def _lines(progress: Progress) -> Iterator[tuple[str, str]]:
    """Yield the lines about a job, each with the state under which it is listed."""
    path, note = progress.job.path, f": {progress.note}" if progress.note else ""
    if progress.state == "running":
        yield "running", f"  running {progress.share:.0%} {path}{note}"
    elif progress.state == "error":
        yield "error", f"  error in job {path}{note}"
    for ending, reasons in progress.endings.items():
        yield ending, f"  run {ending}: {path}: {'; '.join(reasons)}"
