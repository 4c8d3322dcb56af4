"""SVI of NumPyro with the guide AutoMultivariateNormal and Adam, in track B.

Run it as `python examples/adapters/numpyro_autonormal.py PROBLEMS OUT`.
"""

import jax
import jax.numpy as jnp
import numpyro
import optax
from folder import checkpoints, jax_log_likelihood, main
from numpyro.distributions import MultivariateNormal
from numpyro.infer import SVI, Trace_ELBO, init_to_value
from numpyro.infer.autoguide import AutoMultivariateNormal

jax.config.update("jax_enable_x64", True)
DRAWS, RATE = 1, 0.03
SETUP = 3
"""Passes of `SVI.init`, which evaluates the density three times. This was counted."""
CARD = {
    "name": "numpyro-automultivariatenormal",
    "version": numpyro.__version__,
    "track": "B",
    "league": "untuned",
    "cost": f"{SETUP} passes to initialise, then {DRAWS} per step: the gradient at {DRAWS} draw",
    "search_space": f"none: Adam, rate {RATE} with cosine decay, {DRAWS} draw for all problems",
    "licence": "Apache-2.0",
    "authors": "The gvibench developers (adapter), the Pyro developers (solver)",
}


def solve(problem, trace):
    """Maximise the ELBO from the given start."""
    log_likelihood = jax_log_likelihood(problem)

    def model():
        prior = MultivariateNormal(
            jnp.zeros(len(problem.mean0)), precision_matrix=problem.precision
        )
        numpyro.factor("likelihood", log_likelihood(numpyro.sample("theta", prior)))

    steps = checkpoints(DRAWS, trace.budget - SETUP)
    rate = optax.cosine_decay_schedule(RATE, steps[-1])
    mean, factor = jnp.asarray(problem.mean0), jnp.asarray(problem.factor0)
    guide = AutoMultivariateNormal(model, init_loc_fn=init_to_value(values={"theta": mean}))
    svi = SVI(model, guide, numpyro.optim.Adam(rate), Trace_ELBO(num_particles=DRAWS))
    start = {"auto_loc": mean, "auto_scale_tril": factor}
    state = svi.init(jax.random.key(0), init_params=start)

    @jax.jit
    def advance(state, count):
        state = jax.lax.fori_loop(0, count, lambda _, state: svi.update(state)[0], state)
        found = svi.get_params(state)
        return state, found["auto_loc"], found["auto_scale_tril"]

    for _ in range(2):  # compiles, for the types of the start and for those of later states
        state, mean, factor = advance(state, 0)
    trace.start_clock()
    trace.record(0, mean, factor)
    for first, last in zip([0, *steps], steps, strict=False):
        state, mean, factor = advance(state, last - first)
        trace.record(SETUP + last * DRAWS, mean, factor)


if __name__ == "__main__":
    main(CARD, solve)
