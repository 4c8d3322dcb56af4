"""Test that an exported study is complete, described, reproducible and readable."""

import hashlib
import json
import os
import zipfile

import pytest
import yaml

import gvibench
from figures.made_aggregate import Run, write_aggregate
from gvibench.cli.main import main
from gvibench.errors import UserError
from gvibench.store.aggregates import locate_aggregate
from gvibench.study.config import load_config, to_yaml
from gvibench.study.expand import expand


@pytest.fixture
def study(tmp_path):
    """A finished study in the layout of a results folder."""
    folder = tmp_path / "results/made"
    runs = folder / "runs/wdbc/vn/step-0.1"
    runs.mkdir(parents=True)
    made = write_aggregate(runs, [Run([20.0, 12.0]), Run([20.0, 11.0], seed=1)])
    for path in (made, runs / "manifest.json"):
        path.rename(folder / path.name)
    for name in ("summary.md", "config.yaml", "tables/t.csv", "figures/gap.pdf", "figures/gap.svg"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"this is {name}")
    (folder / "logs").mkdir()
    (folder / "logs/x.log").write_text("not exported")
    (folder / ".hidden.part").write_text("half-written")
    return folder


def export(study, out, *words):
    assert main(["export", str(study), "--out", str(out), *words]) == 0
    return out


ALWAYS = {
    "aggregate.zarr.zip",
    "codemeta.json",
    "config.yaml",
    "figures/gap.pdf",
    "figures/gap.svg",
    "manifest.json",
    "ro-crate-metadata.json",
    "specs.json",
    "summary.md",
    "tables/t.csv",
}


def test_contents(study, tmp_path):
    with zipfile.ZipFile(export(study, tmp_path / "a.zip")) as archive:
        assert set(archive.namelist()) == ALWAYS
        assert archive.read("summary.md") == b"this is summary.md"
        specs = json.loads(archive.read("specs.json"))
        assert [run["seed"] for run in specs] == [0, 1]
        assert specs[0]["spec"]["solver"] == "vn"
        assert specs[0]["code_hash"] == "feedfacefeedface"
    with zipfile.ZipFile(export(study, tmp_path / "b.zip", "--traces")) as archive:
        added = set(archive.namelist()) - ALWAYS
        assert added == {f"runs/wdbc/vn/step-0.1/run-{k}.zarr.zip" for k in (0, 1)}


def test_the_same_study_gives_the_same_bytes(study, tmp_path):
    first = export(study, tmp_path / "a.zip").read_bytes()
    os.utime(study / "summary.md", (1, 1))
    assert export(study, tmp_path / "b.zip").read_bytes() == first


