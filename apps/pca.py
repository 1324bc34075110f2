"""Principal components of many samples by a randomised SVD with power iterations."""

from __future__ import annotations

import torch
from program import DEVICE, Program, main, relative

STARTS = 8  # by which the error is averaged: most of it is the eigenvalues' own
SIZES = {"samples": 65536, "features": 4096, "components": 256, "iterations": 4}


def components(samples: torch.Tensor, start: torch.Tensor, iterations: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Singular values, and the directions as rows."""
    centred = samples - samples.mean(0)
    basis = torch.linalg.qr(centred @ start).Q
    for _ in range(iterations):
        basis = torch.linalg.qr(centred.T @ basis).Q
        basis = torch.linalg.qr(centred @ basis).Q
    small = basis.T @ centred
    squares, turn = torch.linalg.eigh(small @ small.T)
    values = squares.clamp(min=0).sqrt()
    return values, (turn.T @ small) / values[:, None]


def make(options) -> Program:
    # In float64, so that every arithmetic of products gets the same samples.
    with torch.device(DEVICE):
        rank = 2 * options.components
        spectrum = torch.linspace(0, -2, rank, dtype=torch.float64)
        shared = torch.randn(rank, options.features, dtype=torch.float64) * 10**spectrum[:, None]
        samples = (torch.randn(options.samples, rank, dtype=torch.float64) @ shared).float()
        samples += 0.01 * torch.randn(options.samples, options.features)
        start = torch.randn(options.features, options.components)

    def step():
        components(samples, start, options.iterations)

    def error():
        """Of the singular values: the same steps in float64; root mean square over starts."""
        squares = []
        for _ in range(STARTS):
            start = torch.randn(options.features, options.components, device=DEVICE)
            found, _ = components(samples, start, options.iterations)
            exact, _ = components(samples.double(), start.double(), options.iterations)
            squares.append(relative(found, exact) ** 2)
        return {"relative": (sum(squares) / STARTS) ** 0.5}

    return Program(step, error, steps=10)


if __name__ == "__main__":
    main("pca", __doc__, make, **SIZES)
