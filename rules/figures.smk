# Draw one figure per job, in three formats, with its numbers and a metadata file.


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
        csv=f"{RESULTS}/{{study}}/figures/{{name}}.csv",
        behind=f"{RESULTS}/{{study}}/figures/{{name}}.json",
    log:
        f"{RESULTS}/{{study}}/logs/figures/{{name}}.log",
    group:
        "outputs"
    conda:
        "../envs/gvibench.yaml"
    threads: lambda wildcards: output_resources(wildcards.study).analysis_threads
    resources:
        mem_mb=lambda wildcards, attempt: scaled_by_attempt(
            output_resources(wildcards.study).analysis_memory_mb, attempt
        ),
        runtime=lambda wildcards, attempt: scaled_by_attempt(10, attempt),
    params:
        job=lambda wildcards: PLAN.params("figure", wildcards.study, wildcards.name),
        # A function of the output is not tracked: neither the order nor the workers change a number.
        study=lambda wildcards, output: PLAN.untracked(wildcards.study),
    shell:
        "python -m gvibench.stages figure --job {params.job:q} --study {params.study:q}"
        " --aggregate {input.aggregate:q} --threads {threads} --memory-mb {resources.mem_mb}"
        " --out {output.pdf:q} > {log:q} 2>&1"
