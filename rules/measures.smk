# Measure Gaussians: the optimum of a problem, or the final Gaussians of runs.


rule measure_gaussian:
    input:
        data=lambda wildcards: measure_job(wildcards).data.path,
        optimum=lambda wildcards: path_or_none(measure_job(wildcards).optimum),
        trace=lambda wildcards: path_or_none(measure_job(wildcards).run),
        # Track the user's own draws.
        draws=lambda wildcards: [
            local(path) for path in draws_of(measure_job(wildcards))
        ],
        choices=lambda wildcards: beta_of(measure_job(wildcards)),
    output:
        f"{RESULTS}/{{study}}/measures/{{dataset}}/{{solver}}/{{variant}}/{{name}}.json",
    log:
        f"{RESULTS}/{{study}}/logs/measures/{{dataset}}/{{solver}}/{{variant}}/{{name}}.log",
    conda:
        "../envs/gvibench.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: scaled_by_attempt(
            memory_mb(measure_job(wildcards).spec), attempt
        ),
        runtime=lambda wildcards, attempt: scaled_by_attempt(60, attempt),
    params:
        job=lambda wildcards: measure_job(wildcards).params,
    shell:
        "python -m gvibench.stages measure --job {params.job:q} --data {input.data:q}"
        " --optimum {input.optimum:q} --trace {input.trace:q} --draws {input.draws:q}"
        " --choices {input.choices:q} --out {output:q} > {log:q} 2>&1"
