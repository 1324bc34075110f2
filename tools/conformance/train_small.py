#!/usr/bin/env python3
"""A small training run for tools that slow a program down: a transformer of two layers, three steps of AdamW.

    python3 tools/conformance/train_small.py
    kernelwright run --report run.json -- python3 tools/conformance/train_small.py --steps 5

Prints the losses as JSON. Besides layers with and without biases and attention it has one product that is large enough
for the tensor cores, and a captured graph with a product in it. Needs PyTorch.
"""

from __future__ import annotations

import argparse
import json

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, CONTEXT, BATCH, WORDS = 128, 4, 64, 4, 512


class Block(nn.Module):
    def __init__(self, bias: bool):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=bias), nn.Linear(WIDTH, WIDTH, bias=bias)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH, bias=bias), nn.Linear(4 * WIDTH, WIDTH, bias=bias)

    def forward(self, x):
        batch, context, width = x.shape
        q, k, v = self.qkv(self.norm_1(x)).view(batch, context, 3, HEADS, -1).permute(2, 0, 3, 1, 4).unbind(0)
        # By products of batches, which is what is looked at here.
        scores = (q @ k.transpose(-1, -2)) / (width // HEADS) ** 0.5
        x = x + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, context, width))
        return x + self.down(F.gelu(self.up(self.norm_2(x))))


def train(device: str, steps: int) -> list[float]:
    torch.manual_seed(0)
    words = nn.Embedding(WORDS, WIDTH)
    model = nn.Sequential(words, Block(bias=True), Block(bias=False), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS)).to(
        device
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = torch.randint(WORDS, (BATCH, CONTEXT + 1)).to(device)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(data[:, :-1]).flatten(0, 1), data[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def large_product(device: str, size: int) -> float:
    """The error of one product, relative."""
    a, b = (torch.randn(size, size, device=device) for _ in range(2))
    exact = a.double() @ b.double()
    return float((a @ b - exact).norm() / exact.norm())


def graph() -> float:
    a, b = (torch.randn(256, 256, device="cuda") for _ in range(2))
    captured = torch.cuda.CUDAGraph()
    a @ b
    torch.cuda.synchronize()
    with torch.cuda.graph(captured):
        c = a @ b
    captured.replay()
    exact = a.double() @ b.double()
    return float((c - exact).norm() / exact.norm())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument(
        "--large", type=int, default=1024, metavar="N", help="rows and columns of the large product (1024)"
    )
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument(
        "--no-graph", action="store_true", help="for runs in which PyTorch pools no memory: a capture needs it"
    )
    given = parser.parse_args()
    if given.device == "cuda" and not torch.cuda.is_available():
        parser.exit(1, "PyTorch sees no CUDA device: --device cpu tries the program out without.\n")
    torch.set_float32_matmul_precision("highest")
    found = {"loss": train(given.device, given.steps), "large": large_product(given.device, given.large)}
    if given.device == "cuda" and not given.no_graph:
        found["graph"] = graph()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
