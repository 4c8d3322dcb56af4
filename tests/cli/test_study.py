"""Test `gvibench study` with a small workflow: progress, conclusion, failures and signals."""

import contextlib
import fcntl
import os
import pty
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
import yaml

from gvibench.cli import study
from gvibench.cli.main import main
from workflow.project import ROOT, STUDY, Project

CONFIG = {"datasets": ["synthetic"], "solvers": ["vn"], "step": 0.1, "iterations": 2, "seeds": 2}
SNAKEFILE = """
rule write_summary:
    output: config.get("results", "results") + "/s/summary.md"
    shell: "bash job.sh {output}"
"""
JOB = r"""
printf '# A title\n\nVN reaches\n1e-4 first.\n\nMore.\n' > $1
touch $(dirname $1)/config.yaml
"""
CONCLUSION = [
    "",
    "VN reaches 1e-4 first.",
    "summary: results/s/summary.md",
    "page: results/s/report/index.html",
]
WAITING = f"""
trap 'echo stopped > stopped; exit 1' INT TERM
touch started
for _ in $(seq 600); do sleep 0.1; done
{JOB}
"""
COLUMNS = 60


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a config and a workflow of one job, `job.sh`."""
    monkeypatch.chdir(tmp_path)
    Path("config").mkdir()
    Path("config/config.yaml").write_text(yaml.safe_dump({"studies": {"s": CONFIG}}))
    Path("Snakefile").write_text(SNAKEFILE)
    Path("job.sh").write_text(JOB)
    shutil.copytree(ROOT / "profiles/default", "profiles/default")
    return tmp_path


def start(**options):
    return subprocess.Popen([sys.executable, "-m", "gvibench", "study"], text=True, **options)


def run(*words):
    return subprocess.run(
        [sys.executable, "-m", "gvibench", "study", *words],
        capture_output=True,
        text=True,
        check=False,
    )


def wait_for(path, process):
    while not Path(path).exists():
        assert process.poll() is None
        time.sleep(0.05)


@contextlib.contextmanager
def terminal():
    """Yield both ends of a pseudo-terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    try:
        yield ours, theirs
    finally:
        os.close(ours)


def start_on(theirs):
    """Start the command with a terminal that controls it, so that Ctrl-C reaches its group."""
    script = "import fcntl, os, signal, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    # A test run in the background of a shell ignores Ctrl-C, and its processes inherit this.
    script += "signal.signal(signal.SIGINT, signal.SIG_DFL); "
    script += "os.execv(sys.executable, [sys.executable, '-m', 'gvibench', 'study'])"
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        start_new_session=True,
        env={name: value for name, value in os.environ.items() if name != "COLUMNS"},
        **streams,
    )
    os.close(theirs)
    return process


def read_all(ours):
    text = b""
    with contextlib.suppress(OSError):  # the other end has been closed
        while part := os.read(ours, 4096):
            text += part
    return text.decode()


def test_without_a_terminal_lines_and_the_conclusion_are_printed(folder):
    done = run()
    assert (done.returncode, done.stderr) == (0, "")
    first, last, *rest = done.stdout.splitlines()
    assert first.startswith("0 of 14 jobs, about ")
    assert last.startswith("1 of 14 jobs, about ")
    assert rest == CONCLUSION
    # Nothing is left to do.
    written = Path("results/s/summary.md").stat().st_mtime_ns
    done = run()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [last, *CONCLUSION]
    assert Path("results/s/summary.md").stat().st_mtime_ns == written


def test_another_config_and_results_folder(folder):
    Path("config/config.yaml").rename("mine.yaml")
    done = run("mine.yaml", "--results", "elsewhere")
    assert done.returncode == 0, done.stderr
    assert "summary: elsewhere/s/summary.md" in done.stdout


def test_a_terminal_shows_one_line(folder):
    Path("job.sh").write_text(f"sleep 2; {JOB}")
    with terminal() as (ours, theirs):
        process = start_on(theirs)
        text = read_all(ours)
        assert process.wait() == 0
    progress, *conclusion = text.split("\r\n")
    assert conclusion == [*CONCLUSION, ""]
    lines = progress.split("\r")[1:]
    assert len(lines) >= 3
    assert {len(line) for line in lines} == {COLUMNS - 1}
    assert lines[0].startswith("0 of 14 jobs, about ")
    assert lines[-1].startswith("1 of 14 jobs, about ")


