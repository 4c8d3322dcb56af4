"""Import seaborn without SciPy, which it needs for densities and clusters only."""

import contextlib
import sys

from gvibench.analysis.process import without

__all__ = ["import_seaborn"]


def import_seaborn() -> None:
    """Import seaborn without SciPy, or with SciPy if this version of seaborn requires it.

    SciPy takes longer to import than seaborn itself. This has no effect if either of them has
    already been imported.
    """
    import pandas  # noqa: F401  # pandas may use SciPy later, so it is imported before.

    with without("scipy"), contextlib.suppress(ImportError):
        import seaborn

        return
    for name in [name for name in sys.modules if name.partition(".")[0] == "seaborn"]:
        del sys.modules[name]  # Modules that were imported before the error found no SciPy.
    import seaborn  # noqa: F401
