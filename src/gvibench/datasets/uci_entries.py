"""Table of the bundled UCI data sets: sizes, classes, columns, checksums, defaults and cards.

The class labelled +1 is the one that a detector looks for, or the rarer one. The prior precisions
were fixed before any run, so that weak, medium and strong priors occur. One half of the rows, drawn
with the same share of each class, is for training and the other half for testing.
"""

from collections.abc import Mapping
from typing import Any

from gvibench.spec.catalogue import Bundled, Card, DatasetEntry, Setting

LICENCE = "CC BY 4.0"
BY_POLICY = "CC BY 4.0 (the donation policy of the repository)"
HEADER = "rewritten as a CSV file with a header line"
COUNTS = Setting("counts", "the targets are counts", choices=("counts",))


def _classes(positive: str, negative: str) -> Mapping[str, str]:
    return {"+1": positive, "-1": negative}


def _uci(
    name: str,
    title: str,
    shape: tuple[int, int],
    beta: float,
    sha256: str,
    *,
    positive: str = "",
    labels: Mapping[str, str] | None = None,
    drop: tuple[str, ...] = (),
    categorical: tuple[str, ...] = (),
    counts: str = "",
    original: str,
    doi: str = "",
    licence: str = LICENCE,
    changes: str = "",
    **card: Any,
) -> DatasetEntry:
    return DatasetEntry(
        name=name,
        title=title,
        loader="gvibench.datasets.uci:load",
        source=f"UCI {original}",
        beta=beta,
        n=shape[0],
        d=shape[1],
        labels=labels or {},
        split="random",
        train_size=shape[0] // 2,
        scale="standardize",
        intercept=True,
        settings={"targets": COUNTS} if counts else {},
        table=Bundled(f"{name}.csv.bz2", sha256, counts or "class", positive, drop, categorical),
        card=Card(
            original=original,
            doi=f"10.24432/{doi}" if doi else "",
            licence=licence,
            changes=f"{HEADER}, {changes}" if changes else HEADER,
            **card,
        ),
    )


IONOSPHERE = _uci(
    "ionosphere",
    "Radar returns from the ionosphere",
    (351, 33),
    0.1,
    "000fe8478757a82ea4b1e58be1f5699f75e2178b2634657347765b7056aa52d1",
    positive="b",
    labels=_classes(
        "the return shows no structure in the ionosphere (bad)",
        "the return shows structure (good)",
    ),
    drop=("Attribute2",),
    creators="V. Sigillito et al.",
    year=1989,
    original="Ionosphere",
    doi="C5W01B",
    notes=("Attribute2 is 0 in all rows and is left out.",),
)

SONAR = _uci(
    "sonar",
    "Sonar returns, mines against rocks",
    (208, 60),
    1.0,
    "1a0efd0f67d20d6f487ea01dcb9d87e5c67c510d9b1b5d249d357588b6293ae9",
    positive="M",
    labels=_classes(
        "the object is a metal cylinder (mine)",
        "the object is a rock",
    ),
    creators="T. Sejnowski and R. Gorman",
    year=1988,
    original="Connectionist Bench (Sonar, Mines vs. Rocks)",
    doi="C5T01Q",
)

SPAMBASE = _uci(
    "spambase",
    "E-mails, spam or not",
    (4601, 57),
    0.1,
    "f61035a509a20e4c94a63d2db2c86fe660ed443dbc16aadf76e7d8abb37725c0",
    positive="1",
    labels=_classes(
        "the e-mail is spam",
        "the e-mail is not spam",
    ),
    creators="M. Hopkins, E. Reeber, G. Forman and J. Suermondt",
    year=1999,
    original="Spambase",
    doi="C53G6X",
    notes=("391 rows are repetitions of other rows, as in the original file.",),
)

MAGIC = _uci(
    "magic",
    "Gamma telescope, gamma rays against hadrons",
    (19020, 10),
    0.01,
    "ed9c3c747b6a424f579fb830b375bfea72ac4b0f4520fb2edd1ee609df79d0bc",
    positive="g",
    labels=_classes(
        "the event is a gamma ray (signal)",
        "the event is a hadron (background)",
    ),
    creators="R. Bock",
    year=2004,
    original="MAGIC Gamma Telescope",
    doi="C52C8B",
    notes=(
        "The events are simulated.",
        "115 rows are repetitions of other rows, as in the original file.",
    ),
)

