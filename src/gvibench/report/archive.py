"""Export a study as one archive that describes its contents.

The archive is an RO-Crate 1.1: a zip file with an `ro-crate-metadata.json` that describes each file
and the software that wrote it. `codemeta.json` describes the software in more detail. Exporting the
same study twice gives the same bytes.
"""

import hashlib
import json
import mimetypes
import re
import shutil
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import xarray as xr

import gvibench
from gvibench.analysis.configurations import specs_of
from gvibench.errors import UserError
from gvibench.store.aggregates import AGGREGATE, open_aggregate
from gvibench.store.files import atomic_path
from gvibench.store.manifest import read_manifest
from gvibench.store.zarrzip import member

__all__ = ["export_study"]

FOLDERS = ("tables", "figures", "report")
SOFTWARE = "#gvibench"
DESCRIPTIONS = {
    AGGREGATE: "All runs of the study in one labelled dataset (Zarr v3 in a zip file)",
    "codemeta.json": "Software that produced the study",
    "config.yaml": "Config of the study",
    "manifest.json": "List of the runs with the hashes that identify them",
    "report/index.html": "Report page, to be opened in a browser",
    "specs.json": "Complete specification and ending of each run",
    "summary.md": "Summary of the results, to be read first",
}
RUN_COLUMNS = ("dataset", "solver", "seed", "spec_hash", "code_hash", "status", "reason")


def export_study(
    folder: Path,
    out: Path,
    *,
    traces: bool = False,
    authors: Sequence[str] = (),
    license_id: str | None = None,
) -> int:
    """Write a finished study as one archive and return its number of files.

    Parameters
    ----------
    folder
        Folder of the study in `results`.
    out
        Archive to write.
    traces
        Whether to include the traces of all runs in addition to the aggregate.
    authors, license_id
        Names of the authors and SPDX identifier of the license, which repositories require for a
        DOI.
    """
    if license_id is not None and not re.fullmatch(r"[A-Za-z0-9.+-]+", license_id):
        raise UserError(f"'{license_id}' is not an SPDX license identifier, e.g. 'CC-BY-4.0'")
    if not all(name.strip() for name in authors):
        raise UserError("--author is empty: give the name of an author")
    if not (folder / AGGREGATE).is_file():
        raise UserError(f"{folder} is not a finished study: it has no {AGGREGATE}")
    manifest = read_manifest(folder / "manifest.json")
    with open_aggregate(folder / AGGREGATE) as dataset:
        _validate_finished(folder, manifest, dataset)
        contents: dict[str, bytes | Path] = {
            "specs.json": _to_json(_specs(dataset)),
            "codemeta.json": _to_json(_codemeta(dataset)),
        }
        for name in _files(folder) + (_traces(folder, manifest) if traces else []):
            contents[name] = folder / name
        date = datetime.fromtimestamp((folder / AGGREGATE).stat().st_mtime, UTC).date().isoformat()
        crate = _crate(dataset, contents, date, authors, license_id)
    contents["ro-crate-metadata.json"] = _to_json(crate)
    with atomic_path(out) as part, zipfile.ZipFile(part, "w") as archive:
        for name in sorted(contents):
            _add(archive, name, contents[name])
    return len(contents)


def _add(archive: zipfile.ZipFile, name: str, content: bytes | Path) -> None:
    """Add a file to the archive. Files on the disk may be large, so they are copied in pieces."""
    info, _, method, level = member(name, b"")
    info.compress_type, info._compresslevel = method, level  # type: ignore[attr-defined]
    with archive.open(info, "w", force_zip64=True) as target:
        if isinstance(content, bytes):
            target.write(content)
        else:
            with content.open("rb") as source:
                shutil.copyfileobj(source, target)


def _validate_finished(folder: Path, manifest: dict[str, Any], dataset: xr.Dataset) -> None:
    identity = ("dataset", "solver", "seed", "code_hash")
    planned = Counter(tuple(run[name] for name in identity) for run in manifest["runs"])
    finished = Counter(zip(*(dataset[name].values.tolist() for name in identity), strict=True))
    if planned != finished:
        raise UserError(f"{folder} is not up to date with its config: run snakemake first")


def _files(folder: Path) -> list[str]:
    """Return the finished files of a study except its traces."""
    paths = [*folder.glob("*"), *(path for name in FOLDERS for path in (folder / name).rglob("*"))]
    return [
        path.relative_to(folder).as_posix()
        for path in paths
        if path.is_file() and not path.name.startswith(".")
    ]


def _traces(folder: Path, manifest: dict[str, Any]) -> list[str]:
    start = f"/{manifest['study']}/runs/"
    names = {"runs/" + run["path"].partition(start)[2] for run in manifest["runs"]}
    for name in names:
        if not (folder / name).is_file():
            raise UserError(f"{folder / name} is missing: run snakemake, or leave out --traces")
    return sorted(names)


