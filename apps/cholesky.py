"""The Cholesky factor of a covariance matrix, or of X X' + n I with random X of so many columns (features)."""

from __future__ import annotations

import torch
from covariance import covariance, times
from program import DEVICE, Program, main, relative

SIZES = {"size": 16384, "features": 0}  # 0: covariance
PROBES = 16  # random vectors, by which the residual is estimated


def matrix_of(size: int, features: int) -> torch.Tensor:
    if features == 0:
        return covariance(torch.rand(size, 3, device=DEVICE), length=0.2, noise=1.0)
    x = torch.randn(size, features, device=DEVICE)
    matrix = x @ x.mT
    matrix.diagonal().add_(size)
    return matrix


def make(options) -> Program:
    matrix = matrix_of(options.size, options.features)

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
