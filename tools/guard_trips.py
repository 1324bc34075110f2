#!/usr/bin/env python3
"""How often fp16x3's guard sends ordinary data elsewhere: many seeds of some distributions.

    cmake --preset cuda -DBUILD_SHARED_LIBS=ON && cmake --build --preset cuda --target kernelwright_shared
    python3 tools/guard_trips.py build/cuda/src/libkernelwright.so --json guard.json

Needs PyTorch with a GPU of compute capability 9.0: data are made there. Each call gets a workspace of ours, at whose
beginning the library leaves what it decided (Control in src/sgemm/hopper/control.hpp): whether plain FP32 computes,
and how many elements were set apart, or too many. Exits with 1 if any call left fp16x3.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import shlex
import sys
from pathlib import Path

import torch
from peer_library import driver

ROW_MAJOR, NO_TRANSPOSE, FP32_SPLIT = 0, 0, 1
TOO_MANY = -1  # in place of a number


def normal(x: torch.Tensor, g: torch.Generator) -> None:
    x.normal_(0, 1, generator=g)


def with_diagonal(x: torch.Tensor, g: torch.Generator) -> None:
    """As the Gram matrix of long, nearly orthogonal vectors."""
    x.normal_(0, 1 / 300, generator=g).diagonal().add_(1)


def softmax_gradient(x: torch.Tensor, g: torch.Generator) -> None:
    """Of a cross entropy: probabilities, less 1 in one place of a row."""
    normal(x, g)
    torch.softmax(x, 1, out=x)
    rows = torch.arange(len(x), device=x.device)
    x[rows, torch.randint(x.shape[1], (len(x),), device=x.device, generator=g)] -= 1


DISTRIBUTIONS = {  # of A and of B
    "U(0,1)": (lambda x, g: x.uniform_(0, 1, generator=g),) * 2,
    "U(-1,1)": (lambda x, g: x.uniform_(-1, 1, generator=g),) * 2,
    "N(0,1)": (normal, normal),
    "1 + U(0,1)/1000": (lambda x, g: x.uniform_(0, 1e-3, generator=g).add_(1),) * 2,
    "I + N(0,1)/300": (with_diagonal, with_diagonal),
    "softmax gradient, N(0,1)": (softmax_gradient, normal),
}


class Library:
    """The calls of the C interface that this needs, on PyTorch's stream."""

    def __init__(self, path: Path):
        self.library = ctypes.CDLL(str(path.resolve()))
        self.library.kwLastErrorMessage.restype = ctypes.c_char_p
        self.library.kwVersion.restype = ctypes.c_char_p
        self.handle = ctypes.c_void_p()
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.call("kwCreateGpuOnStream", ctypes.byref(self.handle), stream, 0, handle=None)
        self.call("kwSetMath", FP32_SPLIT)

    def call(self, name: str, *arguments, handle="own"):
        first = () if handle is None else (self.handle,)
        if getattr(self.library, name)(*first, *arguments) != 0:
            raise RuntimeError(f"{name}: {self.library.kwLastErrorMessage(self.handle).decode()}")

    def shape(self, n: int):
        size = ctypes.c_int64(n)
        return ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, size, size, size


def floats(x: torch.Tensor):
    return ctypes.c_void_p(x.data_ptr())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path, help="libkernelwright.so")
    parser.add_argument("--size", type=int, default=8192, help="m = n = k (default 8192)")
    parser.add_argument("--seeds", type=int, default=100, help="of each distribution (default 100)")
    parser.add_argument("--json", type=Path, help="writes the rows there")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("PyTorch finds no GPU; this measures the device's own decisions")

    library, n = Library(arguments.library), arguments.size
    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    a, b, c = (torch.empty(n, n, device="cuda") for _ in range(3))
    line = ctypes.c_int64(n)
    product = (*library.shape(n), ctypes.byref(one), floats(a), line, floats(b), line, ctypes.byref(zero), floats(c), line)
    needed = ctypes.c_size_t()
    library.call("kwSgemmWorkspaceBytes", *product, ctypes.byref(needed))
    workspace = torch.empty(needed.value, dtype=torch.uint8, device="cuda")
    library.call("kwSetWorkspace", floats(workspace), needed)

    rows, generator = [], torch.Generator(device="cuda")
    for name, (fill_a, fill_b) in DISTRIBUTIONS.items():
        row = {"distribution": name, "size": n, "seeds": arguments.seeds, "fp16x3": 0, "bf16x6": 0, "fp32": 0}
        apart = []
        for seed in range(arguments.seeds):
            generator.manual_seed(seed)
            fill_a(a, generator), fill_b(b, generator)
            library.call("kwSgemm", *product)
            takes_fp32, outliers = workspace[:8].view(torch.int32).tolist()
            row["fp32" if takes_fp32 else "bf16x6" if outliers == TOO_MANY else "fp16x3"] += 1
            apart.append(max(outliers, 0))
        row["set_apart_mean"], row["set_apart_most"] = sum(apart) / len(apart), max(apart)
        rows.append(row)
        print(*(f"{key} {value}" for key, value in row.items()), sep="  ", flush=True)
    if arguments.json:
        about = {"schema": 1, "command": shlex.join(sys.argv), "device": torch.cuda.get_device_name(),
                 "driver": driver(),
                 "kernelwright": library.library.kwVersion().decode(), "torch": torch.__version__,
                 "cuda": torch.version.cuda, "rows": rows}
        arguments.json.write_text(json.dumps(about, indent=1) + "\n")
    return 0 if all(row["fp16x3"] == row["seeds"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
