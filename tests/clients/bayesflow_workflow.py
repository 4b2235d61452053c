"""BayesFlow: one workflow that infers a mean from simulated data."""

import bayesflow as bf
import numpy as np


def prior():
    """The mean to infer."""
    return {"mean": np.random.normal(size=2)}


def likelihood(mean):
    """Observations around the mean."""
    return {"x": np.random.normal(loc=mean, scale=0.5, size=(10, 2))}


workflow = bf.BasicWorkflow(
    simulator=bf.make_simulator([prior, likelihood]),
    inference_network=bf.networks.CouplingFlow(depth=2),
    summary_network=bf.networks.DeepSet(summary_dim=4),
    inference_variables=["mean"],
    summary_variables=["x"],
)
history = workflow.fit_online(epochs=3, num_batches_per_epoch=10, batch_size=32, verbose=0)
losses = history.history["loss"]
samples = workflow.sample(num_samples=20, conditions=workflow.simulate(5))
assert losses[-1] < losses[0] and samples["mean"].shape == (5, 20, 2), losses
print(f"BasicWorkflow: loss {losses[0]:.3f} -> {losses[-1]:.3f}, samples {samples['mean'].shape}")
