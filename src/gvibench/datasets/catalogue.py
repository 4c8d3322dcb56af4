"""The data sets we know: where they come from, what they hold, how they are split by default.

This module is light on purpose: planning a study completes thousands of specs and must not pay
for scikit-learn. What actually loads a data set is named by `Entry.loader` and imported only
when the set is prepared.

Other packages add data sets through the entry-point group ``gvibench.datasets``: the name of the
entry point is the name of the data set, its value an `Entry`.
"""

import functools
import importlib.metadata
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gvibench.errors import UserError
from gvibench.spec.run import DataSpec, Option, parse, suggest

__all__ = [
    "BUILT_IN",
    "MNIST_IDX",
    "MNIST_LIBSVM",
    "Entry",
    "File",
    "Setting",
    "complete",
    "entry",
    "find",
    "is_npz",
    "modules_of",
    "names",
]

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
MNIST_MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist"
PLUGIN_GROUP = "gvibench.datasets"
DEFAULT_TEST_SIZE = 0.2

_NOUNS = {bool: "true or false", int: "a whole number", float: "a finite number", str: "text"}


@dataclass(frozen=True)
class File:
    """One raw file: where to get it and how to know that it is the right one."""

    name: str
    url: str
    sha256: str | None
    """SHA-256 of the file; none where no copy could be confirmed byte for byte."""
    content_sha256: str | None = None
    """SHA-256 of the decompressed content: the same data may be packed differently."""
    confirmed: bool = True
    """Whether another hash is an error; otherwise the counts below decide, with a warning."""
    rows: int | None = None
    columns: int | None = None
    label_counts: Mapping[int, int] = field(default_factory=dict)
    nonzeros: int | None = None


@dataclass(frozen=True)
class Setting:
    """One option of a data set: its default and which values it takes."""

    default: Option
    meaning: str
    choices: tuple[str, ...] = ()
    at_least: int | None = None
    at_most: int = 10**9

    def accept(self, value: Option) -> Option:
        """Return `value` in the type of the default, or raise ValueError saying what it must be."""
        if self.choices:
            # A digit may come as a number: YAML reads `positive: 0` that way.
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
            raise ValueError(f"must be at most {self.at_most:g}")
        return value


@dataclass(frozen=True)
class Entry:
    """One data set of the catalogue."""

    name: str
    title: str
    loader: str
    """``module:function`` that takes the entry and a complete DataSpec and returns a Source."""
    source: str
    """Where the data come from, for citing."""
    beta: float
    """Default prior precision."""
    n: int | None = None
    """Rows, test rows included; none if the options decide."""
    d: int | None = None
    """Columns; none if the options decide."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What ``+1`` and ``-1`` mean."""
    files: tuple[File, ...] = ()
    """The raw files: training rows, then test rows if the set has its own."""
    has_test: bool = False
    """Whether the set comes with its own test rows, for the split ``given``."""
    split: Literal["sklearn", "random", "first", "given"] = "sklearn"
    train_size: int | None = None
    """Default size of a drawn training set; none means an 80 / 20 split."""
    scaling: Literal["none", "standardize"] = "none"
    settings: Mapping[str, Setting] = field(default_factory=dict)
    """The options this set understands."""


def names() -> list[str]:
    """Return the names of all data sets, ours first, then those of other packages."""
    return [*BUILT_IN, *(name for name in sorted(_plugins()) if name not in BUILT_IN)]


def entry(name: str) -> Entry:
    """Return the data set called `name`."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    if name in _plugins():
        return _load_plugin(name)
    raise UserError(
        f"unknown data set '{name}'{suggest(name, names())}: the catalogue has "
        f"{', '.join(names())}; give 'path' to use a file of your own"
    )


def complete(spec: DataSpec | Mapping[str, Any], model: str | None = None) -> DataSpec:
    """Fill in the catalogue's defaults for everything the user did not set.

    Completing a complete spec changes nothing. The model decides what targets mean where the data
    set leaves it open, by an option `target`: real numbers for `linear`, else two classes.
    """
    if not isinstance(spec, DataSpec):
        spec = parse(DataSpec, dict(spec), "data")
    known = find(spec)
    chosen = spec.model_fields_set
    values = spec.model_dump()
    if "split" not in chosen:
        values["split"] = known.split
    if "scaling" not in chosen:
        values["scaling"] = known.scaling
    drawn = values["split"] in {"sklearn", "random"}
    if not {"train_size", "test_size"} & chosen and (drawn or values["split"] == known.split):
        values["train_size"] = known.train_size
    if drawn and values["train_size"] is None and values["test_size"] is None:
        values["test_size"] = DEFAULT_TEST_SIZE
    if model == "linear" and "target" in known.settings and "target" not in spec.options:
        spec = spec.model_copy(update={"options": {**spec.options, "target": "regression"}})
    values["options"] = _complete_options(spec, known.settings)
    _check_split(values, known.has_test)
    return DataSpec(**values)


def find(spec: DataSpec) -> Entry:
    """Return the entry of the data set that `spec` asks for, also for a file of the user's."""
    if spec.path is not None:
        return _user_file(spec)
    if spec.test_path is not None:
        raise UserError(f"data set '{spec.dataset}': 'test_path' needs 'path' beside it")
    return entry(spec.dataset)


