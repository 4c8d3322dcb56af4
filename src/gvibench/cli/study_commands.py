"""Provide the commands on studies.

The commands plan, study, status, watch, repair, clean and gallery take a config; compare and export
take the folders of finished studies.
"""

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from gvibench.cli.arguments import Options, Subparsers, add_config, add_out, add_results_folder
from gvibench.errors import Interrupted

if TYPE_CHECKING:
    from gvibench.study.config import Config
    from gvibench.study.plan import Plan

__all__ = ["add_commands"]


def add_commands(subparsers: Subparsers) -> None:
    """Add the commands."""
    _add_planned(subparsers)
    _add_finished(subparsers)


def _add_planned(subparsers: Subparsers) -> None:
    """Add the commands that take a config."""
    plan = subparsers.add_parser("plan", help="estimate the cost of a study without running it")
    plan.set_defaults(command=_plan)
    add_config(plan)

    study = subparsers.add_parser(
        "study", help="run a study with Snakemake, show its progress and print its conclusion"
    )
    study.set_defaults(command=_study)
    add_config(study)

    status = subparsers.add_parser(
        "status", help="show the progress of a study, also while it runs"
    )
    status.set_defaults(command=_status)
    add_config(status)

    watch = subparsers.add_parser("watch", help="plot the curves of running jobs in the terminal")
    watch.set_defaults(command=_watch)
    add_config(watch)
    watch.add_argument("--once", action="store_true", help="plot once and exit")

    repair = subparsers.add_parser("repair", help="remove corrupt or outdated files of a study")
    repair.set_defaults(command=_repair)
    add_config(repair)

    clean = subparsers.add_parser("clean", help="remove results that are not part of the config")
    clean.set_defaults(command=_clean)
    add_config(clean)
    clean.add_argument(
        "--orphans",
        action="store_true",
        required=True,
        help="confirm that files outside the config are removed (required)",
    )
    clean.add_argument("--dry-run", action="store_true", help="list the files, remove nothing")


def _add_finished(subparsers: Subparsers) -> None:
    """Add the commands that take finished studies."""
    gallery = subparsers.add_parser("gallery", help="copy figures and tables into one folder")
    gallery.set_defaults(command=_gallery)
    gallery.add_argument("config", type=Path, help="config of the finished studies")
    gallery.add_argument("out", type=Path, help="folder to write; an earlier gallery is replaced")
    add_results_folder(gallery)

    compare = subparsers.add_parser("compare", help="write one report page about two studies")
    compare.set_defaults(command=_compare)
    for name in ("A", "B"):
        compare.add_argument(
            name, type=Path, help="results/<study>, its aggregate or an exported archive"
        )
    add_out(compare, "page to write (default: comparison.html)", Path("comparison.html"))

    export = subparsers.add_parser("export", help="pack a finished study into one archive")
    export.set_defaults(command=_export)
    export.add_argument("study", type=Path, help="folder of the study, results/<study>")
    add_out(export, "archive to write (*.zip)")
    export.add_argument("--traces", action="store_true", help="include the traces of all runs")
    export.add_argument(
        "--author", action="append", default=[], help="author of the study (may be repeated)"
    )
    export.add_argument("--license", metavar="SPDX", help="license of the results, e.g. CC-BY-4.0")


