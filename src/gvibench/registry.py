"""Look up built-in and plug-in objects by name.

Built-in objects are listed as text, so that planning a study does not import what it names. Other
packages add objects through entry points: the name of the entry point is the name users type.
"""

import functools
import importlib
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any

from gvibench.errors import UserError, suggest

__all__ = [
    "DATASETS",
    "EXPECTATIONS",
    "FIGURES",
    "MODELS",
    "SOLVERS",
    "STEP_RULES",
    "TABLES",
    "Registry",
    "forget_plugins",
]


class Registry:
    """Objects of one kind by name, imported when they are used.

    Parameters
    ----------
    kind
        Noun for messages.
    built_in
        `module:attribute` by name.
    group
        Entry-point group for other packages, if they may add objects.
    advice
        What users can do about an unknown name, for the message.
    """

    def __init__(
        self, kind: str, built_in: Mapping[str, str], group: str = "", advice: str = ""
    ) -> None:
        self.built_in = built_in
        self._kind = kind
        self._group = group
        self._advice = advice

    def names(self) -> list[str]:
        """Return all names, built-in ones first. Plug-ins cannot replace built-in objects."""
        return list({**self.built_in, **self._added()})

    def is_built_in(self, name: str) -> bool:
        """Return whether `name` belongs to gvibench itself."""
        return name in self.built_in

    def module_of(self, name: str) -> str:
        """Return the module that defines `name`."""
        return self._target(name).partition(":")[0]

    def load(self, name: str) -> Any:
        """Import and return the object called `name`."""
        module, _, attribute = self._target(name).partition(":")
        try:
            loaded = importlib.import_module(module)
            return getattr(loaded, attribute) if attribute else loaded
        except Exception as error:  # code of other packages may raise anything
            raise UserError(f"{self._kind} '{name}' could not be loaded: {error}") from error

    def _target(self, name: str) -> str:
        if name in self.built_in:  # first, because a search for entry points takes time
            return self.built_in[name]
        if name in self._added():
            return self._added()[name]
        known = self.names()
        raise UserError(
            f"unknown {self._kind} '{name}'{suggest(name, known)}; available: "
            f"{', '.join(known)}{self._advice}"
        )

    def _added(self) -> Mapping[str, str]:
        return _installed(self._group) if self._group else {}


@functools.cache
def _installed(group: str) -> dict[str, str]:
    return {entry.name: entry.value for entry in entry_points(group=group)}


def forget_plugins() -> None:
    """Search for plug-ins again at the next look-up, e.g. after installing one."""
    _installed.cache_clear()


