import pytest

from gvibench.errors import UserError
from gvibench.store.choices import read_choice, read_choices


def test_an_invalid_choice_file_is_an_error(tmp_path):
    (tmp_path / "choice.json").write_text("{}")
    with pytest.raises(UserError, match="is not a choice"):
        read_choice(tmp_path / "choice.json")


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"step": 0.1}',
        '{"step": -0.1, "init_scale": 1.0}',
        '{"step": NaN, "init_scale": 1.0}',
        '{"step": 0.1, "init_scale": Infinity}',
        '{"beta": 0}',
        '{"beta": "1"}',
    ],
)
def test_a_run_rejects_invalid_choices(tmp_path, text):
    (tmp_path / "choice.json").write_text(text)
    with pytest.raises(UserError, match="is not a positive number"):
        read_choices([tmp_path / "choice.json"])


def test_choices_of_several_files_are_combined(tmp_path):
    paths = tmp_path / "choice.json", tmp_path / "beta.json"
    paths[0].write_text('{"step": 1, "init_scale": 0.5, "note": ""}')
    paths[1].write_text('{"beta": 0.1}')
    assert read_choices(paths) == {"step": 1.0, "init_scale": 0.5, "beta": 0.1}
    assert read_choices(paths[1:], {"beta"}) == {"beta": 0.1}
