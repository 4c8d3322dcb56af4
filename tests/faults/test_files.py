"""Test damaged files, concurrent writers, and places that cannot be written."""

import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import pytest
from project import Project, flip
from small_study import STUDY, Study

from gvibench.cli import main as cli
from gvibench.datasets.build import build
from gvibench.datasets.cache import prepared_path
from gvibench.engine.execute import execute
from gvibench.errors import UserError
from gvibench.spec.run import DataSpec, RunSpec
from gvibench.store.checkpoints import checkpoint_path
from gvibench.store.files import atomic_path
from gvibench.store.traces import read_trace, write_trace
from gvibench.study.defaults import complete_data

SYNTHETIC = ["--dataset", "synthetic", "--data-option", "n=60", "--data-option", "d=3"]
RUN = [*SYNTHETIC, "--solver", "vn", "--step", "0.1", "--iterations", "30"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Study:
    """A study up to its aggregate. The fixture `study` restores its files after each test."""
    study = Study(STUDY, tmp_path_factory.mktemp("finished"))
    assert (study.prepare(), study.run(), study.aggregate()) == (0, 0, 0)
    return study


@pytest.fixture
def study(finished):
    saved = {path: path.read_bytes() for path in finished.root.rglob("*") if path.is_file()}
    yield finished
    for path, content in saved.items():
        path.write_bytes(content)


def truncate(content: bytes) -> bytes:
    return content[:-50]


DAMAGE = {
    "truncated": truncate,
    "flipped bit": flip,
    "empty": lambda content: b"",
    "zeros": lambda content: bytes(len(content)),
    "text": lambda content: b"see the other file",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_trace_is_named_and_repaired(study, capsys, damage):
    path = study.traces()[0]
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    assert study.aggregate() == 2
    printed = capsys.readouterr().err
    assert printed.startswith("gvibench.stages: 1 trace is bad")
    assert str(path) in printed
    assert "gvibench repair" in printed
    assert cli.main(["repair", str(study.config)]) == 0
    assert not path.exists()
    assert study.run() == study.aggregate() == 0


def test_trace_of_another_run_is_named_and_repaired(study, capsys):
    first, second = study.traces()
    shutil.copyfile(second, first)
    assert study.aggregate() == 2
    assert f"{first} does not match the settings of this run" in capsys.readouterr().err
    assert cli.main(["repair", str(study.config)]) == 0
    assert not first.exists()
    assert second.exists()


def remove_member(path: Path, name: str) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {info: archive.read(info) for info in archive.infolist()}
    with zipfile.ZipFile(path, "w") as archive:
        for info, content in members.items():
            if info.filename != name:
                archive.writestr(info, content)


def test_no_table_from_aggregate_without_chunk(study, capsys):
    remove_member(study.aggregate_path, "objective/c/0/0")
    assert study.table("performance") == 2
    assert "'objective/c/0/0' is missing" in capsys.readouterr().err
    assert not (study.root / "tables").exists()


@pytest.mark.parametrize("damage", DAMAGE)
def test_no_table_or_figure_from_damaged_aggregate(study, capsys, damage):
    study.aggregate_path.write_bytes(DAMAGE[damage](study.aggregate_path.read_bytes()))
    assert study.table("performance") == 2
    assert study.figure("gap") == 2
    printed = capsys.readouterr().err.splitlines()
    assert len(printed) == 2
    assert all(str(study.aggregate_path) in line for line in printed)
    assert not (study.root / "tables").exists()
    assert not (study.root / "figures").exists()


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_checkpoint_is_ignored(tmp_path, damage):
    """The run starts from the beginning and produces the same objectives."""
    data = complete_data({"dataset": "synthetic", "options": {"n": 60, "d": 3}})
    prepared = prepared_of(data, tmp_path)
    spec = RunSpec(data=prepared.spec, beta=0.5, solver="vn", step=0.1, iterations=20)
    undisturbed = execute(spec, prepared).scalars["objective"]
    checkpoint = checkpoint_path(tmp_path / "t.zarr.zip")
    execute(spec, prepared, checkpoint=checkpoint, checkpoint_every=0.0)
    checkpoint.write_bytes(DAMAGE[damage](checkpoint.read_bytes()))
    resumed = execute(spec, prepared, checkpoint=checkpoint, checkpoint_every=1e9)
    assert resumed.scalars["objective"].tobytes() == undisturbed.tobytes()


def prepared_of(data: DataSpec, folder: Path):
    from gvibench.store.prepared import read_prepared

    out = folder / "data.zarr.zip"
    build(data, out)
    return read_prepared(out)


def _write_repeatedly(path: str, seed: int) -> None:
    words = [*RUN, "--seed", str(seed), "--out", path]
    for _ in range(10):
        cli.main(["run", *words])


def test_two_writers_of_one_trace(tmp_path):
    """The last writer wins, and the file never mixes both traces."""
    path = tmp_path / "t.zarr.zip"
    cli.main(["run", *RUN, "--out", str(path)])
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=_write_repeatedly, args=(str(path), seed)) for seed in (1, 2)]
    for writer in writers:
        writer.start()
    seeds_seen = set()
    while any(writer.is_alive() for writer in writers):
        seeds_seen.add(read_trace(path).spec["seed"])
        time.sleep(0.005)
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert read_trace(path).spec["seed"] in (1, 2)
    assert seeds_seen & {1, 2}
    assert list(tmp_path.glob(".*.part")) == []


