# Write one table per job as CSV, Markdown and LaTeX.


rule write_table:
    input:
        aggregate=f"{RESULTS}/{{study}}/aggregate.zarr.zip",
    output:
        csv=report(
            f"{RESULTS}/{{study}}/tables/{{name}}.csv",
            caption="captions/table.rst",
            category="Tables",
            subcategory="{study}",
            labels={"table": "{name}"},
        ),
        md=f"{RESULTS}/{{study}}/tables/{{name}}.md",
        tex=f"{RESULTS}/{{study}}/tables/{{name}}.tex",
    log:
        f"{RESULTS}/{{study}}/logs/tables/{{name}}.log",
    group:
        "outputs"
    conda:
        "../envs/gvibench.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: scaled_by_attempt(1000, attempt),
        runtime=lambda wildcards, attempt: scaled_by_attempt(10, attempt),
    params:
        job=lambda wildcards: PLAN.params("table", wildcards.study, wildcards.name),
    shell:
        "python -m gvibench.stages table --job {params.job:q} --aggregate {input.aggregate:q}"
        " --out {output.csv:q} > {log:q} 2>&1"
