"""Test that the config, the page and the frozen hash of the benchmark agree."""

from pathlib import Path

import pytest

from gvibench.benchmark import protocol
from gvibench.registry import DATASETS, SOLVERS
from gvibench.store.certified import certified_optimum
from gvibench.study.yaml_file import read_yaml

ROOT = Path(__file__).parents[2]
CONFIG = read_yaml(ROOT / protocol.CONFIG)
DEVELOPMENT = {"wdbc", "digits-odd-even", "crx", "breast-cancer-wisconsin", "mushroom", "fertility"}


def problems(study):
    datasets = CONFIG["studies"][study]["datasets"]
    return {
        name: ((settings or {}).get("dataset", name), (settings or {}).get("model", "logistic"))
        for name, settings in datasets.items()
    }


def test_the_rules_are_frozen():
    assert protocol.protocol_hash(CONFIG) == protocol.FROZEN


def test_titles_and_figures_are_no_rules_but_budgets_are():
    changed = read_yaml(ROOT / protocol.CONFIG)
    changed["studies"]["untuned-a"] |= {"title": "another", "figures": [], "tables": []}
    assert protocol.protocol_hash(changed) == protocol.FROZEN
    changed["studies"]["untuned-a"]["passes"] = 999.0
    assert protocol.protocol_hash(changed) != protocol.FROZEN


def test_the_page_states_the_rules_of_the_config():
    page = (ROOT / protocol.PAGE).read_text()
    assert protocol.generated_part(CONFIG) in page


@pytest.mark.parametrize("study", protocol.scored_studies(CONFIG))
def test_all_studies_score_the_same_problems_with_certified_optima(study):
    scored = problems(study)
    assert scored == problems("untuned-a")
    assert len({dataset for dataset, _ in scored.values()}) >= 15
    assert not DEVELOPMENT & {dataset for dataset, _ in scored.values()}
    hardest = CONFIG["studies"][study]["score"]["targets"]["stop"]
    for name, problem in scored.items():
        assert problem[0] in DATASETS.names(), name
        assert certified_optimum(*problem).bound < hardest / 10, name


@pytest.mark.parametrize("study", CONFIG["studies"])
def test_budgets_agree(study):
    settings = CONFIG["studies"][study]
    assert settings["score"]["budget"] == settings["passes"]
    assert settings["cost"] == "data_passes"
    solvers = settings["solvers"]
    for name in solvers:
        chosen = solvers[name] if isinstance(solvers, dict) else {}
        assert chosen.get("solver", name) in SOLVERS.names()


def test_no_study_is_tuned_on_its_own_rows_or_seeds():
    tuned = [study for study in CONFIG["studies"].values() if "tuning" in study]
    assert len(tuned) == 10
    for study in tuned:
        assert study["tuning"]["rows"] == "held-out"
        assert 0 not in study["tuning"]["seeds"]
