import pytest

from gvibench.errors import UserError
from gvibench.store.choices import read_choice


def test_an_invalid_choice_file_is_an_error(tmp_path):
    (tmp_path / "choice.json").write_text("{}")
    with pytest.raises(UserError, match="is not a choice"):
        read_choice(tmp_path / "choice.json")