def run_on_small_disk(folder: Path, kilobytes: int, *words: str) -> subprocess.CompletedProcess:
    """Run gvibench with a disk of the given size mounted at `folder`, and list the folder."""
    folder.mkdir()
    mount = f"mount -t tmpfs -o size={kilobytes}k none {folder}"
    script = f'{mount} && "$@"; code=$?; ls -A {folder} >&2; exit $code'
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh"]
    return subprocess.run(
        [*command, sys.executable, "-m", "gvibench", *words],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("command", ["run", "prepare", "optimum"])
def test_full_disk_gives_one_sentence_and_leaves_no_files(tmp_path, command):
    folder = tmp_path / "small"
    out = folder / "out.zarr.zip"
    words = ["--dataset", "wdbc", "--out", str(out)]
    if command == "run":
        words += ["--solver", "vn", "--step", "0.01", "--iterations", "500"]
    done = run_on_small_disk(folder, 4, command, *words)
    assert done.returncode == 2, done.stderr
    assert done.stderr == f"gvibench: cannot write {out}: No space left on device\n"


def test_full_disk_while_writing_a_table(study, tmp_path, monkeypatch, capsys):
    def fail(self, text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", fail)
    assert study.table("performance") == 2
    assert capsys.readouterr().err.endswith("performance.csv: No space left on device\n")
    assert list((study.root / "tables").iterdir()) == []


def test_read_only_folder_is_reported_before_the_run(tmp_path):
    """Use a read-only mount, because root may write to a folder without permissions."""
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o555)
    mount = f"mount --bind {folder} {folder} && mount -o remount,ro,bind {folder}"
    script = f'{mount} && "$@"'
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh"]
    done = subprocess.run(
        [*command, sys.executable, "-m", "gvibench", "run", *RUN, "--out", f"{folder}/t.zarr.zip"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"gvibench: cannot write {folder}/t.zarr.zip")
    assert done.stderr.count("\n") == 1


def test_read_only_results_folder_stops_snakemake_with_one_sentence(tmp_path):
    project = Project.create(tmp_path / "project", STUDY)
    results = project.folder / "results"
    results.mkdir()
    script = f'mount --bind {results} {results} && mount -o remount,ro,bind {results} && "$@"'
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh", *project.command()],
        cwd=project.folder,
        env=project.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "results is not a writable folder" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(results.iterdir()) == []


def test_cache_is_removed_while_in_use(tmp_path, monkeypatch):
    """Missing files are created again, and open files stay readable."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("GVIBENCH_CACHE", str(cache))
    stop = threading.Event()

    def remove() -> None:
        while not stop.is_set():
            shutil.rmtree(cache, ignore_errors=True)
            time.sleep(0.002)

    thread = threading.Thread(target=remove)
    thread.start()
    outcomes = set()
    try:
        for k in range(20):
            try:
                prepared_path(
                    complete_data({"dataset": "synthetic", "options": {"n": 50 + k, "d": 3}})
                )
                outcomes.add("prepared")
            except UserError as error:
                assert str(error).startswith("cannot write")  # noqa: PT017
                outcomes.add("rejected")
    finally:
        stop.set()
        thread.join()
    assert outcomes <= {"prepared", "rejected"}
    code = cli.main(["run", *RUN, "--out", str(tmp_path / "t.zarr.zip")])
    assert code == 0


def test_folder_is_removed_while_a_file_is_written(tmp_path):
    folder = tmp_path / "gone"

    def write() -> None:
        with atomic_path(folder / "x") as part:
            part.write_text("half")
            shutil.rmtree(folder)

    with pytest.raises(UserError, match="cannot write"):
        write()
    assert not folder.exists()


def test_system_clock_jumps_backwards(tmp_path, monkeypatch):
    """Durations use monotonic clocks; only file dates use the system clock."""
    now = time.time()
    ticks = iter(range(10**9))
    monkeypatch.setattr(time, "time", lambda: now - 3600.0 * next(ticks))
    data = complete_data({"dataset": "synthetic", "options": {"n": 60, "d": 3}})
    prepared = prepared_of(data, tmp_path)
    spec = RunSpec(data=prepared.spec, beta=0.5, solver="vn", step=0.1, iterations=20)
    trace = execute(spec, prepared, checkpoint=tmp_path / "c", checkpoint_every=0.0)
    write_trace(tmp_path / "t.zarr.zip", trace)
    seconds = read_trace(tmp_path / "t.zarr.zip").scalars["seconds"]
    assert seconds[0] == 0
    assert (seconds[1:] >= seconds[:-1]).all()
    assert trace.attrs["wall_seconds"] >= 0


def test_part_files_are_cleaned_after_an_hour(study):
    old = study.root / "tables" / ".performance.csv.x.part"
    new = study.root / "runs" / ".new.part"
    for path in (old, new):
        path.parent.mkdir(exist_ok=True)
        path.write_text("half")
    os.utime(old, (0, 0))
    assert cli.main(["clean", "--orphans", str(study.config)]) == 0
    assert not old.exists()
    assert new.exists()
    new.unlink()
    old.parent.rmdir()


def test_folders_of_killed_aggregations_are_cleaned_after_an_hour(study):
    old, new = (study.root / f".aggregate.zarr.zip.{name}.part" for name in ("old", "new"))
    for folder in (old, new):
        shard = folder / "objective/c/0"
        shard.mkdir(parents=True)
        for path in (folder, *folder.rglob("*/")):
            os.utime(path, (0, 0))
    (new / "objective/c/1").mkdir()  # by an aggregation that runs at this moment
    assert cli.main(["clean", "--orphans", str(study.config)]) == 0
    assert not old.exists()
    assert new.exists()
    shutil.rmtree(new)


def test_code_changes_between_plan_and_aggregation(study, monkeypatch, capsys):
    planned = study.plan.params("aggregate", "s").replace('"manifest":"', '"manifest":"0')
    monkeypatch.setattr(type(study.plan), "params", lambda self, *names: planned)
    before = study.manifest.read_bytes() if study.manifest.exists() else None
    assert study.aggregate() == 2
    assert "changed since this job was planned: run snakemake again" in capsys.readouterr().err
    assert (study.manifest.read_bytes() if study.manifest.exists() else None) == before
