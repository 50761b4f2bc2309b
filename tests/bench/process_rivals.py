"""GPyTorch's sparse variational classifier, run by a Python that has it: `python process_rivals.py ROWS M EPOCHS`.

ROWS is an .npz of X, y, X_new, y_new, columns scaled, classes numbers from 0. It goes the way of GPyTorch's own
examples: inducing points that begin at rows and are learnt with the kernel, a latent process for every class, softmax,
mini-batches; natural gradients for the variational parameters and Adam for all others. Prints JSON: for each number of
epochs the CPU seconds of learning up to there, those of predicting, and the error. It knows nothing of this repository.
"""

import json
import sys
import time
from typing import Any

import gpytorch
import numpy as np
import torch

BATCH_ROWS, NATURAL_RATE, RATE = 256, 0.1, 0.01


class Processes(gpytorch.models.ApproximateGP):
    """A process for every class, which share a covariance of one length scale and the inducing points."""

    def __init__(self, inducing: torch.Tensor, n_classes: int, length_scale: float) -> None:
        shape = torch.Size([n_classes])
        learnt = gpytorch.variational.TrilNaturalVariationalDistribution(inducing.shape[0], batch_shape=shape)
        strategy = gpytorch.variational.VariationalStrategy(self, inducing, learnt, learn_inducing_locations=True)
        super().__init__(gpytorch.variational.IndependentMultitaskVariationalStrategy(strategy, n_classes))
        self.mean_module = gpytorch.means.ZeroMean(batch_shape=shape)
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
        self.covar_module.base_kernel.lengthscale = length_scale
        self.covar_module.outputscale = 9.0

    def forward(self, x: torch.Tensor) -> Any:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def curve(rows: dict[str, np.ndarray], n_inducing: int, epochs: list[int]) -> list[dict[str, float]]:
    """A point for every number of epochs."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    X, X_new = (torch.tensor(rows[name], dtype=torch.float32) for name in ("X", "X_new"))
    y, n_classes = torch.tensor(rows["y"]), int(rows["y"].max()) + 1
    inducing = X[torch.randperm(len(X))[:n_inducing]].clone()
    half = 0.5 * float(torch.pdist(inducing).median())
    model = Processes(inducing, n_classes, half)
    likelihood = gpytorch.likelihoods.SoftmaxLikelihood(num_classes=n_classes, mixing_weights=False)
    bound = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(X))
    natural = gpytorch.optim.NGD(model.variational_parameters(), num_data=len(X), lr=NATURAL_RATE)
    others = torch.optim.Adam(model.hyperparameters(), lr=RATE)
    points, spent, done = [], 0.0, 0
    for until in epochs:
        model.train()
        start = time.process_time()
        for _ in range(until - done):
            for batch in torch.randperm(len(X)).split(BATCH_ROWS):
                natural.zero_grad()
                others.zero_grad()
                loss = -bound(model(X[batch]), y[batch])
                loss.backward()
                natural.step()
                others.step()
        spent, done = spent + time.process_time() - start, until
        model.eval()
        start = time.process_time()
        with torch.no_grad():
            best = model(X_new).mean.argmax(dim=-1).numpy()
        asked = time.process_time() - start
        error = 100.0 * float(np.mean(best != rows["y_new"]))
        points.append({"epochs": until, "fit s": spent, "predict s": asked, "error %": error, "loss": loss.item()})
    return points


if __name__ == "__main__":
    path, n_inducing, epochs = sys.argv[1:]
    with np.load(path) as stored:
        print(json.dumps(curve(dict(stored), int(n_inducing), [int(n) for n in epochs.split(",")])))
