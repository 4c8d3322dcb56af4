# Draw one figure per job, in three formats, with a metadata file.


rule draw_figure:
    input:
        aggregate=f"{RESULTS}/{{study}}/aggregate.zarr.zip",
    output:
        pdf=f"{RESULTS}/{{study}}/figures/{{name}}.pdf",
        svg=report(
            f"{RESULTS}/{{study}}/figures/{{name}}.svg",
            caption="captions/figure.rst",
            category="Figures",
            subcategory="{study}",
            labels={"figure": "{name}"},
        ),
        png=f"{RESULTS}/{{study}}/figures/{{name}}.png",
        behind=f"{RESULTS}/{{study}}/figures/{{name}}.json",
    log:
        f"{RESULTS}/{{study}}/logs/figures/{{name}}.log",
    group:
        "outputs"
    conda:
        "../envs/gvibench.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: scaled_by_attempt(1000, attempt),
        runtime=lambda wildcards, attempt: scaled_by_attempt(10, attempt),
    params:
        job=lambda wildcards: PLAN.params("figure", wildcards.study, wildcards.name),
    shell:
        "python -m gvibench.stages figure --job {params.job:q} --aggregate {input.aggregate:q}"
        " --out {output.pdf:q} > {log:q} 2>&1"
