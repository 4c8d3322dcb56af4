# Prepare one file per data set and split, and find reference optima.


rule prepare_data:
    input:
        # Track the user's files. Downloaded files are identified by their hash.
        lambda wildcards: [local(path) for path in data_job(wildcards).own_files],
    output:
        f"{RESULTS}/data/{{name}}.zarr.zip",
    log:
        f"{RESULTS}/logs/data/{{name}}.log",
    conda:
        "../envs/gvibench.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: scaled_by_attempt(
            data_memory_mb(data_job(wildcards).spec), attempt
        ),
        runtime=lambda wildcards, attempt: scaled_by_attempt(30, attempt),
    params:
        job=lambda wildcards: data_job(wildcards).params,
    shell:
        "python -m gvibench.stages prepare --job {params.job:q} --memory-mb {resources.mem_mb}"
        " --out {output:q} > {log:q} 2>&1"


rule find_optimum:
    input:
        data=lambda wildcards: optimum_job(wildcards).data.path,
        choices=lambda wildcards: beta_of(optimum_job(wildcards)),
    output:
        f"{RESULTS}/optima/{{name}}.zarr.zip",
    log:
        f"{RESULTS}/logs/optima/{{name}}.log",
    conda:
        "../envs/gvibench.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: scaled_by_attempt(
            memory_mb(optimum_job(wildcards).spec), attempt
        ),
        runtime=lambda wildcards, attempt: scaled_by_attempt(60, attempt),
    params:
        job=lambda wildcards: optimum_job(wildcards).params,
    shell:
        "python -m gvibench.stages optimum --job {params.job:q} --data {input.data:q}"
        " --choices {input.choices:q} --out {output:q} > {log:q} 2>&1"
