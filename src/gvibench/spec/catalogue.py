"""Describe data sets: their sources, options and defaults.

The entries of built-in data sets are in `gvibench.datasets.entries` and
`gvibench.datasets.uci_entries`. Other packages add data sets
through the entry-point group `gvibench.datasets`. The name of the entry point is the name of the
data set and its value is a `DatasetEntry`. An entry names its loader as text, so that the loader is
imported only when the data are prepared.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gvibench.errors import UserError, suggest
from gvibench.registry import DATASETS
from gvibench.spec.fields import Option
from gvibench.spec.run import DataSpec

__all__ = [
    "TARGETS",
    "Bundled",
    "Card",
    "DatasetEntry",
    "File",
    "Setting",
    "entry",
    "find",
    "is_npz",
    "kinds_of_targets",
    "target_kind",
]

_NOUNS = {bool: "true or false", int: "a whole number", float: "a finite number", str: "text"}


@dataclass(frozen=True)
class File:
    """Raw file of a data set: its address, checksums and counts."""

    name: str
    url: str
    sha256: str | None
    """SHA-256 of the file; None if no copy could be confirmed byte for byte."""
    content_sha256: str | None = None
    """SHA-256 of the decompressed content, because the same data may be compressed differently."""
    confirmed: bool = True
    """Whether a different hash is an error. If not, a file with matching counts is accepted with a
    warning."""
    rows: int | None = None
    columns: int | None = None
    label_counts: Mapping[int, int] = field(default_factory=dict)
    nonzeros: int | None = None


@dataclass(frozen=True)
class Bundled:
    """Table in the package: a compressed CSV file with a header, and the role of its columns."""

    file: str
    """Name of the file in the folder `datasets/data` of the package."""
    sha256: str
    """SHA-256 of the decompressed file."""
    target: str = "class"
    """Column of the targets."""
    positive: str = ""
    """Class that becomes +1; empty for counts."""
    drop: tuple[str, ...] = ()
    """Columns to leave out."""
    categorical: tuple[str, ...] = ()
    """Columns with codes instead of quantities."""


@dataclass(frozen=True)
class Card:
    """Facts about a data set for readers. They do not change its rows."""

    creators: str = ""
    year: int | None = None
    """Year of the donation to the repository; None if it is unknown."""
    original: str = ""
    """Name of the data set in the repository that published it."""
    doi: str = ""
    licence: str = ""
    changes: str = ""
    """What was changed in the published file, as the licence requires to state."""
    cite: str = ""
    """Publication or notice that the creators ask to cite or to keep."""
    notes: tuple[str, ...] = ()

    @property
    def attribution(self) -> str:
        """Attribution in one sentence, or empty text if the origin is not known."""
        if not self.creators:
            return ""
        year = "" if self.year is None else f" ({self.year})"
        doi = f" doi:{self.doi}," if self.doi else ""
        return (
            f"{self.creators}{year}. {self.original}. UCI Machine Learning Repository.{doi} "
            f"{self.licence}; {self.changes}"
        )


@dataclass(frozen=True)
class Setting:
    """One option of a data set: its default, its meaning and its valid values."""

    default: Option
    meaning: str
    choices: tuple[str, ...] = ()
    at_least: int | None = None
    at_most: int = 10**9

    def accept(self, value: Option) -> Option:
        """Return `value` in the type of the default. Raise ValueError if it is invalid."""
        if self.choices:
            # YAML reads a digit as a number, e.g. in `positive: 0`.
            word = str(value)
            if word not in self.choices or isinstance(value, bool):
                near = suggest(word, self.choices)
                raise ValueError(f"must be one of {', '.join(self.choices)}, got {value!r}{near}")
            return word
        kind = type(self.default)
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind or (isinstance(value, float) and not math.isfinite(value)):
            raise ValueError(f"must be {_NOUNS[kind]}, got {value!r}")
        if self.at_least is not None and not isinstance(value, str) and value < self.at_least:
            raise ValueError(f"must be at least {self.at_least}, got {value!r}")
        if not isinstance(value, str) and value > self.at_most:
            raise ValueError(f"must be at most {self.at_most:g}, got {value!r}")
        return value


@dataclass(frozen=True)
class DatasetEntry:
    """One data set of the catalogue."""

    name: str
    title: str
    loader: str
    """Loader as `module:function`, which maps the entry and a complete DataSpec to a Source."""
    source: str
    """Origin of the data, for citation."""
    beta: float
    """Default prior precision."""
    n: int | None = None
    """Number of rows, including test rows; None if it depends on the options."""
    d: int | None = None
    """Number of columns; None if it depends on the options."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Meaning of `+1` and `-1`."""
    files: tuple[File, ...] = ()
    """Raw files: training rows, then test rows if the data set has its own."""
    alternative_files: tuple[File, ...] = ()
    """Raw files of the same data in another format, for an option such as `source`."""
    has_test: bool = False
    """Whether the data set has its own test rows, for the split `given`."""
    split: Literal["sklearn", "random", "first", "given"] = "sklearn"
    train_size: int | None = None
    """Default number of randomly drawn training rows; None means an 80 / 20 split."""
    scale: Literal["none", "standardize"] = "none"
    intercept: bool = False
    settings: Mapping[str, Setting] = field(default_factory=dict)
    """Options of the data set, by name."""
    table: Bundled | None = None
    """Table of a data set that is bundled as CSV."""
    card: Card = field(default=Card(), repr=False)
    """Facts for readers. The hash of the data job contains the text of the entry without them."""


