#!/usr/bin/env python3
"""Everything that shows on a GPU that the drop-in for cuBLAS is correct, in one go.

    python3 tools/conformance/all.py --program build/cuda/tools/kernelwright/kernelwright --output conformance.json
    python3 tools/conformance/all.py --program kernelwright --checks 'torch*,cupy' --jobs 2
    python3 tools/conformance/all.py --list

Checks are programs of this folder, some under `kernelwright run`; several run at once, those that look at the device's
memory alone. Each has a time limit. What PyTorch fails as it is, without the drop-in, is told and does not count; what
it passes must pass under the drop-in, too, without an error many times as large. Products that are listed must be in
the drop-in's own report, as taken. Ends with a table; the exit code is 0 where nothing failed. Needs PyTorch with CUDA
and expecttest; JAX, CuPy, g++ and compute-sanitizer for the checks that are named after them.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import datetime
import json
import os
import platform
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "apps"))
import measure  # noqa: E402  of apps/: driver and versions

TAKE = {"KERNELWRIGHT_SLOWER": "take"}  # also what cuBLAS would compute sooner, which small samples mostly are
SLOWER = "predicted to be slower than cuBLAS"  # the drop-in's reason
WITHOUT_TRITON = {"XLA_FLAGS": "--xla_gpu_enable_triton_gemm=false"}
SEVERAL_AT_ONCE = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "OMP_NUM_THREADS": "4", "PYTHONUNBUFFERED": "1"}
LARGEST_SMALL = 1e9  # operations: a larger product must be taken where a check says so
TIMES_AS_LARGE = 10  # an error that is so many times as large as without the drop-in, and as PyTorch's tolerance


@dataclass(frozen=True)
class Check:
    """A program of this folder and its arguments."""

    about: str
    command: tuple[str, ...]
    limit_s: int
    under: tuple[str, ...] | None = None  # options of `kernelwright run`; None: as it is
    env: dict[str, str] = field(default_factory=dict)
    beside: str | None = None  # the check that is the same without the drop-in
    must_take: bool = False  # the products that it lists
    takes_program: bool = False  # it runs kernelwright itself
    alone: bool = False


CHECKS = {  # the longest first
    "jax": Check("JAX's products, as XLA likes", ("jax_products.py",), 240, ()),
    "sanitize": Check("memcheck over a training run", ("sanitize.py",), 200, takes_program=True),
    "torch": Check("PyTorch's operators, as it is", ("torch_tests.py",), 240),
    "torch_split": Check("the same, all products here", ("torch_tests.py",), 240, (), TAKE, beside="torch"),
    "torch_default": Check("the same, by prediction", ("torch_tests.py", "--small"), 240, (), beside="torch"),
    "torch_fp32": Check(
        "the same, all products here in fp32", ("torch_tests.py", "--small"), 240, ("--math", "fp32"), TAKE, beside="torch"
    ),
    "jax_cublas": Check("JAX's products, by prediction", ("jax_products.py",), 240, (), WITHOUT_TRITON, must_take=True),
    "jax_all": Check("JAX's products, all here", ("jax_products.py",), 240, (), {**WITHOUT_TRITON, **TAKE}, must_take=True),
    "cupy": Check("CuPy's products, by prediction", ("cupy_products.py",), 120, (), must_take=True),
    "cupy_all": Check("CuPy's products, all here", ("cupy_products.py",), 120, (), TAKE, must_take=True),
    "cusolver": Check("cuSOLVER's Cholesky, all here", ("cusolver_factors.py",), 120, (), TAKE, must_take=True),
    "run_command": Check("kernelwright run and variables", ("run_command.py",), 180, takes_program=True),
    "soak_vendor": Check("mixed products, cuBLAS alone", ("soak.py", "--calls", "800000"), 120, alone=True),
    "soak": Check("two million mixed products", ("soak.py",), 300, env=TAKE, beside="soak_vendor", takes_program=True, alone=True),
}  # fmt: skip


class Failure(Exception):
    """What went wrong, and the way out."""


@dataclass
class Found:
    """What a check came to."""

    seconds: float
    code: int | None  # none: it was stopped at its limit
    said: str
    results: list[dict]
    products: list[dict]
    calls: list[dict]


def command_of(check: Check, program: str, results: Path, report: Path) -> list[str]:
    script, *arguments = check.command
    command = [sys.executable, str(HERE / script), *arguments, "--json", str(results)]
    if check.takes_program:
        command += ["--program", program]
    if check.under is not None:
        command = [program, "run", "--quiet", *check.under, "--report", str(report), "--", *command]
    return command


def read(path: Path) -> dict:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def run(name: str, program: str, folder: Path) -> Found:
    check, results, report = CHECKS[name], folder / f"{name}.json", folder / f"{name}.report.json"
    tell(f"{name}: began\n")
    began = time.monotonic()
    env = {**os.environ, **SEVERAL_AT_ONCE, **check.env}
    # A session of its own, so that all of it can be stopped.
    with subprocess.Popen(
        command_of(check, program, results, report), env=env, text=True, errors="replace",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            said, _ = process.communicate(timeout=check.limit_s)
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said, code = process.communicate()[0], None
    seconds = time.monotonic() - began
    tell(f"{name}: {'stopped' if code is None else 'ended'} after {seconds:.0f} s\n")
    found, calls = read(results), read(report).get("calls", [])
    return Found(seconds, code, said, found.get("results", []), found.get("products", []), calls)


def same_product(product: dict, call: dict) -> bool:
    """Frameworks turn products round and fold batches into rows: k and the number of results stay."""
    results = [one["m"] * one["n"] * one["batch"] for one in (product, call)]
    return product["k"] == call["k"] and results[0] == results[1]


def fate(product: dict, calls: list[dict]) -> str:
    """What became of a product: taken, to cuBLAS and why, or not seen. XLA also calls while it chooses a kernel."""
    matching = [call for call in calls if same_product(product, call)]
    left = [call for call in matching if not call["taken"]]
    if len(left) < len(matching):
        taken = sum(call["calls"] for call in matching if call["taken"])
        others = f", {sum(call['calls'] for call in left)} to cuBLAS: {left[0]['reason']}" if left else ""
        return f"taken {taken} times{others}"
    return f"to cuBLAS: {left[0]['reason']}" if left else "not seen: another kernel than cuBLAS's"


def judge_products(check: Check, found: Found) -> list[dict]:
    rows = []
    for product in {product["name"]: product for product in found.products}.values():
        became = fate(product, found.calls)
        # Without TAKE, what is predicted to be slower is rightly left.
        excused = TAKE.items().isdisjoint(check.env.items()) and became.endswith(SLOWER)
        large = 2.0 * product["m"] * product["n"] * product["k"] * product["batch"] > LARGEST_SMALL
        passed = became.startswith("taken") or excused or not (check.must_take and large)
        rows.append({"name": f"product: {product['name']}", "passed": passed, "detail": became})
    return rows


def samples_of(result: dict) -> set[str]:
    """Which failed: "12 forward: 3 times the tolerance" is of sample 12."""
    return {failure.split(":")[0] for failure in result.get("failures") or []}


def judge_beside(results: list[dict], others: list[dict]) -> list[dict]:
    """The results, those that fail without the drop-in marked as known, and those with far larger errors as failed."""
    without = {result["name"]: result for result in others}
    rows = []
    for result in results:
        other, row = without.get(result["name"]), dict(result)
        if other is not None and not result["passed"] and not other["passed"]:
            row["known"] = samples_of(result) <= samples_of(other)
        for what, worst in (result.get("worst") or {}).items():
            usual = ((other or {}).get("worst") or {}).get(what, 0.0)
            if other is not None and result["passed"] and worst > TIMES_AS_LARGE * max(1.0, usual):
                row.update(
                    passed=False,
                    detail=f"{what}: {worst:.3g} of assert_close's tolerance, {usual:.3g} without the drop-in",
                )
        rows.append(row)
    return rows


def judge(name: str, every: dict[str, Found]) -> dict:
    """The row of a check."""
    check, found = CHECKS[name], every[name]
    beside = every.get(check.beside) if check.beside else None
    rows = judge_beside(found.results, beside.results if beside else [])
    rows += judge_products(check, found) if check.under is not None else []
    failed = [row for row in rows if not row["passed"] and not row.get("known")]
    known = [row for row in rows if not row["passed"] and row.get("known")]
    why = None
    if found.code is None:
        why = f"stopped after its {check.limit_s} s"
    elif not found.results:
        why = f"no results, exit code {found.code}: {(found.said.strip().splitlines() or [''])[-1][:200]}"
    is_reference = any(other.beside == name for other in CHECKS.values())
    return {
        "check": name, "about": check.about, "passed": len(rows) - len(failed) - len(known), "failed": len(failed),
        "known": len(known), "ended": why, "seconds": round(found.seconds, 1), "reference": is_reference,
        "calls_taken": sum(call["calls"] for call in found.calls if call["taken"]) if found.calls else None,
        "calls_forwarded": sum(call["calls"] for call in found.calls if not call["taken"]) if found.calls else None,
        "failures": [{"name": row["name"], "detail": row["detail"]} for row in failed + known],
        "results": [{key: row[key] for key in ("name", "passed", "detail")} for row in rows],
    }  # fmt: skip


def is_clean(row: dict) -> bool:
    """What PyTorch fails by itself is no failure of the drop-in."""
    return row["ended"] is None and (row["failed"] == 0 or row["reference"])


def table(rows: list[dict]) -> str:
    lines = [f"{'check':14} {'':34} {'passed':>7} {'failed':>7} {'known':>6} {'taken':>9} {'left':>9} {'s':>6}"]
    for row in rows:
        calls = "".join(f" {'–' if row[key] is None else row[key]:>9}" for key in ("calls_taken", "calls_forwarded"))
        counts = f"{row['passed']:>7} {row['failed']:>7} {row['known']:>6}{calls} {row['seconds']:>6.0f}"
        lines.append(f"{row['check']:14} {row['about']:34} {counts}")
        if row["ended"]:
            lines.append(f"{'':14} {row['ended']}")
        lines += [f"{'':14} {failure['name']}: {failure['detail']}" for failure in row["failures"][:12]]
    return "\n".join(lines)


def document(rows: list[dict], facts: dict, adapter_folder: Path | None, seconds: float) -> dict:
    of_device = ("name", "architecture", "compute_capability", "sm_count", "memory_bytes")
    version = measure.library_version(adapter_folder / "any") if adapter_folder else None
    return {
        "schema": 1,
        "command": shlex.join(["tools/conformance/all.py", *measure.public_arguments()]),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "device": {"kind": "cuda", **{name: facts.get(name) for name in of_device}},
        "software": {
            "kernelwright": version, "pytorch": facts.get("torch"), "cublas": facts.get("cublas"), "runtime": facts.get("cuda"),
            "driver": measure.driver(), "python": platform.python_version(), **facts.get("packages", {}),
            "os": f"{platform.system()} {platform.release()} {platform.machine()}",
        },
        "seconds": round(seconds, 1),
        "checks": rows,
    }  # fmt: skip


def facts_here() -> dict:
    done = subprocess.run([sys.executable, str(HERE / "facts.py")], capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        raise Failure(
            f"PyTorch with CUDA is needed: {(done.stderr.strip().splitlines() or ['it says nothing'])[-1]}"
        ) from None


def tell(words: str) -> None:
    print(words, end="", file=sys.stderr, flush=True)


def library_folder(program: Path) -> Path | None:
    """Of the library that the program's drop-in opens, for its version."""
    for place in ("../../src", "../lib", "../lib64", "../lib/x86_64-linux-gnu", "."):
        folder = (program.parent / place).resolve()
        if sorted(folder.glob("libkernelwright.so*")):
            return folder
    return None


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", metavar="PATH", help="kernelwright, the drop-in beside it as built or installed")
    parser.add_argument("--checks", metavar="LIST", default="*", help="names or patterns, by commas (default: all)")
    parser.add_argument("--output", metavar="FILE", help="write a result file")
    parser.add_argument("--logs", metavar="FOLDER", help="keep what each check printed")
    parser.add_argument("--jobs", type=int, default=5, metavar="N", help="checks at once (5)")
    parser.add_argument("--list", action="store_true", help="name the checks and end")
    given = parser.parse_args()
    if given.jobs < 1:
        parser.error("--jobs must be 1 or more")
    return given


