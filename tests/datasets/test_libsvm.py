import hashlib
import warnings
from pathlib import Path

import pytest
from loading import load

from gvibench.datasets import libsvm
from gvibench.errors import UserError
from gvibench.spec.catalogue import DatasetEntry, File, entry
from gvibench.spec.run import DataSpec


def test_a_wrong_number_of_columns_is_an_error(tmp_path: Path, own_file, monkeypatch) -> None:
    monkeypatch.setenv("GVIBENCH_DATA", str(tmp_path))
    file = File(own_file.name, "", hashlib.sha256(own_file.read_bytes()).hexdigest())
    wide = DatasetEntry("wide", "Wide", "libsvm:load", "", 1.0, d=68, files=(file,))
    with pytest.raises(UserError, match=r"mine\.svm has 7 columns, but data set 'wide' has 68"):
        libsvm.load(wide, DataSpec(dataset="wide"))


def test_real_files_load_without_a_warning(libsvm_data) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("australian_scale", "leukemia"):
            source = load({"dataset": name})
            assert source.table.x.shape[1] == entry(name).d
