# A study from config to report. `snakemake` runs config/config.yaml; another config goes by
# `snakemake --configfile config/smoke.yaml`. results/README.md says what appears where.
from snakemake.utils import min_version

min_version("9.8")


# A config given on the command line stands alone; merged with the default one, it would run both.
if "studies" not in config:

    configfile: "config/config.yaml"


include: "rules/common.smk"
include: "rules/data.smk"
include: "rules/runs.smk"
include: "rules/tuning.smk"
include: "rules/aggregate.smk"
include: "rules/tables.smk"
include: "rules/figures.smk"
include: "rules/report.smk"


rule all:
    default_target: True
    input:
        # Traces and aggregates are asked for by name: a missing one is otherwise not made again as long
        # as what was made from it is there.
        [job.path for job in PLAN.runs.values()],
        expand(
            "{results}/{study}/{name}",
            results=RESULTS,
            study=STUDIES,
            name=["aggregate.zarr.zip", "manifest.json", "config.yaml"],
        ),
        expand("{results}/{study}/summary.md", results=RESULTS, study=STUDIES),
        expand("{results}/{study}/report/index.html", results=RESULTS, study=STUDIES),


onstart:
    refuse_what_would_fail()
    # For every job it has started, Snakemake looks once a second whether its limit of jobs per second
    # lets it start another: after 500 jobs, a third of a core. Jobs here need no such limit.
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None
