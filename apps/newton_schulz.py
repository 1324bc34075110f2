"""Muon's Newton-Schulz iteration: the orthogonal factor of a gradient, by fifteen products."""

from __future__ import annotations

import torch
from program import DEVICE, Program, main, relative

SIZES = {"size": 4096}
A, B, C = 3.4445, -4.7750, 2.0315  # of Muon's quintic polynomial
ITERATIONS = 5


def orthogonal(gradient: torch.Tensor) -> torch.Tensor:
    x = gradient / gradient.norm()
    for _ in range(ITERATIONS):
        square = x @ x.T
        x = A * x + (B * square + C * square @ square) @ x
    return x


def make(options) -> Program:
    gradient = torch.randn(options.size, options.size, device=DEVICE)

    def step():
        orthogonal(gradient)

    return Program(step, lambda: {"relative": relative(orthogonal(gradient), orthogonal(gradient.double()))}, steps=20)


if __name__ == "__main__":
    main("newton_schulz", __doc__, make, **SIZES)
