"""Feed corrupt inputs to all parsers and validators, and count accepted and rejected inputs.

    python tests/faults/fuzz.py [--share 0.1] [--only svmlight]

The script prints a line per target and the line coverage of the parsers. Its exit code is 1 if an
input crashed, hung or was rejected without a location. Seeds are fixed.
"""

import argparse
import importlib
import os
import random
import re
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from pathlib import Path

import coverage

PARSERS = (
    *("datasets.build", "datasets.mnist", "datasets.read", "datasets.split", "datasets.user_file"),
    *("datasets.encode", "datasets.table", "datasets.targets"),
    *("spec.catalogue", "spec.run", "spec.validate"),
    *("store.delimited", "store.own_columns", "store.own_files"),
    *("store.prepared", "store.traces", "store.zarrzip"),
    *("study.config", "study.defaults", "study.expand", "study.variants"),
)
"""Modules that read or validate input."""
MIN_COVERAGE = 0.9
MEMORY_BYTES = 6 * 2**30
MAX_SECONDS = 20
"""Maximum CPU time for one input."""


class Hang(BaseException):
    """An input took too long."""


def main(arguments: list[str] | None = None) -> int:
    """Fuzz all or some targets; return 1 if an input failed or coverage is too low."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--share", type=float, default=1.0, help="share of all inputs to use (default: 1)"
    )
    parser.add_argument("--only", default="", help="use only targets whose name contains this text")
    options = parser.parse_args(arguments)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.signal(signal.SIGPROF, _stop)
    warnings.simplefilter("ignore")
    package = Path(__file__).parents[2] / "src" / "gvibench"
    measured = coverage.Coverage(include=[f"{package}/*"], data_file=None)
    measured.start()  # before the first import, so that definitions are counted as covered
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GVIBENCH_CACHE"] = f"{folder}/cache"
        failures = _fuzz_all(Path(folder), options.share, options.only)
    measured.stop()
    if options.only:
        return 1 if failures else 0
    reached = _report_coverage(measured)
    return 1 if failures or reached < MIN_COVERAGE else 0


def _stop(number: int, frame: object) -> None:
    raise Hang


def _fuzz_all(folder: Path, share: float, only: str) -> int:
    from fuzz_configs import config_targets
    from fuzz_raw_files import raw_file_targets
    from fuzz_stores import store_targets

    totals: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    print(f"{'target':24} {'inputs':>7} {'accepted':>9} {'rejected':>9} {'failed':>7}")
    for target in (*raw_file_targets(folder), *config_targets(folder), *store_targets(folder)):
        if only not in target.name:
            continue
        rng = random.Random(target.name)
        outcomes: Counter[str] = Counter()
        for k in range(max(1, round(share * target.count))):
            given = target.make(rng, k)
            outcome = _outcome(target, given)
            kind = outcome if outcome in ("accepted", "rejected") else "failed"
            outcomes[kind] += 1
            if kind == "failed":
                failures[f"{target.name}: {outcome}"] += 1
        totals += outcomes
        _print_line(target.name, outcomes)
    _print_line("all", totals)
    for failure, count in failures.most_common():
        print(f"FAILED {count:4} x {failure}")
    return failures.total()


def _outcome(target, given) -> str:
    from gvibench.errors import UserError

    signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
    try:
        target.feed(given)
    except UserError as error:
        return _complaint(str(error), target.place) or "rejected"
    except Hang:
        return "hangs"
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        ours = [
            f"{Path(frame.filename).name}:{frame.lineno}"
            for frame in frames
            if "gvibench" in frame.filename
        ]
        return f"{type(error).__name__}: {str(error)[:150]} at {ours[-1] if ours else frames[-1]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return "accepted"


def _complaint(sentence: str, place: str) -> str:
    """Return what is wrong with an error message, or an empty text."""
    if not sentence.isprintable() or len(sentence) > 1500:
        return f"not one readable sentence: {sentence[:200]!r}"
    if not re.search(place, sentence) and "not enough memory" not in sentence:
        return f"has no location: {sentence[:200]!r}"
    return ""


def _print_line(name: str, outcomes: Counter[str]) -> None:
    counts = [outcomes.total(), *(outcomes[kind] for kind in ("accepted", "rejected", "failed"))]
    print("{:24} {:7} {:9} {:9} {:7}".format(name, *counts), flush=True)


def _report_coverage(measured: coverage.Coverage) -> float:
    """Print the line coverage of each parser; return the coverage of all parsers."""
    reached = lines = 0
    for name in PARSERS:
        module = importlib.import_module(f"gvibench.{name}")
        _, executable, _, missing, ranges = measured.analysis2(module)
        reached += len(executable) - len(missing)
        lines += len(executable)
        share = 1 - len(missing) / len(executable)
        print(f"{name:24} {share:6.1%} of lines, without {ranges or '-'}")
    print(f"{'all parsers':24} {reached / lines:6.1%} of {lines} lines")
    return reached / lines


if __name__ == "__main__":
    sys.exit(main())
