"""A network that solves Poisson's equation on the unit square: 25 evaluations of L-BFGS a step."""

from __future__ import annotations

import copy
import math

import torch
from program import DEVICE, Program, gradient_error, main
from torch import nn

SIZES = {"points": 8192, "width": 512, "layers": 4, "evaluations": 25}
WAVES = 2  # of the solution, along each side


class Network(nn.Module):
    """Zero on the border by construction."""

    def __init__(self, width: int, layers: int):
        super().__init__()
        sizes = [2] + layers * [width]
        hidden = [each for i in range(layers) for each in (nn.Linear(sizes[i], sizes[i + 1]), nn.Tanh())]
        self.inner = nn.Sequential(*hidden, nn.Linear(width, 1))

    def forward(self, x, y):
        return x * (1 - x) * y * (1 - y) * self.inner(torch.stack([x, y], 1)).squeeze(1)


def solution(x, y):
    return torch.sin(WAVES * math.pi * x) * torch.sin(WAVES * math.pi * y)


def residual(network: Network, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The mean square of what the equation leaves, over that of its right-hand side."""
    x, y = x.requires_grad_(), y.requires_grad_()

    def derivative(of, by):
        return torch.autograd.grad(of.sum(), by, create_graph=True)[0]

    u = network(x, y)
    curvature = derivative(derivative(u, x), x) + derivative(derivative(u, y), y)
    wanted = -2 * (WAVES * math.pi) ** 2 * solution(x, y).detach()
    return (curvature - wanted).square().mean() / wanted.square().mean()


def make(options) -> Program:
    network = Network(options.width, options.layers).to(DEVICE)
    x, y = torch.rand(2, options.points, device=DEVICE).unbind(0)
    x, y = x.clone(), y.clone()
    optimizer = torch.optim.LBFGS(
        network.parameters(), max_iter=options.evaluations, max_eval=options.evaluations, history_size=50,
        tolerance_grad=0, tolerance_change=0, line_search_fn="strong_wolfe",
    )  # fmt: skip
    evaluated = 0

    def closure():
        nonlocal evaluated
        evaluated += 1
        optimizer.zero_grad()
        loss = residual(network, x, y)
        loss.backward(inputs=list(network.parameters()))
        return loss

    def step():
        """A search that finds nothing better ends early, and begins anew from where it is."""
        nonlocal evaluated
        evaluated = 0
        while evaluated < options.evaluations:
            loss = optimizer.step(closure)
        return loss

    def error():
        """Of the gradients, at the first parameters."""
        exact = copy.deepcopy(network).double()
        residual(network, x, y).backward()
        residual(exact, x.detach().double(), y.detach().double()).backward()
        found = gradient_error(network, exact)
        optimizer.zero_grad()
        return {"relative": found}

    return Program(step, error, steps=40)


if __name__ == "__main__":
    main("pinn", __doc__, make, **SIZES)
