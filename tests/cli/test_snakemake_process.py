"""Test that SIGTERM stops Snakemake at any time."""

import os
import signal
import subprocess
import sys
import threading

from gvibench.cli.snakemake_process import in_thread


def test_a_handler_may_wait_for_a_lock_of_the_main_thread():
    """Snakemake's handler takes a lock that the main thread holds while it records jobs."""
    lock, handled = threading.Lock(), threading.Event()

    def handler(*_):
        with lock:
            handled.set()

    before = signal.signal(signal.SIGTERM, in_thread(handler))
    try:
        with lock:
            os.kill(os.getpid(), signal.SIGTERM)
            assert not handled.wait(0.1)
        assert handled.wait(10)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_the_handler_of_snakemake_runs_in_a_thread(tmp_path):
    """The rule stops its own Snakemake while the main thread of Snakemake holds the lock."""
    script = """
import os, signal, sys
from snakemake.jobs import Job
from gvibench.cli.snakemake_process import main
finished = Job.postprocess
async def postprocess(self, *args, **kwargs):
    os.kill(os.getpid(), signal.SIGTERM)
    await finished(self, *args, **kwargs)
Job.postprocess = postprocess
sys.argv = ["snakemake", "--cores", "1", "--quiet", "all"]
main()
"""
    (tmp_path / "Snakefile").write_text(
        "rule all:\n    input: 'third'\n"
        "rule first:\n    output: 'first'\n    shell: 'touch first'\n"
        "rule second:\n    input: 'first'\n    output: 'second'\n"
        "    shell: 'sleep 2; touch second'\n"
        "rule third:\n    input: 'second'\n    output: 'third'\n    shell: 'touch third'\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert done.returncode == 1
    # The second job may have started before the handler got the lock.
    assert (tmp_path / "first").exists()
    assert not (tmp_path / "third").exists()
    assert not list(tmp_path.glob(".snakemake/locks/*"))
