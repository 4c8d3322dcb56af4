import shutil
from pathlib import Path

import pytest

from gvibench.datasets.cache import prepared_path
from gvibench.errors import UserError
from gvibench.study.defaults import complete_data


def test_prepared_data_are_written_once(own_cache: Path) -> None:
    spec = complete_data({"dataset": "wdbc"})
    path = prepared_path(spec)
    assert path.parent == own_cache / "prepared"
    assert path.name.startswith("wdbc-")
    assert path.name.endswith(".zarr.zip")
    written = path.stat().st_mtime_ns
    assert prepared_path(spec) == path
    assert path.stat().st_mtime_ns == written


def test_another_split_or_input_file_gives_another_path(tmp_path, own_file) -> None:
    mine = {"dataset": "mine", "path": str(own_file)}
    first = prepared_path(complete_data(mine))
    assert prepared_path(complete_data({**mine, "split_seed": 1})) != first
    own_file.write_text(own_file.read_text().replace("2 ", "1 ", 1))
    assert prepared_path(complete_data(mine)) != first


def test_a_new_version_gives_another_path(monkeypatch) -> None:
    spec = complete_data({"dataset": "wdbc"})
    first = prepared_path(spec)
    monkeypatch.setattr("gvibench.datasets.cache.PREPARED_VERSION", 99)
    assert prepared_path(spec) != first


def test_the_message_names_a_missing_user_file() -> None:
    spec = complete_data({"dataset": "mine", "path": "nowhere.svm"})
    with pytest.raises(UserError, match=r"cannot read nowhere\.svm: No such file"):
        prepared_path(spec)


def test_the_raw_files_are_not_needed_again(tmp_path, libsvm_data, monkeypatch) -> None:
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    shutil.copy(libsvm_data / "diabetes_scale", mirror)
    monkeypatch.setenv("GVIBENCH_DATA", str(mirror))
    spec = complete_data({"dataset": "diabetes_scale"})
    path = prepared_path(spec)
    shutil.rmtree(mirror)
    assert prepared_path(spec) == path
