"""Settings of Dask in a config."""

import re
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from gvibench.spec.validate import StrictModel

__all__ = [
    "DASK_MODELS",
    "DaskSettings",
    "LocalWorkers",
    "SlurmWorkers",
    "WorkerRange",
    "megabytes",
]

Count = Annotated[int, Field(ge=1, le=100_000)]
MEMORY = re.compile(r"(\d+(?:\.\d+)?) ?(?:([kMGT])(i?))?B")
POWERS = {None: 0, "k": 1, "M": 2, "G": 3, "T": 4}


def megabytes(memory: str) -> float:
    """Return a size such as `2GB` or `1.5 GiB` in megabytes."""
    match = MEMORY.fullmatch(memory)
    if match is None:
        raise ValueError("is not a size of memory: write for example 2GB")
    number, prefix, binary = match.groups()
    return float(number) * float(1024 if binary else 1000) ** POWERS[prefix] / 1e6


def _check_memory(value: str) -> str:
    megabytes(value)
    return value


def _check_time(value: str) -> str:
    if not re.fullmatch(r"(\d+-)?\d{1,2}:\d{2}:\d{2}", value):
        raise ValueError('is not a time: write for example "01:00:00"')
    return value


Memory = Annotated[str, AfterValidator(_check_memory)]
Time = Annotated[str, AfterValidator(_check_time)]


class LocalWorkers(StrictModel):
    """Workers on the machine of the job."""

    workers: Count | None = None
    """Number of workers (default: the cores of the job)."""
    memory: Memory | None = None
    """Memory of all workers together, e.g. `2GB` (default: the memory of the job)."""


class WorkerRange(StrictModel):
    """Smallest and largest number of Slurm jobs."""

    min: Annotated[int, Field(ge=0, le=100_000)] = 1
    """Number of Slurm jobs that always run."""
    max: Count = 8
    """Number of Slurm jobs while there is work for them."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.min > self.max:
            raise ValueError(f"min {self.min} is larger than max {self.max}")
        return self


class SlurmWorkers(StrictModel):
    """Workers that Slurm starts, one per core; needs `gvibench[slurm]`."""

    workers: Count | WorkerRange = 4
    """Number of Slurm jobs, or a range as `{min: 2, max: 32}`."""
    cores: Count = 1
    """Cores of a Slurm job."""
    memory: Memory = "2GB"
    """Memory of a Slurm job, e.g. `2GB`."""
    walltime: Time = "01:00:00"
    """Time limit of a Slurm job."""
    partition: str | None = None
    """Partition (default: that of Slurm)."""
    account: str | None = None
    """Account (default: that of Slurm)."""
    interface: str | None = None
    """Network interface that workers and scheduler use, e.g. `ib0`."""
    local_directory: str | None = None
    """Folder for temporary files of a worker, e.g. `$TMPDIR`."""


class DaskSettings(StrictModel):
    """Workers that read traces and compute tables and figures of large studies."""

    local: LocalWorkers | None = None
    """Workers on the machine of the job."""
    slurm: SlurmWorkers | None = None
    """Workers that Slurm starts for a job."""
    scheduler_address: str | None = None
    """Address of a running Dask scheduler, e.g. `tcp://host:8786`, whose workers have access to
    the same files."""
    runs_per_task: Count | None = None
    """Number of runs in a shard of the aggregate, which is one task (default: 1000, or fewer if
    the runs have many records)."""
    retries: Annotated[int, Field(ge=0, le=100)] = 2
    """Number of times a task is retried after its worker was lost."""
    dashboard: bool = True
    """Whether to serve Dask's dashboard, whose address is in the log of the job."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        places = ("local", "slurm", "scheduler_address")
        given = [name for name in places if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"has {' and '.join(given)}: choose one of them")
        return self


DASK_MODELS = (DaskSettings, LocalWorkers, SlurmWorkers, WorkerRange)
