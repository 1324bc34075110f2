"""An exact Gaussian process: a step of Adam on the marginal likelihood, by Cholesky and its derivative."""

from __future__ import annotations

import math

import torch
from program import DEVICE, Program, main, relative

SIZES = {"points": 8192, "features": 16}


class Process(torch.nn.Module):
    def __init__(self):
        super().__init__()
        first = {"length": math.log(2.0), "scale": 0.0, "noise": math.log(0.1)}
        self.logs = torch.nn.ParameterDict({name: torch.tensor(value) for name, value in first.items()})

    def solved(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The factor of the covariance, and the covariance's inverse times y."""
        length, scale, noise = (self.logs[name].exp() for name in ("length", "scale", "noise"))
        x = x / length
        norms = x.square().sum(1)
        distances = (norms[:, None] + norms - 2 * (x @ x.T)).clamp(min=0)
        covariance = scale * torch.exp(-0.5 * distances) + noise * torch.eye(len(x), dtype=x.dtype, device=x.device)
        factor = torch.linalg.cholesky(covariance)
        return factor, torch.cholesky_solve(y[:, None], factor).squeeze(1)

    def forward(self, x, y):
        """The negative logarithm of the marginal likelihood, a point."""
        factor, weights = self.solved(x, y)
        return (0.5 * y @ weights + factor.diagonal().log().sum()) / len(y) + 0.5 * math.log(2 * math.pi)


def make(options) -> Program:
    x = torch.randn(options.points, options.features, device=DEVICE)
    y = torch.sin(x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + 0.3 * torch.randn(options.points, device=DEVICE)
    process = Process().to(DEVICE)
    optimizer = torch.optim.Adam(process.parameters(), lr=0.02)

    def step():
        optimizer.zero_grad()
        loss = process(x, y)
        loss.backward()
        optimizer.step()
        return loss

    @torch.no_grad()
    def error():
        """Of the weights of the points, and of the likelihood, at the first parameters."""
        first, exact = Process().to(DEVICE), Process().to(DEVICE).double()
        _, found = first.solved(x, y)
        _, wanted = exact.solved(x.double(), y.double())
        loss, exact_loss = float(first(x, y)), float(exact(x.double(), y.double()))
        return {"relative": relative(found, wanted), "loss": abs(loss / exact_loss - 1)}

    return Program(step, error, steps=10)


if __name__ == "__main__":
    main("gaussian_process", __doc__, make, **SIZES)