def _plan(options: Options) -> None:
    from gvibench.spec.messages import duration
    from gvibench.study.cost import estimate_cost, suggest_pack
    from gvibench.study.expand import require_own_files
    from gvibench.study.extras import require_data_extra

    plan = _read_plan(options)
    require_own_files(plan)
    require_data_extra(plan)
    total, remaining = estimate_cost(plan), estimate_cost(plan, unfinished=True)
    cores = os.cpu_count() or 1
    print(f"{total.jobs.total()} jobs: {total.counted()}")
    print(f"about {duration(total.wall_seconds(cores))} on {cores} cores")
    print(f"up to {total.peak_mb} MB of memory per job, {total.disk_mb:.0f} MB of disk")
    for line in _own_data(plan):
        print(line)
    if remaining.jobs.total():
        print(
            f"still to do: {remaining.jobs.total()} jobs: {remaining.counted()}; "
            f"about {duration(remaining.wall_seconds(cores))}"
        )
    else:
        print(
            "still to do: nothing, unless code or config changed (check with 'snakemake --dry-run')"
        )
    for study in plan.config.studies:
        if pack := suggest_pack(plan, study):
            print(
                f"study '{study}' has many short runs: 'pack: {pack}' would put more seeds into "
                "one job, and Snakemake would plan and start fewer jobs"
            )
    if plan.needs_cuda:
        from gvibench.numerics.cuda_backend import why_unavailable

        if reason := why_unavailable():
            print(f"runs with device 'cuda' cannot run on this machine: {reason}")


def _own_data(plan: "Plan") -> list[str]:
    """Return one line per prepared file of the user's own data."""
    from gvibench.study.own_data import describe

    specs = (job.spec for job in plan.data.values())
    return list(dict.fromkeys(describe(spec) for spec in specs if spec.path is not None))


def _study(options: Options) -> int:
    from gvibench.cli.study import run_study

    words = ["--configfile", str(options.config)]
    if options.results is not None:
        words += ["--config", f"results={options.results}"]
    return run_study(_read_plan(options), words)


def _status(options: Options) -> None:
    from gvibench.study.status import report

    print(report(_read_plan(options)))


def _watch(options: Options) -> int:
    from gvibench.cli.watch import watch

    try:
        watch(_read_plan(options), once=options.once)
    except KeyboardInterrupt:  # the usual way to leave
        return Interrupted.BY_KEYBOARD
    return 0


def _repair(options: Options) -> None:
    from gvibench.study.cleanup import bad_files

    bad = bad_files(_read_plan(options))
    for path, reason in bad.items():
        Path(path).unlink()
        print(f"removed {path}: {reason}")
    print(f"{len(bad)} bad files removed" if bad else "all existing files are valid")


def _clean(options: Options) -> None:
    from gvibench.study.cleanup import orphans

    paths = orphans(_read_plan(options))
    for path in paths:
        if not options.dry_run:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        print(path)
    verb = "would be removed" if options.dry_run else "removed"
    print(f"{len(paths)} files {verb}")


def _gallery(options: Options) -> None:
    from gvibench.report.gallery import StudyOutputs, write_gallery

    config = _read_config(options)
    studies = [
        StudyOutputs(name, study.title or name, study.figures, study.tables)
        for name, study in config.studies.items()
    ]
    write_gallery(studies, Path(config.results), options.config, options.out)


def _compare(options: Options) -> None:
    from gvibench.report.page import COMPARED, write_comparison
    from gvibench.store.kinds import PAGE, check_output
    from gvibench.study.code_hash import page_hash

    check_output(options.out, PAGE, force=options.force)
    write_comparison(options.A, options.B, options.out, page_hash(COMPARED))
    print(options.out)


def _export(options: Options) -> None:
    from gvibench.report.archive import export_study
    from gvibench.store.kinds import ARCHIVE, check_output

    check_output(options.out, ARCHIVE, force=options.force)
    count = export_study(
        options.study,
        options.out,
        traces=options.traces,
        authors=options.author,
        license_id=options.license,
    )
    print(f"{options.out}: {count} files, {options.out.stat().st_size / 1e6:.1f} MB")
    if not (options.author and options.license):
        print("to get a DOI, add the authors and the license: --author and --license")


def _read_config(options: Options) -> "Config":
    from gvibench.study.config import read_config

    overrides = {} if options.results is None else {"results": options.results}
    return read_config(options.config, overrides)


def _read_plan(options: Options) -> "Plan":
    from gvibench.study.expand import expand

    return expand(_read_config(options))
