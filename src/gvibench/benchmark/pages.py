"""Write the published pages of the benchmark from its archive: numbers, figures, conclusions.

`python -m gvibench.benchmark.pages` replaces the results in `docs/benchmark`.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from gvibench.analysis.outcomes import other_limits
from gvibench.benchmark.conclusions import conclusions, headline
from gvibench.benchmark.entries import ARCHIVE, archive_path, development_path
from gvibench.benchmark.instances import league_studies, read_benchmark, study_of
from gvibench.benchmark.problems import problems_page
from gvibench.benchmark.protocol import FROZEN, RELEASE, TRACKS
from gvibench.benchmark.tuning_budget import BUDGETS, tuning_curves
from gvibench.benchmark.tuning_figure import draw_tuning_budget
from gvibench.engine.tuning_grid import quasi_random_points
from gvibench.figures.entries import Scored
from gvibench.figures.score_ecdf import draw_scores
from gvibench.figures.score_heatmap import draw_heatmap
from gvibench.figures.score_intervals import draw_intervals
from gvibench.figures.score_profile import draw_profiles
from gvibench.figures.theme import theme
from gvibench.spec.messages import counted
from gvibench.spec.scoring import ScoreSettings
from gvibench.store.outcomes import read_outcomes
from gvibench.study.plan import solver_title
from gvibench.tables.beats import beats_table
from gvibench.tables.failures import failures_table
from gvibench.tables.formats import Table, markdown_block, to_csv
from gvibench.tables.run_times import run_times_table
from gvibench.tables.scores import scores_table

__all__ = [
    "TRIALS",
    "cards_page",
    "leagues",
    "page",
    "settings_of",
    "tables_of",
    "write_pages",
]

DOCS = Path("docs/benchmark")
TRIALS = ARCHIVE / "tuning-trials.csv.gz"
STYLE: dict[str, Any] = {"width": "page", "font_size": 8.0, "center": "median"}
TITLES = {"untuned": "without tuning", "tuned": "tuned"}
INFORMATION = {
    "a": "expected gradients and Hessians, computed exactly",
    "b": "gradients or Hessians at draws",
    "c": "minibatches",
}
INFORMATION_COSTS = (
    "A pass costs the same for the entries with `price` in their name, which use the Hessian of "
    "each row at each draw, and for the others, which use gradients only. A comparison of these "
    "two groups therefore also compares what they use."
)
NOTES = {
    ("untuned", "a"): (
        "In the affine coordinates, equivariant solvers repeat their runs in the original ones, so "
        "that half of their instances add no information.",
        "The problem `bike-day` starts at extremely large objectives from `zero` and `prior` (its "
        "[card](problems.md#bike-day) advises a smaller start).",
    ),
    ("untuned", "b"): (
        INFORMATION_COSTS,
        "ADVI has a constant Adam step here. NumPyro with a decaying step has a higher score "
        "([adapters](adapters.md#results)).",
    ),
    ("untuned", "c"): (INFORMATION_COSTS,),
    ("tuned", "b"): (INFORMATION_COSTS,),
    ("tuned", "c"): (INFORMATION_COSTS,),
}
"""What the reader has to know to interpret the results of a league and track."""
TABLES: dict[str, Callable[[xr.Dataset, ScoreSettings], Table]] = {
    "scores": scores_table,
    "beats": beats_table,
    "run-times": run_times_table,
    "failures": failures_table,
}
FIGURES: dict[str, Callable[[xr.Dataset, ScoreSettings, Mapping[str, Any]], Scored]] = {
    "ecdf": draw_scores,
    "intervals": draw_intervals,
    "profile": draw_profiles,
    "heatmap": draw_heatmap,
}
CAPTIONS = {
    "ecdf": "Share of targets reached against the cost",
    "intervals": "Scores with 95% bootstrap intervals",
    "profile": "Share of instances solved within a factor of the best entry's cost",
    "heatmap": "Cost by problem and entry to the target that the colour bar names",
}


def leagues() -> Iterator[tuple[str, str, xr.Dataset]]:
    """Yield league, track and outcomes of the published results."""
    for league in TITLES:
        for track in TRACKS:
            path = archive_path(track, league)
            if path.is_file():
                yield league, track, read_outcomes(path)


def settings_of(outcomes: xr.Dataset) -> ScoreSettings:
    """Return the settings of scores with which outcomes were computed."""
    targets = tuple(outcomes["target"].values.tolist())
    return ScoreSettings(targets, float(outcomes.attrs["budget"]))


def tables_of(outcomes: xr.Dataset) -> dict[str, Table]:
    """Return the published tables of a league and track."""
    settings = settings_of(outcomes)
    return {name: build(outcomes, settings) for name, build in TABLES.items()}


def page() -> str:
    """Return the page of results."""
    parts = [f"# Results of {RELEASE}", "", *_introduction()]
    for league, track, outcomes in leagues():
        parts += _section(league, track, outcomes)
    parts += [*_tuning_section(), *_development_section(), *_citation_section()]
    return "\n".join(parts) + "\n"


def _introduction() -> list[str]:
    found = {(league, track): outcomes for league, track, outcomes in leagues()}
    lines = []
    for (league, track), outcomes in found.items():
        sentence = headline(outcomes, settings_of(outcomes))
        lines.append(f"- **Track {track.upper()}, {TITLES[league]}:** {sentence}")
    return [
        "This page states what the frozen [protocol](protocol.md) shows. All numbers are computed "
        "from the archive in the package, and a test computes them again. Compare your own solver "
        "with them: [Enter the benchmark](enter.md).",
        "",
        *lines,
        "",
        "Intervals come from 2,000 bootstrap samples of the problems and of their instances. They "
        "contain no variation from seeds, splits or settings. The bootstrap separates two entries "
        "if one of them has the higher score in more than 97.5 % of the samples. There is no "
        "correction for the number of pairs.",
        "",
        "Scores of different tracks or leagues are not comparable, because their starts, "
        "coordinates and targets differ. The cost is the number of passes over the data. Solver "
        "times are those of one machine with two cores that ran two jobs at a time, for a part of "
        "the tuned league beside other work, and are shown for orientation only. Percentages in "
        "the tables give each problem the same weight, so that they differ from shares of "
        "instances. [Problems](problems.md) has the card of each problem and the costs of track A "
        "on it. [Limits](protocol.md#deviations-and-limits) of the benchmark are listed with its "
        "rules.",
        "",
    ]


def _section(league: str, track: str, outcomes: xr.Dataset) -> list[str]:
    settings, folder = settings_of(outcomes), f"{league}-{track}"
    lines = [
        f"## Track {track.upper()}, {TITLES[league]}: {INFORMATION[track]}",
        "",
        *(f"- {sentence}" for sentence in conclusions(outcomes, settings)),
        *(f"- {sentence}" for sentence in NOTES.get((league, track), ())),
        "",
    ]
    for block in scores_table(outcomes, settings).blocks:
        lines += [markdown_block(block).rstrip(), ""]
    if note := other_limits(outcomes):
        lines += [f"*: {note}.", ""]
    for name, caption in CAPTIONS.items():
        lines += [f"![{caption}]({folder}/{name}.png)", ""]
    files = ", ".join(f"[{name}]({folder}/{name}.csv)" for name in TABLES)
    return [*lines, f"Numbers: {files}.", ""]


def _tuning_curves() -> pd.DataFrame:
    """Return the value of tuning, with the titles of the solvers."""
    curves = tuning_curves(pd.read_csv(TRIALS))
    return curves.assign(entry=[solver_title(name, name) for name in curves["entry"]])


def _tuning_section() -> list[str]:
    curves = _tuning_curves()
    table = curves.pivot(index="entry", columns="trials", values="log10_regret")
    header = ["entry", *(counted(int(count), "trial") for count in table.columns)]
    rows = [[str(name), *(f"{value:.2f}" for value in row)] for name, row in table.iterrows()]
    return [
        "## Value of tuning in track A",
        "",
        "The table shows log10 of the regret of the best of K step sizes, averaged over the "
        "problems and over the choices of K from 64 trials. The regret of a trial is its final "
        "objective minus the lowest final objective of all solvers, divided by the decrease from "
        "the start to that value. It is 1 for a diverged trial, and regrets below 1e-12 count as "
        "1e-12. Trials have at most 300 iterations. Regrets are those of the trials, on the "
        "held-out rows.",
        "",
        _best_steps(),
        *_hopeless_problems(),
        "",
        *(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows)),
        "",
        "![Regret of the best of K trials against K](tuning-budget.png)",
        "",
    ]


def _best_steps() -> str:
    """Return which steps were best in the trials, and which of them the tuned league tried."""
    trials = pd.read_csv(TRIALS)
    usable = trials.dropna(subset=["objective"]).sort_values("objective", kind="stable")
    best = usable.groupby(["entry", "problem"], sort=True).head(1).groupby("entry")["step"]
    medians = best.median().sort_values(ascending=False)
    names = [str(name) for name in medians.index]
    listed = ", ".join(f"{solver_title(name, name)} {medians[name]:.2g}" for name in names)
    config = read_benchmark()
    searches = league_studies(config, "a", "tuned").values()
    tuning = [config.studies[name].tuning.model_dump() for name in searches]
    largest = max(step for each in tuning for step, _ in quasi_random_points(each))
    return (
        f"The best of the 64 steps, median over the problems: {listed}. The largest step that the "
        f"searches of the tuned league try is {largest:.2g}. The league shows what eight trials "
        "find in a common range, not how fast each solver can be."
    )


def _hopeless_problems() -> list[str]:
    """Return a sentence on the problems on which no trial of some solver works, if there are any.

    Their regret is 1 for any number of trials, so they raise the curves of these solvers.
    """
    trials = pd.read_csv(TRIALS)
    usable = trials.groupby(["problem", "entry"])["objective"].count()
    hopeless = usable[usable == 0].reset_index()
    if hopeless.empty:
        return []
    problems = hopeless["problem"].unique().tolist()
    names = [solver_title(str(name), str(name)) for name in hopeless["entry"].unique()]
    curves = tuning_curves(trials[~trials["problem"].isin(problems)])
    last = curves[curves["trials"] == max(BUDGETS)].set_index("entry")["log10_regret"]
    without = ", ".join(f"{solver_title(str(k), str(k))} {v:.2f}" for k, v in last.items())
    return [
        "",
        f"On {', '.join(problems)}, no trial of {', '.join(names)} works, which raises their "
        f"curves. Without it, the values of {max(BUDGETS)} trials are: {without}.",
    ]


def _development_section() -> list[str]:
    outcomes = read_outcomes(development_path())
    names = ", ".join(dict.fromkeys(outcomes["problem"].values.tolist()))
    return [
        "## Development problems (not scored)",
        "",
        f"Solvers and rules were designed on {names}. Their costs in track A without tuning are "
        "shown for comparison and do not count in any score. Solvers are in the order of the score "
        "that they would have on these problems.",
        "",
        "![Cost by development problem and entry](development/heatmap.png)",
        "",
        "Numbers: [run-times](development/run-times.csv).",
        "",
    ]


def _citation_section() -> list[str]:
    return [
        "## Citation",
        "",
        f"To cite these results, name the release and the hash of its settings and optima, "
        f"*{RELEASE}, rules {FROZEN}*, and cite gvibench with its version as described in "
        "[`CITATION.cff`](../../CITATION.cff). The hash does not cover the code.",
        "",
    ]


def write_pages(folder: Path = DOCS) -> None:
    """Write the page of results, its tables and its figures."""
    for league, track, outcomes in leagues():
        place = folder / f"{league}-{track}"
        place.mkdir(parents=True, exist_ok=True)
        for name, table in tables_of(outcomes).items():
            (place / f"{name}.csv").write_text(to_csv(table))
        with theme(STYLE):
            for name, draw in FIGURES.items():
                figure = draw(outcomes, settings_of(outcomes), STYLE).figure
                figure.savefig(place / f"{name}.png", dpi=150)
    write_development(folder / "development")
    with theme(STYLE):
        figure = draw_tuning_budget(_tuning_curves(), STYLE).figure
        figure.savefig(folder / "tuning-budget.png", dpi=150)
    (folder / "results.md").write_text(page())
    (folder / "problems.md").write_text(cards_page())


def write_development(folder: Path) -> None:
    """Write the costs on the development problems."""
    folder.mkdir(parents=True, exist_ok=True)
    outcomes = read_outcomes(development_path())
    settings = settings_of(outcomes)
    (folder / "run-times.csv").write_text(to_csv(run_times_table(outcomes, settings)))
    with theme(STYLE):
        figure = draw_heatmap(outcomes, settings, STYLE).figure
        figure.savefig(folder / "heatmap.png", dpi=150)


def cards_page() -> str:
    """Return the page of the problems."""
    return problems_page(study_of(read_benchmark(), "A"), read_outcomes(archive_path("a")))


if __name__ == "__main__":
    write_pages()
