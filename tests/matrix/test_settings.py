"""All keys of a config, at all levels where they are allowed, with all values of `settings`.

Studies that the plan accepts must produce a report, and its numbers and sentences must agree with
the traces.
"""

import copy
import re

import pytest

from gvibench.spec.scoring import SCORE_TABLES
from gvibench.study.config import MODELS
from matrix import settings
from matrix.driver import missing_files, plan_of, rejection, run_plan
from matrix.recompute import check_performance, check_summary

ANY_FIGURE = ("gap", "test", "time", "test-time", "profile", "ecdf", "runtime")
ANY_TABLE = ("datasets", "winners", "runs", "runtime")


def keys_with_values():
    """Return the keys with values in `settings`, by model of the config."""
    return {
        "Config": {"studies", *settings.OF_CONFIG},
        "Study": {*settings.ANYWHERE, *settings.OF_STUDIES},
        "DatasetSettings": {*settings.ANYWHERE, *settings.OF_DATASETS},
        "SolverSettings": {*settings.ANYWHERE, *settings.OF_SOLVERS},
        "PriorSettings": {"mean", "precision"},  # values of `prior` in `ANYWHERE`
        "Start": {"mean_scale", "init_scale"},  # values of `starts` in `OF_STUDIES`
        "Tuning": set(settings.OF_TUNING),
        "LogGrid": set(settings.OF_GRIDS),
        "Score": set(settings.OF_SCORES),
        "Targets": set(settings.OF_TARGETS),
        "StepSettings": {"rule", "step"},  # values of `step` in `ANYWHERE`
        "Style": set(settings.OF_STYLE),
        "DaskSettings": set(settings.OF_DASK),
        "LocalWorkers": set(settings.OF_LOCAL_WORKERS),
        "SlurmWorkers": set(settings.OF_SLURM_WORKERS),
        "WorkerRange": set(settings.OF_WORKER_RANGE),
    }


def test_every_key_has_values():
    keys = keys_with_values()
    for model in MODELS:
        assert set(model.model_fields) == keys[model.__name__], model.__name__


def merged(*layers):
    result = {}
    for layer in layers:
        for key, value in layer.items():
            both = isinstance(value, dict) and isinstance(result.get(key), dict)
            result[key] = merged(result[key], value) if both else copy.deepcopy(value)
    return result


def at_level(level, key, value):
    """Return a study with a key at one of four levels."""
    study = merged(settings.BASE, {"datasets": {"wdbc": {"solvers": {"vn": {}}}}})
    for name, setting in copy.deepcopy(value.beside).items():
        of_data = name in settings.OF_DATASETS and name not in settings.OF_STUDIES
        (study["datasets"]["wdbc"] if of_data else study)[name] = setting
    places = {
        "study": study,
        "data set": study["datasets"].get("wdbc"),
        "solver": study["solvers"].get("second"),
        "solver of data set": study["datasets"].get("wdbc", {}).get("solvers", {}).get("vn"),
    }
    places[level][key] = value.value
    return study


def cases():
    """Yield a name, a study and the pattern of its error message for each value."""
    for key, values in settings.ANYWHERE.items():
        for level in ("study", "data set", "solver", "solver of data set"):
            for k, value in enumerate(values):
                yield f"{key}-{k}-{level}", at_level(level, key, value), value.rejected
    for level, table in (
        ("data set", settings.OF_DATASETS),
        ("solver", settings.OF_SOLVERS),
        ("study", settings.OF_STUDIES),
    ):
        for key, values in table.items():
            for k, value in enumerate(values):
                yield f"{level}-{key}-{k}", at_level(level, key, value), value.rejected
    for key, values in settings.OF_TUNING.items():
        for k, value in enumerate(values):
            study = merged(settings.BASE, settings.TUNED, value.beside)
            study["tuning"] = {"rounds": 1, "seeds": [1000], key: value.value}
            yield f"tuning-{key}-{k}", study, value.rejected
    for key, values in settings.OF_GRIDS.items():
        for k, value in enumerate(values):
            grid = {"start": 0.1, "stop": 0.2, "count": 2, key: value.value}
            yield f"grid-{key}-{k}", merged(settings.BASE, {"step": grid}), value.rejected
    for key, values in settings.OF_SCORES.items():
        for k, value in enumerate(values):
            study = {"tables": list(SCORE_TABLES), "score": {key: value.value}}
            yield f"score-{key}-{k}", merged(settings.BASE, study), value.rejected
    for key, values in settings.OF_TARGETS.items():
        for k, value in enumerate(values):
            study = {"tables": ["scores"], "score": {"targets": {key: value.value}}}
            yield f"targets-{key}-{k}", merged(settings.BASE, study), value.rejected


