"""A study as other people get it: one archive that describes itself.

The archive is an RO-Crate 1.1: a zip file whose `ro-crate-metadata.json` names every file in it and
what made them. `codemeta.json` describes the software. Equal folders give equal bytes.
"""

import hashlib
import json
import mimetypes
import re
import zipfile
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import xarray as xr

import gvibench
from gvibench.analysis.configurations import open_aggregate
from gvibench.errors import UserError
from gvibench.store.aggregates import AGGREGATE
from gvibench.store.files import atomic_path
from gvibench.store.zarrzip import member
from gvibench.study.aggregate import read_manifest

__all__ = ["export_study"]

FOLDERS = ("tables", "figures", "report")
SOFTWARE = "#gvibench"
DESCRIPTIONS = {
    AGGREGATE: "All runs of the study in one labelled dataset (Zarr v3 in a zip file)",
    "codemeta.json": "The software that made the study",
    "config.yaml": "The settings that the study was made from",
    "manifest.json": "The runs that the study consists of, with the hashes that identify them",
    "report/index.html": "The report page, to be opened in a browser",
    "specs.json": "The complete specification of every run, and how the run ended",
    "summary.md": "What was found, to be read first",
}
PER_RUN = ("dataset", "solver", "seed", "spec_hash", "code_hash", "status", "reason")


def export_study(
    folder: Path,
    out: Path,
    *,
    traces: bool = False,
    authors: Sequence[str] = (),
    license_id: str | None = None,
) -> int:
    """Write a finished study as one archive; return how many files it holds.

    Parameters
    ----------
    folder
        The study's folder in `results`.
    traces
        Whether to include the trace of every run; otherwise the aggregate stands for them.
    authors, license_id
        What a repository asks for before it gives a DOI; the licence as SPDX writes it.
    """
    if license_id is not None and not re.fullmatch(r"[A-Za-z0-9.+-]+", license_id):
        raise UserError(f"'{license_id}' is not how SPDX writes a licence: 'CC-BY-4.0' would be")
    if not all(name.strip() for name in authors):
        raise UserError("--author is empty: give the name of a person")
    if not (folder / AGGREGATE).is_file():
        raise UserError(f"{folder} holds no finished study: it has no {AGGREGATE}")
    manifest = read_manifest(folder / "manifest.json")
    with open_aggregate(folder / AGGREGATE) as dataset:
        _refuse_unfinished(folder, manifest, dataset)
        described = {"specs.json": _specs(dataset), "codemeta.json": _codemeta(dataset)}
        contents = {name: _to_json(values) for name, values in described.items()}
        for name in _files(folder) + (_traces(folder, manifest) if traces else []):
            contents[name] = (folder / name).read_bytes()
        date = datetime.fromtimestamp((folder / AGGREGATE).stat().st_mtime, UTC).date().isoformat()
        crate = _crate(dataset, contents, date, authors, license_id)
    contents["ro-crate-metadata.json"] = _to_json(crate)
    with atomic_path(out) as part, zipfile.ZipFile(part, "w") as archive:
        for name in sorted(contents):
            archive.writestr(*member(name, contents[name]))
    return len(contents)


def _refuse_unfinished(folder: Path, manifest: dict[str, Any], dataset: xr.Dataset) -> None:
    identity = ("dataset", "solver", "seed", "code_hash")
    asked = Counter(tuple(run[name] for name in identity) for run in manifest["runs"])
    found = Counter(zip(*(dataset[name].values.tolist() for name in identity), strict=True))
    if asked != found:
        raise UserError(f"{folder} is not up to date with its config: run snakemake first")


def _files(folder: Path) -> list[str]:
    """Return the finished files of a study, its runs apart."""
    found = [*folder.glob("*"), *(path for name in FOLDERS for path in (folder / name).rglob("*"))]
    return [
        path.relative_to(folder).as_posix()
        for path in found
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
    columns = {name: dataset[name].values.tolist() for name in PER_RUN}
    return [
        {**{name: values[k] for name, values in columns.items()}, "spec": json.loads(spec)}
        for k, spec in enumerate(dataset["spec"].values.tolist())
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
    contents: dict[str, bytes],
    date: str,
    authors: Sequence[str],
    license_id: str | None,
) -> dict[str, Any]:
    """Return the metadata of the archive as RO-Crate 1.1 wants them."""
    study = dataset.attrs["study"]
    solvers, sets = (sorted(set(dataset[name].values.tolist())) for name in ("solver", "dataset"))
    files = [_file(name, contents[name]) for name in sorted(contents)]
    people = [
        {"@id": f"#author-{k}", "@type": "Person", "name": name}
        for k, name in enumerate(authors, start=1)
    ]
    root: dict[str, Any] = {
        "@id": "./",
        "@type": "Dataset",
        "name": dataset.attrs["title"] or study,
        "description": f"Benchmark study '{study}' of Gaussian variational inference: "
        f"{dataset.sizes['run']} runs of {', '.join(solvers)} on {', '.join(sets)}.",
        "datePublished": date,
        "keywords": ["variational inference", "benchmark"],
        "hasPart": [{"@id": file["@id"]} for file in files],
    }
    contextual: list[dict[str, Any]] = [
        {"@id": SOFTWARE, "@type": "SoftwareApplication", **_software(dataset)},
        {
            "@id": "#making",
            "@type": "CreateAction",
            "name": "Running the study",
            "instrument": {"@id": SOFTWARE},
            "result": {"@id": "./"},
        },
        *people,
    ]
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
        # The crate's own context has no word for a checksum.
        "@context": [
            "https://w3id.org/ro/crate/1.1/context",
            {"sha256": "https://schema.org/sha256"},
        ],
        "@graph": [descriptor, root, *files, *contextual],
    }


def _file(name: str, content: bytes) -> dict[str, Any]:
    described = {"description": DESCRIPTIONS[name]} if name in DESCRIPTIONS else {}
    return {
        "@id": name,
        "@type": "File",
        "name": name,
        **described,
        "encodingFormat": TYPES.guess_type(name, strict=False)[0] or "application/octet-stream",
        "contentSize": str(len(content)),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


# Of its own, so that what a machine knows besides does not change the bytes.
TYPES = mimetypes.MimeTypes(filenames=())
for extension, kind in (("md", "text/markdown"), ("yaml", "text/yaml"), ("tex", "text/x-tex")):
    TYPES.add_type(kind, f".{extension}")


def _to_json(values: Any) -> bytes:
    return (json.dumps(values, indent=1, ensure_ascii=False) + "\n").encode()
