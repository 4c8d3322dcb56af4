"""What of a study is done, running, diverged, failed or pending, read from its files alone."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gvibench.checkpoints import checkpoint_path, kept_iteration
from gvibench.errors import UserError
from gvibench.estimate import START_SECONDS, run_seconds
from gvibench.jobs import Plan, RunJob
from gvibench.progress import duration
from gvibench.traces import check_attributes
from gvibench.zarrzip import open_zip

__all__ = ["Progress", "headline", "progress_of", "progress_of_job", "report"]

STATES = ("done", "diverged", "running", "failed", "pending")
ALIVE_SECONDS = 600.0
"""A checkpoint or log older than this belongs to a run that nobody works on."""
LISTED = 20
"""Jobs of one state that are named; of thousands nobody reads more."""


@dataclass(frozen=True)
class Progress:
    """How far one run job is."""

    job: RunJob
    state: str
    share: float = 0.0
    """Of its iterations that are done."""
    note: str = ""
    seconds: float = 0.0
    """What it took, if it is done."""


def progress_of(plan: Plan, study: str) -> Iterator[Progress]:
    """Yield the progress of every run job of a study."""
    for job in plan.of_study(study):
        yield progress_of_job(plan, job)


def progress_of_job(plan: Plan, job: RunJob) -> Progress:
    """Return the progress of one run job."""
    out = Path(job.path)
    if out.exists():
        return _finished(job, out)
    if (iteration := kept_iteration(out)) is not None:
        share = iteration / max(job.specs[0].iterations, 1)
        state = "running" if _is_fresh(checkpoint_path(out)) else "pending"
        return Progress(job, state, share, f"iteration {iteration}")
    return _not_finished(job, _log_of(plan, job))


def _finished(job: RunJob, out: Path) -> Progress:
    try:
        with open_zip(out) as root:
            groups = [root] if not job.packed else [root.group(name) for name in root.names()]
            found = [check_attributes(group, str(out)) for group in groups]
    except UserError as error:
        return Progress(job, "failed", note=str(error))
    diverged = [attrs["reason"] for attrs in found if attrs["status"] == "diverged"]
    seconds = sum(attrs.get("wall_seconds", 0.0) for attrs in found)
    return Progress(job, "diverged" if diverged else "done", 1.0, "; ".join(diverged), seconds)


def _is_fresh(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime < ALIVE_SECONDS
    except OSError:  # it has just been replaced by a trace
        return True


def _log_of(plan: Plan, job: RunJob) -> Path:
    root = Path(plan.config.results) / job.study
    inner = Path(job.path).relative_to(root).with_name(Path(job.path).name.partition(".")[0])
    return root / "logs" / inner.with_suffix(".log")


def _not_finished(job: RunJob, log: Path) -> Progress:
    try:
        text = log.read_text()
    except OSError:
        return Progress(job, "pending")
    if "gvibench.worker:" in text or "Traceback" in text:
        return Progress(job, "failed", note=text.strip().splitlines()[-1])
    return Progress(job, "running" if _is_fresh(log) else "pending")


def report(plan: Plan) -> str:
    """Return the state of every study in a few lines."""
    lines = []
    for study in plan.config.studies:
        found = list(progress_of(plan, study))
        lines.append(headline(study, found))
        lines += _tuning(plan, study)
        for state in ("running", "failed", "diverged"):
            chosen = [progress for progress in found if progress.state == state]
            lines += [_line(progress) for progress in chosen[:LISTED]]
            if len(chosen) > LISTED:
                lines.append(f"  {state}: {len(chosen) - LISTED} more")
    return "\n".join(lines)


def headline(study: str, found: Sequence[Progress]) -> str:
    """Return how many run jobs of a study are in which state, and how long the rest may take."""
    return f"{study}: {len(found)} run jobs: {_counted(found)}{_left(found)}"


def _counted(found: Iterable[Progress]) -> str:
    counts = Counter(progress.state for progress in found)
    return ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])


def _left(found: Sequence[Progress]) -> str:
    """Say how much there is still to compute, by what finished runs took, as far as there are."""
    done = [progress for progress in found if progress.state == "done"]
    expected = sum(_expected(progress.job) for progress in done)
    pace = sum(progress.seconds for progress in done) / expected if expected else 1.0
    unfinished = [progress for progress in found if progress.state not in {"done", "diverged"}]
    left = sum(
        START_SECONDS + pace * (1 - progress.share) * _expected(progress.job)
        for progress in unfinished
    )
    return f"; about {duration(left)} left on one core" if unfinished else ""


def _expected(job: RunJob) -> float:
    return len(job.specs) * run_seconds(job.specs[0])


def _tuning(plan: Plan, study: str) -> list[str]:
    """Say how far the tuning is that the runs of a study wait for."""
    choices = {job.tuning.choice for job in plan.of_study(study) if job.tuning}
    made = sum(Path(choice).exists() for choice in choices)
    return [f"  tuning: {made} of {len(choices)} done"] if made < len(choices) else []


def _line(progress: Progress) -> str:
    share = f" {progress.share:.0%}" if progress.state == "running" else ""
    note = f": {progress.note}" if progress.note else ""
    return f"  {progress.state}{share} {progress.job.path}{note}"
