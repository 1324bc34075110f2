"""Programs of others, unmodified: where each comes from, what it reads, how it is run, and how its output is read.

None of it is in this repository: fetch.py brings the files as they are in the projects' own releases, data.py makes the
data that they would download. Sizes are chosen on their command lines, so that products cost time on a large GPU.
"""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Result:
    """What a run printed: times of its steps, and losses, from first to last."""

    step_us: list[float]
    loss: list[float]


@dataclass(frozen=True)
class Program:
    about: str
    source: str  # of its repository at GitHub
    commit: str
    files: tuple[str, ...]
    script: str  # of the files
    packages: tuple[str, ...]  # that it imports, the versions that the commit belongs to
    data: str  # a function of data.py
    arguments: tuple[str, ...]  # {data}: the folder of the data; {scratch}: one of this run
    small: tuple[str, ...]  # in their place, to try a program out on a CPU
    step: str  # in its output, the time of a step: one group
    unit_us: float
    loss: str  # one group
    loss_is_perplexity: bool = False
    environment: dict[str, str] = field(default_factory=dict)
    tf32: dict[str, str] = field(default_factory=dict)  # variables that let its products be computed in TF32
    warm_up: int = 1  # of the times that it prints
    first: float = 1e-4  # how far the first loss may be from the vendor's, relative
    last: float = 0.02  # the last: training lets rounding grow

    def command(self, folder: str, small: bool, **places: str) -> list[str]:
        given = self.small if small else self.arguments
        launched = [
            sys.executable,
            str(Path(__file__).with_name("launch.py")),
            ",".join(self.packages),
            f"{folder}/{self.script}",
        ]
        return launched + [word.format(**places) for word in given]

    def read(self, text: str) -> Result:
        times = [self.unit_us * float(found) for found in re.findall(self.step, text)]
        losses = [float(found) for found in re.findall(self.loss, text)]
        return Result(
            times[self.warm_up :] or times, [math.log(x) for x in losses] if self.loss_is_perplexity else losses
        )


TORCH_TF32 = {"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1"}
JAX_FP32 = {"JAX_DEFAULT_MATMUL_PRECISION": "highest", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}

# XLA else times its own and the vendor's ways for each product, which takes longer than the run.
CUBLAS_BY_HEURISTICS = "--xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false"

PROGRAMS = {
    "word_language_model": Program(
        "PyTorch's example of a language model: a transformer of 6 layers of 1024 over words",
        "pytorch/examples", "77f55b912142e11fcfdf5b530231fb9c52f181e8",
        tuple(f"word_language_model/{name}.py" for name in ("main", "model", "data")), "word_language_model/main.py",
        ("torch",), "text",
        ("--accel", "--model", "Transformer", "--emsize", "1024", "--nhead", "16", "--nhid", "4096", "--nlayers", "6",
         "--batch_size", "64", "--bptt", "128", "--epochs", "1", "--lr", "0.1", "--log-interval", "4", "--data", "{data}",
         "--save", "{scratch}/model.pt"),
        ("--model", "Transformer", "--emsize", "32", "--nhead", "2", "--nhid", "64", "--nlayers", "2", "--batch_size", "16",
         "--bptt", "16", "--epochs", "1", "--lr", "1", "--log-interval", "4", "--data", "{data}", "--save", "{scratch}/model.pt"),
        r"ms/batch +([\d.]+)", 1e3, r"(?<!valid )(?<!test )ppl +([\d.]+)", loss_is_perplexity=True, tf32=TORCH_TF32,
    ),
    "pyg_gcn": Program(
        "PyTorch Geometric's example of a graph convolution, 1024 hidden channels, on a graph in Cora's format",
        "pyg-team/pytorch_geometric", "d4e1c45689967a614a7f3d873ad4ba83c4a1f3bd", ("examples/gcn.py",), "examples/gcn.py",
        ("torch", "torch_geometric", "scipy"), "graph",
        ("--dataset", "Cora", "--hidden_channels", "1024", "--epochs", "60"),
        ("--dataset", "Cora", "--hidden_channels", "16", "--epochs", "12"),
        r"Median time per epoch: ([\d.]+)s", 1e6, r"Loss: ([\d.]+)", tf32=TORCH_TF32, warm_up=0,
        first=2e-4,  # of which it prints four places
    ),
    "numpyro_vae": Program(
        "NumPyro's example of a variational autoencoder, in JAX, 32768 hidden units, on images in MNIST's format",
        "pyro-ppl/numpyro", "0b935d488056ae1775b4ab05cbe2812f51f21a4f", ("examples/vae.py",), "examples/vae.py",
        ("numpyro", "jax", "matplotlib"), "images",
        ("-n", "8", "-batch-size", "4096", "-hidden-dim", "32768", "-z-dim", "256", "-lr", "3e-5"),
        ("-n", "3", "-batch-size", "128", "-hidden-dim", "64", "-z-dim", "8"),
        r"loss = [-\d.e+]+ \(([\d.]+) s\.\)", 1e6, r"loss = ([-\d.e+]+)",
        environment={**JAX_FP32, "CI": "1", "HOME": "{data}", "XLA_FLAGS": CUBLAS_BY_HEURISTICS},  # HOME: of its images
        tf32={"JAX_DEFAULT_MATMUL_PRECISION": "tensorfloat32"},
    ),
}  # fmt: skip
