# One figure per job, in three formats, with a note of what is behind it.


rule draw_figure:
    input:
        aggregate=f"{RESULTS}/{{study}}/aggregate.zarr.zip",
    output:
        multiext(f"{RESULTS}/{{study}}/figures/{{name}}", ".pdf", ".svg", ".png", ".json"),
    params:
        job=lambda wildcards: PLAN.figure_text(wildcards.study, wildcards.name),
    log:
        f"{RESULTS}/{{study}}/logs/figures/{{name}}.log",
    conda:
        "../envs/gvibench.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    shell:
        "python -m gvibench.worker figure --job {params.job:q} --aggregate {input.aggregate:q}"
        " --out {output[0]:q} > {log:q} 2>&1"
