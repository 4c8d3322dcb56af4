"""Feed spoilt inputs to every parser and validator, and count what becomes of them.

    python tests/faults/fuzz.py [--share 0.1] [--only svmlight]

prints a line per target and how much of the parsers the inputs have reached; exit code 1 says that
something crashed, hung, or was refused without saying where. Seeds are fixed.
"""

import argparse
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
    *("datasets/read.py", "datasets/sources.py", "datasets/build.py", "datasets/split.py"),
    *("datasets/prepared.py", "datasets/catalogue.py", "spec.py", "study.py", "expansion.py"),
    *("zarrzip.py", "traces.py"),
)
"""What reads or checks input that somebody else has made."""
ENOUGH_COVERAGE = 0.9
MEMORY_BYTES = 6 * 2**30
PATIENCE_SECONDS = 20
"""Of processor time, for one input."""


class Hang(BaseException):
    """An input took too long."""


def main(arguments: list[str] | None = None) -> int:
    """Fuzz all targets or some; return 1 if anything broke."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="how many of all inputs")
    parser.add_argument("--only", default="", help="targets whose name contains this")
    options = parser.parse_args(arguments)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.signal(signal.SIGPROF, _give_up)
    warnings.simplefilter("ignore")
    package = Path(__file__).parents[2] / "src" / "gvibench"
    measured = coverage.Coverage(include=[str(package / name) for name in PARSERS], data_file=None)
    measured.start()  # before the first import, so that definitions count as reached
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GVIBENCH_CACHE"] = f"{folder}/cache"
        broken = _fuzz_all(Path(folder), options.share, options.only)
    measured.stop()
    if options.only:
        return 1 if broken else 0
    reached = _report_coverage(measured, package)
    return 1 if broken or reached < ENOUGH_COVERAGE else 0


def _give_up(number: int, frame: object) -> None:
    raise Hang


def _fuzz_all(folder: Path, share: float, only: str) -> int:
    from targets import all_targets

    totals: Counter[str] = Counter()
    broken: Counter[str] = Counter()
    print(f"{'target':24} {'inputs':>7} {'accepted':>9} {'refused':>8} {'broken':>7}")
    for target in all_targets(folder):
        if only not in target.name:
            continue
        rng = random.Random(target.name)
        outcomes: Counter[str] = Counter()
        for k in range(max(1, round(share * target.count))):
            given = target.make(rng, k)
            outcome = _outcome(target, given)
            kind = outcome if outcome in ("accepted", "refused") else "broken"
            outcomes[kind] += 1
            if kind == "broken":
                broken[f"{target.name}: {outcome}"] += 1
        totals += outcomes
        _print_line(target.name, outcomes)
    _print_line("all", totals)
    for what, count in broken.most_common():
        print(f"BROKEN {count:4} x {what}")
    return broken.total()


def _outcome(target, given) -> str:
    from gvibench.errors import UserError

    signal.setitimer(signal.ITIMER_PROF, PATIENCE_SECONDS)
    try:
        target.feed(given)
    except UserError as error:
        return _complaint(str(error), target.place) or "refused"
    except Hang:
        return "hangs"
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        ours = [
            f"{Path(one.filename).name}:{one.lineno}"
            for one in frames
            if "gvibench" in one.filename
        ]
        return f"{type(error).__name__}: {str(error)[:150]} at {ours[-1] if ours else frames[-1]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return "accepted"


def _complaint(sentence: str, place: str) -> str:
    """Say what a refusal lacks."""
    if not sentence.isprintable() or len(sentence) > 1500:
        return f"not one readable sentence: {sentence[:200]!r}"
    if not re.search(place, sentence) and "not enough memory" not in sentence:
        return f"does not say where: {sentence[:200]!r}"
    return ""


def _print_line(name: str, outcomes: Counter[str]) -> None:
    counts = [outcomes.total(), *(outcomes[kind] for kind in ("accepted", "refused", "broken"))]
    print("{:24} {:7} {:9} {:8} {:7}".format(name, *counts), flush=True)


def _report_coverage(measured: coverage.Coverage, package: Path) -> float:
    """Print which share of each parser's lines was reached; return that of all lines."""
    reached = lines = 0
    for name in PARSERS:
        _, executable, _, missing, ranges = measured.analysis2(str(package / name))
        reached += len(executable) - len(missing)
        lines += len(executable)
        print(
            f"{name:24} {1 - len(missing) / len(executable):6.1%} of lines, without {ranges or '-'}"
        )
    print(f"{'all parsers':24} {reached / lines:6.1%} of {lines} lines")
    return reached / lines


if __name__ == "__main__":
    sys.exit(main())
