"""Turn the setting `step` into a step rule with its settings and its step sizes."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gvibench.errors import UserError
from gvibench.registry import SOLVERS, STEP_RULES
from gvibench.spec.fields import Option
from gvibench.spec.paper_values import PAPER_STEPS
from gvibench.spec.run import DataSpec, RunSpec
from gvibench.spec.validate import parse
from gvibench.study.config_fields import LogGrid, StepSettings

__all__ = ["PLACEHOLDER", "TUNED", "Steps", "read_steps", "validate_step"]

TUNED = "tuned"
PLACEHOLDER = 1.0
"""Value of fields that are still to be tuned. In the parameters of a job they are null."""
CHOICES = "give a number, a list, a grid, paper or tuned"


@dataclass(frozen=True)
class Steps:
    """Step rule of some runs, and the step sizes to run it with."""

    rule: str
    options: dict[str, Option]
    sizes: list[float]
    tuned: bool = False

    @property
    def label(self) -> str:
        """Step rule with the settings that differ from their defaults, empty for a constant step.

        It is part of paths.
        """
        if self.rule in {"constant", "none"}:
            return ""
        defaults = {field.name: field.default for field in dataclasses.fields(self._kind)}
        changed = {name: x for name, x in self.options.items() if x != defaults[name]}
        return "-".join([self.rule, *(f"{name}-{x}" for name, x in changed.items())])

    @property
    def shows_size(self) -> bool:
        """Whether the step size is part of paths."""
        return self.rule != "none" and not (self._kind.searches and self.sizes == [PLACEHOLDER])

    @property
    def _kind(self) -> Any:
        return STEP_RULES.load(self.rule)

    def fields(self, size: float) -> dict[str, Any]:
        """Return the fields of a spec that define its steps."""
        return {"step": size, "step_rule": self.rule, "step_options": self.options}


def read_steps(value: Any, solver: str, expectation: str, data: DataSpec) -> Steps:
    """Return the steps that a setting stands for.

    Parameters
    ----------
    value
        Value of the setting: a number, a list, a grid, `paper`, `tuned`, the name of a step rule,
        a step rule with settings, or None for the default.
    solver, expectation, data
        Settings of the runs.
    """
    rule, options, sizes = _parts(value)
    kind = SOLVERS.load(solver)
    if not kind.has_step:
        if value is not None:
            raise UserError(f"solver '{solver}' has no step size: leave out 'step'")
        return Steps("none", {}, [1.0])
    if rule is None:
        if not kind.has_slope() or expectation == "stochastic":
            why = _why_no_search(solver, expectation)
            raise UserError(f"'step' is missing, and {why}: {CHOICES}")
        rule = "auto"
    parsed = parse(STEP_RULES.load(rule), options, f"step rule '{rule}'")
    settings = {name: value for name, value in dataclasses.asdict(parsed).items() if name != "step"}
    steps = Steps(rule, settings, [PLACEHOLDER])
    _validate_support(rule, solver, expectation)
    if not STEP_RULES.load(rule).searches:
        return _with_sizes(steps, sizes, solver, data)
    if sizes is None:
        return steps
    if not isinstance(sizes, float | int):
        raise UserError(
            f"step rule '{rule}' chooses the step size itself: 'step' should be the first one it "
            "tries, a number"
        )
    return dataclasses.replace(steps, sizes=[float(sizes)])


def validate_step(spec: RunSpec) -> None:
    """Raise UserError if the step rule of a run or its settings are invalid."""
    if not SOLVERS.load(spec.solver).has_step:
        if spec.step_rule != "none":
            raise UserError(f"solver '{spec.solver}' has no step size: use step rule 'none'")
        return
    parse(STEP_RULES.load(spec.step_rule), spec.step_options, f"step rule '{spec.step_rule}'")
    _validate_support(spec.step_rule, spec.solver, spec.expectation)


def _parts(value: Any) -> tuple[str | None, Mapping[str, Any], Any]:
    """Return the step rule, its settings and the step sizes that a value names."""
    if value is None:
        return None, {}, None
    if isinstance(value, StepSettings):
        return value.rule, value.model_extra or {}, value.step
    if isinstance(value, str) and value in STEP_RULES.names():
        return value, {}, None
    return "constant", {}, value


def _validate_support(rule: str, solver: str, expectation: str) -> None:
    if rule == "none":
        raise UserError(f"solver '{solver}' needs a step size: {CHOICES}")
    if not STEP_RULES.load(rule).searches:
        return
    if not SOLVERS.load(solver).has_slope() or expectation == "stochastic":
        why = _why_no_search(solver, expectation, rule)
        raise UserError(f"{why}: {CHOICES}")


def _why_no_search(solver: str, expectation: str, rule: str = "auto") -> str:
    if not SOLVERS.load(solver).has_slope():
        return f"solver '{solver}' does not support step rule '{rule}'"
    return f"step rule '{rule}' needs expectations that are not random, unlike '{expectation}'"


def _with_sizes(steps: Steps, sizes: Any, solver: str, data: DataSpec) -> Steps:
    if sizes is None:
        raise UserError(f"step rule '{steps.rule}' needs 'step': {CHOICES}")
    if sizes == TUNED:
        return dataclasses.replace(steps, tuned=True)
    if sizes == "paper":
        known = PAPER_STEPS.get(data.dataset, {})
        if solver not in known:
            raise UserError(
                f"the paper has no step for '{solver}' on '{data.dataset}': "
                "give a number or use step 'tuned'"
            )
        sizes = known[solver]
    if isinstance(sizes, LogGrid):
        sizes = sizes.values()
    return dataclasses.replace(steps, sizes=sizes if isinstance(sizes, list) else [float(sizes)])