HEART = _uci(
    "heart",
    "Heart disease (Statlog)",
    (270, 17),
    1.0,
    "2b7b06da9403dc77ec2682ff094d94ac894100b1529ba438ca7d368bb806c483",
    positive="2",
    labels=_classes(
        "heart disease is present",
        "heart disease is absent",
    ),
    categorical=("chest_pain_type", "resting_electrocardiographic_results", "thal"),
    creators="Statlog project",
    original="Statlog (Heart)",
    doi="C57303",
    notes=(
        "Chest pain type, resting ECG and thal are codes of nominal values.",
        "All rows also occur in the Cleveland file of the UCI set Heart Disease.",
    ),
)

MAMMOGRAPHIC = _uci(
    "mammographic",
    "Mammographic masses",
    (830, 10),
    1.0,
    "1857085797af6ea3499e68c9333ffe50840d70bfaed65a3f21515b4d8a6dd573",
    positive="1",
    labels=_classes(
        "the mass is malignant",
        "the mass is benign",
    ),
    categorical=("Margin", "Shape"),
    creators="M. Elter",
    year=2007,
    original="Mammographic Mass",
    doi="C53K6Z",
    changes="131 of 961 rows with missing values left out",
    licence=BY_POLICY,
    notes=(
        "Shape and Margin are codes of nominal values.",
        "BI-RADS has the values 0, 6 and once 55, as in the original file.",
        "266 rows are repetitions of other rows, as in the original file.",
    ),
)

GERMAN = _uci(
    "german",
    "German credit risk",
    (1000, 48),
    0.1,
    "82b17394b9c6cc1ed0bebda69cb269bda460a21b779a09ed45f76f0d4ae7ae79",
    positive="2",
    labels=_classes(
        "the credit risk is bad",
        "the credit risk is good",
    ),
    creators="H. Hofmann",
    year=1994,
    original="Statlog (German Credit Data)",
    doi="C5NC77",
)

CHESS = _uci(
    "chess",
    "Chess endgames, king and rook against king and pawn",
    (3196, 37),
    0.1,
    "a3e5eee1290e27fef745dcb1b98c42e300476271b1a352a06961d211588543a5",
    positive="won",
    labels=_classes(
        "White can win",
        "White cannot win",
    ),
    creators="A. Shapiro",
    year=1989,
    original="Chess (King-Rook vs. King-Pawn)",
    doi="C5DK5C",
    notes=("Donated by R. Holte.",),
)

TIC_TAC_TOE = _uci(
    "tic-tac-toe",
    "Tic-tac-toe endgames",
    (958, 18),
    0.01,
    "0b2ceb1c8cb0b062bc273e91f3130ba13dd8a7813b9728fc883e166ba4fbafb5",
    positive="positive",
    labels=_classes(
        "x has won",
        "x has not won",
    ),
    creators="D. Aha",
    year=1991,
    original="Tic-Tac-Toe Endgame",
    doi="C5688J",
    notes=("The rows are all possible final boards of games in which x moves first.",),
)

HOUSEVOTES = _uci(
    "housevotes",
    "Congressional voting records of 1984",
    (232, 16),
    1.0,
    "6750acdb93ab100251245f91cfe6b5decdc037cd3490f70727892adf2bc21543",
    positive="republican",
    labels=_classes(
        "the member is a Republican",
        "the member is a Democrat",
    ),
    creators="J. Schlimmer",
    year=1987,
    original="Congressional Voting Records",
    doi="C5C01P",
    changes="203 of 435 rows with missing values left out, class moved to the end",
    notes=("72 rows are repetitions of other rows, as in the original file.",),
)

CRX = _uci(
    "crx",
    "Credit card applications",
    (653, 37),
    0.1,
    "c797bc7be40efc302695fea095b3310b4bfda99eae4ab5ff0a5104dafa0b6d89",
    positive="+",
    labels=_classes(
        "the application is of class '+', usually read as approved",
        "the application is of class '-', usually read as refused",
    ),
    creators="J. R. Quinlan",
    year=1987,
    original="Credit Approval",
    doi="C5FS30",
    changes="37 of 690 rows with missing values left out",
    notes=(
        "The names of attributes and values were made meaningless by the donor.",
        "australian_scale is another version of the same applications.",
    ),
)

BANDS = _uci(
    "bands",
    "Cylinder bands in rotogravure printing",
    (365, 19),
    1.0,
    "71a5886b8bca8ff1d2d7f0b16dc56107e47d382718b8c9d3b3249bc997470bc5",
    positive="band",
    labels=_classes(
        "bands appeared",
        "no bands appeared",
    ),
    creators="B. Evans",
    year=1995,
    original="Cylinder Bands",
    changes="175 of 540 rows with missing values and the attributes 1 to 20 left out",
    licence=BY_POLICY,
    notes=(
        "Only the 19 numeric attributes are used.",
        "The file has 540 records (312 without bands, 228 with), but its documentation states 512.",
    ),
)

