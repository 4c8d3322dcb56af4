"""Test the list of data sets and their cards."""

import re
import subprocess
import sys

import pytest

from gvibench.cli.main import main
from gvibench.registry import DATASETS
from gvibench.spec.catalogue import DatasetEntry, entry
from gvibench.store.certified import certified_optima, certified_optimum
from gvibench.study.dataset_cards import GROUPS, card, origin, overview

PLUGIN = DatasetEntry("stars", "Stars", "nowhere:load", "the sky", 1.0, n=50, d=2)


def lines_of(text: str) -> dict[str, str]:
    """Return the text behind each label of a card, with continued lines joined."""
    found: dict[str, str] = {}
    label = ""
    for line in text.splitlines()[1:]:
        label = line[:18].strip() or label
        found[label] = f"{found.get(label, '')} {line[18:].strip()}".strip()
    return found


def test_the_list_groups_all_data_sets(capsys) -> None:
    assert main(["datasets"]) == 0
    groups = capsys.readouterr().out.split("\n\n")
    names = {group.partition(":")[0]: re.findall(r"^  (\S+)", group, re.M) for group in groups[:-1]}
    assert set().union(*names.values()) == set(DATASETS.built_in)
    assert {"sonar", "wdbc", "bike-day"} <= set(names["bundled"])
    assert names["generated"] == ["synthetic"]
    assert "mnist" in names["downloaded on first use"]
    assert len(names["bundled"]) == 28


def test_plugins_are_listed(add_plugin) -> None:
    add_plugin("gvibench.datasets", "stars", f"{__name__}:PLUGIN")
    assert origin("stars") == "plug-in"
    assert f"{GROUPS['plug-in']}:\n  stars " in overview()
    assert "50: 40 for training, 10 for testing" in card("stars")


@pytest.mark.parametrize("name", DATASETS.built_in)
def test_all_data_sets_have_a_card(name: str) -> None:
    text = card(name)
    assert text.startswith(f"{name}: {entry(name).title}\n")
    assert max(map(len, text.splitlines())) <= 100
    facts = lines_of(text)
    assert {"origin", "rows", "features", "split", "preprocessing", "prior", "source"} <= set(facts)
    if origin(name) == "bundled":
        assert facts["licence"].startswith("CC BY 4.0")
        assert facts["attribution"].endswith(entry(name).card.changes)
        assert {"conditioning", "optimum", "posterior"} <= set(facts)


def test_the_card_of_sonar() -> None:
    facts = lines_of(card("sonar"))
    assert facts["rows"] == "208: 104 for training, 104 for testing"
    assert facts["features"] == "60, and an intercept"
    assert "(mine): 111 rows (56 for training, 55 for testing)" in facts["classes"]
    assert "-1 the object is a rock: 97 rows" in facts["classes"]
    assert facts["split"] == "random (stratified), seed 42"
    assert facts["separable"].startswith("yes")
    assert "doi:10.24432/C5T01Q" in facts["attribution"]
    known = certified_optimum("sonar", "logistic")
    assert f"objective {known.objective:.12g}" in facts["optimum"]
    assert f"at most {known.bound:.1e} above the minimum" in facts["optimum"]
    assert "zeros and ones" not in facts["preprocessing"]


def test_cards_state_what_is_special() -> None:
    heart, bike = lines_of(card("heart")), lines_of(card("bike-day"))
    assert "codes, not quantities: chest_pain_type" in heart["preprocessing"]
    assert "zeros and ones" in lines_of(card("housevotes"))["preprocessing"]
    assert bike["targets"] == "counts"
    assert "separable" not in bike
    assert "left out: instant, dteday, workingday, casual, registered" in bike["preprocessing"]
    assert "Fanaee-T and Gama" in bike["please cite"]
    assert "probit" in lines_of(card("mammographic"))["optimum"]
    assert "NUTS" in lines_of(card("wdbc"))["posterior"]
    assert "copyright" in lines_of(card("transfusion"))["please cite"].lower()


def test_class_counts_add_up() -> None:
    for known in certified_optima():
        if known.train_counts:
            assert sum(known.train_counts.values()) == known.n_train
            assert sum(known.test_counts.values()) == known.n_test


def test_an_unknown_name_gives_one_sentence(capsys) -> None:
    assert main(["datasets", "sonarr"]) == 2
    printed = capsys.readouterr().err.strip()
    assert "unknown data set 'sonarr' (did you mean 'sonar'?)" in printed
    assert "\n" not in printed


def test_a_card_does_not_import_numpy() -> None:
    code = (
        "import sys; from gvibench.study.dataset_cards import card; card('german'); "
        "assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
