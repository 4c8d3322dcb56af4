"""Measure everything and write docs/performance.md; with names of sections, print those instead.

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
import reduced
from threadpoolctl import threadpool_info, threadpool_limits

from gvibench import numerics as backends
from gvibench.spec.code import machine, versions
from gvibench.store.files import atomic_path

PAGE = Path(__file__).parents[1] / "docs/performance.md"
TEMPLATE = Path(__file__).with_name("page.md")


def measured(module, *arguments) -> tuple[str, list[str]]:
    """Return a module's table, and what does not reach what is required."""
    found = module.measure(*arguments)
    return module.as_table(found), module.missed(found) if hasattr(module, "missed") else []


SECTIONS: dict[str, Callable[[], tuple[str, list[str]]]] = {
    "iterations": lambda: measured(iterations, list(iterations.SIZES)),
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
        f"Load of the machine before: {load:.1f}."
    )


def main(names: list[str]) -> None:
    load = os.getloadavg()[0]
    backends.select("cpu")  # loads the BLAS that is to be limited
    found, missed = {}, []
    with threadpool_limits(1):
        for name in names or SECTIONS:
            print(f"measuring {name} ...", file=sys.stderr, flush=True)
            found[name], sentences = SECTIONS[name]()
            print(found[name], file=sys.stderr, flush=True)
            missed += sentences
    if names:
        print(*found.values(), *missed, sep="\n\n")
        return
    verdict = "Everything required below is reached."
    if missed:
        verdict = "**Not reached:** " + " ".join(missed)
    text = TEMPLATE.read_text().format(
        machine=describe_machine(load),
        verdict=verdict,
        squares=memory.SQUARES,
        count=aggregation.COUNT,
        points=aggregation.POINTS,
        runs=packing.RUNS,
        **found,
    )
    with atomic_path(PAGE) as part:
        part.write_text(text)
    print(text)


if __name__ == "__main__":
    main(sys.argv[1:])
