"""GPT-2 in PyTorch beside kernelwright_gpt2, for its result file: eager, compiled, and a generation with a cache of keys
and values, eager and as a CUDA graph.

    kernelwright_gpt2 --size 124M --batch 8 --length 1024 --math fp32_split --device gpu --save w.safetensors --json gpt2.json
    python3 apps/gpt2/pytorch.py gpt2.json --weights w.safetensors --batch 8 --length 1024

The model is written as one would in PyTorch: scaled_dot_product_attention, FP32 without TF32. Rows are added to the file
with the ratios of all others to them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import struct
import time
from pathlib import Path

import torch
from torch.nn import functional

HEAD_SIZE = 64


def read_weights(path: Path) -> dict[str, torch.Tensor]:
    """The F32 tensors of a safetensors file."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    found = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        values = torch.frombuffer(bytearray(data[8 + length + begin : 8 + length + end]), dtype=torch.float32)
        found[name.removeprefix("transformer.")] = values.reshape(entry["shape"]).cuda()
    return found


class Model:
    def __init__(self, weights: dict[str, torch.Tensor]):
        self.w = weights
        self.layers = sum(name.endswith("ln_1.weight") for name in weights)
        self.width = weights["wte.weight"].shape[1]
        self.heads = self.width // HEAD_SIZE

    def norm(self, x, name):
        return functional.layer_norm(x, (self.width,), self.w[name + ".weight"], self.w[name + ".bias"], 1e-5)

    def linear(self, x, name):
        flat = torch.addmm(self.w[name + ".bias"], x.reshape(-1, x.shape[-1]), self.w[name + ".weight"])
        return flat.view(*x.shape[:-1], -1)

    def heads_of(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, HEAD_SIZE).transpose(1, 2)

    def forward(self, tokens, places, cache=None, mask=None):
        """`cache`: keys and values of each layer, [2, batch, heads, length, size], written at `places`."""
        x = self.w["wte.weight"][tokens] + self.w["wpe.weight"][places]
        for i in range(self.layers):
            name = f"h.{i}."
            q, k, v = (self.heads_of(each) for each in self.linear(self.norm(x, name + "ln_1"), name + "attn.c_attn").chunk(3, -1))
            if cache is None:
                o = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            else:
                cache[i][0].index_copy_(2, places, k)
                cache[i][1].index_copy_(2, places, v)
                o = functional.scaled_dot_product_attention(q, cache[i][0], cache[i][1], attn_mask=mask)
            x = x + self.linear(o.transpose(1, 2).reshape(x.shape), name + "attn.c_proj")
            inner = functional.gelu(self.linear(self.norm(x, name + "ln_2"), name + "mlp.c_fc"), approximate="tanh")
            x = x + self.linear(inner, name + "mlp.c_proj")
        return functional.linear(self.norm(x, "ln_f"), self.w["wte.weight"])


def timed_us(work, repeats: int) -> list[float]:
    work()
    samples = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        work()
        torch.cuda.synchronize()
        samples.append((time.perf_counter() - begin) * 1e6)
    return samples


class Generation:
    """Greedy, batch 1: a step is one token after those in the cache; all its arrays stay where they are."""

    def __init__(self, model: Model, length: int):
        self.model, self.length = model, length
        self.cache = torch.zeros(model.layers, 2, 1, model.heads, length, HEAD_SIZE, device="cuda")
        self.token = torch.zeros(1, 1, dtype=torch.int64, device="cuda")
        self.place = torch.zeros(1, dtype=torch.int64, device="cuda")
        self.keys = torch.arange(length, device="cuda")
        self.graph = None

    def step(self):
        mask = torch.where(self.keys <= self.place, 0.0, float("-inf")).view(1, 1, 1, -1)
        logits = self.model.forward(self.token, self.place, self.cache, mask)
        self.token.copy_(logits[:, -1].argmax(-1, keepdim=True))
        self.place.add_(1)

    def capture(self):
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            self.step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.step()

    def run(self, prompt, count: int):
        given = prompt.shape[1]
        places = torch.arange(given, device="cuda")
        mask = torch.where(self.keys[None] <= places[:, None], 0.0, float("-inf")).view(1, 1, given, -1)
        logits = self.model.forward(prompt, places, self.cache, mask)
        self.token.copy_(logits[:, -1].argmax(-1, keepdim=True))
        self.place.fill_(given)
        found = [self.token.clone()]
        for _ in range(count - 1):
            self.graph.replay() if self.graph else self.step()
            found.append(self.token.clone())
        return torch.cat(found, 1)


def row_of(app: str, variant: str, samples: list[float]) -> dict:
    ordered = sorted(samples)
    quarters = statistics.quantiles(ordered, n=4, method="inclusive")
    return {
        "op": "app", "kernel": variant, "role": "peer", "app": app, "variant": variant, "math": "fp32", "timing": "clock",
        "time_us": {
            "min": ordered[0], "median": statistics.median(ordered), "mean": statistics.fmean(ordered), "max": ordered[-1],
            "iqr": quarters[2] - quarters[0], "repeats": len(ordered),
        },
        "verified": True,
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", type=Path, help="a result file of kernelwright_gpt2")
    parser.add_argument("--weights", type=Path, required=True, help="what kernelwright_gpt2 --save wrote")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--generate", type=int, default=0, help="a generation of so many tokens in place of a forward pass")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--no-compile", action="store_true")
    arguments = parser.parse_args()

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_grad_enabled(False)
    data = json.loads(arguments.results.read_text())
    app = data["rows"][0]["app"]
    model = Model(read_weights(arguments.weights))
    tokens = torch.randint(0, model.w["wte.weight"].shape[0], (arguments.batch, arguments.length), device="cuda")
    measured = {}
    if arguments.generate:
        generation = Generation(model, arguments.length + arguments.generate)
        measured["pytorch"] = timed_us(lambda: generation.run(tokens, arguments.generate), arguments.repeats)
        generation.capture()
        measured["pytorch_graph"] = timed_us(lambda: generation.run(tokens, arguments.generate), arguments.repeats)
    else:
        places = torch.arange(arguments.length, device="cuda")
        measured["pytorch"] = timed_us(lambda: model.forward(tokens, places), arguments.repeats)
        if not arguments.no_compile:
            compiled = torch.compile(model.forward)
            measured["pytorch_compiled"] = timed_us(lambda: compiled(tokens, places), arguments.repeats)
    for variant, samples in measured.items():
        row = row_of(app, variant, samples)
        data["rows"].append(row)
        print(f"{app}: {variant} {row['time_us']['median']:.1f} us")
    first = next(row for row in data["rows"] if row["variant"] == "pytorch")
    for row in data["rows"]:
        if row["app"] == app:
            row["peer"], row["vs_peer"] = "pytorch", first["time_us"]["median"] / row["time_us"]["median"]
            print(f"{app}: {row['variant']} {row['vs_peer']:.2f} x PyTorch eager")
    data["software"]["pytorch"] = torch.__version__
    arguments.results.write_text(json.dumps(data, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
