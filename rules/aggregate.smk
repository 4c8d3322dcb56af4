# Many traces, one dataset. Beside it: the manifest, which lists its runs, and the study's config.


rule aggregate_runs:
    input:
        traces=lambda wildcards: [job.path for job in PLAN.of_study(wildcards.study)],
        optima=lambda wildcards: optima_of(wildcards.study),
        choices=lambda wildcards: choices_of(wildcards.study),
    output:
        aggregate=f"{RESULTS}/{{study}}/aggregate.zarr.zip",
        manifest=f"{RESULTS}/{{study}}/manifest.json",
    log:
        f"{RESULTS}/{{study}}/logs/aggregate.log",
    conda:
        "../envs/gvibench.yaml"
    threads: 2
    resources:
        mem_mb=lambda wildcards, attempt: grown(2000, attempt),
        runtime=lambda wildcards, attempt: grown(60, attempt),
    params:
        job=lambda wildcards: aggregate_text(wildcards.study),
        # Snakemake does not track parameters that depend on the output. Of the config, the runs count:
        # the job's text has their hash.
        root=lambda wildcards, output: root_of(output[0], wildcards.study),
        config=lambda wildcards, output: json.dumps(PLAN.settings_of(wildcards.study)),
    shell:
        "python -m gvibench.stages aggregate --job {params.job:q} --config {params.config:q}"
        " --root {params.root:q} --manifest {output.manifest:q} --out {output.aggregate:q}"
        " > {log:q} 2>&1"


rule keep_config:
    # A rule of its own: figures and their style are part of the config, but not of the aggregate.
    input:
        # The config of record is that of the results beside it, so it waits for them.
        f"{RESULTS}/{{study}}/aggregate.zarr.zip",
    output:
        f"{RESULTS}/{{study}}/config.yaml",
    log:
        f"{RESULTS}/{{study}}/logs/config.log",
    group:
        "outputs"
    conda:
        "../envs/gvibench.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: grown(1000, attempt),
        runtime=lambda wildcards, attempt: grown(10, attempt),
    params:
        job=lambda wildcards: PLAN.config_text(wildcards.study),
    shell:
        "python -m gvibench.stages config --job {params.job:q} --out {output:q} > {log:q} 2>&1"
