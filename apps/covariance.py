"""Covariance matrices of a Gaussian process, and products with large factors in float64."""

from __future__ import annotations

import torch

ROWS = 2048  # that are converted to float64 at a time


def squared_distances(points: torch.Tensor) -> torch.Tensor:
    """Coordinate by coordinate: the same bits, whatever computes products."""
    distances = torch.zeros(len(points), len(points), dtype=points.dtype, device=points.device)
    for column in points.T:
        for begin in range(0, len(points), ROWS):
            rows = slice(begin, begin + ROWS)
            distances[rows].add_((column[rows, None] - column).square_())
    return distances


def covariance(points: torch.Tensor, length: float, noise: float) -> torch.Tensor:
    made = squared_distances(points).mul_(-0.5 / length**2).exp_()
    made.diagonal().add_(noise)
    return made


def times(matrix: torch.Tensor, vectors: torch.Tensor, part=lambda rows, begin: rows) -> torch.Tensor:
    """matrix @ vectors in float64, or of the part of each block of rows that `part` keeps."""
    blocks = range(0, len(matrix), ROWS)
    return torch.cat([part(matrix[begin : begin + ROWS].double(), begin) @ vectors for begin in blocks])
