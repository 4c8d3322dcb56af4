"""A folder of finished results for people who run nothing: figures, tables, what made them.

Files are copied as the workflow wrote them. The index says which config and versions they are of.
A hidden file lists everything in the gallery, so that a folder is replaced only if it is one.
"""

import json
import re
import shutil
import tempfile
from pathlib import Path

from gvibench.analysis.configurations import open_aggregate
from gvibench.errors import UserError
from gvibench.study.config import Config
from gvibench.tables.formats import escape_markdown

__all__ = ["MARK", "write_gallery"]

MARK = ".gvibench-gallery"
"""Name of the file that marks a folder as a gallery and lists what is in it."""

FIGURES = ("png", "pdf", "json")
TABLES = ("md", "csv", "tex")
FIRST = ("paper", "winners", "theory")
"""Tables that stand in the index itself, in this order."""


def write_gallery(config: Config, config_path: Path, out: Path) -> None:
    """Write the gallery of every study of a config; an earlier gallery in `out` is replaced."""
    out = out.resolve()  # "." has no name to put a folder beside
    _refuse_others(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as folder:
            made = Path(folder) / out.name
            _fill(made, config, config_path)
            _put_in_place(made, out, Path(folder) / "before")
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror or error}") from error


def _refuse_others(out: Path) -> None:
    """Refuse a target that holds anything but a gallery."""
    if not out.exists():
        return
    if not out.is_dir():
        raise UserError(f"{out} is a file: name a new folder for the gallery")
    found = _files(out)
    if not found and not any(out.iterdir()):
        return
    if MARK not in found:
        raise UserError(
            f"{out} is not a gallery and would be deleted: name a new folder, an empty one, or a "
            f"gallery (a folder with the file {MARK})"
        )
    listed = (out / MARK).read_text().splitlines()
    if added := sorted(found - {MARK, *listed}):
        raise UserError(
            f"{out / added[0]} is not part of the gallery and would be deleted: move it elsewhere"
        )


def _files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def _fill(made: Path, config: Config, config_path: Path) -> None:
    made.mkdir()
    for study in config.studies:
        _copy_study(Path(config.results) / study, config, study, made / study, config_path)
    shutil.copyfile(config_path, made / "config.yaml")
    (made / "README.md").write_text(_index(config, config_path, made))
    (made / MARK).write_text("".join(f"{name}\n" for name in sorted(_files(made))))


def _put_in_place(made: Path, out: Path, before: Path) -> None:
    """Move the new gallery to `out`; if that fails, the old one is put back."""
    existed = out.exists()
    if existed:
        out.rename(before)
    try:
        made.rename(out)
    except OSError:
        if existed:
            before.rename(out)
        raise


def _copy_study(source: Path, config: Config, study: str, target: Path, config_path: Path) -> None:
    settings = config.studies[study]
    wanted = [f"figures/{name}.{end}" for name in settings.figures for end in FIGURES]
    wanted += [f"tables/{name}.{end}" for name in settings.tables for end in TABLES]
    for name in ("summary.md", *wanted):
        if not (source / name).exists():
            raise UserError(
                f"{source / name} is missing: run 'snakemake --configfile {config_path}' first"
            )
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)
    summary = target / "summary.md"
    # SVG files are large, and the PDF files beside them say the same.
    summary.write_text(re.sub(r"\[svg\]\([^)]*\), ", "", summary.read_text()))
    (target / "versions.json").write_text(_versions(source))


def _versions(source: Path) -> str:
    with open_aggregate(source / "aggregate.zarr.zip") as dataset:
        return json.dumps(dataset.attrs["versions"], indent=1) + "\n"


def _index(config: Config, config_path: Path, made: Path) -> str:
    parts = [
        "# Results",
        "Made by the workflow, nothing edited: "
        f"`snakemake --configfile {config_path}`, then `gvibench gallery`. "
        "[config.yaml](config.yaml) is the config; the summary of each study names versions, "
        "machines and the code behind its numbers, and lists every figure and table.",
        "\n".join(f"- [{_title(config, name)}]({name}/summary.md)" for name in config.studies),
    ]
    for table in FIRST:
        for name, settings in config.studies.items():
            if table in settings.tables:
                text = (made / name / "tables" / f"{table}.md").read_text().strip()
                parts += [f"## {_title(config, name)}: {table}", text]
    for name, settings in config.studies.items():
        parts.append(f"## {_title(config, name)}")
        parts += [
            f"![{name}: {figure}]({name}/figures/{figure}.png)" for figure in settings.figures
        ]
    return "\n\n".join(parts) + "\n"


def _title(config: Config, study: str) -> str:
    return escape_markdown(config.studies[study].title or study)