TARGETS = Setting(
    "classes",
    "two classes, real numbers or counts; the default is `real` with model `linear` and `counts` "
    "with model `poisson`",
    choices=("classes", "real", "counts"),
)


def kinds_of_targets(entry: DatasetEntry) -> tuple[str, ...]:
    """Return the kinds of targets that a data set offers: `classes`, `real` or `counts`."""
    return entry.settings["targets"].choices if "targets" in entry.settings else ("classes",)


def target_kind(spec: DataSpec) -> str:
    """Return the kind of targets of a complete spec: `classes`, `real` or `counts`."""
    return str(spec.options.get("targets", "classes"))


def entry(name: str) -> DatasetEntry:
    """Return the data set called `name`."""
    loaded = DATASETS.load(name)
    if not isinstance(loaded, DatasetEntry) or loaded.name != name:
        raise UserError(
            f"data set '{name}' of {DATASETS.module_of(name)} is not a DatasetEntry of that name: "
            "report this to the authors of the package"
        )
    return loaded


def find(spec: DataSpec) -> DatasetEntry:
    """Return the entry of the data set of `spec`, which may be the user's own file."""
    if spec.path is not None:
        return _user_file(spec)
    if spec.test_path is not None:
        raise UserError(f"data set '{spec.dataset}': 'test_path' needs 'path': set both or none")
    return entry(spec.dataset)


def _user_file(spec: DataSpec) -> DatasetEntry:
    if spec.dataset in DATASETS.names():
        raise UserError(
            f"'{spec.dataset}' is a data set of the catalogue: use another name for your file "
            f"{spec.path}"
        )
    return DatasetEntry(
        name=spec.dataset,
        title=f"{spec.path}",
        loader="gvibench.datasets.user_file:load",
        source=f"{spec.path}",
        beta=1.0,
        # Only the loader can find out whether an .npz file has test rows.
        has_test=spec.test_path is not None or is_npz(str(spec.path)),
        split="sklearn" if spec.test_path is None else "given",
        scale="standardize",
        intercept=True,
        settings={"targets": TARGETS},
    )


def is_npz(path: str) -> bool:
    """Return whether the name of a file ends with `.npz`."""
    return path.lower().endswith(".npz")
