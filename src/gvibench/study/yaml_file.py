"""YAML as configs are written in it: a mapping, in which no key stands twice."""

from pathlib import Path
from typing import Any

import yaml

from gvibench.errors import UserError

__all__ = ["read_yaml"]


class _Strict(yaml.SafeLoader):
    """Refuses what YAML forbids and PyYAML lets through: the later of two equal keys would win."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if (key.tag, key.value) in seen:
                    line = key.start_mark.line + 1
                    raise ValueError(f"the key '{key.value}' stands twice, again in line {line}")
                seen.add((key.tag, key.value))
        return node


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a file that holds a mapping."""
    try:
        values = _Strict(path.read_text()).get_single_data()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not text in UTF-8") from error
    # PyYAML lets through what Python says of impossible dates, endless numbers and deep nesting.
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise UserError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(values, dict):
        raise UserError(f"{path} holds no settings")
    return values
