"""Provide copies of the workflow that tests can run and change."""

import io
import os
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import xarray as xr
import yaml

from gvibench.store.zarrzip import open_zip
from gvibench.study.config import load_config
from gvibench.study.expand import expand

ROOT = Path(__file__).parents[2]

STUDY = {
    "datasets": {
        "first": {"dataset": "synthetic", "options": {"n": 60, "d": 3}},
        "second": {"dataset": "synthetic", "options": {"n": 80, "d": 2}},
    },
    "solvers": {"vn": {}, "svgd-density": {"options": {"kernel": "centred"}}},
    "device": "cpu",
    "step": [0.001],
    "beta": 0.5,
    "gamma": 1.0,
    "iterations": 20,
    "seeds": 2,
    "figures": ["gap"],
    "tables": ["performance"],
}


class Project:
    """A folder with the Snakefile, its rules and its own config."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def create(cls, folder: Path, study: dict) -> "Project":
        folder.mkdir(parents=True)
        shutil.copy(ROOT / "Snakefile", folder)
        ignore = shutil.ignore_patterns("__pycache__")
        for name in ("rules", "envs", "profiles", "src"):
            shutil.copytree(ROOT / name, folder / name, ignore=ignore)
        project = cls(folder)
        project.configure(study)
        return project

    def copy(self, folder: Path) -> "Project":
        """Return a copy with the same modification times."""
        shutil.copytree(self.folder, folder, symlinks=True, copy_function=shutil.copy2)
        return Project(folder)

    def configure(self, study: dict, **config) -> None:
        self.write_config(yaml.safe_dump({"studies": {"s": study}, **config}))

    def configure_all(self, studies: dict) -> None:
        self.write_config(yaml.safe_dump({"studies": studies}))

    def write_config(self, text: str) -> None:
        (self.folder / "config").mkdir(exist_ok=True)
        (self.folder / "config/config.yaml").write_text(text)

    def plan(self):
        text = (self.folder / "config/config.yaml").read_text()
        return expand(load_config(yaml.safe_load(text)))

    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": str(self.folder / "src"),
            "GVIBENCH_DATA": "",
            "COLUMNS": "400",
        }

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "snakemake", "--cores", "2", *words]

    def snakemake(self, *words: str, check: bool = True) -> subprocess.CompletedProcess:
        done = subprocess.run(
            self.command(*words),
            cwd=self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if check:
            assert done.returncode == 0, done.stderr + done.stdout
        return done

    def dry_run(self, *words: str) -> str:
        """Return what a dry run prints."""
        done = self.snakemake("--dry-run", "--workflow-profile", "none", *words)  # plain text
        return done.stdout + done.stderr

    def gvibench(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-m", "gvibench", *words],
            cwd=self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
        )

    def outputs(self) -> dict[str, tuple[int, int]]:
        """Return all outputs with inode and modification time, which change with each new file."""
        results = self.folder / "results"
        return {
            path.relative_to(self.folder).as_posix(): (path.stat().st_ino, path.stat().st_mtime_ns)
            for path in results.rglob("*")
            if path.is_file() and "logs" not in path.parts
        }

    def executed(self, *words: str) -> set[str]:
        """Run snakemake and return the outputs it has written."""
        before = self.outputs()
        self.snakemake(*words)
        after = self.outputs()
        return {path for path, mark in after.items() if before.get(path) != mark}

    def numbers(self) -> dict[str, bytes]:
        """Return the arrays of the aggregate that do not depend on time, machine or code.

        Neither do they depend on the order of the config.
        """
        excluded = ("seconds", "host", "code_hash", "configuration_index")
        with xr.open_dataset(self.folder / "results/s/aggregate.zarr.zip") as dataset:
            spec = ("run", dataset["spec"].values[dataset["configuration_index"].values])
            dataset = in_order(dataset.drop_vars("spec").assign(spec=spec))
            return {
                name: repr(variable.values.tolist()).encode()
                for name, variable in dataset.variables.items()
                if not any(word in name for word in excluded)
            }


def in_order(dataset: xr.Dataset) -> xr.Dataset:
    """Return an aggregate with its runs in an order that does not depend on the config."""
    labels = (dataset[name].values.tolist() for name in ("dataset", "solver", "spec_hash"))
    keys = list(zip(*labels, strict=True))
    return dataset.isel(run=sorted(range(len(keys)), key=keys.__getitem__))


def flip(content: bytes) -> bytes:
    """Flip a bit in the largest member. Some bytes between members, e.g. dates, do not matter."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        largest = max(archive.infolist(), key=lambda info: info.compress_size)
        name_length, extra_length = struct.unpack_from("<HH", content, largest.header_offset + 26)
    start = largest.header_offset + 30 + name_length + extra_length
    middle = start + largest.compress_size // 2
    return content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :]


def damage(path: Path) -> None:
    """Flip a bit in the largest member of a zip file."""
    path.write_bytes(flip(path.read_bytes()))


def is_whole(path: Path) -> bool:
    with open_zip(path) as root:
        root.read_all()
    return True
