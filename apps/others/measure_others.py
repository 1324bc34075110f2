#!/usr/bin/env python3
"""Programs of others, unmodified, as they are and under the drop-in for cuBLAS, in turn in one run.

    python3 apps/others/fetch.py                                     once: brings the programs
    python3 apps/others/measure_others.py --adapter libkernelwright_cublas.so --json apps-others.json
    python3 apps/others/measure_others.py --adapter libkernelwright_cublas.so --apps 'pyg*' --rounds 3
    python3 apps/others/measure_others.py --small                    each once on a CPU, to see that it runs here

Variants are those of apps/measure.py: `vendor` is the program as it is, `fp32` and `fp32_split` have the adapter loaded
before it, in `tf32` a variable of PyTorch's or JAX's allows TF32. Each run is a process; in each round every variant has
one, each round another first. Times are those that the programs print of their own steps. Losses that they print are
compared with the vendor's: a variant whose first or last loss is further off than programs.py allows has no time.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import measure  # noqa: E402
from measure import ADAPTED, VARIANTS, VENDOR, Failure, Measured, tell  # noqa: E402
from programs import PROGRAMS, Program, Result  # noqa: E402

FETCHED = HERE / "fetched"
LIMIT_S = 240  # a run


def prepare(name: str, small: bool) -> Path:
    """A folder with the program's files as they are, and its data in `data`; made once."""
    program, folder = PROGRAMS[name], FETCHED / "made" / f"{name}{'-small' if small else ''}"
    for file in program.files:
        if not (FETCHED / name / file).is_file():
            raise Failure(f"{name}: {file} is not here: `python3 apps/others/fetch.py` brings it.")
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(FETCHED / name / file, folder / file)
    if not (folder / "data" / "made").is_file():
        import data  # needs NumPy

        (folder / "data").mkdir(exist_ok=True)
        data.MADE[program.data](folder / "data", small)
        (folder / "data" / "made").touch()
    return folder


def environment(
    program: Program, variant: str, adapter: Path | None, records: Path, places: dict[str, str]
) -> dict[str, str]:
    env = {**os.environ, "PYTHONUNBUFFERED": "1", "MPLBACKEND": "Agg"}
    env.update({name: value.format(**places) for name, value in program.environment.items()})
    if variant in ADAPTED:
        preload = " ".join(filter(None, [str(adapter), env.get("LD_PRELOAD")]))
        env.update(LD_PRELOAD=preload, KERNELWRIGHT_MATH=variant, KERNELWRIGHT_RECORD=str(records))
    return {**env, **(program.tf32 if variant == "tf32" else {})}


def counted(records: Path) -> dict[str, int]:
    """Calls of all of the run's processes, by what became of them: "" for those taken, else why they were forwarded."""
    found: dict[str, int] = {}
    for path in records.glob("*.json"):
        for call in json.loads(path.read_text(encoding="utf-8"))["calls"]:
            why = "" if call["taken"] else call["reason"]
            found[why] = found.get(why, 0) + call["calls"]
    return found


