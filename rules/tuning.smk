# Tune step, initial scale and beta in a fixed number of rounds. Each round starts from the previous one.


rule tune_round:
    input:
        data=lambda wildcards: tuning_job(wildcards).data.path,
        previous=previous_round,
        choices=lambda wildcards: beta_of(tuning_job(wildcards)),
    output:
        f"{RESULTS}/{{study}}/tuning/{{dataset}}/{{solver}}/{{variant}}/round-{{round}}.zarr.zip",
    log:
        f"{RESULTS}/{{study}}/logs/tuning/{{dataset}}/{{solver}}/{{variant}}/round-{{round}}.log",
    group:
        "tuning"
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
        "python -m gvibench.stages tune --job {params.job:q} --data {input.data:q}"
        " --previous {input.previous:q} --choices {input.choices:q} --out {output:q} > {log:q} 2>&1"


rule choose_step:
    input:
        rounds=lambda wildcards: tuning_job(wildcards).rounds,
    output:
        f"{RESULTS}/{{study}}/tuning/{{dataset}}/{{solver}}/{{variant}}/choice.json",
    log:
        f"{RESULTS}/{{study}}/logs/tuning/{{dataset}}/{{solver}}/{{variant}}/choice.log",
    group:
        "tuning"
    conda:
        "../envs/gvibench.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: scaled_by_attempt(1000, attempt),
        runtime=lambda wildcards, attempt: scaled_by_attempt(10, attempt),
    params:
        job=lambda wildcards: tuning_job(wildcards).choice_params,
    shell:
        "python -m gvibench.stages choose --job {params.job:q} --rounds {input.rounds:q}"
        " --out {output:q} > {log:q} 2>&1"


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