def _specs(dataset: xr.Dataset) -> list[dict[str, Any]]:
    columns = {name: dataset[name].values.tolist() for name in RUN_COLUMNS}
    specs = specs_of(dataset)
    return [
        {
            **{name: values[run] for name, values in columns.items()},
            "spec": {**specs[configuration], "seed": columns["seed"][run]},
        }
        for run, configuration in enumerate(dataset["configuration_index"].values.tolist())
    ]


def _codemeta(dataset: xr.Dataset) -> dict[str, Any]:
    return {
        "@context": "https://doi.org/10.5063/schema/codemeta-2.0",
        "@type": "SoftwareSourceCode",
        **_software(dataset),
        "license": "https://spdx.org/licenses/BSD-3-Clause",
        "programmingLanguage": "Python",
        "author": [{"@type": "Organization", "name": "The gvibench developers"}],
    }


def _software(dataset: xr.Dataset) -> dict[str, Any]:
    versions = dict(dataset.attrs["versions"])
    return {
        "name": "gvibench",
        "version": versions.pop("gvibench", gvibench.__version__),
        "description": (gvibench.__doc__ or "").partition("\n")[0],
        "softwareRequirements": [f"{name} {version}" for name, version in versions.items()],
    }


def _crate(
    dataset: xr.Dataset,
    contents: Mapping[str, bytes | Path],
    date: str,
    authors: Sequence[str],
    license_id: str | None,
) -> dict[str, Any]:
    """Return the metadata of the archive in the format of RO-Crate 1.1."""
    files = [_file(name, contents[name]) for name in sorted(contents)]
    people = [
        {"@id": f"#author-{k}", "@type": "Person", "name": name}
        for k, name in enumerate(authors, start=1)
    ]
    root = _root(dataset, date) | {"hasPart": [{"@id": file["@id"]} for file in files]}
    contextual = [*_actions(dataset), *people]
    if people:
        root["author"] = [{"@id": person["@id"]} for person in people]
    if license_id is not None:
        address = f"https://spdx.org/licenses/{license_id}"
        root["license"] = {"@id": address}
        contextual.append({"@id": address, "@type": "CreativeWork", "name": license_id})
    descriptor = {
        "@id": "ro-crate-metadata.json",
        "@type": "CreativeWork",
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        "about": {"@id": "./"},
    }
    return {
        # The context of RO-Crate defines no term for a checksum.
        "@context": [
            "https://w3id.org/ro/crate/1.1/context",
            {"sha256": "https://schema.org/sha256"},
        ],
        "@graph": [descriptor, root, *files, *contextual],
    }


def _root(dataset: xr.Dataset, date: str) -> dict[str, Any]:
    """Return the description of the study as a whole."""
    study = dataset.attrs["study"]
    solvers, sets = (sorted(set(dataset[name].values.tolist())) for name in ("solver", "dataset"))
    return {
        "@id": "./",
        "@type": "Dataset",
        "name": dataset.attrs["title"] or study,
        "description": f"Benchmark study '{study}' of Gaussian variational inference: "
        f"{dataset.sizes['run']} runs of {', '.join(solvers)} on {', '.join(sets)}.",
        "datePublished": date,
        "keywords": ["variational inference", "benchmark"],
    }


def _actions(dataset: xr.Dataset) -> list[dict[str, Any]]:
    """Return the descriptions of the software and of its use."""
    return [
        {"@id": SOFTWARE, "@type": "SoftwareApplication", **_software(dataset)},
        {
            "@id": "#making",
            "@type": "CreateAction",
            "name": "Running the study",
            "instrument": {"@id": SOFTWARE},
            "result": {"@id": "./"},
        },
    ]


def _file(name: str, content: bytes | Path) -> dict[str, Any]:
    if isinstance(content, Path):
        with content.open("rb") as source:
            digest, size = hashlib.file_digest(source, "sha256"), content.stat().st_size
    else:
        digest, size = hashlib.sha256(content), len(content)
    description = {"description": DESCRIPTIONS[name]} if name in DESCRIPTIONS else {}
    return {
        "@id": name,
        "@type": "File",
        "name": name,
        **description,
        "encodingFormat": TYPES.guess_type(name, strict=False)[0] or "application/octet-stream",
        "contentSize": str(size),
        "sha256": digest.hexdigest(),
    }


# A separate registry without the types of the machine, which would change the bytes.
TYPES = mimetypes.MimeTypes(filenames=())
for extension, kind in (("md", "text/markdown"), ("yaml", "text/yaml"), ("tex", "text/x-tex")):
    TYPES.add_type(kind, f".{extension}")


def _to_json(values: Any) -> bytes:
    return (json.dumps(values, indent=1, ensure_ascii=False) + "\n").encode()
