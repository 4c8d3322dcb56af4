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
    threads: lambda wildcards: output_resources(wildcards.study).analysis_threads
    resources:
        mem_mb=lambda wildcards, attempt: scaled_by_attempt(
            output_resources(wildcards.study).analysis_memory_mb, attempt
        ),
        runtime=lambda wildcards, attempt: scaled_by_attempt(10, attempt),
    params:
        job=lambda wildcards: PLAN.params("table", wildcards.study, wildcards.name),
        # A function of the output is not tracked: neither the order nor the workers change a number.
        study=lambda wildcards, output: PLAN.untracked(wildcards.study),
    shell:
        "python -m gvibench.stages table --job {params.job:q} --study {params.study:q}"
        " --aggregate {input.aggregate:q} --threads {threads} --memory-mb {resources.mem_mb}"
        " --out {output.csv:q} > {log:q} 2>&1"
