"""The LU factors of a random matrix, with pivots."""

from __future__ import annotations

import torch
from covariance import times
from program import DEVICE, Program, main, relative

SIZES = {"size": 16384}
PROBES = 16  # random vectors, by which the residual is estimated


def swapped(rows: torch.Tensor, pivots: list[int]) -> torch.Tensor:
    """The rows in the order that the pivots, counted from 1, bring them to."""
    order = list(range(len(rows)))
    for row, pivot in enumerate(pivots):
        order[row], order[pivot - 1] = order[pivot - 1], order[row]
    return rows[torch.tensor(order, device=rows.device)]


def make(options) -> Program:
    matrix = torch.randn(options.size, options.size, device=DEVICE)

    def step():
        torch.linalg.lu_factor(matrix)

    def error():
        """The norm of P A - L U over that of A."""
        factors, pivots = torch.linalg.lu_factor(matrix)
        probes = torch.randn(options.size, PROBES, dtype=torch.float64, device=DEVICE)
        upper = times(factors, probes, lambda rows, begin: rows.triu(begin))
        product = times(factors, upper, lambda rows, begin: rows.tril(begin - 1)) + upper  # L has ones on its diagonal
        return {"relative": relative(product, swapped(times(matrix, probes), pivots.tolist()))}

    return Program(step, error, steps=5)


if __name__ == "__main__":
    main("lu", __doc__, make, **SIZES)