def modules_of(spec: DataSpec) -> list[str]:
    """Return the modules that load the data set of `spec` and, if it is not ours, define it."""
    loader = find(spec).loader.partition(":")[0]
    is_added = spec.path is None and spec.dataset not in BUILT_IN
    return [loader, _plugins()[spec.dataset].module] if is_added else [loader]


def _user_file(spec: DataSpec) -> Entry:
    if spec.dataset in names():
        raise UserError(
            f"'{spec.dataset}' is a data set of the catalogue: "
            f"give your file {spec.path} another name"
        )
    return Entry(
        name=spec.dataset,
        title=f"{spec.path}",
        loader=f"{_SOURCES}:user_file",
        source=f"{spec.path}",
        beta=1e-1,
        # Whether an .npz file really has test rows is known only once it is read.
        has_test=spec.test_path is not None or is_npz(str(spec.path)),
        split="sklearn" if spec.test_path is None else "given",
        settings={"target": TARGET},
    )


def is_npz(path: str) -> bool:
    """Say whether a user's file is read as NumPy's ``.npz``, by its name."""
    return path.lower().endswith(".npz")


def _complete_options(spec: DataSpec, settings: Mapping[str, Setting]) -> dict[str, Option]:
    for name in spec.options:
        if name not in settings:
            known = f"it has {', '.join(settings)}" if settings else "it has none"
            raise UserError(
                f"data set '{spec.dataset}': unknown option '{name}'"
                f"{suggest(name, settings)}; {known}"
            )
    completed: dict[str, Option] = {}
    for name, setting in settings.items():
        try:
            completed[name] = setting.accept(spec.options.get(name, setting.default))
        except ValueError as error:
            raise UserError(f"data set '{spec.dataset}': option '{name}' {error}") from error
    if "positive" in completed and completed["positive"] == completed.get("negative"):
        raise UserError(
            f"data set '{spec.dataset}': options 'positive' and 'negative' are both "
            f"{completed['positive']!r}; choose two different classes"
        )
    return completed


def _check_split(values: Mapping[str, Any], has_test: bool) -> None:
    name, split = values["dataset"], values["split"]
    if split == "given" and not has_test:
        raise UserError(
            f"data set '{name}' has no test file of its own: "
            f"use split 'sklearn', 'random' or 'first'"
        )
    if split != "given" and values["test_path"] is not None:
        raise UserError(
            f"data set '{name}': 'test_path' is only for split 'given', not for '{split}'"
        )
    if split == "first" and values["train_size"] is None:
        raise UserError(
            f"data set '{name}': split 'first' needs 'train_size', the number of rows that train"
        )


@functools.cache
def _plugins() -> dict[str, importlib.metadata.EntryPoint]:
    return {point.name: point for point in importlib.metadata.entry_points(group=PLUGIN_GROUP)}


def _load_plugin(name: str) -> Entry:
    point = _plugins()[name]
    package = point.dist.name if point.dist else point.module
    try:
        loaded = point.load()
    except Exception as error:
        raise UserError(
            f"data set '{name}' of the package '{package}' could not be loaded: {error}"
        ) from error
    if not isinstance(loaded, Entry) or loaded.name != name:
        raise UserError(
            f"data set '{name}' of the package '{package}' is not an Entry of that name: "
            f"tell its authors"
        )
    return loaded


def _libsvm(
    name: str,
    shape: tuple[int, int],
    label_counts: Mapping[int, int],
    nonzeros: int,
    sha256: str,
    content_sha256: str | None = None,
) -> File:
    return File(
        name,
        f"{LIBSVM}/binary/{name}",
        sha256,
        content_sha256,
        # LIBSVM's own containers could not be compared with the copies that were hashed.
        confirmed=not name.endswith(".bz2"),
        rows=shape[0],
        columns=shape[1],
        label_counts=label_counts,
        nonzeros=nonzeros,
    )


TARGET = Setting(
    "binary",
    "two classes or real numbers; with model `linear` `regression` unless set",
    choices=("binary", "regression"),
)
DIGITS = tuple("0123456789")

MNIST_TRAIN_COUNTS = dict(enumerate((5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949)))
MNIST_TEST_COUNTS = dict(enumerate((980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009)))

