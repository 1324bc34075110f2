"""A process that holds a GPT-2 of apps/ and steps it when measure.py says how often, by a number a line."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "apps"))
import gpt  # noqa: E402
import program  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--enable", action="store_true", help="with kernelwright.torch.enable()")
    parser.add_argument("--compile", action="store_true", help="by torch.compile")
    options = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    served = None
    if options.enable:
        import kernelwright.torch as kt

        enabled = kt.enable()
        served = enabled.served
    program.set_up(False)
    if options.compile:
        plain = gpt.Gpt
        gpt.Gpt = lambda *sizes: torch.compile(plain(*sizes))
    made = gpt.make(argparse.Namespace(**{**gpt.SIZES, "layers": options.layers}))
    done = program.run(made, 0, warm_up=4)
    print(json.dumps({"ready": True}), file=answers, flush=True)
    loss = done.loss
    for line in sys.stdin:
        steps = int(line)
        if steps > 0:
            done = program.run(made, steps, warm_up=1)
            loss = done.loss
            print(json.dumps({"time_us": done.time_us}), file=answers, flush=True)
        else:
            counts = served() if served is not None else None
            print(json.dumps({"loss": loss[-1], "served": counts}), file=answers, flush=True)


if __name__ == "__main__":
    main()
