"""State the conclusion of a study in one or two sentences."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import xarray as xr

from gvibench.analysis.configurations import Configuration, configurations, unique
from gvibench.analysis.ranking import TIE_LEVEL, Ranking
from gvibench.report.findings import quoted
from gvibench.tables.formats import number

__all__ = ["conclusion"]

MAX_NAMES = 3
"""Maximum number of names in a list. The others are counted."""


def conclusion(dataset: xr.Dataset) -> str:
    """Return the conclusion of a study as plain text.

    The first sentence counts the problems on which a solver settles at a gap of 0.0001 nat with
    more than half of its seeds, the second one compares the first two solvers of each problem.
    Each solver is represented by its best step and initial scale.
    """
    ranking = Ranking.of(dataset)
    lines = ranking.best_lines(configurations(dataset))
    if not any(len(line.usable) for line in lines):
        return "All runs diverged or failed."
    reference = _reference(dataset)
    sentences = [_reached(lines, ranking, reference), _first_places(lines, ranking, reference)]
    if len({(line.panel, line.line) for line in lines}) < len(_names(lines)) * len(_panels(lines)):
        sentences.append("Not every solver was run on every problem.")
    return " ".join(filter(None, sentences))


def _reference(dataset: xr.Dataset) -> str:
    """Return the name of the value from which objective gaps are measured."""
    known = np.isfinite(dataset["optimum_objective"].values)
    if dataset.attrs["gap"] != "optimum" or not known.any():
        return "the best value seen"
    return "the optimum" if known.all() else "the optimum (or the best value seen)"


def _panels(lines: Sequence[Configuration]) -> list[str]:
    return unique(line.panel for line in lines)


def _names(lines: Sequence[Configuration]) -> list[str]:
    return unique(line.line for line in lines)


def _noun(lines: Sequence[Configuration]) -> str:
    """Return "solvers" unless a solver appears with several settings."""
    return "solvers" if len(_names(lines)) == len({line.solver for line in lines}) else "methods"


def _has_one_seed(lines: Sequence[Configuration]) -> bool:
    return all(len(line.runs) == 1 for line in lines)


def _reached(lines: Sequence[Configuration], ranking: Ranking, reference: str) -> str:
    """Return a sentence on the problems that each solver solves."""
    solved: Counter[str] = Counter(dict.fromkeys(_names(lines), 0))
    for line in lines:
        settled = np.isfinite(ranking.efforts[line.usable]).sum()
        solved[line.line] += bool(2 * settled > len(line.runs))
    most = max(solved.values())
    if most == 0:
        return _nothing_reached(lines, ranking, reference)
    problems = _panels(lines)
    leaders = [name for name, count in solved.items() if count == most]
    others = [name for name, count in solved.items() if count < most]
    verb = "settles" if len(leaders) == 1 else "settle"
    place = quoted(problems[0]) if len(problems) == 1 else _share(most, len(problems))
    text = (
        f"{_subject(leaders, others, lines)} {verb} within {TIE_LEVEL:g} nat of {reference} "
        f"on {place}"
    )
    if others:
        counts = [solved[name] for name in others]
        text += f"; {_rest(others, _noun(lines))} {_counts(counts, len(problems))}"
    return f"{text}."


def _subject(leaders: Sequence[str], others: Sequence[str], lines: Sequence[Configuration]) -> str:
    seeds = "" if _has_one_seed(lines) else "With most seeds, "
    if others or len(leaders) == 1:
        return f"{seeds}{_listed(leaders)}"
    words = f"both {_noun(lines)}" if len(leaders) == 2 else f"all {len(leaders)} {_noun(lines)}"
    return f"{seeds}{words}" if seeds else words.capitalize()


def _rest(others: Sequence[str], noun: str) -> str:
    return quoted(others[0]) if len(others) == 1 else f"the other {len(others)} {noun}"


def _counts(counts: Sequence[int], problems: int) -> str:
    if problems == 1:
        return "does not" if len(counts) == 1 else "do not"
    if max(counts) == 0:
        return "on none"
    return f"on {max(counts)}" if min(counts) == max(counts) else f"on at most {max(counts)}"


def _nothing_reached(lines: Sequence[Configuration], ranking: Ranking, reference: str) -> str:
    medians = {line: ranking.median_gap(line) for line in lines if len(line.usable)}
    closest = min(medians, key=lambda line: medians[line])
    seeds, median = ("", "") if _has_one_seed(lines) else (" with most seeds", "median ")
    return (
        f"No solver settles within {TIE_LEVEL:g} nat of {reference}{seeds}; "
        f"{quoted(closest.line)} comes closest, with a {median}final gap of "
        f"{number(medians[closest], 2)} nat on {quoted(closest.panel)}."
    )


def _first_places(lines: Sequence[Configuration], ranking: Ranking, reference: str) -> str:
    """Return a sentence on the best solvers and how far the runners-up are behind."""
    wins: Counter[str] = Counter()
    tied: list[str] = []
    equal: list[str] = []
    close: list[str] = []
    clear: list[str] = []
    compared = 0
    for panel in _panels(lines):
        here = [line for line in lines if line.panel == panel and len(line.usable)]
        if len(here) < 2:
            continue
        first, second = sorted(here, key=ranking.key)[:2]
        compared += 1
        if ranking.merit(first) == ranking.merit(second):
            tied.append(panel)
            continue
        wins[first.line] += 1
        if ranking.median_gap(first) == ranking.median_gap(second) == 0:
            equal.append(panel)
        else:
            (close if ranking.overlap(first, second) else clear).append(panel)
    if not compared:
        return ""
    clauses = [_winners(wins, compared)] if wins else []
    if tied:
        clauses.append(f"first place is tied{_places(tied, compared)}")
    if _has_one_seed(lines):
        clauses.append("with one seed each, the differences may be due to the seed")
    else:
        clauses += _margins(equal, close, clear, compared, reference)
    text = "; ".join(clauses)
    return (text if wins else text[0].upper() + text[1:]) + "."


def _margins(
    equal: Sequence[str],
    close: Sequence[str],
    clear: Sequence[str],
    compared: int,
    reference: str,
) -> list[str]:
    """Return clauses that compare the best solvers with the runners-up.

    On the problems `equal`, both have a gap of 0. On `close`, the ranges of their gaps overlap. On
    `clear`, they do not.
    """
    clauses = []
    if equal:
        clauses.append(f"the runner-up also reaches {reference}{_places(equal, compared)}")
    difference = "the difference in final gap to the runner-up is"
    if close:
        clauses.append(f"{difference} within the range of the seeds{_places(close, compared)}")
    elif clear:
        places = _places(clear, compared) if equal else ""
        clauses.append(f"{difference} larger than the range of the seeds{places}")
    return clauses


def _winners(wins: Counter[str], compared: int) -> str:
    (name, count), *others = wins.most_common()
    if compared == 1:
        return f"{quoted(name)} ranks first"
    if count == compared:
        return f"{quoted(name)} ranks first on {_share(count, compared)}"
    named, unnamed = others[: MAX_NAMES - 1], others[MAX_NAMES - 1 :]
    texts = [f"{quoted(other)} on {times}" for other, times in named]
    if unnamed:
        texts.append(f"others on {sum(times for _, times in unnamed)}")
    head = f"{quoted(name)} ranks first on {count} of {compared} problems"
    return ", ".join([head, *texts])


def _share(count: int, total: int) -> str:
    """Return a number of problems, for example "2 of 3 problems" or "all 3 problems"."""
    if count < total:
        return f"{count} of {total} problems"
    return "both problems" if total == 2 else f"all {total} problems"


def _places(panels: Sequence[str], compared: int) -> str:
    if compared == 1:
        return ""
    if len(panels) == compared:
        return " on both" if compared == 2 else " on all of them"
    if len(panels) > MAX_NAMES:
        return f" on {len(panels)} of them"
    return f" on {_listed(panels)}"


def _listed(names: Sequence[str]) -> str:
    """Return a list such as "A, B and C", or "A, B, C and 2 others"."""
    shown = [quoted(name) for name in names[:MAX_NAMES]]
    if len(names) > MAX_NAMES:
        shown.append(
            "1 other" if len(names) == MAX_NAMES + 1 else f"{len(names) - MAX_NAMES} others"
        )
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
