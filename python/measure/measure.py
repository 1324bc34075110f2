#!/usr/bin/env python3
"""What the Python package costs and gains on a GPU, beside the C interface, PyTorch and XLA, in one run.

    python3 python/measure/measure.py --json python.json
    python3 python/measure/measure.py --adapter libkernelwright_cublas.so --json python.json    # whole programs, too

Host times: calls of a product that the device computes in the same time whoever asked for it, queued in groups that
the device's queue holds, least of the medians of several turns. Device times: groups of calls between events, forms in
turn. Errors are compared with float64 first. Needs the package installed, PyTorch, and JAX for its part.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch

import kernelwright as kw
import kernelwright.torch as kt
from kernelwright import _core

HERE = Path(__file__).resolve().parent
SMALL = 64  # of the products whose host time is measured
QUEUED = 200  # calls that the device's queue holds
TURNS = 25


def host_us(calls: dict) -> dict:
    """Microseconds of the host a call, each form in turn; a CallLoop measures itself."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(TURNS + 2):
        for name, call in calls.items():
            torch.cuda.synchronize()
            if isinstance(call, _core.CallLoop):
                spent = call.seconds(QUEUED)
            else:
                begin = time.perf_counter()
                for _ in range(QUEUED):
                    call()
                spent = time.perf_counter() - begin
            if turn >= 2:
                found[name].append(1e6 * spent / QUEUED)
    torch.cuda.synchronize()
    return {name: round(statistics.median(times), 3) for name, times in found.items()}


def device_us(calls: dict, group: int, turns: int = 15) -> dict:
    """Microseconds of the device a call, groups in turn."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(turns + 2):
        for name, call in calls.items():
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            for _ in range(group):
                call()
            end.record()
            end.synchronize()
            if turn >= 2:
                found[name].append(1e3 * begin.elapsed_time(end) / group)
    return {name: round(statistics.median(times), 3) for name, times in found.items()}


def close(found, exact, addends) -> float:
    error = float((found.double() - exact).abs().max() / addends**0.5)
    if not error <= 5e-5:
        raise SystemExit(f"an error of {error} of sqrt(k): nothing is measured")
    return error


def host_times() -> dict:
    """One call each of the same product."""
    a, b = (torch.randn(SMALL, SMALL, device="cuda") for _ in range(2))
    out, row = torch.empty_like(a), torch.randn(SMALL, device="cuda")
    operator = torch.ops.kernelwright.matmul.default
    for result in (kw.matmul(a, b), kt.matmul(a, b), operator(a, b), kw.matmul(a, b, out=out)):
        close(result, a.double() @ b.double(), SMALL)
    loop = _core.CallLoop(a, b, out, "fp32")

    plain = {
        "torch.mm": lambda: torch.mm(a, b),
        "torch.mm, out": lambda: torch.mm(a, b, out=out),
        "torch.addmm": lambda: torch.addmm(row, a, b),
        "kernelwright.matmul": lambda: kw.matmul(a, b),
        "kernelwright.matmul, out": lambda: kw.matmul(a, b, out=out),
        "kernelwright.torch.matmul": lambda: kt.matmul(a, b),
        "torch.ops.kernelwright.matmul": lambda: operator(a, b),
        "kernelwright.sum": lambda: kw.sum(a, 1),
        "torch.empty_like": lambda: torch.empty_like(a),
        "C interface": loop,
    }
    found = host_us(plain)
    half = a.half()
    wanted = a.clone().requires_grad_()
    found.update(
        host_us(
            {
                "torch.mm, recorded": lambda: torch.mm(wanted, b),
                "kernelwright.torch.matmul, recorded": lambda: kt.matmul(wanted, b),
                "torch.ops.kernelwright.matmul, recorded": lambda: operator(wanted, b),
            }
        )
    )
    others = {
        "torch.mm, inference mode": lambda: torch.mm(a, b),
        "torch.ops.kernelwright.matmul, inference mode": lambda: operator(a, b),
    }
    with torch.inference_mode():
        found.update(host_us(others))
    found["torch.mm of float16"] = host_us({"x": lambda: torch.mm(half, half)})["x"]
    with kt.enable(math="fp32"):
        found["torch.mm, enabled"] = host_us({"x": lambda: torch.mm(a, b)})["x"]
        found["torch.addmm, enabled"] = host_us({"x": lambda: torch.addmm(row, a, b)})["x"]
        found["torch.mm of float16, enabled"] = host_us({"x": lambda: torch.mm(half, half)})["x"]
    return found


def products(size: int) -> dict:
    """A split product by every way, beside PyTorch's own."""
    a, b = (torch.randn(size, size, device="cuda") for _ in range(2))
    out = torch.empty_like(a)
    exact = a.double() @ b.double()
    errors = {
        "split": close(kw.matmul(a, b, math="fp32_split"), exact, size),
        "fp32": close(kw.matmul(a, b), exact, size),
        "torch": close(a @ b, exact, size),
    }
    del exact
    loop = _core.CallLoop(a, b, out, "fp32_split")
    times = device_us(
        {
            "C interface": lambda: loop.seconds(10),
            "kernelwright.matmul": lambda: [kw.matmul(a, b, math="fp32_split") for _ in range(10)],
            "kernelwright.matmul, out": lambda: [kw.matmul(a, b, math="fp32_split", out=out) for _ in range(10)],
            "kernelwright.torch.matmul": lambda: [kt.matmul(a, b) for _ in range(10)],
            "torch.mm": lambda: [torch.mm(a, b, out=out) for _ in range(10)],
        },
        1,
    )
    with kt.enable():
        times.update(device_us({"torch.mm, enabled": lambda: [torch.mm(a, b, out=out) for _ in range(10)]}, 1))
    return {"size": size, "time_us": {name: round(us / 10, 2) for name, us in times.items()}, "error_of_sqrt_k": errors}


