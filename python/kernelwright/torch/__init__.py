"""Kernelwright's products for PyTorch: operators with gradients, and PyTorch's own products served by them.

    import kernelwright.torch
    y = kernelwright.torch.matmul(x, w, math="fp32_split")   # differentiable, for torch.compile too
    with kernelwright.torch.enable():                         # torch.mm, Linear, bmm … of float32 on CUDA
        loss = model(x).sum()
        loss.backward()

Takes PyTorch 2.10 or later.
"""

from ._enable import enable, is_enabled
from ._operators import linear, matmul

__all__ = ["enable", "is_enabled", "linear", "matmul"]
