# Write the summary and the report page, which is one self-contained file.


rule write_summary:
    input:
        aggregate=f"{RESULTS}/{{study}}/aggregate.zarr.zip",
        tables=lambda wildcards: table_files(wildcards.study),
        figures=lambda wildcards: figure_files(
            wildcards.study, ("pdf", "svg", "png", "csv", "json")
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
    threads: lambda wildcards: output_resources(wildcards.study).analysis_threads
    resources:
        mem_mb=lambda wildcards, attempt: scaled_by_attempt(
            output_resources(wildcards.study).analysis_memory_mb, attempt
        ),
        runtime=lambda wildcards, attempt: scaled_by_attempt(10, attempt),
    params:
        job=lambda wildcards: PLAN.params("summary", wildcards.study),
        # A function of the output is not tracked: neither the order nor the workers change a number.
        study=lambda wildcards, output: PLAN.untracked(wildcards.study),
    shell:
        "python -m gvibench.stages summary --job {params.job:q} --study {params.study:q}"
        " --aggregate {input.aggregate:q} --threads {threads} --memory-mb {resources.mem_mb}"
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
    threads: lambda wildcards: output_resources(wildcards.study).analysis_threads
    resources:
        mem_mb=lambda wildcards, attempt: scaled_by_attempt(
            output_resources(wildcards.study).analysis_memory_mb, attempt
        ),
        runtime=lambda wildcards, attempt: scaled_by_attempt(30, attempt),
    params:
        job=lambda wildcards: PLAN.params("page", wildcards.study),
        # A function of the output is not tracked: neither the order nor the workers change a number.
        study=lambda wildcards, output: PLAN.untracked(wildcards.study),
    shell:
        "python -m gvibench.stages page --job {params.job:q} --study {params.study:q}"
        " --aggregate {input.aggregate:q} --threads {threads} --memory-mb {resources.mem_mb}"
        " --figures {input.figures:q} --out {output:q} > {log:q} 2>&1"
