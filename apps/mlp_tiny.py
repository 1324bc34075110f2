"""Training of a small network of small layers: a step that waits for the host's calls, not for the device."""

from __future__ import annotations

import copy

import torch
from program import DEVICE, Program, gradient_error, main
from torch import nn

SIZES = {"width": 64, "batch": 128, "layers": 3}


def make(options) -> Program:
    layers = [each for _ in range(options.layers) for each in (nn.Linear(options.width, options.width), nn.ReLU())]
    network = nn.Sequential(*layers, nn.Linear(options.width, 1)).to(DEVICE)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    x = torch.randn(options.batch, options.width, device=DEVICE)
    y = x[:, :8].sum(1, keepdim=True)

    def loss_of(model, x, y):
        return (model(x) - y).square().mean()

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(network, x, y)
        loss.backward()
        optimizer.step()
        return loss

    def error():
        """Of the gradients, at the first parameters."""
        exact = copy.deepcopy(network).double()
        loss_of(network, x, y).backward()
        loss_of(exact, x.double(), y.double()).backward()
        found = gradient_error(network, exact)
        optimizer.zero_grad(set_to_none=True)
        return {"relative": found}

    return Program(step, error, steps=500)


if __name__ == "__main__":
    main("mlp_tiny", __doc__, make, **SIZES)