BANKNOTE = _uci(
    "banknote",
    "Banknote authentication",
    (1372, 4),
    0.01,
    "a4e6eb57f00dc0c5696badf6553001e8871644b5b98ab1b2869054af1d255125",
    positive="1",
    labels=_classes(
        "class 1 of the original data, usually read as forged",
        "class 0 of the original data, usually read as genuine",
    ),
    creators="V. Lohweg",
    year=2012,
    original="Banknote Authentication",
    doi="C55P57",
)

TRANSFUSION = _uci(
    "transfusion",
    "Blood donors of a transfusion service",
    (748, 3),
    0.01,
    "c91d9c6dd00fbbc4ef4ccfe5b8ca1c9d3a10c50f6f32a513ee2309ffda73270f",
    positive="1",
    labels=_classes(
        "the donor gave blood in March 2007",
        "the donor did not",
    ),
    drop=("Monetary (c.c. blood)",),
    creators="I-Cheng Yeh",
    year=2008,
    original="Blood Transfusion Service Center",
    doi="C5GS39",
    cite="Copyright Prof. I-Cheng Yeh. Cite: Yeh, Yang and Ting, Expert Systems with "
    "Applications (2008)",
    notes=(
        "Monetary is 250 times Frequency and is left out.",
        "215 rows are repetitions of other rows, as in the original file.",
    ),
)

BREAST_CANCER_WISCONSIN = _uci(
    "breast-cancer-wisconsin",
    "Breast cancer, Wisconsin (original), UCI file",
    (683, 9),
    0.1,
    "62e759b9473f7a6ee22704832547406054f858db103cdaaf93f4c614bc29d7a8",
    positive="4",
    labels=_classes(
        "the tumour is malignant",
        "the tumour is benign",
    ),
    creators="W. Wolberg",
    year=1990,
    original="Breast Cancer Wisconsin (Original)",
    doi="C5HP4Z",
    changes="16 of 699 rows with missing values and the sample number left out",
    notes=(
        "breast-cancer_scale has the same rows, with the sample number as its first column.",
        "234 rows are repetitions of other rows, as in the original file.",
    ),
)

HABERMAN = _uci(
    "haberman",
    "Survival after surgery for breast cancer",
    (306, 3),
    0.01,
    "aed823144f042153e4e77aacc73ae64ef488899b58d03e39dd880544f8afc167",
    positive="2",
    labels=_classes(
        "the patient died within five years",
        "the patient survived five years or longer",
    ),
    creators="S. Haberman",
    year=1999,
    original="Haberman's Survival",
    doi="C5XK51",
    notes=("Donated by T.-S. Lim.",),
)

PARKINSONS = _uci(
    "parkinsons",
    "Voice recordings and Parkinson's disease",
    (195, 22),
    1.0,
    "3bce54b0f8fb603f0884bc34fa1abbc5db4348fa55709ec68a43ac1ca0e50423",
    positive="1",
    labels=_classes(
        "the person has Parkinson's disease",
        "the person is healthy",
    ),
    creators="M. Little",
    year=2007,
    original="Parkinsons",
    doi="C59C74",
    changes="name of the recording left out, class moved to the end",
    notes=(
        "The 195 recordings are of about 32 people, so rows are not independent.",
        "Up to rounding, Jitter:DDP is 3 times MDVP:RAP and Shimmer:DDA is 3 times Shimmer:APQ3.",
    ),
)

BIODEG = _uci(
    "biodeg",
    "Biodegradation of chemicals",
    (1055, 41),
    1.0,
    "6b0fe4111ad871845d6f9d87331360d95602de7c052759a979babcc9716eacf2",
    positive="RB",
    labels=_classes(
        "the chemical is ready biodegradable",
        "the chemical is not ready biodegradable",
    ),
    creators="K. Mansouri et al.",
    year=2013,
    original="QSAR biodegradation",
    doi="C5H60M",
)

CLIMATE = _uci(
    "climate",
    "Crashes of climate simulations",
    (540, 18),
    0.1,
    "9bb26f43e8d5979cd61fa77bf3510d9f436bd1dac37fd898e20e2a442109eb1a",
    positive="0",
    labels=_classes(
        "the simulation failed",
        "the simulation succeeded",
    ),
    creators="D. Lucas et al.",
    year=2013,
    original="Climate Model Simulation Crashes",
    doi="C5HG71",
    changes="numbers of the study and of the run left out",
    notes=("Only 46 of 540 simulations failed.",),
)

