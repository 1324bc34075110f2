"""What the programs share: a command line, steps timed one by one by CUDA events, one line of JSON at the end."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

DEVICE = "cuda"


@dataclass
class Program:
    """One whole step, and the program's own measure of error against float64: `relative`, and what else it knows."""

    step: Callable[[], torch.Tensor | None]  # gives the loss where there is one
    error: Callable[[], dict[str, float]]
    steps: int = 10


@dataclass(frozen=True)
class Steps:
    time_us: list[float]
    loss: list[float]


def set_up(tf32: bool) -> None:
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    torch.manual_seed(0)


def run(program: Program, steps: int, warm_up: int = 0) -> Steps:
    """Steps one after the other; those of the warm-up give a loss, but no time."""
    losses, events = [], []
    for number in range(warm_up + steps):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        loss = program.step()
        end.record()
        if loss is not None:
            losses.append(loss.detach())
        if number >= warm_up:
            events.append((begin, end))
    torch.cuda.synchronize()
    return Steps([1e3 * begin.elapsed_time(end) for begin, end in events], [float(loss) for loss in losses])


def finite(values: dict[str, float]) -> dict[str, float | None]:
    """JSON has no infinities and no NaN."""
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def relative(found: torch.Tensor, exact: torch.Tensor) -> float:
    """The norm of the difference over that of the exact one, in float64."""
    return float(torch.linalg.norm(found.double() - exact) / torch.linalg.norm(exact))


def gradient_error(model: torch.nn.Module, exact: torch.nn.Module) -> float:
    """How far a model's gradients are from those of its float64 copy, all parameters together."""
    pairs = [(p.grad.double(), q.grad) for p, q in zip(model.parameters(), exact.parameters(), strict=True)]
    wrong = sum(float((found - wanted).square().sum()) for found, wanted in pairs)
    return math.sqrt(wrong / sum(float(wanted.square().sum()) for _, wanted in pairs))


def main(app: str, about: str, make: Callable[[argparse.Namespace], Program], **sizes: int | float) -> None:
    """Each of `sizes` is an option with its default."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--steps", type=int, help="timed steps (default: the program's own number)")
    parser.add_argument("--tf32", action="store_true", help="let products be computed in TF32")
    for name, default in sizes.items():
        parser.add_argument(f"--{name}", type=type(default), default=default, help=f"default: {default}")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.exit(1, "PyTorch sees no CUDA device: this program needs one.\n")
    set_up(options.tf32)
    program = make(options)
    error = program.error()
    done = run(program, options.steps or program.steps, warm_up=3)
    print(json.dumps({"app": app, "time_us": done.time_us, "error": finite(error), "loss": done.loss}))