def jax_products(size: int) -> dict:
    """Jitted products beside XLA's own in FP32, each waited for after a group."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import jax.numpy as jnp
    import numpy as np

    import kernelwright.jax as kj

    rng = np.random.default_rng(1)
    a, b = (jnp.asarray(rng.standard_normal((size, size)), jnp.float32) for _ in range(2))
    forms = {
        "xla": jax.jit(lambda a, b: jnp.matmul(a, b, precision="highest")),
        "kernelwright.jax.matmul": jax.jit(kj.matmul),
        "kernelwright.jax.matmul, fp32": jax.jit(lambda a, b: kj.matmul(a, b, math="fp32")),
    }
    exact = np.asarray(a[:64], np.float64) @ np.asarray(b, np.float64)
    for name, form in forms.items():
        error = np.abs(np.asarray(form(a, b)[:64], np.float64) - exact).max() / size**0.5
        if not error <= 5e-5:
            raise SystemExit(f"{name}: an error of {error} of sqrt(k)")
    found: dict[str, list[float]] = {name: [] for name in forms}
    for _ in range(12):
        for name, form in forms.items():
            form(a, b).block_until_ready()
            begin = time.perf_counter()
            for _ in range(10):
                c = form(a, b)
            c.block_until_ready()
            found[name].append(1e5 * (time.perf_counter() - begin))
    return {"size": size, "time_us": {name: round(statistics.median(us), 2) for name, us in found.items()}, "jax": jax.__version__}


VARIANTS = {"vendor": [], "drop-in": [], "enable": ["--enable"]}


def programs(adapter: Path | None, seconds: float, compiled: bool, options: list[str]) -> dict:
    """A training step of GPT-2 by a process each, in turn."""
    workers, ready = {}, {}
    for name, wishes in VARIANTS.items():
        environment = dict(os.environ)
        if name == "drop-in":
            if adapter is None:
                continue
            library = next(Path(kw.__file__).parent.glob("libkernelwright.so*"))
            environment.update(LD_PRELOAD=str(adapter.resolve()), KERNELWRIGHT_LIBRARY=str(library))
        command = [sys.executable, str(HERE / "worker.py"), *options, *(["--compile"] if compiled else [])]
        command += wishes
        workers[name] = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if compiled:  # the others find in the cache what the first one compiled
            ready[name] = json.loads(workers[name].stdout.readline() or "null")

    def ask(name, steps):
        print(steps, file=workers[name].stdin, flush=True)
        answer = workers[name].stdout.readline()
        if not answer:
            raise SystemExit(f"{name}: its process ended")
        return json.loads(answer)

    ready.update({name: json.loads(workers[name].stdout.readline() or "null") for name in workers.keys() - ready.keys()})
    if None in ready.values():
        raise SystemExit(f"a process ended before its first step: {ready}")
    steps: dict[str, list[float]] = {name: [] for name in workers}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or min(map(len, steps.values())) < 10:
        for name in workers:
            steps[name] += ask(name, 5)["time_us"]
    last = {name: ask(name, 0) for name in workers}
    for worker in workers.values():
        worker.stdin.close()
        worker.wait(timeout=30)
    return {
        "time_us": {name: round(statistics.median(us), 1) for name, us in steps.items()},
        "steps": min(map(len, steps.values())), "loss": {name: last[name]["loss"] for name in workers},
        "served": {name: last[name]["served"] for name in workers if last[name]["served"]},
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--adapter", type=Path, help="libkernelwright_cublas.so, for programs under the drop-in")
    parser.add_argument("--seconds", type=float, default=6, help="of each program's steps, all variants together")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--without", default="", help="host, products, jax, eager, compiled: what is left out")
    parser.add_argument("--add", action="store_true", help="to what the file has of this machine and version")
    options = parser.parse_args()
    without = options.without.split(",")
    torch.backends.cuda.matmul.fp32_precision = "ieee"
    torch.manual_seed(1)
    device = torch.cuda.get_device_properties(0)
    result: dict = {
        "machine": {
            "name": device.name, "sm_count": device.multi_processor_count, "driver": driver(), "torch": torch.__version__,
            "cuda": torch.version.cuda, "python": platform.python_version(), "os": platform.platform(),
        },
        "version": kw.__version__, "date": datetime.date.today().isoformat(),
        "command": shlex.join(["python/measure/measure.py", *(Path(a).name if "/" in a else a for a in sys.argv[1:])]),
        "package_bytes": sum(f.stat().st_size for f in Path(kw.__file__).parent.rglob("*") if f.is_file())
        + sum(f.stat().st_size for f in Path(kw.__file__).parent.parent.glob("kernelwright.libs/*")),
    }  # fmt: skip

    if options.add and options.json.is_file():
        before = json.loads(options.json.read_text(encoding="utf-8"))
        if before["machine"] == result["machine"] and before["version"] == result["version"]:
            result = {**before, "date": result["date"], "command": f"{before['command']}; {result['command']}"}

    def keep(name, make):
        if name not in without:
            print(f"{name} …", flush=True)
            result[name] = make()
            print(json.dumps(result[name], indent=1), flush=True)
            options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")

    keep("host", host_times)
    keep("products", lambda: products(4096))
    torch.cuda.empty_cache()
    size = ["--layers", str(options.layers)]
    keep("jax", lambda: jax_products(4096))
    keep("eager", lambda: programs(options.adapter, options.seconds, False, size))
    keep("compiled", lambda: programs(options.adapter, options.seconds, True, size))
    return 0


def driver() -> str | None:
    try:
        found = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True)
        return found.stdout.split()[0] if found.returncode == 0 else None
    except OSError:
        return None


if __name__ == "__main__":
    sys.exit(main())
