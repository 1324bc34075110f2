"""Exact nearest neighbours of many queries, in batches, queries and answers in host memory."""

from __future__ import annotations

import torch
from program import DEVICE, Program, main, relative

SIZES = {"points": 200000, "features": 512, "queries": 8192, "neighbours": 10, "batch": 2048}
CHECKED = 512  # queries whose neighbours are compared with float64


def scores(queries: torch.Tensor, points: torch.Tensor, half_norms: torch.Tensor) -> torch.Tensor:
    """The nearest point x of a query q has the largest q.x - |x|^2 / 2."""
    return (queries @ points.T).sub_(half_norms)


def make(options) -> Program:
    points = torch.randn(options.points, options.features, device=DEVICE)
    half_norms = points.square().sum(1) / 2
    queries = torch.randn(options.queries, options.features).pin_memory()
    answers = torch.empty(options.queries, options.neighbours, dtype=torch.int64).pin_memory()

    def step():
        for begin in range(0, options.queries, options.batch):
            batch = slice(begin, begin + options.batch)
            found = scores(queries[batch].to(DEVICE, non_blocking=True), points, half_norms)
            answers[batch].copy_(found.topk(options.neighbours).indices, non_blocking=True)

    def error():
        """Of the scores, and the share of neighbours that are none by float64."""
        some = queries[:CHECKED].to(DEVICE)
        exact_points = points.double()
        found = scores(some, points, half_norms)
        exact = scores(some.double(), exact_points, exact_points.square().sum(1) / 2)
        ours, theirs = (each.topk(options.neighbours).indices for each in (found, exact))
        missed = 1 - (ours.unsqueeze(2) == theirs.unsqueeze(1)).any(2).double().mean()
        return {"relative": relative(found, exact), "missed": float(missed)}

    return Program(step, error, steps=10)


if __name__ == "__main__":
    main("knn", __doc__, make, **SIZES)
