"""Describe data sets as text: the list of all of them, and the card of one."""

import textwrap
from collections.abc import Iterator

from gvibench.registry import DATASETS, MODELS
from gvibench.spec.catalogue import Bundled, DatasetEntry, entry, kinds_of_targets
from gvibench.spec.run import DataSpec
from gvibench.store.bundled import bundled_path
from gvibench.store.certified import CertifiedOptimum, certified_optima
from gvibench.store.delimited import is_number, layout_of, read_rows
from gvibench.store.shipped_posteriors import shipped
from gvibench.study.data_shape import training_rows
from gvibench.study.defaults import complete_data

__all__ = ["card", "origin", "overview"]

WIDTH = 88
INDENT = 18
GROUPS = {
    "bundled": "bundled",
    "generated": "generated",
    "download": "downloaded on first use",
    "plug-in": "of other packages",
}


def origin(name: str) -> str:
    """Return the group of a data set: a key of `GROUPS`."""
    if not DATASETS.is_built_in(name):
        return "plug-in"
    known = entry(name)
    if known.files:
        return "download"
    return "bundled" if known.n else "generated"


def overview() -> str:
    """Return the list of all data sets, by origin."""
    groups: dict[str, list[str]] = {group: [] for group in GROUPS}
    for name in DATASETS.names():
        known = entry(name)
        size = f"{known.n} x {known.d}" if known.n else "any size"
        groups[origin(name)].append(f"  {name:24} {size:13} beta {known.beta:<6g} {known.title}")
    parts = ["\n".join([f"{GROUPS[group]}:", *lines]) for group, lines in groups.items() if lines]
    return "\n\n".join([*parts, "'gvibench datasets NAME' prints the card of a data set."])


def card(name: str) -> str:
    """Return what is known about one data set: sizes, classes, preprocessing, optimum, licence."""
    known = entry(name)
    model = _default_model(known)
    spec = complete_data({"dataset": name}, model)
    optima = [found for found in certified_optima() if found.dataset == name]
    lines = [f"{name}: {known.title}"]
    for label, text in _facts(known, spec, optima):
        first, *others = textwrap.wrap(text, WIDTH - INDENT, break_on_hyphens=False) or [""]
        lines.append(f"  {label:{INDENT - 2}}{first}")
        lines += [f"{'':{INDENT}}{other}" for other in others]
    return "\n".join(lines)


def _default_model(known: DatasetEntry) -> str:
    """Return the first model that accepts the targets of a data set."""
    kind = kinds_of_targets(known)[0]
    return next(name for name in MODELS.built_in if MODELS.load(name).targets[0] == kind)


def _facts(
    known: DatasetEntry, spec: DataSpec, optima: list[CertifiedOptimum]
) -> Iterator[tuple[str, str]]:
    """Yield the lines of a card as label and text. Lines without label continue the previous."""
    yield "origin", GROUPS[origin(known.name)]
    yield "rows", _rows(known, spec)
    yield "features", _features(known, spec)
    yield from _classes(known, optima)
    yield "split", _split(spec)
    yield from _preprocessing(known, spec)
    yield "prior", f"N(0, I / beta) with beta = {known.beta:g}"
    if optima:
        rank = f"training rows of rank {optima[0].rank} of {optima[0].d}"
        yield "conditioning", f"{rank}, condition number {optima[0].condition:.3g}"
    if optima and optima[0].separable is not None:
        separates = "yes: a hyperplane separates the training rows"
        yield "separable", separates if optima[0].separable else "no"
    for number, found in enumerate(optima):
        yield "" if number else "optimum", _optimum(found)
    yield "posterior", _posterior(known.name)
    yield from _origin(known)


def _rows(known: DatasetEntry, spec: DataSpec) -> str:
    rows = spec.options.get("n", known.n)
    train = training_rows(spec)
    if not isinstance(rows, int) or train is None:
        return f"{rows or 'unknown'}"
    by_default = "" if known.n else " by default"
    return f"{rows}{by_default}: {train} for training, {rows - train} for testing"


def _features(known: DatasetEntry, spec: DataSpec) -> str:
    columns = spec.options.get("d", known.d)
    by_default = "" if known.d else " by default"
    return f"{columns}{by_default}{', and an intercept' if spec.intercept else ''}"


def _classes(known: DatasetEntry, optima: list[CertifiedOptimum]) -> Iterator[tuple[str, str]]:
    kinds = kinds_of_targets(known)
    if "classes" not in kinds:
        yield "targets", " or ".join(kinds)
    label = "classes"
    for sign, meaning in known.labels.items():
        counts = ""
        if optima and optima[0].train_counts:
            train, test = optima[0].train_counts[sign], optima[0].test_counts[sign]
            counts = f": {train + test} rows ({train} for training, {test} for testing)"
        yield label, f"{sign} {meaning}{counts}"
        label = ""


def _split(spec: DataSpec) -> str:
    if spec.split == "given":
        return "the test rows of the data set"
    stratified = spec.split == "random" and "targets" not in spec.options
    return f"{spec.split}{' (stratified)' if stratified else ''}, seed {spec.split_seed}"


def _preprocessing(known: DatasetEntry, spec: DataSpec) -> Iterator[tuple[str, str]]:
    steps = []
    if known.table is not None:
        if known.table.drop:
            steps.append(f"left out: {', '.join(known.table.drop)}")
        if known.table.categorical:
            steps.append(f"codes, not quantities: {', '.join(known.table.categorical)}")
        if known.table.categorical or _has_text(known.table):
            steps.append("one column of zeros and ones per level of a nominal column but the first")
    if spec.scale == "standardize":
        steps.append("zero mean and unit variance on the training rows")
    yield "preprocessing", "; ".join(steps) or "none"


def _has_text(table: Bundled) -> bool:
    """Return whether a table has columns of text. Bundled tables have no missing cells."""
    path = bundled_path(table.file)
    layout = layout_of(path)
    row = dict(zip(layout.names, next(read_rows(path, layout)), strict=True))
    names = set(layout.names) - {table.target, *table.drop}
    return not all(is_number(row[name]) for name in names)


def _optimum(found: CertifiedOptimum) -> str:
    return (
        f"{found.model}, gamma {found.gamma:g}, exact expectations: objective "
        f"{found.objective:.12g}, negative ELBO {found.neg_elbo:.12g}, at most {found.bound:.1e} "
        "above the minimum (certificate, without rounding)"
    )


def _posterior(name: str) -> str:
    found = [posterior for posterior in shipped() if posterior["dataset"] == name]
    texts = [
        f"moments from {posterior['source']} for model {posterior['model']}, beta "
        f"{posterior['beta']:g}{_options(posterior['options'])}"
        for posterior in found
    ]
    return "; ".join(texts) or "no reference moments in the package"


def _options(options: dict[str, object]) -> str:
    words = ", ".join(f"{name} = {value}" for name, value in options.items())
    return f" ({words})" if words else ""


def _origin(known: DatasetEntry) -> Iterator[tuple[str, str]]:
    facts = known.card
    yield "source", known.source
    if facts.licence:
        yield "licence", facts.licence
    if facts.attribution:
        yield "attribution", facts.attribution
    if facts.cite:
        yield "please cite", facts.cite.removeprefix("Cite: ")
    for number, note in enumerate(facts.notes):
        yield "" if number else "notes", note
