"""k-means: a Lloyd iteration, assignment and update, a step."""

from __future__ import annotations

import torch
from program import DEVICE, Program, main, relative

SIZES = {"points": 200000, "features": 256, "centres": 4096}
CHECKED = 16384  # points whose distances are compared with float64


def scores(points: torch.Tensor, centres: torch.Tensor) -> torch.Tensor:
    """The nearest centre c of a point x has the largest x.c - |c|^2 / 2."""
    return (points @ centres.T).sub_(centres.square().sum(1) / 2)


def update(points: torch.Tensor, centres: torch.Tensor, nearest: torch.Tensor) -> torch.Tensor:
    sums = torch.zeros_like(centres).index_add_(0, nearest, points)
    counts = torch.bincount(nearest, minlength=len(centres)).unsqueeze(1)
    return torch.where(counts > 0, sums / counts.clamp(min=1), centres)  # an empty one stays where it is


def make(options) -> Program:
    middles = 2 * torch.randn(options.centres, options.features, device=DEVICE)
    members = torch.randint(options.centres, (options.points,), device=DEVICE)
    points = middles[members] + torch.randn(options.points, options.features, device=DEVICE)
    first = points[: options.centres].clone()
    centres, squares = first, points.square().sum()

    def step():
        nonlocal centres
        best = scores(points, centres).max(1)
        centres = update(points, centres, best.indices)
        return (squares - 2 * best.values.sum()) / len(points)  # the mean squared distance

    def error():
        """Of the scores at the first centres, and the share of points that float64 assigns to another centre."""
        found, exact = scores(points[:CHECKED], first), scores(points[:CHECKED].double(), first.double())
        moved = (found.argmax(1) != exact.argmax(1)).double().mean()
        return {"relative": relative(found, exact), "misplaced": float(moved)}

    return Program(step, error, steps=20)


if __name__ == "__main__":
    main("kmeans", __doc__, make, **SIZES)
