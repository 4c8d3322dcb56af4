# Tune step and initial scale of a solver on a data set in one job, and beta of a problem in another.


rule tune_step:
    input:
        data=lambda wildcards: tuning_job(wildcards).data.path,
        choices=lambda wildcards: beta_of(tuning_job(wildcards)),
    output:
        f"{RESULTS}/{{study}}/tuning/{{dataset}}/{{solver}}/{{variant}}/choice.json",
    log:
        f"{RESULTS}/{{study}}/logs/tuning/{{dataset}}/{{solver}}/{{variant}}/choice.log",
    conda:
        "../envs/gvibench.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: scaled_by_attempt(
            memory_mb(tuning_job(wildcards).spec), attempt
        ),
        runtime=lambda wildcards, attempt: scaled_by_attempt(
            tuning_minutes(tuning_job(wildcards)), attempt
        ),
        gpu=lambda wildcards: int(tuning_job(wildcards).spec.device == "cuda"),
    params:
        job=lambda wildcards: tuning_job(wildcards).params,
    shell:
        # The job also writes its trials, next to the choice. It continues with them when it is repeated.
        "python -m gvibench.stages tune --job {params.job:q} --data {input.data:q}"
        " --choices {input.choices:q} --out {output:q} > {log:q} 2>&1"


rule choose_beta:
    input:
        data=lambda wildcards: beta_job(wildcards).data.path,
    output:
        f"{RESULTS}/{{study}}/tuning/{{dataset}}/beta-{{name}}.json",
    log:
        f"{RESULTS}/{{study}}/logs/tuning/{{dataset}}/beta-{{name}}.log",
    conda:
        "../envs/gvibench.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: scaled_by_attempt(
            memory_mb(beta_job(wildcards).spec), attempt
        ),
        runtime=lambda wildcards, attempt: scaled_by_attempt(120, attempt),
    params:
        job=lambda wildcards: beta_job(wildcards).params,
    shell:
        "python -m gvibench.stages beta --job {params.job:q} --data {input.data:q}"
        " --out {output:q} > {log:q} 2>&1"