def run(name: str, variant: str, adapter: Path | None, small: bool) -> tuple[Result, dict[str, int]]:
    """One process, from its start to its end."""
    program, folder = PROGRAMS[name], prepare(name, small)
    with tempfile.TemporaryDirectory() as scratch:
        records = Path(scratch, "records")
        records.mkdir()
        places = {"data": str(folder / "data"), "scratch": scratch}
        try:
            done = subprocess.run(
                program.command(str(folder), small, **places), env=environment(program, variant, adapter, records, places),
                cwd=(folder / program.script).parent, text=True, errors="replace", stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, check=False, timeout=LIMIT_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Failure(f"it took longer than {LIMIT_S} s") from None
        result = program.read(done.stdout)
        if done.returncode or not result.step_us or not result.loss:
            last = (done.stdout.strip().splitlines() or ["nothing was printed"])[-1]
            raise Failure(f"exit code {done.returncode}: {last[:200]}")
        return result, counted(records)


def apart(found: list[float], vendor: list[float], at: int) -> float:
    """How far a loss is from the vendor's, relative; no number is as far as can be."""
    if len(found) != len(vendor):
        return math.inf
    distance = abs(found[at] - vendor[at]) / abs(vendor[at])
    return distance if math.isfinite(distance) else math.inf


def disagreement(program: Program, found: Measured, vendor: Measured) -> str | None:
    """What differs from the vendor's losses by more than it may."""
    for what, at, most in (("first", 0, program.first), ("last", -1, program.last)):
        far = apart(found.loss, vendor.loss, at)
        if far > most:
            return f"its {what} loss is {far:.2g} from the vendor's, relative; at most {most:g}"
    return None


def measure_program(name: str, variants: list[str], adapter: Path | None, rounds: int, small: bool) -> list[dict]:
    """The rows of one program."""
    tell(f"{name}: ")
    found = {variant: Measured({}) for variant in variants}
    for number in range(rounds):
        turn = number % len(variants)
        for variant in variants[turn:] + variants[:turn]:
            measured = found[variant]
            if measured.failed:
                continue
            try:
                result, calls = run(name, variant, adapter, small)
            except Failure as failure:
                measured.failed = str(failure)
                continue
            measured.times += result.step_us
            measured.loss = measured.loss or result.loss  # the runs of a variant have the same
            before = measured.calls or {}
            measured.calls = {why: before.get(why, 0) + calls.get(why, 0) for why in {**before, **calls}}
            tell(".")
    vendor = found.get(VENDOR)
    for variant, measured in found.items():
        if vendor is None or vendor.failed or measured.failed or variant == VENDOR:
            continue
        measured.error = {
            f"{what}_loss_vs_vendor": apart(measured.loss, vendor.loss, at) for what, at in (("first", 0), ("last", -1))
        }
        if variant in ADAPTED:  # TF32 is shown, not judged
            measured.failed = disagreement(PROGRAMS[name], measured, vendor)
    rows = [{**found[variant].row(name, variant), "timing": "printed"} for variant in variants]
    measure.with_vendor(rows)
    tell(" " + ", ".join(f"{row['variant']} {measure.said(row)}" for row in rows) + "\n")
    return rows


def facts(apps: list[str]) -> dict:
    """The device and versions, told by a process that is gone afterwards."""
    code = "import json, worker; print(json.dumps(worker.facts(None)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=HERE.parent, capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        raise Failure(f"this Python has no PyTorch: {(done.stderr.strip().splitlines() or [''])[-1]}") from None
    if "failed" in found:
        raise Failure(f"{found['failed']} --small tries the programs out without.")
    packages = dict.fromkeys(package for app in apps for package in PROGRAMS[app].packages)
    return {**found, "packages": {package: version_of(package) for package in packages}}


def version_of(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def missing(apps: list[str]) -> dict[str, list[str]]:
    """Programs whose packages are not here."""
    lacking = {app: [name for name in PROGRAMS[app].packages if importlib.util.find_spec(name) is None] for app in apps}
    return {app: packages for app, packages in lacking.items() if packages}


def document(rows: list[dict], known: dict, adapter: Path | None, interrupted: bool) -> dict:
    made = measure.document(rows, known, adapter, interrupted)
    made["command"] = made["command"].replace("apps/measure.py", "apps/others/measure_others.py", 1)
    made["software"].update({name: version for name, version in known["packages"].items() if name != "torch"})
    sources = {
        app: f"{PROGRAMS[app].source} at {PROGRAMS[app].commit}: {PROGRAMS[app].script}"
        for app in dict.fromkeys(row["app"] for row in rows)
    }
    return {**made, "sources": sources}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adapter", metavar="PATH", help="libkernelwright_cublas.so, the library beside it")
    parser.add_argument("--apps", metavar="LIST", help="names or patterns, by commas (default: all)")
    parser.add_argument("--variants", metavar="LIST", help=f"of {', '.join(VARIANTS)} (default: all)")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each variant (default: 2)")
    parser.add_argument("--json", metavar="FILE", help="write a result file, anew after each program")
    parser.add_argument("--small", action="store_true", help="the vendor's variant alone, small, on any device")
    parser.add_argument("--list", action="store_true", help="name the programs and end")
    given = parser.parse_args()
    if given.rounds < 1:
        parser.error("--rounds must be more than 0")
    return given


def main() -> int:
    given = options()
    if given.list:
        print("\n".join(f"{name:20} {each.about}; {each.source}: {each.script}" for name, each in PROGRAMS.items()))
        return 0
    apps = measure.chosen(PROGRAMS, given.apps, "program")
    names = [VENDOR] if given.small else measure.chosen(VARIANTS, given.variants, "variant")
    adapter = None if given.small else measure.checked_adapter(given.adapter, names)
    lacking = missing(apps)
    for app, packages in lacking.items():
        tell(f"{app} is left out: this Python has no {', '.join(packages)}\n")
    apps = [app for app in apps if app not in lacking]
    known = {} if given.small else facts(apps)
    rows: list[dict] = []
    for app in apps:
        rows += measure_program(app, names, adapter, 1 if given.small else given.rounds, given.small)
        if given.json and not given.small:
            made = document(rows, known, adapter, interrupted=app != apps[-1])
            Path(given.json).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(measure.table(rows) if rows else "nothing was measured")
    return 0 if rows and not lacking and not any(row["failed"] for row in rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"measure_others.py: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