SOLVERS = Registry(
    "solver",
    {
        "vn": "gvibench.solvers.vn:Vn",
        "vn-pd": "gvibench.solvers.vn_pd:VnPd",
        "sr-vn": "gvibench.solvers.sr_vn:SrVn",
        "sr-vn-rotated": "gvibench.solvers.sr_vn_rotated:SrVnRotated",
        "bw-gd": "gvibench.solvers.bw_gd:BwGd",
        "gd": "gvibench.solvers.gd:Gd",
        "gd-chol": "gvibench.solvers.gd_chol:GdChol",
        "svgd-density": "gvibench.solvers.svgd_density:SvgdDensity",
        "ng-flow": "gvibench.solvers.ng_flow:NgFlow",
        "fb-gvi": "gvibench.solvers.fb_gvi:FbGvi",
        "fr-kl": "gvibench.solvers.fr_kl:FrKl",
        "fr-r": "gvibench.solvers.fr_r:FrR",
        "laplace": "gvibench.solvers.laplace:Laplace",
        "advi": "gvibench.solvers.advi:Advi",
        "bam": "gvibench.solvers.bam:Bam",
        "gsm": "gvibench.solvers.gsm:Gsm",
    },
    "gvibench.solvers",
)
STEP_RULES = Registry(
    "step rule",
    {
        "constant": "gvibench.steps.constant:Constant",
        "decay": "gvibench.steps.decay:Decay",
        "auto": "gvibench.steps.auto:Auto",
        "none": "gvibench.steps.none:NoStep",
    },
    "gvibench.step_rules",
)
MODELS = Registry(
    "model",
    {
        "logistic": "gvibench.models.logistic:LogisticModel",
        "linear": "gvibench.models.linear:LinearModel",
        "non-convex": "gvibench.models.non_convex:NonConvexModel",
        "probit": "gvibench.models.probit:ProbitModel",
        "poisson": "gvibench.models.poisson:PoissonModel",
    },
    "gvibench.models",
)
EXPECTATIONS = Registry(
    "expectation",
    {
        "piecewise": "gvibench.numerics.expectations.piecewise:build",
        "exact": "gvibench.numerics.expectations.exact:build",
        "gauss-hermite": "gvibench.numerics.expectations.gauss_hermite:build",
    },
)
DATASETS = Registry(
    "data set",
    {
        "australian_scale": "gvibench.datasets.entries:AUSTRALIAN_SCALE",
        "diabetes_scale": "gvibench.datasets.entries:DIABETES_SCALE",
        "breast-cancer_scale": "gvibench.datasets.entries:BREAST_CANCER_SCALE",
        "mushrooms": "gvibench.datasets.entries:MUSHROOMS",
        "phishing": "gvibench.datasets.entries:PHISHING",
        "mnist": "gvibench.datasets.entries:MNIST",
        "covtype": "gvibench.datasets.entries:COVTYPE",
        "leukemia": "gvibench.datasets.entries:LEUKEMIA",
        "wdbc": "gvibench.datasets.entries:WDBC",
        "digits-odd-even": "gvibench.datasets.entries:DIGITS_ODD_EVEN",
        "synthetic": "gvibench.datasets.entries:SYNTHETIC",
        "bands": "gvibench.datasets.uci_entries:BANDS",
        "bank": "gvibench.datasets.uci_entries:BANK",
        "banknote": "gvibench.datasets.uci_entries:BANKNOTE",
        "bike-day": "gvibench.datasets.uci_entries:BIKE_DAY",
        "biodeg": "gvibench.datasets.uci_entries:BIODEG",
        "breast-cancer-wisconsin": "gvibench.datasets.uci_entries:BREAST_CANCER_WISCONSIN",
        "chess": "gvibench.datasets.uci_entries:CHESS",
        "climate": "gvibench.datasets.uci_entries:CLIMATE",
        "crx": "gvibench.datasets.uci_entries:CRX",
        "fertility": "gvibench.datasets.uci_entries:FERTILITY",
        "german": "gvibench.datasets.uci_entries:GERMAN",
        "haberman": "gvibench.datasets.uci_entries:HABERMAN",
        "heart": "gvibench.datasets.uci_entries:HEART",
        "housevotes": "gvibench.datasets.uci_entries:HOUSEVOTES",
        "ionosphere": "gvibench.datasets.uci_entries:IONOSPHERE",
        "magic": "gvibench.datasets.uci_entries:MAGIC",
        "mammographic": "gvibench.datasets.uci_entries:MAMMOGRAPHIC",
        "messidor": "gvibench.datasets.uci_entries:MESSIDOR",
        "mushroom": "gvibench.datasets.uci_entries:MUSHROOM",
        "ozone-onehr": "gvibench.datasets.uci_entries:OZONE_ONEHR",
        "parkinsons": "gvibench.datasets.uci_entries:PARKINSONS",
        "sonar": "gvibench.datasets.uci_entries:SONAR",
        "spambase": "gvibench.datasets.uci_entries:SPAMBASE",
        "tic-tac-toe": "gvibench.datasets.uci_entries:TIC_TAC_TOE",
        "transfusion": "gvibench.datasets.uci_entries:TRANSFUSION",
        "vertebral": "gvibench.datasets.uci_entries:VERTEBRAL",
    },
    "gvibench.datasets",
    "; set 'path' to use your own file",
)
FIGURES = Registry(
    "figure",
    {
        "gap": "gvibench.figures.curves:plot_gap",
        "test": "gvibench.figures.curves:plot_test_metrics",
        "time": "gvibench.figures.curves:plot_gap_over_time",
        "test-time": "gvibench.figures.curves:plot_test_metrics_over_time",
        "sensitivity": "gvibench.figures.sensitivity:plot",
        "heatmap": "gvibench.figures.heatmap:plot",
        "profile": "gvibench.figures.profile:plot",
        "ecdf": "gvibench.figures.ecdf:plot",
        "path": "gvibench.figures.trajectory:plot",
        "runtime": "gvibench.figures.runtime:plot",
        "bias": "gvibench.figures.bias:plot",
        "temperature": "gvibench.figures.temperature:plot",
        "theory": "gvibench.figures.theory:plot",
        "calibration": "gvibench.figures.calibration:plot",
        "score-ecdf": "gvibench.figures.score_ecdf:plot",
        "score-intervals": "gvibench.figures.score_intervals:plot",
        "score-profile": "gvibench.figures.score_profile:plot",
        "score-heatmap": "gvibench.figures.score_heatmap:plot",
    },
    "gvibench.figures",
)
TABLES = Registry(
    "table",
    {
        "datasets": "gvibench.tables.datasets:build",
        "performance": "gvibench.tables.performance:build",
        "paper": "gvibench.tables.paper:build",
        "runs": "gvibench.tables.runs:build",
        "winners": "gvibench.tables.winners:build",
        "runtime": "gvibench.tables.runtime:build",
        "theory": "gvibench.tables.theory:build",
        "quality": "gvibench.tables.quality:build",
        "truth": "gvibench.tables.truth:build",
        "scores": "gvibench.tables.scores:build",
        "run-times": "gvibench.tables.run_times:build",
        "failures": "gvibench.tables.failures:build",
        "beats": "gvibench.tables.beats:build",
    },
    "gvibench.tables",
)
