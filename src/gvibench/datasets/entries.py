"""Table of the built-in data sets: sources, sizes, labels, checksums and defaults."""

from collections.abc import Mapping

from gvibench.spec.catalogue import TARGETS, Card, DatasetEntry, File, Setting

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
MNIST_MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist"


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
        # The hashed copies could not be compared with the compressed files on LIBSVM's server.
        confirmed=not name.endswith(".bz2"),
        rows=shape[0],
        columns=shape[1],
        label_counts=label_counts,
        nonzeros=nonzeros,
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

AUSTRALIAN_SCALE = DatasetEntry(
    name="australian_scale",
    title="Australian credit approval",
    loader="gvibench.datasets.libsvm:load",
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
)

DIABETES_SCALE = DatasetEntry(
    name="diabetes_scale",
    title="Pima Indians diabetes",
    loader="gvibench.datasets.libsvm:load",
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
)

BREAST_CANCER_SCALE = DatasetEntry(
    name="breast-cancer_scale",
    title="Breast cancer, Wisconsin (original)",
    loader="gvibench.datasets.libsvm:load",
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
)

MUSHROOMS = DatasetEntry(
    name="mushrooms",
    title="Mushrooms",
    loader="gvibench.datasets.libsvm:load",
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
)

PHISHING = DatasetEntry(
    name="phishing",
    title="Phishing websites",
    loader="gvibench.datasets.libsvm:load",
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
)

MNIST = DatasetEntry(
    name="mnist",
    title="MNIST handwritten digits, one class against the rest",
    loader="gvibench.datasets.mnist:load",
    source="Y. LeCun, C. Cortes, C. Burges, the MNIST database of handwritten digits",
    beta=1e-1,
    n=70000,
    d=784,
    labels={"+1": "the digit is 'positive'", "-1": "the digit is 'negative'"},
    files=MNIST_IDX,
    alternative_files=MNIST_LIBSVM,
    has_test=True,
    split="given",
    settings={
        "positive": Setting("0", "the digit labelled +1", choices=DIGITS),
        "negative": Setting(
            "rest", "the digit labelled -1, or all the others", choices=("rest", *DIGITS)
        ),
        "source": Setting("idx", "which files to read", choices=("idx", "libsvm")),
    },
)

COVTYPE = DatasetEntry(
    name="covtype",
    title="Forest cover type, lodgepole pine against the rest",
    loader="gvibench.datasets.libsvm:load",
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
)

LEUKEMIA = DatasetEntry(
    name="leukemia",
    title="Leukemia, acute lymphoblastic against acute myeloid",
    loader="gvibench.datasets.libsvm:load",
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
)

WDBC = DatasetEntry(
    name="wdbc",
    title="Breast cancer, Wisconsin (diagnostic)",
    loader="gvibench.datasets.bundled:load_wdbc",
    source="UCI Breast Cancer Wisconsin (Diagnostic), bundled with scikit-learn",
    beta=1e-1,
    n=569,
    d=30,
    labels={"+1": "the tumour is benign", "-1": "the tumour is malignant"},
    scale="standardize",
    card=Card(
        creators="W. Wolberg, O. Mangasarian, N. Street and W. Street",
        year=1993,
        original="Breast Cancer Wisconsin (Diagnostic)",
        doi="10.24432/C5DW2B",
        licence="CC BY 4.0",
        changes="copied from scikit-learn",
    ),
)

DIGITS_ODD_EVEN = DatasetEntry(
    name="digits-odd-even",
    title="Handwritten digits (8 x 8), odd against even",
    loader="gvibench.datasets.bundled:load_digits_odd_even",
    source="UCI Optical Recognition of Handwritten Digits (its test set), "
    "bundled with scikit-learn",
    beta=1e-1,
    n=1797,
    d=64,
    labels={"+1": "the digit is odd", "-1": "the digit is even"},
    scale="standardize",
    card=Card(
        creators="E. Alpaydin and C. Kaynak",
        year=1998,
        original="Optical Recognition of Handwritten Digits",
        doi="10.24432/C50P49",
        licence="CC BY 4.0",
        changes="the test rows, copied from scikit-learn",
        notes=("Three pixels are the same in all images and become zero.",),
    ),
)

SYNTHETIC = DatasetEntry(
    name="synthetic",
    title="Gaussian design of a chosen condition number",
    loader="gvibench.datasets.synthetic:load",
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
        "targets": TARGETS,
    },
)
