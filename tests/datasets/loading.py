"""Load data sets for tests."""

import pkgutil

from gvibench.datasets.source import Source
from gvibench.spec.catalogue import find
from gvibench.study.defaults import complete_data


def load(fields: dict) -> Source:
    """Return the rows of a data set before they are split and scaled."""
    spec = complete_data(fields)
    entry = find(spec)
    return pkgutil.resolve_name(entry.loader)(entry, spec)
