"""One product over the ranks of torch.distributed, each a process of this host with a GPU, or with the CPU.

    import torch.distributed as dist
    import kernelwright.torch.distributed as kd

    dist.init_process_group("nccl")                         # as torchrun starts it
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    with kd.Group(2, 1, device="cuda") as group:            # two rows of ranks
        a = torch.randn(group.local_shape(m, k), device="cuda")   # this rank's block of A
        b = torch.randn(group.local_shape(k, n), device="cuda")
        c = group.matmul(a, b, (m, n, k), math="fp32_split")      # its block of C

The process group is asked once, for a name by which the ranks find each other; the products then read the other ranks'
blocks by copy engines, and need neither NCCL nor the process group.
"""

from __future__ import annotations

import os
import socket
import uuid
from types import TracebackType
from typing import Any, Optional

import torch
import torch.distributed as dist

from .._errors import InvalidArgumentError
from .._groups import ProcessGroup

__all__ = ["Group"]


class Group:
    """The ranks of a process group of torch.distributed as a grid of p x q. Rank r is in row r // q, column r % q.

    device        Where this rank computes, e.g. "cuda" (the current GPU), "cuda:1" or "cpu"; all ranks on GPUs or all
                  on CPUs. The GPUs are those of one host, each visible to the process that uses it.
    group         A process group; None: the default one.
    time_limit_s  How long a rank waits for the others in any call.

    Every rank makes it and calls it alike. A rank that fails or dies makes the calls of all others raise
    `kernelwright.DeviceError` within the time limit; the group is of no more use then, and on GPUs neither are the
    streams that it was called on.
    """

    def __init__(
        self, p: int, q: int, *, device: Any = "cuda", group: Optional[dist.ProcessGroup] = None, time_limit_s: float = 60.0
    ) -> None:  # fmt: skip
        rank, size = dist.get_rank(group), dist.get_world_size(group)
        if p * q != size:
            raise InvalidArgumentError(f"the grid is {p} x {q}, but the process group has {size} ranks")
        self.device = torch.device(device)
        if self.device.type == "cuda" and self.device.index is None:
            self.device = torch.device("cuda", torch.cuda.current_device())
        found: list[Any] = [None] * size
        dist.all_gather_object(found, (socket.gethostname(), f"torch-{os.getpid()}-{uuid.uuid4().hex}"), group=group)
        hosts = sorted({host for host, _ in found})
        if len(hosts) > 1:
            raise InvalidArgumentError(f"the ranks are on several hosts ({', '.join(hosts)}): pass a group of one host")
        ordinal = self.device.index if self.device.type == "cuda" else None
        self._ranks = ProcessGroup(p, q, rank, found[0][1], ordinal, time_limit_s)
        self.rank, self.grid = rank, (p, q)

    def local_shape(self, rows: int, cols: int) -> tuple[int, int]:
        """Of this rank's block of a matrix: one block a rank, all of one size but the last ones."""
        return self._ranks.local_shape(rows, cols)

    def matmul(
        self, a: torch.Tensor, b: torch.Tensor, shape: tuple[int, int, int], *, alpha: float = 1.0, beta: float = 0.0,
        out: Optional[torch.Tensor] = None, math: str = "fp32",
    ) -> torch.Tensor:  # fmt: skip
        """This rank's block of alpha · A @ B + beta · C, for A (m, k), B (k, n), C (m, n) and shape = (m, n, k).

        a, b, out  This rank's blocks, float32, with elements of a row side by side. Without `out` a new tensor.
        math       "fp32" or "fp32_split", as in `kernelwright.matmul`.

        On a GPU the call is ordered on the current stream: it begins after what is there on all ranks, and what
        follows may overwrite the blocks. a and b stay allocated until the group is closed, or until all ranks have
        called `close_memory`; PyTorch's allocator keeps them allocated by itself, except in torch.cuda.empty_cache.
        Memory of expandable segments cannot be read by other processes, and is refused.
        """
        m, n, k = shape
        if out is None:
            if beta != 0:
                raise InvalidArgumentError(f"beta is {beta}, but there is nothing that it multiplies: pass out")
            out = torch.empty(self.local_shape(m, n), dtype=torch.float32, device=self.device)
        parts = [
            self._part(tensor, name, whole)
            for tensor, name, whole in ((a, "a", (m, k)), (b, "b", (k, n)), (out, "out", (m, n)))
        ]
        stream = torch.cuda.current_stream(self.device).cuda_stream if self.device.type == "cuda" else 0
        self._ranks.multiply(m, n, k, alpha, parts[0], parts[1], beta, parts[2], math, stream)
        return out

    def synchronize(self) -> None:
        """Waits until this rank's work is done, no longer than the time limit."""
        self._ranks.synchronize()

    def close_memory(self) -> None:
        """Closes the other ranks' memory; every rank calls it, then memory that calls have read may be freed."""
        self._ranks.synchronize()
        self._ranks.close_memory()

    def abort(self, reason: str) -> None:
        """Ends the calls of all ranks, with this reason: for a program whose rank fails outside of one."""
        self._ranks.abort(reason)

    def close(self) -> None:
        self._ranks.close()

    def __enter__(self) -> Group:
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if error is not None:
            self.abort(f"{type(error).__name__}: {error}")
        self.close()

    def _part(self, tensor: torch.Tensor, name: str, whole: tuple[int, int]) -> tuple[int, int]:
        shape = self.local_shape(*whole)
        if tensor.dtype != torch.float32:
            raise TypeError(f"{name} has elements of {tensor.dtype}: pass torch.float32")
        if tensor.device != self.device:
            raise InvalidArgumentError(f"{name} lies on {tensor.device}, but this rank computes on {self.device}")
        if tuple(tensor.shape) != shape:
            raise InvalidArgumentError(f"{name} is {tuple(tensor.shape)}, but this rank's block of {whole} is {shape}")
        row, element = (tensor.stride(0), tensor.stride(1)) if tensor.numel() > 0 else (1, 1)
        if shape[1] > 1 and element != 1 or shape[0] > 1 and row < shape[1]:
            raise InvalidArgumentError(f"{name} has strides {tensor.stride()}: the elements of a row must lie side by side")
        return tensor.data_ptr(), max(row if shape[0] > 1 else shape[1], 1)
