"""Describe traces as text."""

from typing import Any

from gvibench.spec.messages import counted
from gvibench.store.traces import SCALARS, Trace

__all__ = ["describe_trace", "settings_line", "summarise_trace"]


def summarise_trace(trace: Trace) -> str:
    """Return the status and the final metrics of a run in one line."""
    spec, last = trace.spec, {name: values[-1] for name, values in trace.scalars.items()}
    return (
        f"{spec['solver']} on {spec['data']['dataset']}: {trace.attrs['status']} "
        f"({trace.attrs['reason']}), objective {last['objective']:.6f}, "
        f"gradient norm {last['grad_norm']:.2e}, test accuracy {last['test_accuracy']:.4f}, "
        f"{last['seconds']:.3g} s"
    )


def describe_trace(trace: Trace) -> str:
    """Return the settings, the status and the first and last metrics of a trace."""
    attrs, spec = trace.attrs, trace.spec
    data = spec.pop("data")
    lines = [
        f"{spec['solver']} on {data['dataset']} ({attrs['solver_form']}, {attrs['dtype']}, "
        f"{attrs['device']}, {counted(attrs['threads'], 'thread')})",
        f"  {attrs['status']}: {attrs['reason']}",
        f"  {attrs['iterations_done']} iterations, {counted(len(trace.iteration), 'record')}, "
        f"{_trials(attrs)}"
        f"{trace.scalars['seconds'][-1]:.3g} s of solver time "
        f"(+ {attrs['warmup_seconds']:.3g} s warm-up, {attrs['wall_seconds']:.3g} s in all)",
        f"  spec {attrs['spec_hash']}, code {attrs['code_hash']}, on {attrs['host']}",
        "",
        f"  {'':18}{'first':>16}{'last':>16}",
    ]
    for name, values in trace.scalars.items():
        lines.append(f"  {name:18}{values[0]:16.8g}{values[-1]:16.8g}  {SCALARS[name][0]}")
    lines += [f"  {name:18}{'':16}{value:16.8g}" for name, value in attrs["results"].items()]
    lines += ["", "  data: " + settings_line(data), "  run:  " + settings_line(spec)]
    if trace.mean is not None:
        snapshots, features = trace.mean.shape
        lines.append(f"  stored: {snapshots} means of {counted(features, 'feature')}")
    for name, values in trace.factors.items():
        lines.append(f"          {name} {' x '.join(map(str, values.shape))}")
    return "\n".join(lines)


def _trials(attrs: dict[str, Any]) -> str:
    """Return the numbers of trial steps that were not taken, if there are any."""
    kinds = ("rejected", "screened", "indefinite")
    counts = [f"{attrs[f'{kind}_steps']} {kind}" for kind in kinds if attrs[f"{kind}_steps"]]
    return f"trial steps: {', '.join(counts)}, " if counts else ""


def settings_line(values: dict[str, object]) -> str:
    """Return the settings in one line, without those that are unset, false or empty."""
    return ", ".join(
        f"{name} {value}"
        for name, value in values.items()
        if value is not None and value is not False and value not in ({}, [])
    )
