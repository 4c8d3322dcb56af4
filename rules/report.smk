# The page to read first.


rule write_summary:
    input:
        aggregate=f"{RESULTS}/{{study}}/aggregate.zarr.zip",
        tables=lambda wildcards: table_files(wildcards.study),
        figures=lambda wildcards: figure_files(wildcards.study),
    output:
        report(
            f"{RESULTS}/{{study}}/summary.md",
            caption="captions/summary.rst",
            category="Summary",
            labels={"study": "{study}"},
        ),
    log:
        f"{RESULTS}/{{study}}/logs/summary.log",
    conda:
        "../envs/gvibench.yaml"
    params:
        job=lambda wildcards: PLAN.summary_text(wildcards.study),
    shell:
        "python -m gvibench.worker summary --job {params.job:q} --aggregate {input.aggregate:q}"
        " --out {output:q} > {log:q} 2>&1"
