"""Read YAML configs: mappings without duplicate keys."""

from pathlib import Path
from typing import Any

import yaml

from gvibench.errors import UserError

__all__ = ["read_yaml"]


class _StrictLoader(yaml.SafeLoader):
    """Loader that rejects duplicate keys, for which PyYAML silently uses the last value."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if (key.tag, key.value) in seen:
                    line = key.start_mark.line + 1
                    raise ValueError(f"duplicate key '{key.value}' in line {line}: remove one")
                seen.add((key.tag, key.value))
        return node


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a file with a mapping."""
    try:
        values = _StrictLoader(path.read_text()).get_single_data()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text: save it in UTF-8") from error
    # Impossible dates, huge numbers and deep nesting raise errors of Python instead of PyYAML.
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise UserError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(values, dict):
        raise UserError(f"{path} has no settings: write a mapping such as 'studies: ...'")
    return values
