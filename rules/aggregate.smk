# Many traces, one dataset. The manifest lists the runs that belong to the study.


rule aggregate_runs:
    input:
        manifest=lambda wildcards: manifest(wildcards.study),
        traces=lambda wildcards: [job.path for job in PLAN.of_study(wildcards.study)],
        optima=lambda wildcards: optima_of(wildcards.study),
        choices=lambda wildcards: choices_of(wildcards.study),
    output:
        f"{RESULTS}/{{study}}/aggregate.zarr.zip",
    log:
        f"{RESULTS}/{{study}}/logs/aggregate.log",
    conda:
        "../envs/gvibench.yaml"
    threads: 2
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        job=lambda wildcards: PLAN.aggregate_text(wildcards.study),
    shell:
        "python -m gvibench.worker aggregate --job {params.job:q} --manifest {input.manifest:q}"
        " --out {output:q} > {log:q} 2>&1"
