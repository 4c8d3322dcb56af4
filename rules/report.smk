# Write the summary and the report page, which is one self-contained file.


rule write_summary:
    input:
        aggregate=f"{RESULTS}/{{study}}/aggregate.zarr.zip",
        tables=lambda wildcards: table_files(wildcards.study),
        figures=lambda wildcards: figure_files(
            wildcards.study, ("pdf", "svg", "png", "json")
        ),
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
    resources:
        mem_mb=lambda wildcards, attempt: scaled_by_attempt(1000, attempt),
        runtime=lambda wildcards, attempt: scaled_by_attempt(10, attempt),
    params:
        job=lambda wildcards: PLAN.params("summary", wildcards.study),
    shell:
        "python -m gvibench.stages summary --job {params.job:q} --aggregate {input.aggregate:q}"
        " --out {output:q} > {log:q} 2>&1"


rule write_page:
    input:
        aggregate=f"{RESULTS}/{{study}}/aggregate.zarr.zip",
        figures=lambda wildcards: figure_files(wildcards.study, ("svg", "png", "json")),
    output:
        # Excluded from `snakemake --report`, which would embed the page as a data URL of several megabytes
        # that browsers do not open.
        f"{RESULTS}/{{study}}/report/index.html",
    log:
        f"{RESULTS}/{{study}}/logs/page.log",
    conda:
        "../envs/gvibench.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: scaled_by_attempt(2000, attempt),
        runtime=lambda wildcards, attempt: scaled_by_attempt(30, attempt),
    params:
        job=lambda wildcards: PLAN.params("page", wildcards.study),
    shell:
        "python -m gvibench.stages page --job {params.job:q} --aggregate {input.aggregate:q}"
        " --figures {input.figures:q} --out {output:q} > {log:q} 2>&1"
