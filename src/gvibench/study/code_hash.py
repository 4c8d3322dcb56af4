"""Hash the code behind each job, one function per stage.

The plan computes these hashes and the jobs carry them. A hash covers the stage's function in
`gvibench.stages`, everything it imports, and the objects that the job uses by name: its solver,
step rule, model, expectation, data set, table or figure. Editing one of these re-runs the jobs that
use it.
"""

from collections.abc import Iterable

from gvibench.registry import (
    DATASETS,
    EXPECTATIONS,
    FIGURES,
    MODELS,
    SOLVERS,
    STEP_RULES,
    TABLES,
)
from gvibench.spec.canonical import hash_text
from gvibench.spec.catalogue import find
from gvibench.spec.code import hash_code
from gvibench.spec.run import DataSpec, ProblemSpec, RunSpec

__all__ = [
    "aggregate_hash",
    "beta_hash",
    "data_hash",
    "figure_hash",
    "measure_hash",
    "optimum_hash",
    "page_hash",
    "run_hash",
    "summary_hash",
    "table_hash",
    "trials_hash",
    "tuning_hash",
]

STAGES = "gvibench.stages"
NUMBERS_UNCHANGED = (
    "gvibench.errors",
    "gvibench.plugin",
    "gvibench.registry",
    "gvibench.analysis.process",
    "gvibench.engine.progress",
    "gvibench.store.describe",
    "gvibench.store.remote",
    "gvibench.study.parallel",
)
"""Modules that cannot change a number: messages, imports, progress, remote files and workers."""
CUDA = (
    "gvibench.numerics.cuda_backend",
    "gvibench.numerics.device_lock",
    "gvibench.numerics.streamed_rows",
    "gvibench.numerics.expectations.cuda",
)
PLANNING = (
    "gvibench.study.config",
    "gvibench.study.expand",
    "gvibench.study.plan",
    "gvibench.spec.validate",
)
"""Modules that an aggregation calls to repeat the plan. The manifest's hash covers their result."""


def data_hash(spec: DataSpec) -> str:
    """Return the hash of the code that prepares a data set, and of its entry in the catalogue."""
    entry = find(spec)
    targets = [f"{STAGES}:prepare", entry.loader.partition(":")[0]]
    if spec.path is None and not DATASETS.is_built_in(spec.dataset):
        targets.append(DATASETS.module_of(spec.dataset))
    return hash_text(_hash(targets) + repr(entry))


def optimum_hash(spec: ProblemSpec) -> str:
    """Return the hash of the code that finds an optimum. It is found on the CPU."""
    return _hash([f"{STAGES}:optimum", *_model_modules(spec)], CUDA)


def beta_hash(spec: ProblemSpec) -> str:
    """Return the hash of the code that chooses beta."""
    return _hash([f"{STAGES}:beta", *_model_modules(spec)], CUDA)


def measure_hash(spec: ProblemSpec) -> str:
    """Return the hash of the code that measures Gaussians. They are measured on the CPU."""
    return _hash([f"{STAGES}:measure", *_model_modules(spec)], CUDA)


def run_hash(spec: RunSpec) -> str:
    """Return the hash of the code of a run: the engine, its solver, step rule and model."""
    return _hash([f"{STAGES}:run", *_run_modules(spec)], CUDA if spec.device == "cpu" else ())


def tuning_hash(spec: RunSpec) -> str:
    """Return the hash of the code of a tuning job."""
    return _hash([f"{STAGES}:tune", *_run_modules(spec)], CUDA if spec.device == "cpu" else ())


def trials_hash(spec: RunSpec) -> str:
    """Return the hash of the code of tuning trials, without the choice among them."""
    trials = "gvibench.engine.tuning:Trials"
    return _hash([trials, *_run_modules(spec)], CUDA if spec.device == "cpu" else ())


def aggregate_hash() -> str:
    """Return the hash of the code that aggregates traces."""
    return _hash([f"{STAGES}:aggregate"], PLANNING)


def table_hash(name: str) -> str:
    """Return the hash of the code of a table."""
    return _hash([f"{STAGES}:table", TABLES.module_of(name)])


def figure_hash(name: str) -> str:
    """Return the hash of the code of a figure."""
    return _hash([f"{STAGES}:figure", FIGURES.module_of(name)])


def summary_hash() -> str:
    """Return the hash of the code of a summary."""
    return _hash([f"{STAGES}:summary"])


def page_hash(tables: Iterable[str]) -> str:
    """Return the hash of the code of a page with these tables, script and style included."""
    return _hash([f"{STAGES}:page", *map(TABLES.module_of, tables)])


def _hash(targets: list[str], ignored: tuple[str, ...] = ()) -> str:
    return hash_code(targets, (*NUMBERS_UNCHANGED, *ignored))


def _run_modules(spec: RunSpec) -> list[str]:
    named = SOLVERS.module_of(spec.solver), STEP_RULES.module_of(spec.step_rule)
    return [*named, *_model_modules(spec)]


def _model_modules(spec: ProblemSpec) -> list[str]:
    """Return the modules of a model and of its expectations."""
    model = MODELS.module_of(spec.model)
    if not MODELS.load(spec.model).tabulated:
        return [model]
    # A stochastic run records exact values.
    used = {"exact" if spec.expectation == "stochastic" else spec.expectation}
    if isinstance(spec, RunSpec) and "objective_exact" in spec.record:
        used.add("exact")
    modules = [EXPECTATIONS.module_of(name) for name in sorted(used)]
    # The kernel of an expectation is in a module of the same name and is loaded by that name.
    kernels = [f"gvibench.numerics.expectations.compiled.{m.rpartition('.')[2]}" for m in modules]
    return [model, *modules, *kernels]
