"""Provide the commands about what is installed: datasets, models, solvers, new, check, doctor."""

from pathlib import Path
from typing import Any

from gvibench.cli.arguments import Options, Subparsers
from gvibench.errors import UserError
from gvibench.registry import MODELS, SOLVERS, STEP_RULES

__all__ = ["add_commands"]


def add_commands(subparsers: Subparsers) -> None:
    """Add the commands."""
    datasets = subparsers.add_parser("datasets", help="list the data sets, or describe one")
    datasets.set_defaults(command=_datasets)
    datasets.add_argument(
        "name", nargs="?", help="data set to describe: size, classes, optimum, licence and notes"
    )
    models = subparsers.add_parser("models", help="list the models and their expectations")
    models.set_defaults(command=_models)
    solvers = subparsers.add_parser("solvers", help="list the solvers and the step rules")
    solvers.set_defaults(command=_solvers)

    new = subparsers.add_parser("new", help="create a package for your own solver")
    new.set_defaults(command=_new)
    new.add_argument("what", choices=("solver",))
    new.add_argument("name", help="name of the solver, e.g. 'my-solver'")
    new.add_argument(
        "--into",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="folder in which to create it (default: the current one)",
    )

    check = subparsers.add_parser("check", help="run the conformance tests on a solver or model")
    check.set_defaults(command=_check)
    check.add_argument("what", choices=("solver", "model"))
    check.add_argument("name", help="name of an installed solver or model")

    doctor = subparsers.add_parser("doctor", help="check and time this machine's CPU or GPU")
    doctor.set_defaults(command=_doctor)
    doctor.add_argument(
        "--device", choices=("cpu", "cuda"), default="cpu", help="device to check (default: cpu)"
    )


def _datasets(options: Options) -> None:
    from gvibench.study.dataset_cards import card, overview

    print(card(options.name) if options.name else overview())


def _models(options: Options) -> None:
    for name in MODELS.names():
        model = MODELS.load(name)
        summary, *_ = (model.__doc__ or "").splitlines() or [""]
        print(f"{name:14} {summary}")
        print(f"{'':14}   targets: {', '.join(model.targets)}")
        print(f"{'':14}   expectations: {', '.join(model.expectations)}")


def _solvers(options: Options) -> None:
    from gvibench.spec.documentation import documentation

    print("solvers, with the step rules that they support:")
    for name in SOLVERS.names():
        solver = SOLVERS.load(name)
        print(f"{name:14} {solver.title:15} {_supported_steps(solver):10} {solver.reference}")
        for option, text in documentation(solver).items():
            print(f"{'':14}   {option} = {getattr(solver, option)!r}: {text}")
    print("\nstep rules:")
    for name in STEP_RULES.names():
        rule = STEP_RULES.load(name)
        summary, *_ = (rule.__doc__ or "").splitlines() or [""]
        print(f"{name:14} {summary}")
        for setting, text in documentation(rule).items():
            if setting != "step":
                default = getattr(rule, setting, None)
                value = "required" if default is None else repr(default)
                print(f"{'':14}   {setting} = {value}: {text}")


def _supported_steps(solver: Any) -> str:
    """Return which step rules a solver supports, in a few characters."""
    if not solver.has_step:
        return "no step"
    return "any" if solver.has_slope() else "not auto"


def _new(options: Options) -> None:
    from gvibench.cli.scaffold import new_solver

    folder = new_solver(options.name, options.into)
    print(
        f"created {folder}; next: 'pip install -e {folder}' and "
        f"'gvibench check solver {options.name}'"
    )


def _check(options: Options) -> int:
    from gvibench.check.model import check_model
    from gvibench.check.solver import check_solver

    report = {"solver": check_solver, "model": check_model}[options.what](options.name)
    print(report)
    return 0 if report.passed else 1


def _doctor(options: Options) -> None:
    from gvibench.check.device import check_device

    if failed := check_device(options.device):
        raise UserError(f"{failed} checks failed: do not trust results of device {options.device}")
