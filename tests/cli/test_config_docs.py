from pathlib import Path

import pytest

from gvibench.cli import config_docs

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("path", config_docs.FILES, ids=str)
def test_generated_files_are_up_to_date(path):
    generated = config_docs.FILES[path]()
    assert (ROOT / path).read_text() == generated, "run python -m gvibench.cli.config_docs"


def test_all_settings_are_documented():
    for model in config_docs.MODELS:
        for name, text in config_docs.settings_help(model).items():
            assert text, f"{model.__name__}.{name} has no docstring"
