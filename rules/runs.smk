# Run a solver. One job per data set, solver, step, initial scale and block of seeds writes one file.


rule run_solver:
    input:
        data=lambda wildcards: run_job(wildcards).data.path,
        choices=lambda wildcards: run_job(wildcards).choices,
    output:
        f"{RESULTS}/{{study}}/runs/{{dataset}}/{{solver}}/{{variant}}/{{name}}.zarr.zip",
    log:
        f"{RESULTS}/{{study}}/logs/runs/{{dataset}}/{{solver}}/{{variant}}/{{name}}.log",
    group:
        lambda wildcards: run_group(run_job(wildcards))
    conda:
        "../envs/gvibench.yaml"
    threads: lambda wildcards: reserved_cores(run_job(wildcards))
    resources:
        mem_mb=lambda wildcards, attempt: scaled_by_attempt(
            memory_mb(run_job(wildcards).specs[0]), attempt
        ),
        runtime=lambda wildcards, attempt: scaled_by_attempt(
            runtime_minutes(run_job(wildcards)), attempt
        ),
        gpu=lambda wildcards: int(run_job(wildcards).specs[0].device == "cuda"),
        slurm_extra=lambda wildcards: whole_node(run_job(wildcards)),
    params:
        job=lambda wildcards: run_job(wildcards).params,
    shell:
        "python -m gvibench.stages run --job {params.job:q} --data {input.data:q}"
        " --choices {input.choices:q} --out {output:q} > {log:q} 2>&1"
