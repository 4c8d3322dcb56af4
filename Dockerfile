# Container image with gvibench and its workflow, for clusters. CI on GitHub builds it with `make container`. Not
# tested yet: the image itself, Apptainer, clusters.
#
#     docker build --tag gvibench .
#     docker run --rm --volume "$PWD/results:/gvibench/results" gvibench
#
# With Apptainer, results are written to the current folder:
#
#     apptainer build gvibench.sif docker-daemon:gvibench:latest
#     apptainer exec gvibench.sif snakemake --snakefile /gvibench/Snakefile --configfile mine.yaml
FROM python:3.11-slim

WORKDIR /gvibench
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir -c constraints.txt -e '.[data,s3,slurm]'
COPY Snakefile ./
COPY config config
COPY envs envs
COPY profiles profiles
COPY rules rules

CMD ["snakemake"]
