"""Turn raw targets into numbers: ±1 for two classes, real numbers, or counts."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gvibench.datasets.encode import as_levels, finite_numbers
from gvibench.errors import UserError, suggest
from gvibench.spec.run import DataSpec
from gvibench.store.delimited import is_number
from gvibench.store.labels import find_label, sort_levels

__all__ = ["check_targets", "signs"]

Floats = NDArray[np.float64]
MAX_SHOWN = 5


def check_targets(values: NDArray[Any], kind: str, name: str, where: str) -> NDArray[Any]:
    """Return the targets of a file. Raise UserError if they are missing or of another kind.

    Parameters
    ----------
    values
        Targets of a file, numbers or text.
    kind
        `classes`, `real` or `counts`.
    name
        Name of the column of the targets.
    where
        Name of the file, for messages.
    """
    is_text = np.asarray(values).dtype.kind not in "biuf"
    if kind == "classes" and is_text:
        texts = as_levels(values)
        if None in texts:
            raise UserError(
                f"{where}: column '{name}' is the target and has no value in data row "
                f"{texts.index(None) + 1}: fill it in, or remove the row"
            )
        return np.array(texts, dtype=object)
    if is_text:
        text = next((text for text in as_levels(values) if text and not is_number(text)), "")
        raise UserError(
            f"{where}: column '{name}' is the target and has the text '{text}', but the targets "
            f"are {'real numbers' if kind == 'real' else kind}: choose another target, or a model "
            "of two classes"
        )
    numbers = finite_numbers(values, name, where)
    if kind == "counts":
        wrong = (numbers < 0) | (numbers != np.round(numbers))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise UserError(
                f"{where}: column '{name}' has the target {numbers[row]:g} in data row {row + 1}, "
                "which is not a count (0, 1, 2, ...): correct it, or use model 'linear'"
            )
    return numbers


def signs(
    spec: DataSpec, raw: NDArray[Any], meaning: Mapping[str, str]
) -> tuple[Floats, dict[str, str]]:
    """Map two labels to -1 and +1; also return their meaning.

    The label `spec.positive` becomes +1, or the larger one if it is not set.
    """
    labels = raw if raw.dtype.kind == "O" else raw.astype(np.float64)
    texts = np.array(as_levels(labels), dtype=object)
    levels = sort_levels(set(texts.tolist()))
    if len(levels) != 2:
        more = ", …" if len(levels) > MAX_SHOWN else ""
        shown = ", ".join(levels[:MAX_SHOWN]) + more
        number = "1 label" if len(levels) == 1 else f"{len(levels)} different labels"
        raise UserError(
            f"data set '{spec.dataset}' has {number} ({shown}), but binary classification needs "
            "exactly 2; for real targets use model 'linear', or set 'target' to another column"
        )
    negative, positive = levels
    if spec.positive is not None:
        positive = _find(spec, levels)
        negative = levels[0] if positive == levels[1] else levels[1]
    meaning = meaning or {"+1": f"raw label {positive}", "-1": f"raw label {negative}"}
    return np.where(texts == positive, 1.0, -1.0), dict(meaning)


def _find(spec: DataSpec, levels: tuple[str, ...]) -> str:
    """Return the level that `spec.positive` means."""
    wanted = str(spec.positive).strip()
    found = find_label(wanted, levels)
    if found is not None:
        return found
    raise UserError(
        f"data set '{spec.dataset}': no row has the label '{wanted}' that 'positive' names"
        f"{suggest(wanted, levels)}; the labels are {' and '.join(levels)}"
    )
