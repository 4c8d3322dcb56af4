# Expand the config into a plan of jobs. Rules look up their job by its path.
import functools
import importlib.util
import json
import os
import re
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError


def find_package():
    # A folder that has the name of the package, e.g. a clone of this repository, has no origin.
    spec = importlib.util.find_spec("gvibench")
    return None if spec is None else spec.origin


# Prefer an installed package: the `gvibench` commands use it too, and another repository that uses this
# workflow as a module may have no copy of the sources. Otherwise use the sources of this repository.
if find_package() is None:
    sys.path.insert(0, str(Path(str(workflow.current_basedir)).parent / "src"))
if find_package() is None:
    raise WorkflowError(
        "gvibench is not installed in the environment of Snakemake: install it with pip"
    )
PACKAGES = Path(find_package()).parents[1]

# Jobs use the same package. They use Snakemake's Python unless a conda environment is activated, which must
# not use the site-packages of another Python.
if PACKAGES.name not in ("site-packages", "dist-packages"):
    os.environ.update(
        PYTHONPATH=os.pathsep.join(
            filter(None, [str(PACKAGES), os.getenv("PYTHONPATH")])
        )
    )
os.environ.update(
    PATH=os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()])
)

from gvibench.errors import UserError
from gvibench.study.resources import (
    data_memory_mb,
    is_short,
    memory_mb,
    runtime_minutes,
    tuning_minutes,
)
from gvibench.store.files import check_writable
from gvibench.study.output_resources import OutputResources
from gvibench.study.expand import expand as expand_config
from gvibench.study.extras import require_data_extra
from gvibench.study.config import load_config
from gvibench.study.yaml_file import read_yaml

try:
    # Snakemake's reader silently drops duplicate keys, so read the files again with a reader that rejects them.
    for path in {*workflow.configfiles, *workflow.overwrite_configfiles}:
        read_yaml(Path(path))
    PLAN = expand_config(load_config(config))
except UserError as error:
    raise WorkflowError(str(error)) from None

RESULTS = PLAN.config.results
STUDIES = list(PLAN.config.studies)


wildcard_constraints:
    study="|".join(map(re.escape, STUDIES)),
    name=r"[^/]+",
    variant=r"[^/]+",
    solver=r"[^/]+",
    dataset=r"[^/]+",


def run_job(wildcards):
    return PLAN.runs[
        f"{RESULTS}/{wildcards.study}/runs/{wildcards.dataset}/{wildcards.solver}/"
        f"{wildcards.variant}/{wildcards.name}.zarr.zip"
    ]


def tuning_job(wildcards):
    return PLAN.tuning[
        f"{RESULTS}/{wildcards.study}/tuning/{wildcards.dataset}/{wildcards.solver}/"
        f"{wildcards.variant}"
    ]


def data_job(wildcards):
    return PLAN.data[f"{RESULTS}/data/{wildcards.name}.zarr.zip"]


def optimum_job(wildcards):
    return PLAN.optima[f"{RESULTS}/optima/{wildcards.name}.zarr.zip"]


def beta_job(wildcards):
    return PLAN.betas[
        f"{RESULTS}/{wildcards.study}/tuning/{wildcards.dataset}/beta-{wildcards.name}.json"
    ]


def measure_job(wildcards):
    return PLAN.measures[
        f"{RESULTS}/{wildcards.study}/measures/{wildcards.dataset}/{wildcards.solver}/"
        f"{wildcards.variant}/{wildcards.name}.json"
    ]


def beta_of(job):
    return [] if job.beta is None else job.beta.path


def path_or_none(job):
    return [] if job is None else job.path


def draws_of(job):
    return [job.truth] if job.truth else []


def choices_of(study):
    return sorted({path for job in PLAN.of_study(study) for path in job.choices})


def optima_of(study):
    jobs = PLAN.of_study(study)
    optima = [optimum for job in jobs for optimum in (job.optimum, job.exact_optimum)]
    return sorted({optimum.path for optimum in optima if optimum})


def table_files(study):
    names = PLAN.config.studies[study].tables
    return [
        f"{RESULTS}/{study}/tables/{name}.{end}"
        for name in names
        for end in ("csv", "md", "tex")
    ]


def figure_files(study, ends=("pdf", "svg", "png", "csv")):
    names = PLAN.config.studies[study].figures
    return [f"{RESULTS}/{study}/figures/{name}.{end}" for name in names for end in ends]


@functools.cache  # the text lists all runs, so build it once
def aggregate_params(study):
    return PLAN.params("aggregate", study)


@functools.cache
def output_resources(study):
    return OutputResources.of(PLAN, study)


def root_of(aggregate, study):
    # Return the folder that paths of the plan are relative to. Local copies of object storage have their own.
    return aggregate.removesuffix(f"{RESULTS}/{study}/aggregate.zarr.zip") or "."


def validate_before_start():
    # These checks depend on the machine. They run when jobs start, because a plan may be made on another one.
    try:
        check_writable(Path(RESULTS) / "logs" / "log")
        # A conda environment or a container has its own packages.
        if workflow.local_exec and not workflow.deployment_settings.deployment_method:
            require_data_extra(PLAN)
        if workflow.local_exec and PLAN.needs_cuda:
            from gvibench.numerics.cuda_backend import require_device

            require_device()
    except UserError as error:
        raise WorkflowError(str(error)) from None


def reserved_cores(job):
    # An exclusive run reserves all cores of this machine, or a node of the cluster (see `whole_node`). Its
    # BLAS threads are set by its spec.
    here = workflow.local_exec and not workflow.remote_exec
    return workflow.cores if job.exclusive and here else job.specs[0].threads


def whole_node(job):
    return "--exclusive" if job.exclusive else ""


def scaled_by_attempt(amount, attempt):
    # A job that ran out of memory or time gets twice as much at the next attempt.
    return amount * 2 ** (attempt - 1)


# Short jobs are submitted in groups, because the overhead of a batch job exceeds their run time. Local
# runs ignore groups. The cluster profiles set the size of a group and run its jobs one after the other.
# The Slurm executor only supports this for jobs that do not depend on each other.


def run_group(job):
    return "runs" if is_short(job) else None
