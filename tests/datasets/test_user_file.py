from pathlib import Path

import numpy as np
import pytest
from loading import load

from gvibench.errors import UserError


def test_svmlight_files_are_loaded(tmp_path: Path, own_file, sparse_rows) -> None:
    source = load({"dataset": "mine", "path": str(own_file)})
    np.testing.assert_array_equal(source.table.x.toarray(), sparse_rows[0])
    assert source.test is None
    (tmp_path / "test.svm").write_text("1 2:1\n2 9:1\n")
    source = load({"dataset": "mine", "path": str(own_file), "test_path": f"{tmp_path}/test.svm"})
    assert source.test is not None
    assert source.table.x.shape[1] == source.test.x.shape[1] == 9
    assert set(source.sha256) == {"mine.svm", "test.svm"}


@pytest.fixture
def npz(tmp_path: Path, sparse_rows):
    def save(name: str, **arrays: np.ndarray) -> str:
        np.savez(tmp_path / name, **arrays)
        return str(tmp_path / name)

    x, y = sparse_rows
    return {
        "plain": save("plain.npz", X=x, y=y),
        "full": save("full.npz", X=x, y=y, X_test=x[:5], y_test=y[:5]),
        "narrow": save("narrow.npz", X=x[:, :3], y=y),
    }


def test_npz_files_are_loaded(npz, sparse_rows) -> None:
    source = load({"dataset": "mine", "path": npz["full"], "split": "given"})
    np.testing.assert_array_equal(source.table.x, sparse_rows[0])
    assert source.test is not None
    assert len(source.test.y) == 5
    source = load({"dataset": "mine", "path": npz["plain"], "test_path": npz["plain"]})
    assert source.test is not None
    assert len(source.test.y) == 60
    source = load({"dataset": "mine", "path": npz["plain"], "options": {"targets": "real"}})
    assert source.targets == "real"


def test_files_that_do_not_fit_together_are_errors(npz, own_file) -> None:
    mine = {"dataset": "mine"}
    with pytest.raises(UserError, match="have different formats: use two svmlight"):
        load({**mine, "path": npz["plain"], "test_path": str(own_file)})
    with pytest.raises(UserError, match=r"has 7 columns but .* has 3"):
        load({**mine, "path": npz["plain"], "test_path": npz["narrow"]})
    with pytest.raises(UserError, match="has no test rows, which split 'given' needs"):
        load({**mine, "path": npz["plain"], "split": "given"})
    with pytest.raises(UserError, match="has its own test rows: use split 'given'"):
        load({**mine, "path": npz["full"]})
    with pytest.raises(UserError, match="has its own test rows: remove 'test_path'"):
        load({**mine, "path": npz["full"], "test_path": npz["plain"]})
