import pytest

from gvibench.errors import UserError
from gvibench.registry import DATASETS
from gvibench.spec.catalogue import DatasetEntry, entry
from gvibench.study.defaults import complete_data

PLUGIN = DatasetEntry(
    "stars", "Stars", "nowhere:load", "the sky", 1.0, labels={"+1": "a", "-1": "b"}
)
NOT_AN_ENTRY = 3


@pytest.fixture
def plugins(add_plugin):
    add_plugin("gvibench.datasets", "stars", f"{__name__}:PLUGIN")
    add_plugin("gvibench.datasets", "broken", "no_such_module:x")
    add_plugin("gvibench.datasets", "wrong", f"{__name__}:NOT_AN_ENTRY")


@pytest.mark.usefixtures("plugins")
def test_plugins_add_data_sets() -> None:
    assert entry("stars") is PLUGIN
    assert "stars" in DATASETS.names()
    assert complete_data({"dataset": "stars"}).test_size == 0.2


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize(
    ("name", "sentence"), [("broken", "could not be loaded"), ("wrong", "is not a DatasetEntry")]
)
def test_a_broken_plugin_is_an_error_only_when_it_is_used(name: str, sentence: str) -> None:
    entry("wdbc")
    with pytest.raises(UserError, match=f"'{name}' .*{sentence}"):
        entry(name)
