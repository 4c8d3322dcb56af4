"""Full-rank VI of BlackJAX with Adam, in track B.

Run it as `python examples/adapters/blackjax_fullrank.py PROBLEMS OUT`.
"""

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import optax
from blackjax.vi.fullrank_vi import FRVIState
from folder import checkpoints, jax_log_density, main

jax.config.update("jax_enable_x64", True)
DRAWS, RATE = 4, 0.03
CARD = {
    "name": "blackjax-fullrank",
    "version": blackjax.__version__,
    "track": "B",
    "league": "untuned",
    "cost": f"{DRAWS} passes per step: the gradient of all rows at {DRAWS} draws",
    "search_space": f"none: Adam, rate {RATE} with cosine decay, {DRAWS} draws for all problems",
    "licence": "Apache-2.0",
    "authors": "The gvibench developers (adapter), the BlackJAX developers (solver)",
}


def solve(problem, trace):
    """Minimise the KL divergence with the stick-the-landing estimator, the default."""
    d = len(problem.mean0)
    steps = checkpoints(DRAWS, trace.budget)
    rate = optax.cosine_decay_schedule(RATE, steps[-1])
    optimizer = optax.adam(rate)
    algorithm = blackjax.fullrank_vi(jax_log_density(problem), optimizer, num_samples=DRAWS)
    # The state has the logarithms of the diagonal first, then the rest of the triangle.
    below = np.tril_indices(d, -1)
    triangle = jnp.r_[np.log(np.diag(problem.factor0)), problem.factor0[below]]
    start = jnp.asarray(problem.mean0), triangle
    state = FRVIState(*start, optimizer.init(start))

    @jax.jit
    def advance(state, first, last):
        def step(k, state):
            return algorithm.step(jax.random.fold_in(jax.random.key(0), k), state)[0]

        state = jax.lax.fori_loop(first, last, step, state)
        factor = jnp.diag(jnp.exp(state.chol_params[:d])).at[below].set(state.chol_params[d:])
        return state, state.mu, factor

    for _ in range(2):  # compiles, for the types of the start and for those of later states
        state, mean, factor = advance(state, 0, 0)
    trace.start_clock()
    trace.record(0, mean, factor)
    for first, last in zip([0, *steps], steps, strict=False):
        state, mean, factor = advance(state, first, last)
        trace.record(last * DRAWS, mean, factor)


if __name__ == "__main__":
    main(CARD, solve)
