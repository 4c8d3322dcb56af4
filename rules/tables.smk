# The same numbers as CSV, Markdown and LaTeX.


rule write_table:
    input:
        aggregate=f"{RESULTS}/{{study}}/aggregate.zarr.zip",
    output:
        multiext(f"{RESULTS}/{{study}}/tables/{{name}}", ".csv", ".md", ".tex"),
    params:
        job=lambda wildcards: PLAN.table_text(wildcards.study, wildcards.name),
    log:
        f"{RESULTS}/{{study}}/logs/tables/{{name}}.log",
    conda:
        "../envs/gvibench.yaml"
    shell:
        "python -m gvibench.worker table --job {params.job:q} --aggregate {input.aggregate:q}"
        " --out {output[0]:q} > {log:q} 2>&1"