def run_all(names: list[str], program: str, jobs: int, logs: Path | None) -> dict[str, Found]:
    def run_logged(name: str, program: str, folder: Path) -> Found:
        found = run(name, program, folder)
        if logs:
            (logs / f"{name}.txt").write_text(found.said, encoding="utf-8")
        return found

    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        together = {name: pool.submit(run_logged, name, program, Path(folder)) for name in names if not CHECKS[name].alone}
        every = {name: future.result() for name, future in together.items()}
        every.update({name: run_logged(name, program, Path(folder)) for name in names if CHECKS[name].alone})
    return {name: every[name] for name in names}


def main() -> int:
    given = options()
    if given.list:
        print("\n".join(f"{name:14} {check.about}; at most {check.limit_s} s" for name, check in CHECKS.items()))
        return 0
    names = measure.chosen(CHECKS, given.checks, "check")
    if given.program is None:
        made = "build/cuda/tools/kernelwright/kernelwright"
        raise Failure(f"--program is missing: the path of kernelwright. `./dev build cuda` makes {made}.")
    program = Path(given.program).resolve()
    if not (program.is_file() and os.access(program, os.X_OK)):
        raise Failure(f"--program {given.program}: no such program. `./dev build cuda` makes it.")
    began = time.monotonic()
    facts = facts_here()
    if "failed" in facts:
        raise Failure(f"{facts['failed']} Is there a GPU that nvidia-smi lists?")
    logs = Path(given.logs) if given.logs else None
    if logs:
        logs.mkdir(parents=True, exist_ok=True)
    every = run_all(names, str(program), given.jobs, logs)
    rows = [judge(name, every) for name in names]
    for row in rows:
        if not is_clean(row) and row["ended"]:
            tell(f"--- {row['check']}\n" + "\n".join(every[row["check"]].said.splitlines()[-25:]) + "\n")
    if given.output:
        made = document(rows, facts, library_folder(program), time.monotonic() - began)
        Path(given.output).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(table(rows))
    bad = sum(not is_clean(row) for row in rows)
    print(f"{len(rows) - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failure, measure.Failure) as failure:
        sys.exit(f"all.py: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
