# Many traces, one dataset. The manifest lists the runs that belong to the study.


rule aggregate_runs:
    input:
        manifest=lambda wildcards: local(manifest(wildcards.study)),
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
        mem_mb=lambda wildcards, attempt: grown(2000, attempt),
        runtime=lambda wildcards, attempt: grown(60, attempt),
    params:
        job=lambda wildcards: PLAN.aggregate_text(wildcards.study),
        # Where, not what: Snakemake does not track parameters that depend on the output.
        root=lambda wildcards, output: root_of(output[0], wildcards.study),
        dask=lambda wildcards, output: PLAN.config.model_dump_json(include={"dask"}),
    shell:
        "python -m gvibench.worker aggregate --job {params.job:q} --manifest {input.manifest:q}"
        " --root {params.root:q} --dask {params.dask:q} --out {output:q} > {log:q} 2>&1"
