"""Test that untrusted names and contents do not reach shells, pages or other folders."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from project import ROOT, Project
from small_study import STUDY, Study

from gvibench.datasets.read import read_npz
from gvibench.errors import UserError
from gvibench.registry import DATASETS
from gvibench.spec.catalogue import entry
from gvibench.stages import main as run_stage
from gvibench.study.config import load_config
from gvibench.study.expand import expand
from gvibench.tables.formats import escape_markdown

MALICIOUS = (
    *("../up", "..", ".", "/etc/x", "a/b", "a b", "$(touch pwned)", "`id`", "a;b", "a'b", 'a"b'),
    *("a\nb", "-rf", "{name}", "ünï", "a\\b", "*", "~", "", "x" * 300, "con\0", "<b>"),
)


def config(**parts):
    study = {"datasets": ["wdbc"], "solvers": ["vn"], "step": 0.1}
    return {"studies": {"s": {**study, **parts}}}


@pytest.mark.parametrize("name", MALICIOUS)
def test_malicious_names_are_rejected(name):
    study = config()["studies"]["s"]
    for malicious in (
        {"studies": {name: study}},
        config(datasets={name: {"dataset": "wdbc"}}),
        config(solvers={name: {"solver": "vn"}}),
        config(datasets={"wdbc": {"dataset": name}}),
        config(solvers={"vn": {"solver": name}}),
    ):
        with pytest.raises(UserError):
            expand(load_config(malicious))


@pytest.mark.parametrize("name", MALICIOUS)
def test_varied_text_gives_safe_paths(name):
    changed = config(datasets={"mine": {"path": "x.svm"}}, vary={"data.path": ["x.svm", name]})
    try:
        plan = expand(load_config(changed))
    except UserError:
        return
    for path in {*plan.runs, *plan.data, *plan.optima}:
        assert re.fullmatch(r"results/[\w.+/-]+", path)
        assert ".." not in Path(path).parts


@pytest.mark.parametrize("name", ["data", "optima", "logs"])
def test_study_cannot_use_the_name_of_a_shared_folder(name):
    with pytest.raises(UserError, match="folder that all studies share"):
        load_config({"studies": {name: config()["studies"]["s"]}})


@pytest.mark.parametrize("folder", ["", ".", "/", "a\nb", "{study}", "-x", "x" * 2000])
def test_invalid_results_folders_are_rejected(folder):
    with pytest.raises(UserError, match="results"):
        load_config({**config(), "results": folder})


def test_results_folders_are_normalised():
    for folder in ("results/", "./results", "results//", "x/../results"):
        plan = expand(load_config({**config(), "results": folder}))
        assert all(path.startswith("results/s/runs/") for path in plan.runs)


def test_results_folder_with_shell_syntax(tmp_path):
    """Run the workflow; all paths in its commands must be quoted."""
    project = Project.create(tmp_path / "project", STUDY)
    folder = 'it\'s; touch pwned $(touch pwned) `touch pwned` & ü "x"'
    project.configure(STUDY, results=folder)
    project.snakemake("--", f"{folder}/s/aggregate.zarr.zip")
    assert (project.folder / folder / "s/aggregate.zarr.zip").exists()
    assert not list(project.folder.rglob("pwned"))


NUMBERS = {"threads", "resources.mem_mb"}
"""Placeholders that Snakemake replaces by a whole number."""


def test_placeholders_of_shell_commands_are_quoted():
    for path in (ROOT / "rules").glob("*.smk"):
        for command in re.findall(r"shell:\n((?:\s+\".*\n?)+)", path.read_text()):
            placeholders = re.findall(r"\{([^}]*)\}", command)
            assert placeholders
            assert all(name.endswith(":q") or name in NUMBERS for name in placeholders), path


FORBIDDEN = {"pickle", "marshal", "shelve", "dill", "joblib", "cloudpickle", "subprocess"}
MAY_START_PROCESSES = {
    ROOT / "src/gvibench/cli/study.py",  # Snakemake
    ROOT / "src/gvibench/benchmark/folders.py",  # the command that the user gives to --verify
}
"""Modules that may start a process, without a shell."""
CALLS = {"eval", "exec", "os.system", "os.popen", "yaml.load", "yaml.unsafe_load"}


def test_package_does_not_unpickle_evaluate_or_start_a_shell():
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name.partition(".")[0] for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module.partition(".")[0]]
            allowed = {"subprocess"} if path in MAY_START_PROCESSES else set()
            assert not FORBIDDEN & set(names) - allowed, path
            if isinstance(node, ast.Call):
                assert "shell" not in {keyword.arg for keyword in node.keywords}, path
                assert ast.unparse(node.func) not in CALLS, path
                for keyword in node.keywords:
                    if keyword.arg == "allow_pickle":
                        assert ast.unparse(keyword.value) == "False", path


class Trap:
    """An object that creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (Path.write_text, (self.path, "sprung"))


def test_pickle_in_npz_file_is_rejected_without_loading_it(tmp_path):
    sprung = tmp_path / "sprung"
    trapped = np.array([[Trap(sprung)]], dtype=object)
    np.savez(tmp_path / "x.npz", allow_pickle=True, X=trapped, y=np.array([1]))
    with pytest.raises(UserError, match=r"cannot read .*pickle"):
        read_npz(tmp_path / "x.npz")
    assert not sprung.exists()


def test_yaml_does_not_create_objects(tmp_path):
    from gvibench.study.config import read_config

    path = tmp_path / "config.yaml"
    path.write_text("studies: !!python/object/apply:os.system ['touch pwned']\n")
    with pytest.raises(UserError, match="is not valid YAML"):
        read_config(path)


def test_titles_are_escaped(tmp_path):
    title = "<script>alert(1)</script> & | $x$ \\input{x}"
    study = Study({**STUDY, "title": title, "tables": ["performance"]}, tmp_path)
    assert study.prepare() == study.run() == study.aggregate() == 0
    out = study.root / "summary.md"
    words = ["--aggregate", str(study.aggregate_path), "--out", str(out)]
    assert run_stage(["summary", "--job", study.plan.params("summary", "s"), *words]) == 0
    text = out.read_text()
    assert "<script>" not in text
    assert "&lt;script>" in text
    assert escape_markdown("a|b<i>") == r"a\|b&lt;i>"


def test_downloads_use_https_and_are_checked():
    """Two files without a known hash are checked by rows, columns, labels and non-zeros."""
    entries = [entry(name) for name in DATASETS.names()]
    files = [file for known in entries for file in (*known.files, *known.alternative_files)]
    for file in files:
        assert file.url.startswith("https://")
        assert "/" not in file.name
        assert file.sha256 or (file.rows and file.columns and file.label_counts and file.nonzeros)
    assert {file.name for file in files if not file.sha256} <= {"mnist.bz2", "mnist.t.bz2"}
