# Run studies from config to report. `snakemake` runs config/config.yaml, and
# `snakemake --configfile config/smoke.yaml` another config. results/README.md describes the outputs.
from snakemake.utils import min_version

min_version("9.8")


# A config from the command line replaces the default one. Merged, both would run.
if "studies" not in config:

    configfile: "config/config.yaml"


include: "rules/common.smk"
include: "rules/data.smk"
include: "rules/runs.smk"
include: "rules/tuning.smk"
include: "rules/measures.smk"
include: "rules/aggregate.smk"
include: "rules/tables.smk"
include: "rules/figures.smk"
include: "rules/report.smk"


rule all:
    default_target: True
    input:
        # List traces and aggregates explicitly. Otherwise Snakemake would not re-create a missing one while
        # the files made from it exist.
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
    validate_before_start()
    # Snakemake checks its limit of jobs per second once a second for each job it has started. After 500
    # jobs this uses a third of a core. Local jobs do not need the limit.
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None