CASES = {name: (study, rejected) for name, study, rejected in cases()}


def filled(value, folder):
    """Insert the folder of the own data into the paths of a study."""
    if isinstance(value, dict):
        return {key: filled(item, folder) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, folder) for item in value]
    return value.replace("{folder}", str(folder)) if isinstance(value, str) else value


# Values that conflict with the rest of the study only at some levels.
ONLY_SOMEWHERE = {
    # Models and expectations that differ within a data set cannot be compared.
    r"^(model|gamma|sigma|beta|prior)-\d+-solver": "",
    r"^expectation-\d+-solver": "objective_exact",
    r"^record-3-solver": "",
}


def test_the_plan_rejects_exactly_the_invalid_values(folder):
    wrong = []
    for name, (study, rejected) in CASES.items():
        sentence = rejection(filled(study, folder))
        allowed = [why for pattern, why in ONLY_SOMEWHERE.items() if re.search(pattern, name)]
        if rejected:
            good = bool(sentence) and re.search(rejected, sentence) is not None
        else:
            good = not sentence or any(why and why in sentence for why in allowed)
        if not good:
            wrong.append(f"{name}: {sentence or 'accepted'}")
    assert wrong == [], "\n".join(wrong)


def varied_outputs(study, number):
    """Add a table and sometimes a figure, in turn, so that each occurs with many settings."""
    study = copy.deepcopy(study)
    if not study["figures"] and number % 4 == 0:  # Drawing takes longer than the rest of a study.
        study["figures"] = [ANY_FIGURE[number // 4 % len(ANY_FIGURE)]]
    if study["tables"] == ["performance"]:
        study["tables"] = ["performance", ANY_TABLE[number % len(ANY_TABLE)]]
    return study


PARTS = 6


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", [0, *(pytest.param(k, marks=pytest.mark.exhaustive) for k in range(1, PARTS))]
)
def test_accepted_studies_have_correct_reports(part, folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = list(CASES)[part::PARTS]
    studies = {}
    for number, name in enumerate(names):
        study = varied_outputs(filled(CASES[name][0], folder), part + number)
        if not rejection(study):
            studies[f"s{number}"] = study
    assert len(studies) > len(names) / 3
    check_studies(studies, capsys)


def check_studies(studies, capsys, **config):
    """Run studies and compare their reports with the traces."""
    plan = plan_of(studies, **config)
    outcome = run_plan(plan, capsys)
    wrong = [f"{stage} {path}: {message}" for stage, path, message in outcome.failures]
    for name, study in studies.items():
        wrong += [f"{name} ({study}): {path}" for path in missing_files(plan, name)]
        if "performance" in study["tables"] and not wrong:
            try:
                assert check_performance(plan.config.results, name) > 0
                assert check_summary(plan.config.results, name) > 0
            except AssertionError as error:
                wrong.append(f"{name} ({study}): {error!r}")
    assert wrong == [], "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize(
    "style",
    [
        {key: value.value}
        for key, values in settings.OF_STYLE.items()
        for value in values
        if not value.rejected
    ],
    ids=str,
)
def test_every_style(style, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    study = merged(
        settings.BASE,
        {"figures": [*ANY_FIGURE, "sensitivity"], "step": [0.1, 1.0], "iterations": 20},
    )
    check_studies({"s": study}, capsys, style=style)


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        (section, key, value)
        for section, table in {"": settings.OF_CONFIG, **settings.OF_SECTIONS}.items()
        for key, values in table.items()
        for value in values
    ],
    ids=str,
)
def test_settings_of_the_whole_config(section, key, value):
    config = {key: value.value}
    for name in reversed(section.split(".") if section else []):
        config = {name: config}
    sentence = rejection(settings.BASE, **config)
    assert bool(sentence) == bool(value.rejected)
    assert re.search(value.rejected, sentence)
