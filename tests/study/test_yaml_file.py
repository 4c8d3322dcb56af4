import pytest
import yaml
from study_config import study

from gvibench.errors import UserError
from gvibench.study.config import read_config
from gvibench.study.yaml_file import read_yaml


def test_duplicate_keys_are_an_error(tmp_path):
    path = tmp_path / "c.yaml"
    text = yaml.safe_dump(study())
    path.write_text(text + text)
    with pytest.raises(UserError, match="duplicate key 'studies' in line"):
        read_config(path)
    # Keys of a merged mapping can be replaced, also if that mapping contains a merge.
    path.write_text("""
    x: &x {seeds: 1, gamma: 0.5}
    y: &y {<<: *x, gamma: 0.7}
    z: {<<: *y, gamma: 0.9}
    """)
    assert read_yaml(path)["z"] == {"seeds": 1, "gamma": 0.9}
