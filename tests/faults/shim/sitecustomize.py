"""Kill this process at a chosen moment. Python imports this module at start if it is on the path.

`GVIBENCH_KILL` is a JSON object: `phase` is the phase in which to kill, `seed` selects the moment
within it, `with_snakemake` also kills Snakemake, and `log` is a file to which kills are appended.
Only jobs of that phase are killed. SIGKILL prevents any clean-up.
"""

import json
import os
import random
import signal
import sys
import zipfile

STAGE_OF = {"step": "run", "write": "run", "rename": "run"}
"""Stage of a phase; all other phases have the name of their stage."""


def _install(order: dict) -> None:
    phase = order["phase"]
    words = sys.orig_argv
    if "gvibench.stages" not in words:
        return
    stage = words[words.index("gvibench.stages") + 1]
    if stage != STAGE_OF.get(phase, phase):
        return
    # The moment differs between jobs and is the same in each run of the test.
    rng = random.Random(f"{order['seed']} {words[words.index('--out') + 1]}")

    def die(moment: str) -> None:
        line = f"{phase} {moment}\n".encode()
        log = os.open(order["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(log, line)
        if order["with_snakemake"]:
            os.killpg(os.getpgid(0), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    if phase == "step":
        _kill_in_step(rng.randint(3, 20), die)  # the first two are the start and the warm-up
    elif phase == "write" or (phase == "aggregate" and rng.random() < 0.5):
        _kill_in_write(rng.randint(1, 12), die)
    elif phase in {"rename", "aggregate"}:
        _kill_at_rename(1, rng.choice(("before", "after")), die)
    else:  # a table has three files and a figure five
        _kill_at_rename(rng.randint(1, 3), rng.choice(("before", "after")), die)


def _kill_in_step(count: int, die) -> None:
    from gvibench.models.base import Model

    evaluate, calls = Model.oracle, iter(range(1, 10**9))

    def oracle(self, *args, **kwargs):
        if next(calls) == count:
            die(f"evaluation {count}")
        return evaluate(self, *args, **kwargs)

    Model.oracle = oracle


def _kill_in_write(count: int, die) -> None:
    write, calls = zipfile.ZipFile.writestr, iter(range(1, 10**9))

    def writestr(self, *args, **kwargs):
        if next(calls) == count:
            self.fp.write(b"PK half of a member")
            self.fp.flush()
            die(f"member {count}")
        return write(self, *args, **kwargs)

    zipfile.ZipFile.writestr = writestr


def _kill_at_rename(count: int, when: str, die) -> None:
    rename, calls = os.replace, iter(range(1, 10**9))

    def replace(*args, **kwargs):
        here = next(calls) == count
        if here and when == "before":
            die(f"before rename {count}")
        rename(*args, **kwargs)
        if here:
            die(f"after rename {count}")

    os.replace = replace


if "GVIBENCH_KILL" in os.environ:
    _install(json.loads(os.environ["GVIBENCH_KILL"]))
