#!/usr/bin/env bash
# Stop the daemons that slurm_up.sh started, and remove its configuration. Without a controller, the
# configuration would delay each start of a Snakemake with the Slurm plugin.
#
#     slurm_down.sh FOLDER
set -uo pipefail
base=$1

if [ -s "$base/run/slurmctld.pid" ] && kill -0 "$(cat "$base/run/slurmctld.pid")" 2>/dev/null; then
    timeout 10 scancel --user="$(id -un)"
    for _ in $(seq 150); do
        [ -z "$(timeout 5 squeue -h -t R,CG 2>/dev/null)" ] && break
        sleep 0.1
    done
fi
for name in slurmd.n1 slurmd.n2 slurmctld munged; do
    file=$base/run/$name.pid
    [ -s "$file" ] || continue
    pid=$(cat "$file")
    # The pid may have been reused by another process.
    if [[ "$(cat "/proc/$pid/comm" 2>/dev/null)" == "${name%%.*}"* ]]; then
        kill "$pid"
        for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
        kill -9 "$pid" 2>/dev/null
    fi
    rm -f "$file"
done
grep -qxF '# gvibench test cluster' /etc/slurm/slurm.conf 2>/dev/null && rm -rf /etc/slurm
exit 0
