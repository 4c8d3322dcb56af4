"""Collect the figures and tables of finished studies in one folder.

Files are copied as the workflow wrote them, except that the data of figures are rounded. The index
links to the config and to the summaries, which list the versions. A hidden file lists the contents
of the gallery, so that only a folder that is a gallery is ever replaced.
"""

import json
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from gvibench.errors import UserError
from gvibench.report.summary_text import read_conclusion
from gvibench.store.aggregates import open_aggregate
from gvibench.tables.formats import escape_markdown

__all__ = ["MARK", "StudyOutputs", "validate_target", "write_gallery"]

MARK = ".gvibench-gallery"
"""Name of the file that marks a folder as a gallery and lists its contents."""

FIGURE_FORMATS = ("png", "csv", "json")
TABLE_FORMATS = ("md", "csv", "tex")
FIGURE_DIGITS = 6
"""Significant digits of the data of figures. All digits would take half as much space again."""
INDEX_TABLES = ("paper", "winners", "theory")
"""Tables that are shown in the index itself, in this order."""


@dataclass(frozen=True)
class StudyOutputs:
    """Names of a finished study and of its figures and tables."""

    name: str
    title: str
    figures: Sequence[str]
    tables: Sequence[str]


def write_gallery(
    studies: Sequence[StudyOutputs], results: Path, config_path: Path, out: Path
) -> None:
    """Write the gallery of finished studies.

    Parameters
    ----------
    studies
        Studies to include.
    results
        Folder with the results of the studies.
    config_path
        Config of the studies.
    out
        Folder to write. An earlier gallery is replaced.
    """
    out = out.resolve()  # "." has no name, so no folder could be created next to it
    validate_target(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as folder:
            new = Path(folder) / out.name
            _fill(new, studies, results, config_path)
            _move(new, out, Path(folder) / "before")
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror or error}") from error


def validate_target(out: Path) -> None:
    """Raise an error if `out` contains anything but a gallery."""
    if not out.exists():
        return
    if not out.is_dir():
        raise UserError(f"{out} is a file: name a new folder for the gallery")
    files = _files(out)
    if not files and not any(out.iterdir()):
        return
    if MARK not in files:
        raise UserError(
            f"{out} is not a gallery and would be deleted: name a new folder, an empty one, or a "
            f"gallery (a folder with the file {MARK})"
        )
    listed = (out / MARK).read_text().splitlines()
    if added := sorted(files - {MARK, *listed}):
        raise UserError(
            f"{out / added[0]} is not part of the gallery and would be deleted: move it elsewhere"
        )


def _files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def _fill(folder: Path, studies: Sequence[StudyOutputs], results: Path, config_path: Path) -> None:
    folder.mkdir()
    for study in studies:
        _copy_study(study, results / study.name, folder / study.name, config_path)
    shutil.copyfile(config_path, folder / "config.yaml")
    (folder / "README.md").write_text(_index(studies, config_path, folder))
    (folder / MARK).write_text("".join(f"{name}\n" for name in sorted(_files(folder))))


def _move(new: Path, out: Path, before: Path) -> None:
    """Move the new gallery to `out`. If that fails, restore the old one."""
    existed = out.exists()
    if existed:
        out.rename(before)
    try:
        new.rename(out)
    except OSError:
        if existed:
            before.rename(out)
        raise


def _copy_study(study: StudyOutputs, source: Path, target: Path, config_path: Path) -> None:
    names = [f"figures/{name}.{ending}" for name in study.figures for ending in FIGURE_FORMATS]
    names += [f"tables/{name}.{ending}" for name in study.tables for ending in TABLE_FORMATS]
    for name in ("summary.md", *names):
        if not (source / name).exists():
            raise UserError(
                f"{source / name} is missing: run 'snakemake --configfile {config_path}' first"
            )
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if name.startswith("figures/") and name.endswith(".csv"):
            data = pd.read_csv(source / name)
            data.to_csv(target / name, index=False, float_format=f"%.{FIGURE_DIGITS}g")
        else:
            shutil.copyfile(source / name, target / name)
    summary = target / "summary.md"
    # PDF and SVG files are large and are not copied; the PNG files show the same figures.
    summary.write_text(re.sub(r"\[(?:pdf|svg)\]\([^)]*\), ", "", summary.read_text()))
    with open_aggregate(source / "aggregate.zarr.zip") as dataset:
        versions = json.dumps(dataset.attrs["versions"], indent=1) + "\n"
    (target / "versions.json").write_text(versions)


def _index(studies: Sequence[StudyOutputs], config_path: Path, folder: Path) -> str:
    titles = {study.name: escape_markdown(study.title) for study in studies}
    parts = [
        "# Results",
        f"Generated by `snakemake --configfile {config_path}` and `gvibench gallery`, without "
        f"manual edits. The data of figures are rounded to {FIGURE_DIGITS} digits. "
        "[config.yaml](config.yaml) is the config. The summary of each study lists its figures and "
        "tables, and the versions, machines and code that produced them. The studies and their "
        "conclusions:",
        "\n".join(
            f"- [{title}]({name}/summary.md): {read_conclusion(folder / name / 'summary.md')}"
            for name, title in titles.items()
        ),
    ]
    for table in INDEX_TABLES:
        for study in studies:
            if table in study.tables:
                text = (folder / study.name / "tables" / f"{table}.md").read_text().strip()
                parts += [f"## {titles[study.name]}: {table}", text]
    for study in studies:
        parts.append(f"## {titles[study.name]}")
        parts += [
            f"![{study.name}: {figure}]({study.name}/figures/{figure}.png)"
            for figure in study.figures
        ]
    return "\n\n".join(parts) + "\n"
