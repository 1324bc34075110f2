#!/usr/bin/env python3
"""Whole programs, as they are and under the drop-in for cuBLAS, in turn in one run.

    python3 apps/measure.py --adapter build/cuda/adapters/cublas/libkernelwright_cublas.so --json apps.json
    python3 apps/measure.py --adapter libkernelwright_cublas.so --apps 'gpt*,pinn' --rounds 3
    python3 apps/measure.py --list

A process a variant holds the same program: `vendor` is the program as it is, `fp32` and `fp32_split` have the adapter
loaded before it (LD_PRELOAD) with that arithmetic, `tf32` is the program with PyTorch's TF32 allowed. In each round
every variant has a block of steps while the others wait, each round another first. Times are medians of whole steps,
the optimizer and copies from and to the host included. Errors are each program's own against float64 (apps/*.py).
Needs PyTorch with CUDA; all variants together hold up to 110 GiB of device memory.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import fnmatch
import importlib.util
import json
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# What it is called: the module, and sizes other than the module's own.
APPS = {
    "gpt2_small": ("gpt", {}),
    "gpt2_small_biases": ("gpt", {"biases": 1}),
    "gpt_1600": ("gpt", {"width": 1600, "biases": 1}),
    "newton_schulz": ("newton_schulz", {}),
    "kmeans": ("kmeans", {}),
    "knn": ("knn", {}),
    "gaussian_process": ("gaussian_process", {}),
    "cholesky_8192": ("cholesky", {"size": 8192}),
    "cholesky_16384": ("cholesky", {"size": 16384}),
    "cholesky_32768": ("cholesky", {"size": 32768}),
    "cholesky_gram_32768": ("cholesky", {"size": 32768, "features": 256}),
    "lu_16384": ("lu", {"size": 16384}),
    "pca": ("pca", {}),
    "pinn": ("pinn", {}),
    "mlp_tiny": ("mlp_tiny", {}),
}
LONGER = {"pinn": 4}  # times --seconds: its loss curve has something to show only after many steps
VENDOR = "vendor"
VARIANTS = {VENDOR: "peer", "fp32": "production", "fp32_split": "production", "tf32": "reference"}  # and their roles
ADAPTED = ("fp32", "fp32_split")
MOST_STEPS = 200  # of a block
MOST_LOSSES = 300  # of a row


class Failure(Exception):
    """What went wrong, and the way out."""


class Variant:
    """One worker process."""

    def __init__(self, name: str, adapter: Path | None, records: str):
        self.name = name
        env = dict(os.environ)
        if name in ADAPTED:
            preload = " ".join(filter(None, [str(adapter), env.get("LD_PRELOAD")]))
            env.update(LD_PRELOAD=preload, KERNELWRIGHT_MATH=name, KERNELWRIGHT_RECORD=records)
        command = [sys.executable, str(HERE / "worker.py"), *(["--tf32"] if name == "tf32" else [])]
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, **order) -> None:
        try:
            print(json.dumps(order), file=self.process.stdin, flush=True)
        except BrokenPipeError:
            raise self._ended() from None

    def answer(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            raise self._ended()
        return json.loads(line)

    def ask(self, **order) -> dict:
        self.tell(**order)
        return self.answer()

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()

    def _ended(self) -> Failure:
        return Failure(f"the process of '{self.name}' ended with {self.process.wait()}; its own words are above.")


def ask_all(variants: list[Variant], **order) -> dict[str, dict]:
    """Untimed work, of all at once."""
    for variant in variants:
        variant.tell(**order)
    return {variant.name: variant.answer() for variant in variants}


def statistics_of(times: list[float]) -> dict:
    ordered = sorted(times)
    quarters = statistics.quantiles(ordered, n=4, method="inclusive") if len(ordered) > 1 else 3 * ordered
    return {
        "min": ordered[0], "median": statistics.median(ordered), "mean": statistics.fmean(ordered), "max": ordered[-1],
        "iqr": quarters[2] - quarters[0], "repeats": len(ordered),
    }  # fmt: skip


class Measured:
    """What one variant did with one program."""

    def __init__(self, prepared: dict):
        self.failed: str | None = prepared.get("failed")
        self.error: dict = prepared.get("error") or {}
        self.loss: list[float] = list(prepared.get("loss") or [])
        self.times: list[float] = []
        self.calls: dict[str, int] | None = None  # nobody knows

    def add(self, block: dict, timed: bool) -> None:
        self.failed = self.failed or block.get("failed")
        self.loss += block.get("loss") or []
        self.times += block["time_us"] if timed and not self.failed else []

    def row(self, app: str, variant: str) -> dict:
        done = bool(self.times) and not self.failed
        every = -(-len(self.loss) // MOST_LOSSES) or 1
        calls = self.calls if variant in ADAPTED else None
        return {
            "op": "app", "kernel": variant, "role": VARIANTS[variant], "app": app, "variant": variant,
            "math": "fp32" if variant == VENDOR else variant, "timing": "events", "peer": VENDOR,
            "time_us": statistics_of(self.times) if done else None, "vs_peer": None, "error": self.error or None,
            "loss": [float(f"{x:.7g}") if abs(x) < 1e30 else None for x in self.loss[::every]], "loss_every": every,
            "calls_taken": calls.get("", 0) if calls is not None else None,
            "calls_forwarded": sum(count for why, count in calls.items() if why) if calls is not None else None,
            "forwarded": {why: count for why, count in calls.items() if why} if calls is not None else None,
            "verified": done, "failed": self.failed,
        }  # fmt: skip


def measure(app: str, variants: list[Variant], rounds: int, seconds: float) -> list[dict]:
    """The rows of one program."""
    module, sizes = APPS[app]
    tell(f"{app}: ")
    prepared = ask_all(variants, do="prepare", module=module, sizes=sizes)
    found = {name: Measured(answer) for name, answer in prepared.items()}
    steps = 1
    for number in range(-1, rounds):  # a round of one step first, to see how long it takes
        turn = number % len(variants)
        for variant in variants[turn:] + variants[:turn]:
            measured = found[variant.name]
            if measured.failed:
                continue
            block = variant.ask(do="block", steps=steps)
            measured.add(block, timed=number >= 0)
            if number < 0 and variant is variants[0] and not measured.failed:
                took = block["time_us"][0]
        if number < 0 and not found[variants[0].name].failed:
            steps = max(1, min(MOST_STEPS, round(1e6 * seconds / took)))
        tell(".")
    for name, answer in ask_all(variants, do="finish").items():
        found[name].calls = answer.get("calls")
    rows = [found[variant.name].row(app, variant.name) for variant in variants]
    with_vendor(rows)
    tell(" " + ", ".join(f"{row['variant']} {said(row)}" for row in rows) + "\n")
    return rows


def with_vendor(rows: list[dict]) -> None:
    vendor = next((row for row in rows if row["variant"] == VENDOR), None)
    for row in rows:
        if vendor and vendor["time_us"] and row["time_us"]:
            row["vs_peer"] = vendor["time_us"]["median"] / row["time_us"]["median"]


def said(row: dict) -> str:
    return f"{row['time_us']['median'] / 1e3:.4g} ms" if row["time_us"] else "failed"


def tell(words: str) -> None:
    print(words, end="", file=sys.stderr, flush=True)


def table(rows: list[dict]) -> str:
    head = ("step, ms", 10), ("±", 6), ("speed", 7), ("error", 9), ("taken", 8), ("left", 8)
    lines = [f"{'program':18} {'variant':11}" + "".join(f" {name:>{width}}" for name, width in head)]
    for row in rows:
        time, error = row["time_us"], (row["error"] or {}).get("relative")
        if time is None:
            lines.append(f"{row['app']:18} {row['variant']:11} failed: {row['failed']}")
            continue
        spread = f"{50 * time['iqr'] / time['median']:.1f}%"
        speed = f"{row['vs_peer']:.2f}x" if row["vs_peer"] else "–"
        calls = "".join(f" {'–' if row[name] is None else row[name]:>8}" for name in ("calls_taken", "calls_forwarded"))
        shown = "–" if error is None else f"{error:.2e}"
        lines.append(
            f"{row['app']:18} {row['variant']:11} {time['median'] / 1e3:10.4g} {spread:>6} {speed:>7} {shown:>9}{calls}"
        )
    return "\n".join(lines)


def driver() -> str | None:
    if not shutil.which("nvidia-smi"):
        return None
    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()[0].strip() if done.returncode == 0 and done.stdout else None


def library_version(adapter: Path | None) -> str | None:
    """Of the library beside the adapter."""
    for path in sorted(adapter.parent.glob("libkernelwright.so*")) if adapter else []:
        try:
            library = ctypes.CDLL(str(path))
        except OSError:
            continue
        library.kwVersion.restype = ctypes.c_char_p
        return library.kwVersion().decode()
    return None


def document(rows: list[dict], facts: dict, adapter: Path | None, interrupted: bool) -> dict:
    of_device = ("name", "architecture", "compute_capability", "sm_count", "memory_bytes")
    return {
        "schema": 1,
        "command": shlex.join(["apps/measure.py", *public_arguments()]),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "device": {"kind": "cuda", **{name: facts[name] for name in of_device}},
        "software": {
            "kernelwright": library_version(adapter), "pytorch": facts["torch"], "cublas": facts["cublas"],
            "runtime": facts["cuda"], "driver": driver(), "python": facts["python"],
            "os": f"{platform.system()} {platform.release()} {platform.machine()}",
        },
        "interrupted": interrupted,
        "rows": rows,
    }  # fmt: skip


def public_arguments() -> list[str]:
    """The command line without folders, which are of the machine."""
    return [Path(word).name if "/" in word else word for word in sys.argv[1:]]


def chosen(names: dict, wanted: str | None, what: str) -> list[str]:
    patterns = wanted.split(",") if wanted else ["*"]
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            raise Failure(f"no {what} is called '{pattern}'; there are: {', '.join(names)}.")
    return [name for name in names if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]


def checked_adapter(given: str | None, variants: list[str]) -> Path | None:
    if not any(name in ADAPTED for name in variants):
        return None
    if given is None:
        raise Failure("--adapter is missing: the path of libkernelwright_cublas.so. Or: --variants vendor,tf32.")
    path = Path(given).resolve()
    if not path.is_file():
        made = "build/cuda/adapters/cublas/libkernelwright_cublas.so"
        raise Failure(f"{given}: no such file. `./dev build cuda` makes {made}.")
    return path


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adapter", metavar="PATH", help="libkernelwright_cublas.so, the library beside it")
    parser.add_argument("--apps", metavar="LIST", help="names or patterns, by commas (default: all)")
    parser.add_argument("--variants", metavar="LIST", help=f"of {', '.join(VARIANTS)} (default: all)")
    parser.add_argument("--rounds", type=int, default=5, help="blocks of each variant (default: 5)")
    parser.add_argument("--seconds", type=float, default=0.4, help="of a block, by the first variant (default: 0.4)")
    parser.add_argument("--json", metavar="FILE", help="write a result file, anew after each program")
    parser.add_argument("--list", action="store_true", help="name the programs and end")
    given = parser.parse_args()
    if given.rounds < 1 or given.seconds <= 0:
        parser.error("--rounds and --seconds must be more than 0")
    return given


def main() -> None:
    given = options()
    if given.list:
        print("\n".join(f"{app:18} apps/{module}.py {sizes or ''}".rstrip() for app, (module, sizes) in APPS.items()))
        return
    apps, names = chosen(APPS, given.apps, "program"), chosen(VARIANTS, given.variants, "variant")
    adapter = checked_adapter(given.adapter, names)
    if importlib.util.find_spec("torch") is None:
        raise Failure("this Python has no PyTorch: `python3 -m pip install torch`, or start with a Python that has it.")
    rows: list[dict] = []
    with tempfile.TemporaryDirectory() as records:
        variants = [Variant(name, adapter, records) for name in names]
        try:
            facts = ask_all(variants, do="facts")
            for name, answer in facts.items():
                if "failed" in answer:
                    raise Failure(f"{name}: {answer['failed']} Is there a GPU that nvidia-smi lists?")
            for app in apps:
                rows += measure(app, variants, given.rounds, given.seconds * LONGER.get(app, 1))
                if given.json:
                    made = document(rows, facts[names[0]], adapter, interrupted=app != apps[-1])
                    Path(given.json).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
        finally:
            for variant in variants:
                variant.end()
            print(table(rows) if rows else "nothing was measured")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"measure.py: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
