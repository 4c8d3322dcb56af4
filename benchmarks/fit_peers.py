"""Run the full-rank Gaussian VI of a peer and keep its Gaussian along the way.

    python fit_peers.py numpyro|pymc DATA.npz OUT.npz LEARNING_RATE BETA CPU_SECONDS

Run it in an environment of the peer (see fit.py). The output has CPU seconds, means and lower
triangular factors.
"""

import os
import sys
import time

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import numpy as np


def numpyro(x, y, rate, beta, budget):
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoMultivariateNormal

    jax.config.update("jax_enable_x64", True)

    def model(x, y):
        d = x.shape[1]
        theta = numpyro.sample("theta", dist.Normal(jnp.zeros(d), beta**-0.5).to_event(1))
        numpyro.sample("y", dist.Bernoulli(logits=x @ theta), obs=y)

    guide = AutoMultivariateNormal(model)
    svi = SVI(model, guide, numpyro.optim.Adam(rate), Trace_ELBO())
    x, y = jnp.asarray(x), jnp.asarray((y > 0).astype(float))
    state = svi.init(jax.random.PRNGKey(0), x, y)

    @jax.jit
    def steps(state):
        return jax.lax.fori_loop(0, 50, lambda _, kept: svi.update(kept, x, y)[0], state)

    jax.block_until_ready(steps(state))  # compile
    start = time.process_time()
    while time.process_time() - start < budget:
        state = jax.block_until_ready(steps(state))
        seconds = time.process_time() - start
        values = svi.get_params(state)
        yield seconds, values["auto_loc"], values["auto_scale_tril"]


def pymc(x, y, rate, beta, budget):
    import pymc

    with pymc.Model():
        theta = pymc.Normal("theta", 0.0, tau=beta, shape=x.shape[1])
        pymc.Bernoulli("y", logit_p=x @ theta, observed=(y > 0).astype(int))
        method = pymc.FullRankADVI(random_seed=0)
        optimizer = pymc.adam(learning_rate=rate)
        method.fit(2, obj_optimizer=optimizer, progressbar=False)  # compile
        yield 0.0, *gaussian(method)
        start = time.process_time()
        while time.process_time() - start < budget:
            try:
                method.refine(50, progressbar=False)
            except FloatingPointError:  # the learning rate is too large
                return
            seconds = time.process_time() - start
            yield seconds, *gaussian(method)


def gaussian(method):
    return method.approx.mean.eval(), np.linalg.cholesky(method.approx.cov.eval())


def main():
    peer, given, out, rate, beta, budget = sys.argv[1:]
    with np.load(given) as data:
        x, y = data["x"], data["y"]
    run = {"numpyro": numpyro, "pymc": pymc}[peer]
    kept = list(run(x, y, float(rate), float(beta), float(budget)))
    step = max(1, len(kept) // 200)
    seconds, mean, lower = zip(*kept[::step], strict=True)
    np.savez(out, seconds=seconds, mean=np.array(mean), lower=np.array(lower))


if __name__ == "__main__":
    main()
