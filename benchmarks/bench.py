"""Run all benchmarks and write docs/performance.md, or print the named sections only.

python benchmarks/bench.py [SECTION ...]
"""

import datetime
import os
import sys
from collections.abc import Callable
from pathlib import Path

import aggregation
import expectation
import growth
import iterations
import jobs
import memory
import packing
import peers
import reduced
from threadpoolctl import threadpool_info, threadpool_limits

import steps
import study
from gvibench import numerics as backends
from gvibench.store.files import atomic_path
from gvibench.store.provenance import machine, versions

PAGE = Path(__file__).parents[1] / "docs/performance.md"
TEMPLATE = Path(__file__).with_name("page.md")


def measured(module, *arguments) -> tuple[str, list[str]]:
    """Return the table of a benchmark and a sentence for each requirement that is not met."""
    results = module.measure(*arguments)
    return module.as_table(results), module.missed(results) if hasattr(module, "missed") else []


def measured_peers() -> tuple[str, list[str]]:
    """Measure other programs if they are installed. Nothing is downloaded."""
    if peers.available():
        return measured(peers, peers.ENVIRONMENT)
    return "*Not measured, because benchopt is not installed.*", []


SECTIONS: dict[str, Callable[[], tuple[str, list[str]]]] = {
    "study": lambda: measured(study),
    "peers": measured_peers,
    "iterations": lambda: measured(iterations, list(iterations.SIZES)),
    "steps": lambda: measured(steps),
    "expectation": lambda: measured(expectation),
    "growth": lambda: measured(growth),
    "memory": lambda: measured(memory),
    "reduced": lambda: measured(reduced),
    "jobs": lambda: measured(jobs),
    "aggregation": lambda: measured(aggregation),
    "packing": lambda: measured(packing),
}


def describe_machine(load: float) -> str:
    here, known = machine(), versions()
    libraries = {f"{info['internal_api']} {info['version']}" for info in threadpool_info()}
    software = ", ".join([f"Python {known['python']}", f"NumPy {known['numpy']}"])
    return (
        f"Measured on {datetime.date.today()} on: {here['processor']}, {os.cpu_count()} cores, "
        f"{here['system']}; {software}, SciPy {known['scipy']}, {', '.join(sorted(libraries))}. "
        f"Load average before: {load:.1f}."
    )


def main(names: list[str]) -> None:
    load = os.getloadavg()[0]
    backends.select("cpu")  # load the BLAS before limiting its threads
    tables, missed = {}, []
    with threadpool_limits(1):
        for name in names or SECTIONS:
            print(f"measuring {name} ...", file=sys.stderr, flush=True)
            tables[name], sentences = SECTIONS[name]()
            print(tables[name], file=sys.stderr, flush=True)
            missed += sentences
    if names:
        print(*tables.values(), *missed, sep="\n\n")
        return
    verdict = "All requirements below are met."
    if missed:
        verdict = "**Requirements not met:** " + " ".join(missed)
    text = TEMPLATE.read_text().format(
        machine=describe_machine(load),
        verdict=verdict,
        squares=memory.SQUARES,
        points=aggregation.POINTS,
        runs=packing.RUNS,
        **tables,
    )
    with atomic_path(PAGE) as part:
        part.write_text(text)
    print(text)


if __name__ == "__main__":
    main(sys.argv[1:])
