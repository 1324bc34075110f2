"""The Cholesky factor of a covariance matrix."""

from __future__ import annotations

import torch
from covariance import covariance, times
from program import DEVICE, Program, main, relative

SIZES = {"size": 16384}
PROBES = 16  # random vectors, by which the residual is estimated


def make(options) -> Program:
    matrix = covariance(torch.rand(options.size, 3, device=DEVICE), length=0.2, noise=1.0)

    def step():
        torch.linalg.cholesky(matrix)

    def error():
        """The norm of A - L L' over that of A."""
        factor = torch.linalg.cholesky(matrix)
        probes = torch.randn(options.size, PROBES, dtype=torch.float64, device=DEVICE)
        transposed = times(factor.mT, probes)
        return {"relative": relative(times(factor, transposed), times(matrix, probes))}

    return Program(step, error, steps=5)


if __name__ == "__main__":
    main("cholesky", __doc__, make, **SIZES)
