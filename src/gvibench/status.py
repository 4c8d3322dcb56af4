"""What of a study is done, running, diverged, failed or pending, read from its files alone."""

import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gvibench.checkpoints import checkpoint_path
from gvibench.errors import UserError
from gvibench.estimate import START_SECONDS, run_seconds
from gvibench.jobs import Plan, RunJob
from gvibench.traces import check_attributes
from gvibench.zarrzip import open_zip

__all__ = ["Progress", "headline", "progress_of", "progress_of_job", "report"]

STATES = ("done", "diverged", "running", "failed", "pending")
ALIVE_SECONDS = 600.0
"""A checkpoint or log older than this belongs to a run that nobody works on."""


@dataclass(frozen=True)
class Progress:
    """How far one run job is."""

    job: RunJob
    state: str
    share: float
    """Of its iterations that are done."""
    note: str = ""


def progress_of(plan: Plan, study: str) -> Iterator[Progress]:
    """Yield the progress of every run job of a study."""
    for job in plan.of_study(study):
        yield progress_of_job(plan, job)


def progress_of_job(plan: Plan, job: RunJob) -> Progress:
    """Return the progress of one run job."""
    out = Path(job.path)
    if out.exists():
        return _finished(job, out)
    if (started := _iteration(checkpoint_path(out))) is not None:
        iterations = max(job.specs[0].iterations, 1)
        return Progress(job, "running", started / iterations, f"iteration {started}")
    return _not_finished(job, _log_of(plan, job))


def _finished(job: RunJob, out: Path) -> Progress:
    try:
        with open_zip(out) as root:
            groups = [root] if not job.packed else [root.group(name) for name in root.names()]
            found = [check_attributes(group, str(out)) for group in groups]
    except UserError as error:
        return Progress(job, "failed", 0.0, str(error))
    diverged = [attrs["reason"] for attrs in found if attrs["status"] == "diverged"]
    return Progress(job, "diverged" if diverged else "done", 1.0, "; ".join(diverged))


def _iteration(checkpoint: Path) -> int | None:
    try:
        with open_zip(checkpoint) as group:
            return int(group.attrs["iteration"])
    except UserError:
        return None


def _log_of(plan: Plan, job: RunJob) -> Path:
    root = Path(plan.config.results) / job.study
    inner = Path(job.path).relative_to(root).with_name(Path(job.path).name.partition(".")[0])
    return root / "logs" / inner.with_suffix(".log")


def _not_finished(job: RunJob, log: Path) -> Progress:
    try:
        text, age = log.read_text(), time.time() - log.stat().st_mtime
    except OSError:
        return Progress(job, "pending", 0.0)
    if "gvibench.worker:" in text or "Traceback" in text:
        return Progress(job, "failed", 0.0, text.strip().splitlines()[-1])
    return Progress(job, "running" if age < ALIVE_SECONDS else "pending", 0.0)


def report(plan: Plan) -> str:
    """Return the state of every study in a few lines."""
    lines = []
    for study in plan.config.studies:
        found = list(progress_of(plan, study))
        lines.append(headline(study, found))
        for progress in found:
            if progress.state in {"running", "failed", "diverged"}:
                share = f" {progress.share:.0%}" if progress.state == "running" else ""
                note = f": {progress.note}" if progress.note else ""
                lines.append(f"  {progress.state}{share} {progress.job.path}{note}")
    return "\n".join(lines)


def headline(study: str, found: Sequence[Progress]) -> str:
    """Return how many run jobs of a study are in which state, and how long the rest may take."""
    counts = Counter(progress.state for progress in found)
    listed = ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
    left = sum(
        (1 - progress.share) * (START_SECONDS + run_seconds(progress.job.specs[0]))
        for progress in found
        if progress.state in {"running", "pending", "failed"}
    ) / (os.cpu_count() or 1)
    ending = f"; about {left:.0f} s of runs left on this machine" if left else ""
    return f"{study}: {len(found)} run jobs: {listed}{ending}"
