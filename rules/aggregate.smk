# Aggregate all traces of a study, and write its manifest and config.


rule aggregate_runs:
    input:
        traces=lambda wildcards: [job.path for job in PLAN.of_study(wildcards.study)],
        optima=lambda wildcards: optima_of(wildcards.study),
        choices=lambda wildcards: choices_of(wildcards.study),
        measures=lambda wildcards: [
            job.path for job in PLAN.measures_of(wildcards.study)
        ],
    output:
        aggregate=f"{RESULTS}/{{study}}/aggregate.zarr.zip",
        manifest=f"{RESULTS}/{{study}}/manifest.json",
    log:
        f"{RESULTS}/{{study}}/logs/aggregate.log",
    conda:
        "../envs/gvibench.yaml"
    threads: lambda wildcards: output_resources(wildcards.study).threads
    resources:
        mem_mb=lambda wildcards, attempt: scaled_by_attempt(
            output_resources(wildcards.study).memory_mb, attempt
        ),
        runtime=lambda wildcards, attempt: scaled_by_attempt(60, attempt),
    params:
        job=lambda wildcards: aggregate_params(wildcards.study),
        # Snakemake does not track parameters that depend on the output. The hash of the runs is part of the
        # job's text, so a change of the config that affects runs is noticed.
        root=lambda wildcards, output: root_of(output[0], wildcards.study),
        config=lambda wildcards, output: json.dumps(PLAN.settings_of(wildcards.study)),
    shell:
        "python -m gvibench.stages aggregate --job {params.job:q} --config {params.config:q}"
        " --root {params.root:q} --manifest {output.manifest:q} --out {output.aggregate:q}"
        " --threads {threads} --memory-mb {resources.mem_mb}"
        " > {log:q} 2>&1"


rule keep_config:
    # A separate rule, because figures and their style are part of the config but not of the aggregate.
    input:
        # Write the config after the results, so that it always describes the results in its folder.
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
        mem_mb=lambda wildcards, attempt: scaled_by_attempt(1000, attempt),
        runtime=lambda wildcards, attempt: scaled_by_attempt(10, attempt),
    params:
        job=lambda wildcards: PLAN.params("config", wildcards.study),
    shell:
        "python -m gvibench.stages config --job {params.job:q} --out {output:q} > {log:q} 2>&1"