MNIST_IDX = (
    File(
        "train-images-idx3-ubyte.gz",
        f"{MNIST_MIRROR}/train-images-idx3-ubyte.gz",
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    ),
    File(
        "train-labels-idx1-ubyte.gz",
        f"{MNIST_MIRROR}/train-labels-idx1-ubyte.gz",
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    ),
    File(
        "t10k-images-idx3-ubyte.gz",
        f"{MNIST_MIRROR}/t10k-images-idx3-ubyte.gz",
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    ),
    File(
        "t10k-labels-idx1-ubyte.gz",
        f"{MNIST_MIRROR}/t10k-labels-idx1-ubyte.gz",
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
)

MNIST_LIBSVM = (
    File(
        "mnist.bz2",
        f"{LIBSVM}/multiclass/mnist.bz2",
        None,
        confirmed=False,
        rows=60000,
        columns=780,
        label_counts=MNIST_TRAIN_COUNTS,
        nonzeros=8994156,
    ),
    File(
        "mnist.t.bz2",
        f"{LIBSVM}/multiclass/mnist.t.bz2",
        None,
        confirmed=False,
        rows=10000,
        columns=778,
        label_counts=MNIST_TEST_COUNTS,
        nonzeros=1511219,
    ),
)
"""The same images in LIBSVM's format, for the option ``source: libsvm``."""

_SOURCES = "gvibench.datasets.loaders"

_ENTRIES = (
    Entry(
        name="australian_scale",
        title="Australian credit approval",
        loader=f"{_SOURCES}:libsvm",
        source="UCI Statlog (Australian Credit Approval), as scaled by LIBSVM",
        beta=1e-5,
        n=690,
        d=14,
        labels={
            "+1": "the application is of class '+' of the original data, usually read as granted",
            "-1": "the application is of class '-' of the original data, usually read as refused",
        },
        files=(
            _libsvm(
                "australian_scale",
                (690, 14),
                {-1: 383, 1: 307},
                8447,
                "86799bcc4dbcd41929a514fa181d1c1a40e01f009dee139d4141a194d7ecd9e3",
            ),
        ),
    ),
    Entry(
        name="diabetes_scale",
        title="Pima Indians diabetes",
        loader=f"{_SOURCES}:libsvm",
        source="UCI / NIDDK Pima Indians Diabetes, as scaled by LIBSVM",
        beta=1e-2,
        n=768,
        d=8,
        labels={"+1": "the test for diabetes was negative", "-1": "the test was positive"},
        files=(
            _libsvm(
                "diabetes_scale",
                (768, 8),
                {-1: 268, 1: 500},
                6135,
                "0c07eb4c49e7a8ffb9c9f25095ac3022df2ca85b0dcb7d294c3ddea69f392cba",
            ),
        ),
    ),
    Entry(
        name="breast-cancer_scale",
        title="Breast cancer, Wisconsin (original)",
        loader=f"{_SOURCES}:libsvm",
        source="UCI Breast Cancer Wisconsin (Original), the 683 complete rows as scaled by LIBSVM; "
        "column 1 is the sample number",
        beta=1e-1,
        n=683,
        d=10,
        labels={"+1": "the tumour is malignant", "-1": "the tumour is benign"},
        files=(
            _libsvm(
                "breast-cancer_scale",
                (683, 10),
                {2: 444, 4: 239},
                6830,
                "3c90cd8f884810a0ff2eaf2cc7aabf09073f33c2dfcf113d826a13ca60b257ad",
            ),
        ),
    ),
    Entry(
        name="mushrooms",
        title="Mushrooms",
        loader=f"{_SOURCES}:libsvm",
        source="UCI Mushroom (Agaricus-Lepiota), one-hot coded by LIBSVM",
        beta=1e-2,
        n=8124,
        d=112,
        labels={"+1": "the mushroom is edible", "-1": "the mushroom is poisonous"},
        files=(
            _libsvm(
                "mushrooms",
                (8124, 112),
                {1: 3916, 2: 4208},
                170604,
                "f39a4eb628dc61a7d43760815b061c9e497aa728ce1ad8bde57a09ef6043b538",
            ),
        ),
    ),
    Entry(
        name="phishing",
        title="Phishing websites",
        loader=f"{_SOURCES}:libsvm",
        source="UCI Phishing Websites, one-hot coded and scaled by LIBSVM",
        beta=1e-2,
        n=11055,
        d=68,
        labels={"+1": "the website is legitimate", "-1": "the website is phishing"},
        files=(
            _libsvm(
                "phishing",
                (11055, 68),
                {0: 4898, 1: 6157},
                331650,
                "0cf66ef36604c393da9359b2e5d894a2df8aee31fd184633cefa138add2ef08a",
            ),
        ),
    ),
    Entry(
        name="mnist",
        title="MNIST handwritten digits, one class against the rest",
        loader=f"{_SOURCES}:mnist",
        source="Y. LeCun, C. Cortes, C. Burges, the MNIST database of handwritten digits",
        beta=1e-1,
        n=70000,
        d=784,
        labels={"+1": "the digit is 'positive'", "-1": "the digit is 'negative'"},
        files=MNIST_IDX,
        has_test=True,
        split="given",
        settings={
            "positive": Setting("0", "the digit labelled +1", choices=DIGITS),
            "negative": Setting(
                "rest", "the digit labelled -1, or all the others", choices=("rest", *DIGITS)
            ),
            "source": Setting("idx", "which files to read", choices=("idx", "libsvm")),
        },
    ),
    Entry(
        name="covtype",
        title="Forest cover type, lodgepole pine against the rest",
        loader=f"{_SOURCES}:libsvm",
        source="UCI Covertype (J. Blackard, Colorado State University), "
        "as covtype.libsvm.binary.scale by LIBSVM",
        beta=2e-2,
        n=581012,
        d=54,
        labels={"+1": "the cover is lodgepole pine", "-1": "the cover is of any other type"},
        files=(
            _libsvm(
                "covtype.libsvm.binary.scale.bz2",
                (581012, 54),
                {1: 297711, 2: 283301},
                6940438,
                "68d6c54c1f7f5380b2f9eb652471522fef8a5ac255c4a0e3b2096428241ad799",
                "859809c092ca933e1a8cc1cfa15e33b56cb11651e4e0a5b52b702abc315a6c0f",
            ),
        ),
        train_size=500_000,
    ),
    Entry(
        name="leukemia",
        title="Leukemia, acute lymphoblastic against acute myeloid",
        loader=f"{_SOURCES}:libsvm",
        source="T. Golub et al., Science 286 (1999), as standardised by LIBSVM after "
        "Shevade and Keerthi (2003)",
        beta=2e-1,
        n=72,
        d=7129,
        labels={
            "+1": "the leukemia is acute lymphoblastic (ALL)",
            "-1": "the leukemia is acute myeloid (AML)",
        },
        files=(
            _libsvm(
                "leu.bz2",
                (38, 7129),
                {-1: 11, 1: 27},
                270902,
                "2f7dc1c8ea4343b17038e27ff777dad0a87d79a5fa29de54765055cc841cb75b",
                "95d1d089712937c6661d3beb218bcb02be5b0f7c17c13cbdbb19787b1fce87f8",
            ),
            _libsvm(
                "leu.t.bz2",
                (34, 7129),
                {-1: 14, 1: 20},
                242386,
                "582161e3d5112f6c1604d262413acca5e33cad1b3f522c681faeb369e8b4a271",
                "f2f9116b8ed6f36ff5685174c904b5c93057b619e527f77d272bbf71b10244f6",
            ),
        ),
        has_test=True,
        split="given",
    ),
    Entry(
        name="wdbc",
        title="Breast cancer, Wisconsin (diagnostic)",
        loader=f"{_SOURCES}:wdbc",
        source="UCI Breast Cancer Wisconsin (Diagnostic), bundled with scikit-learn",
        beta=1e-1,
        n=569,
        d=30,
        labels={"+1": "the tumour is benign", "-1": "the tumour is malignant"},
        scaling="standardize",
    ),
    Entry(
        name="digits-odd-even",
        title="Handwritten digits (8 x 8), odd against even",
        loader=f"{_SOURCES}:digits_odd_even",
        source="UCI Optical Recognition of Handwritten Digits (its test set), "
        "bundled with scikit-learn",
        beta=1e-1,
        n=1797,
        d=64,
        labels={"+1": "the digit is odd", "-1": "the digit is even"},
        scaling="standardize",
    ),
    Entry(
        name="synthetic",
        title="Gaussian design of a chosen condition number",
        loader=f"{_SOURCES}:synthetic",
        source="generated from a seed",
        beta=1e-1,
        labels={
            "+1": "drawn with probability sigmoid(margin)",
            "-1": "drawn with probability sigmoid(-margin)",
        },
        settings={
            "n": Setting(1000, "rows, test rows included", at_least=2),
            "d": Setting(10, "columns", at_least=1),
            "condition": Setting(
                10.0, "condition number of the covariance of a row", at_least=1, at_most=10**16
            ),
            "separation": Setting(2.0, "standard deviation of the margins", at_least=0),
            "seed": Setting(0, "seed of everything drawn", at_least=0),
            "target": TARGET,
        },
    ),
)

BUILT_IN = {known.name: known for known in _ENTRIES}