def test_a_failure_shows_the_output_of_snakemake_and_has_its_exit_code(folder):
    Path("job.sh").write_text("echo the job failed >&2; exit 3")
    done = run()
    assert done.returncode == 1
    assert "the job failed" in done.stderr
    assert "At least one job did not complete successfully" in done.stderr
    assert "summary:" not in done.stdout


def assert_stopped_cleanly():
    assert Path("stopped").exists()
    assert not list(Path(".snakemake").glob("locks/*"))


def test_ctrl_c_stops_the_jobs(folder):
    Path("job.sh").write_text(WAITING)
    with terminal() as (ours, theirs):
        process = start_on(theirs)
        wait_for("started", process)
        os.write(ours, b"\x03")
        text = read_all(ours)
        assert process.wait() == 130
    assert text.endswith("gvibench: interrupted; run the same command again to resume\r\n")
    assert_stopped_cleanly()


@contextlib.contextmanager
def default_action(number):
    """Let new processes receive a signal even if this one ignores it, as under `nohup`."""
    before = signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGTERM, 75),
        pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, 75, marks=pytest.mark.slow),
    ],
)
def test_a_signal_to_the_command_stops_the_jobs(folder, number, code):
    Path("job.sh").write_text(WAITING)
    with default_action(number):
        process = start(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for("started", process)
    process.send_signal(number)
    _, message = process.communicate()
    assert process.returncode == code
    assert message == "gvibench: interrupted; run the same command again to resume\n"
    assert_stopped_cleanly()


@pytest.mark.slow
def test_jobs_are_stopped_if_the_progress_cannot_be_printed(folder):
    Path("job.sh").write_text(WAITING)
    script = "import sys, gvibench.cli.study as s; s.SECONDS_PER_LINE = 0.1; "
    script += "from gvibench.cli.main import main; sys.exit(main(['study']))"
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    wait_for("started", process)
    process.stdout.close()
    assert process.wait() == 1
    assert_stopped_cleanly()


def test_a_line_is_printed_at_each_interval(folder, monkeypatch, capsys):
    Path("results/s").mkdir(parents=True)
    Path("results/s/summary.md").write_text("# A title\n\nA conclusion.\n")
    monkeypatch.setattr(study, "SNAKEMAKE", (sys.executable, "-c", "import time; time.sleep(1)"))
    monkeypatch.setattr(study, "SECONDS_PER_LINE", 0.2)
    assert main(["study"]) == 0
    *lines, _, conclusion, _, _ = capsys.readouterr().out.splitlines()
    assert conclusion == "A conclusion."
    assert len(lines) >= 3
    assert set(lines) == {lines[0]}


def test_the_exit_code_after_a_fatal_signal_is_that_of_shells(folder, monkeypatch):
    killed = "import os; os.kill(os.getpid(), 9)"
    monkeypatch.setattr(study, "SNAKEMAKE", (sys.executable, "-c", killed))
    assert main(["study"]) == 128 + signal.SIGKILL


@pytest.mark.slow
def test_the_numbers_of_a_real_study_agree_with_its_status(tmp_path):
    project = Project.create(tmp_path / "project", {**STUDY, "datasets": ["synthetic"]})
    for iterations, before in ((20, "4 pending"), (30, "4 outdated")):
        project.configure({**STUDY, "datasets": ["synthetic"], "iterations": iterations})
        assert f"s: 4 runs: {before}; 10 jobs: " in project.gvibench("status").stdout
        done = project.gvibench("study")
        assert (done.returncode, done.stderr) == (0, "")
        first, last, _, conclusion, *_ = done.stdout.splitlines()
        assert first.endswith("; 0 of 4 runs done")
        assert last == "10 of 10 jobs; 4 of 4 runs done"
        assert conclusion in (project.folder / "results/s/summary.md").read_text()
        assert project.gvibench("status").stdout == "s: 4 runs: 4 done; 10 jobs: 10 done\n"
    # Snakemake alone has nothing to do.
    assert project.executed() == set()
