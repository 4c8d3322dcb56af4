import pytest
from hypothesis import given
from hypothesis import strategies as st

from gvibench.errors import UserError
from gvibench.spec.run import DataSpec, RunSpec
from gvibench.spec.validate import parse
from problems import spec

VALUES = {"data": {"dataset": "wdbc"}, "beta": 1.0, "solver": "vn", "step": 0.1}


def test_canonical_json_is_stable():
    """Traces are located by the hash of this text, so a change invalidates all results."""
    assert spec().canonical() == (
        '{"basis_condition":1.0,"batch":100,"beta":0.5,"data":{"categorical":[],"dataset":"test","drop":[],"intercept":false,"offset":null,"options":{},'
        '"path":null,"positive":null,"scale":"none","split":"sklearn","split_seed":42,"target":null,"test_path":null,'
        '"test_size":null,"train_size":null},"device":"auto","dtype":"float64",'
        '"estimator":"price","expectation":"exact","form":"auto","gamma":1.0,"init_scale":1.0,"iterations":1000,'
        '"mean_scale":1.0,"minibatches":"independent","model":"logistic","nodes":20,"passes":null,"piece_degree":"quadratic","pieces":20,'
        '"prior":null,"record":[],"record_every":1,"samples":10,"seconds":null,"seed":0,"sigma":1.0,'
        '"snapshots":32,"solver":"vn","solver_options":{},"step":0.1,"step_options":{},'
        '"step_rule":"constant",'
        '"test_every":"log","threads":1,"tolerance":null}'
    )


@given(
    step=st.floats(1e-12, 1e3),
    beta=st.just(0.0) | st.floats(1e-90, 1e3),
    seed=st.integers(0, 2**63 - 1),
    record=st.lists(st.sampled_from(["factor_norm", "sign_flips", "flow_time"])),
)
def test_canonical_json_round_trips(step, beta, seed, record):
    run = parse(
        RunSpec, {**VALUES, "step": step, "beta": beta, "seed": seed, "record": record}, "here"
    )
    again = parse(RunSpec, run.canonical(), "here")
    assert again == run
    assert again.spec_hash == run.spec_hash


def test_an_integer_and_the_equal_float_give_the_same_hash():
    whole = parse(RunSpec, {**VALUES, "beta": 1}, "here")
    assert whole.spec_hash == parse(RunSpec, {**VALUES, "beta": 1.0}, "here").spec_hash


def test_the_hash_depends_on_all_fields():
    hashes = {spec(**change).spec_hash for change in ({}, {"seed": 1}, {"gamma": 0.5}, {"step": 1})}
    other_data = spec(data=DataSpec(dataset="test", split_seed=1)).spec_hash
    assert len(hashes | {other_data}) == 5


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"iteration": 3}, "here: unknown key 'iteration' (did you mean 'iterations'?)"),
        ({"data": {"dataset": "a", "splt": 1}}, "unknown key 'data.splt' (did you mean 'split'?)"),
        ({"step": -0.1}, "'step' should be greater than 0, got -0.1"),
        ({"step": "1e-3"}, "'step' should be a valid number, got '1e-3'"),
        ({"step": 1e-200}, "'step' should lie between 1e-100 and 1e+100, got 1e-200"),
        ({"record": ["factor_norm", 3]}, "'record.1'"),
        ({"step": float("nan")}, "'step' should be a finite number"),
        ({"expectation": "exat"}, "got 'exat' (did you mean 'exact'?)"),  # codespell:ignore
        ({"data": {"dataset": "../a"}}, "'data.dataset' "),
        ({"seed": 1.5}, "'seed' should be a valid integer, got 1.5"),
        ({"record": ["factor_nrm"]}, "(did you mean 'factor_norm'?)"),
    ],
)
def test_an_invalid_value_is_an_error_in_one_sentence(change, sentence):
    with pytest.raises(UserError) as caught:
        parse(RunSpec, {**VALUES, **change}, "here")
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_keys_and_invalid_json_are_errors():
    with pytest.raises(UserError, match="'beta' is missing"):
        parse(RunSpec, {key: VALUES[key] for key in ("data", "solver", "step")}, "here")
    with pytest.raises(UserError, match="Invalid JSON"):
        parse(RunSpec, "{", "here")


def test_the_problem_of_a_stochastic_run_is_exact():
    assert spec(expectation="stochastic", seed=4).problem() == spec(step=2.0).problem()