MESSIDOR = _uci(
    "messidor",
    "Diabetic retinopathy in images of the retina",
    (1151, 19),
    0.1,
    "4d477833b347c96400012aa93c8d27d6dcfeeb971b86a25db0ae0bdaf9b54fe1",
    positive="1",
    labels=_classes(
        "the image shows signs of diabetic retinopathy",
        "the image shows no signs",
    ),
    creators="B. Antal and A. Hajdu",
    year=2014,
    original="Diabetic Retinopathy Debrecen",
    doi="C5XP4P",
    notes=(
        "Two independent copies agree in all values; the hash of the original file is not known.",
    ),
)

VERTEBRAL = _uci(
    "vertebral",
    "Vertebral column, abnormal against normal",
    (310, 6),
    0.1,
    "542bbca391219a2c104e501f76bfc2768840240de7cc98c128bbece505e5db9d",
    positive="AB",
    labels=_classes(
        "the column is abnormal",
        "the column is normal",
    ),
    creators="G. Barreto and A. Neto",
    year=2011,
    original="Vertebral Column",
    doi="C5K89B",
    notes=(
        "Up to rounding, pelvic_incidence is pelvic_tilt plus sacral_slope.",
        "Two independent copies agree in all values; the hash of the original file is not known.",
    ),
)

FERTILITY = _uci(
    "fertility",
    "Semen quality and habits",
    (100, 9),
    1.0,
    "fc9dec7f999e48944651cb0cd47a34bcc6d2618c0fd74107cd33e4bc2f4f044f",
    positive="O",
    labels=_classes(
        "the diagnosis is altered",
        "the diagnosis is normal",
    ),
    creators="D. Gil and J. Girela",
    year=2012,
    original="Fertility",
    doi="C5Z01Z",
    notes=("Only 12 of 100 diagnoses are altered.",),
)

MUSHROOM = _uci(
    "mushroom",
    "Mushrooms, complete rows of the UCI file",
    (5644, 76),
    0.1,
    "ecd5ee41f31a633f6bf38dca083e9821e06aa5a990bfb300ebd150fb1818e24b",
    positive="p",
    labels=_classes(
        "the mushroom is poisonous",
        "the mushroom is edible",
    ),
    drop=("veil-type",),
    creators="J. Schlimmer",
    year=1987,
    original="Mushroom",
    doi="C5959T",
    changes="2480 of 8124 rows with missing values left out, class moved to the end",
    notes=(
        "veil-type is the same in all rows and is left out.",
        "The incomplete rows have no stalk-root. mushrooms has all 8124 rows.",
        "The original source is The Audubon Society Field Guide (1981).",
    ),
)

BANK = _uci(
    "bank",
    "Phone calls of a bank",
    (4521, 42),
    0.1,
    "3d8bf3a3547efb1354c4bb193191adc103defc4eda98138e9df6c7de004c2683",
    positive="yes",
    labels=_classes(
        "the client subscribed a term deposit",
        "the client did not subscribe",
    ),
    creators="S. Moro, P. Rita and P. Cortez",
    year=2012,
    original="Bank Marketing",
    doi="C5K306",
    cite="Cite: Moro et al. (2011, 2014)",
    notes=("`unknown` is a level of its own.", "duration is known only after the call."),
)

OZONE_ONEHR = _uci(
    "ozone-onehr",
    "Ozone days, one-hour peaks",
    (1848, 72),
    1.0,
    "a458c38640aa55fba9356c0e4957459b94cb02782cafee18c36eb8c987ba7f3f",
    positive="1",
    labels=_classes(
        "the day is an ozone day",
        "the day is normal",
    ),
    creators="K. Zhang and W. Fan",
    year=2008,
    original="Ozone Level Detection",
    doi="C5NG6W",
    changes="688 of 2536 rows with missing values and the date left out, full stop after the "
    "class removed",
    notes=("The file is onehr.data. Only 57 of 1848 days are ozone days.",),
)

BIKE_DAY = _uci(
    "bike-day",
    "Bicycles rented per day (counts)",
    (731, 28),
    0.1,
    "537e98e2c8b8f53e3094d953f847788b1dc224764a4a1e538b3e1ec4e30dac8a",
    drop=("instant", "dteday", "workingday", "casual", "registered"),
    categorical=("season", "mnth", "weekday", "weathersit"),
    creators="H. Fanaee-T",
    year=2013,
    original="Bike Sharing",
    doi="C5W894",
    cite="Cite: Fanaee-T and Gama, Progress in Artificial Intelligence (2013)",
    counts="cnt",
    notes=(
        "The file is day.csv.",
        "casual and registered add up to the count, so both are left out.",
        "instant and dteday number the days and are left out.",
        "workingday follows from weekday and holiday and is left out.",
        "One day has hum = 0.",
        "Rates grow exponentially: with init_scale 1 a run starts at an objective of about 1e17. "
        "Use 0.1 or less.",
    ),
)
