"""Provide the commands of the public benchmark: benchmark and score."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gvibench.cli.arguments import Options, Subparsers
from gvibench.errors import UserError, one_sentence

if TYPE_CHECKING:
    import xarray as xr

    from gvibench.study.config import Config

__all__ = ["add_commands"]


def add_commands(subparsers: Subparsers) -> None:
    """Add the commands."""
    benchmark = subparsers.add_parser(
        "benchmark", help="run a solver under the rules of the public benchmark and compare it"
    )
    benchmark.set_defaults(command=_benchmark)
    benchmark.add_argument("solver", nargs="?", help="id of the solver; see 'gvibench solvers'")
    benchmark.add_argument(
        "--track", default="A", choices=["A", "B", "C"], help="information used (default: A)"
    )
    benchmark.add_argument("--name", default="", help="name of the entry (default: the solver)")
    benchmark.add_argument(
        "--settings", default="{}", metavar="YAML", help="settings, e.g. '{step: 0.05}'"
    )
    benchmark.add_argument(
        "--verify", action="store_true", help="run 5 %% of a published entry again and compare"
    )
    benchmark.add_argument(
        "--export", type=Path, metavar="FOLDER", help="write all instances as .npz files"
    )

    score = subparsers.add_parser(
        "score", help="score a folder of traces that any library has written"
    )
    score.set_defaults(command=_score)
    score.add_argument("folder", type=Path, help="folder with card.json and one .npz per instance")
    score.add_argument(
        "--verify",
        metavar="COMMAND",
        help="run COMMAND again on 5 %% of the instances, with {problems}, {out} and {instances}",
    )


def _benchmark(options: Options) -> int:
    from gvibench.benchmark.instances import export, read_benchmark

    if (options.solver is None) == (options.export is None):
        raise UserError("name a solver, or use --export FOLDER to write the problems")
    config = read_benchmark()
    if options.export is not None:
        folder = export(options.export, config)
        print(f"{len(folder.names)} instances written to {options.export}")
        return 0
    if options.verify:
        from gvibench.benchmark.verify import verify

        print(verify(options.solver, options.track, config))
        return 0
    return _run_entry(options, config)


def _run_entry(options: Options, rules: "Config") -> int:
    from gvibench.benchmark.enter import entry_config, require_rules, write_entry_config
    from gvibench.benchmark.entries import compared, published, study_outcomes
    from gvibench.benchmark.instances import study_of
    from gvibench.cli.study import run_study
    from gvibench.store.aggregates import open_aggregate
    from gvibench.study.config import load_config
    from gvibench.study.expand import expand

    values = entry_config(options.solver, options.track, _settings(options.settings), options.name)
    archive = published(options.track)
    config = load_config(values, "gvibench benchmark")
    (name,) = config.studies
    require_rules(config.studies[name], study_of(rules, options.track))
    plan = expand(config)
    path = write_entry_config(values)
    # The conclusion is the comparison with the archive below.
    code = run_study(plan, ["--configfile", str(path)], with_conclusion=False)
    if code:
        return code
    folder = Path(config.results, name)
    with open_aggregate(folder / "aggregate.zarr.zip") as aggregate:
        outcomes = study_outcomes(aggregate, config.studies[name])
    _show(compared(outcomes, archive), folder)
    return 0


def _settings(text: str) -> dict[str, Any]:
    import yaml

    try:
        values = yaml.safe_load(text)
    # Impossible dates, huge numbers and deep nesting raise errors of Python instead of PyYAML.
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise UserError(f"--settings is not valid YAML: {one_sentence(error)}") from error
    if not isinstance(values, dict):
        raise UserError("--settings should be a mapping, e.g. '{step: 0.05}'")
    return values


def _score(options: Options) -> int:
    from gvibench.benchmark.entries import compared, published
    from gvibench.benchmark.folders import repeat, score_folder
    from gvibench.benchmark.instances import read_benchmark

    config = read_benchmark()
    if options.verify is not None:
        from gvibench.benchmark.verify import agreement

        print(agreement(*repeat(options.folder, options.verify, config)))
        return 0
    card, outcomes, traces = score_folder(options.folder, config)
    total = outcomes.sizes["instance"]
    if missing := total - len(traces):
        print(f"{missing} of {total} instances have no trace and count as failed")
    named = outcomes.assign_coords(entry=[f"{card.name} (unverified)"])
    _show(compared(named, published(card.track, card.league)), options.folder)
    return 0


def _show(outcomes: "xr.Dataset", folder: Path) -> None:
    """Print the scores of all entries and write them, with the figure, to a folder."""
    from gvibench.benchmark.comparison import write_comparison

    print(write_comparison(outcomes, folder))