def test_the_crate_is_valid(study, tmp_path, capsys):
    words = ["--author", "Ada Lovelace", "--author", "Émilie du Châtelet"]
    out = export(study, tmp_path / "a.zip", *words, "--license", "CC-BY-4.0")
    assert "to get a DOI" not in capsys.readouterr().out
    with zipfile.ZipFile(out) as archive:
        crate = json.loads(archive.read("ro-crate-metadata.json"))
        contents = {name: archive.read(name) for name in archive.namelist()}
    assert "https://w3id.org/ro/crate/1.1/context" in crate["@context"]
    entities = {entity["@id"]: entity for entity in crate["@graph"]}
    assert len(entities) == len(crate["@graph"])  # each entity once
    descriptor = entities["ro-crate-metadata.json"]
    assert descriptor["@type"] == "CreativeWork"
    assert descriptor["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    root = entities[descriptor["about"]["@id"]]
    assert root["@id"] == "./"
    assert root["@type"] == "Dataset"
    assert root["name"] == "Made"
    assert root["description"].startswith("Benchmark study 'made'")
    year, month, day = root["datePublished"].split("-")
    assert (len(year), len(month), len(day)) == (4, 2, 2)
    assert len(root["author"]) == 2
    assert entities[root["author"][0]["@id"]]["name"] == "Ada Lovelace"
    assert entities[root["license"]["@id"]]["name"] == "CC-BY-4.0"
    files = {name for name, entity in entities.items() if entity["@type"] == "File"}
    assert files == {part["@id"] for part in root["hasPart"]} == set(contents) - {descriptor["@id"]}
    for name in files:
        assert entities[name]["contentSize"] == str(len(contents[name]))
        assert entities[name]["sha256"] == hashlib.sha256(contents[name]).hexdigest()
    assert entities["figures/gap.svg"]["encodingFormat"] == "image/svg+xml"

    def references(value):
        if isinstance(value, dict):
            if set(value) == {"@id"}:
                yield value["@id"]
            for inner in value.values():
                yield from references(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from references(inner)

    inside = {name for name in references(crate["@graph"]) if "://w3id.org" not in name}
    assert inside <= set(entities)


def test_the_software_is_described(study, tmp_path):
    with zipfile.ZipFile(export(study, tmp_path / "a.zip")) as archive:
        code = json.loads(archive.read("codemeta.json"))
    assert code["@context"] == "https://doi.org/10.5063/schema/codemeta-2.0"
    assert code["@type"] == "SoftwareSourceCode"
    assert code["name"] == "gvibench"
    assert code["version"] == gvibench.__version__
    assert code["license"].endswith("BSD-3-Clause")
    assert any(name.startswith("numpy ") for name in code["softwareRequirements"])


def test_an_archive_opens_like_the_study(study, tmp_path):
    out = export(study, tmp_path / "a.zip")
    original = gvibench.load_study(study)
    for path in (out, study / "aggregate.zarr.zip"):
        assert gvibench.load_study(path).identical(original)
    with locate_aggregate(out) as aggregate:
        assert (aggregate.parent / "figures/gap.svg").read_text() == "this is figures/gap.svg"
    assert not aggregate.exists()


def test_an_archive_can_be_compared(study, tmp_path):
    page = tmp_path / "page.html"
    out = export(study, tmp_path / "a.zip")
    assert main(["compare", str(out), str(study), "--out", str(page)]) == 0
    assert str(out) in page.read_text()


def test_invalid_exports_are_rejected(study, tmp_path, capsys):
    out = tmp_path / "a.zip"

    def message(*words):
        assert main(["export", *map(str, words), "--out", str(out)]) == 2
        assert not out.exists()
        return capsys.readouterr().err

    assert "is not a finished study" in message(tmp_path)
    assert "not an SPDX license identifier" in message(study, "--license", "do what you want")
    (study / "runs/wdbc/vn/step-0.1/run-1.zarr.zip").unlink()
    assert "run-1.zarr.zip is missing" in message(study, "--traces")
    manifest = json.loads((study / "manifest.json").read_text())
    manifest["runs"].pop()
    (study / "manifest.json").write_text(json.dumps(manifest))
    assert "not up to date" in message(study)


def test_a_corrupt_archive_is_reported(study, tmp_path):
    out = export(study, tmp_path / "a.zip")
    content = bytearray(out.read_bytes())
    content[200] ^= 1
    out.write_bytes(content)
    with pytest.raises(UserError, match="is corrupt"), locate_aggregate(out):
        pass


def test_the_exported_config_gives_the_same_study():
    text = """
    studies:
      other: {datasets: [digits-odd-even], solvers: [vn], step: 1.0}
      mine:
        datasets: {wdbc: , small: {dataset: synthetic, options: {n: 50}, beta: tuned}}
        solvers: {vn: {step: tuned}, sr-vn: {step: {start: 0.1, stop: 1.0, count: 3}}}
        vary: {gamma: [0.5, 1.0]}
        seeds: [3, 4]
    style: {width: column}
    without: [wdbc]
    """
    plan = expand(load_config(yaml.safe_load(text)))
    alone = expand(load_config(yaml.safe_load(to_yaml(plan.settings_of("mine")))))
    assert list(alone.config.studies) == ["mine"]
    assert alone.manifest("mine") == plan.manifest("mine")
    assert alone.config.style == plan.config.style
