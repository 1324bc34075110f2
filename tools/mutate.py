#!/usr/bin/env python3
"""Tests of the tests: plants the faults of tools/mutations.toml, one at a time, in a copy of the tree, and runs the tests.

    tools/mutate.py [ID...]     builds, runs, prints a line a fault; writes results/mutations.csv
    tools/mutate.py --check     only looks whether each fault's old text is where the list says, once
    tools/mutate.py --list      prints the list

A fault is caught when a test fails or does not end. A fault's filter names the tests that are likely to catch it; they
run first, then all. Every fault must be caught: the exit code is 1 where one is not. Named IDs replace their rows in
the table, the other rows stay. An interrupt puts back the file and keeps the rows so far.
"""

import argparse
import contextlib
import csv
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "tools/mutations.toml"
TABLE = ROOT / "results/mutations.csv"
COLUMNS = ["id", "file", "breaks", "caught_by", "seconds"]
SHARDS = 32


def stop(text):
    sys.exit(f"mutate: {text}")


def read_list():
    with open(LIST, "rb") as file:
        mutations = tomllib.load(file)["mutation"]
    seen = set()
    for mutation in mutations:
        name = mutation.get("id", "?")
        for key in ("id", "file", "old", "new", "breaks"):
            if not isinstance(mutation.get(key), str):
                stop(f"{LIST.name}, {name}: {key} is missing")
        if name in seen:
            stop(f"{LIST.name}: {name} stands there twice")
        seen.add(name)
    return mutations


def planted(mutation, root):
    """The file's text with the fault; None, and why, where the old text is not there exactly once."""
    path = root / mutation["file"]
    if not path.is_file():
        return None, f"{mutation['file']} is not there: name the file that has this text now"
    text = path.read_text(encoding="utf-8")
    found = text.count(mutation["old"])
    if found != 1:
        return None, (f"the old text is {found} times in {mutation['file']}, and must be once: "
                      f"bring the list up to date: {mutation['old']!r}")
    return text.replace(mutation["old"], mutation["new"]), None


def check(mutations):
    bad = 0
    for mutation in mutations:
        _, error = planted(mutation, ROOT)
        if error:
            print(f"mutate: {LIST.name}, {mutation['id']}: {error}", file=sys.stderr)
            bad += 1
        elif mutation["old"] == mutation["new"]:
            print(f"mutate: {LIST.name}, {mutation['id']}: changes nothing", file=sys.stderr)
            bad += 1
    return bad


class Tree:
    """A copy of the tree, built, in which faults are planted."""

    def __init__(self, options):
        self.path = options.tree
        self.build_path = self.path / "build/cpu"
        self.tests = self.build_path / "tests/kw_tests"
        self.jobs = options.jobs
        self.seed = options.seed
        self.timeout = options.timeout
        self.copy()

    def copy(self):
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                                check=True, stdout=subprocess.PIPE).stdout.decode().split("\0")
        names = {name for name in listed if name and (ROOT / name).is_file()}
        for name in sorted(names):
            source, target = ROOT / name, self.path / name
            if target.is_file() and target.read_bytes() == source.read_bytes():
                continue  # what is as it was is not built again
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
            os.utime(target)
        for folder in ("src", "include", "ladder", "peers", "tests", "tools"):
            for path in (self.path / folder).rglob("*"):
                if path.is_file() and str(path.relative_to(self.path)) not in names:
                    path.unlink()

    def build(self):
        """True, or the compiler's output."""
        if not (self.build_path / "build.ninja").exists():
            command = ["cmake", "--preset", "cpu"]
            if shutil.which("ccache"):
                command += ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
            self.run_or_stop(command)
        made = subprocess.run(["cmake", "--build", "build/cpu", "-j", str(self.jobs), "--target", "kw_tests"],
                              cwd=self.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return made.returncode == 0 or made.stdout.decode(errors="replace")

    def run_or_stop(self, command):
        done = subprocess.run(command, cwd=self.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            stop(f"{' '.join(command)}: {done.stdout.decode(errors='replace')[-2000:]}")

    def write(self, name, text):
        (self.path / name).write_text(text, encoding="utf-8")

    def failing_test(self, gtest_filter):
        """The first test of the filter that fails; None where all pass."""
        environment = dict(os.environ, KW_TEST_SEED=str(self.seed), OPENBLAS_NUM_THREADS="1", GTEST_BRIEF="1",
                           GTEST_FAIL_FAST="1", GTEST_FILTER=gtest_filter)
        shards = SHARDS if gtest_filter == "*" else self.jobs
        waiting, running = list(range(shards)), []
        try:
            while waiting or running:
                while waiting and len(running) < self.jobs:
                    with interrupts_later():
                        running.append(Shard(self, dict(environment, GTEST_TOTAL_SHARDS=str(shards),
                                                        GTEST_SHARD_INDEX=str(waiting.pop(0)))))
                time.sleep(0.05)
                for shard in [one for one in running if one.has_ended()]:
                    failed = shard.failed()
                    running.remove(shard)
                    if failed:
                        return failed
        finally:
            for shard in running:
                shard.end()
        return None


INTERRUPTS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def interrupts_later():
    """What is started within is known to who ends it before an interrupt is heard."""
    signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTS)


class Shard:
    """A part of the tests that runs. Started while interrupts wait, which it hears."""

    def __init__(self, tree, environment):
        self.output = tree.path / f"build/shard-{environment['GTEST_SHARD_INDEX']}.log"
        self.deadline = time.monotonic() + tree.timeout
        with open(self.output, "wb") as out:
            self.process = subprocess.Popen([tree.tests], env=environment, stdout=out, stderr=subprocess.STDOUT,
                                            cwd=tree.path, start_new_session=True,
                                            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTS))

    def is_late(self):
        return time.monotonic() > self.deadline

    def has_ended(self):
        return self.process.poll() is not None or self.is_late()

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def failed(self):
        hangs = self.process.poll() is None
        self.end()
        if self.process.returncode == 0 and not hangs:
            return None
        if hangs:
            return "a test that does not end"
        found = re.search(r"^again: .*--gtest_filter='(.*)'$", self.output.read_text(errors="replace"), re.M)
        return found.group(1) if found else f"exit code {self.process.returncode}"


def read_table():
    if not TABLE.exists():
        return {}
    with open(TABLE, newline="", encoding="utf-8") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def write_table(mutations, rows):
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    with open(TABLE, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[mutation["id"]] for mutation in mutations if mutation["id"] in rows)


class DoesNotCompile(Exception):
    """A fault of the list, not of the tests."""


def try_one(tree, mutation):
    """Which test catches the fault, or None."""
    text, error = planted(mutation, tree.path)
    if error:
        stop(f"{LIST.name}, {mutation['id']}: {error}")
    original = (tree.path / mutation["file"]).read_text(encoding="utf-8")
    try:
        tree.write(mutation["file"], text)
        built = tree.build()
        if built is not True:
            raise DoesNotCompile(built[-3000:])
        filters = [mutation["filter"], "*"] if "filter" in mutation else ["*"]
        for gtest_filter in filters:
            if failed := tree.failing_test(gtest_filter):
                return failed
        return None
    finally:
        tree.write(mutation["file"], original)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*", metavar="ID", help="these faults alone")
    parser.add_argument("--check", action="store_true", help="look for the old texts, build nothing")
    parser.add_argument("--list", action="store_true", help="print the list")
    parser.add_argument("--tree", type=pathlib.Path, default=ROOT / "build/mutate", help="the copy (build/mutate)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at once")
    parser.add_argument("--seed", type=int, default=1, help="KW_TEST_SEED of every run (1)")
    parser.add_argument("--timeout", type=int, default=900, help="seconds for a part of the tests (900)")
    parser.add_argument("--no-baseline", action="store_true", help="believe that the tests pass without a fault")
    options = parser.parse_args()
    options.tree = options.tree.resolve()
    return options


def main():
    options = arguments()
    mutations = read_list()
    if options.list:
        for mutation in mutations:
            print(f"{mutation['id']:32} {mutation['file']:40} {mutation['breaks']}")
        return 0
    if bad := check(mutations):
        stop(f"{bad} of {len(mutations)} faults cannot be planted")
    if options.check:
        print(f"mutate: {len(mutations)} faults, each old text found once")
        return 0
    if unknown := set(options.ids) - {mutation["id"] for mutation in mutations}:
        stop(f"no such fault: {', '.join(sorted(unknown))}. --list prints them")

    try:
        return 1 if not_caught(mutations, options) else 0
    except KeyboardInterrupt:
        print(f"mutate: interrupted; the faults that had been tried are in {TABLE}", file=sys.stderr)
        return 130


def not_caught(mutations, options):
    """Tries the faults; the ids of those that no test finds."""
    tree = Tree(options)
    built = tree.build()
    if built is not True:
        stop(f"the tree does not build without a fault:\n{built[-3000:]}")
    if not options.no_baseline and (failed := tree.failing_test("*")):
        stop(f"without a fault, this fails: {failed}")
    rows = read_table()
    survived = []
    for mutation in mutations:
        if options.ids and mutation["id"] not in options.ids:
            continue
        began = time.monotonic()
        try:
            caught_by = try_one(tree, mutation)
        except DoesNotCompile as error:
            print(f"mutate: {LIST.name}, {mutation['id']}: does not compile:\n{error}", file=sys.stderr, flush=True)
            rows.pop(mutation["id"], None)
            write_table(mutations, rows)
            survived.append(mutation["id"])
            continue
        seconds = round(time.monotonic() - began)
        rows[mutation["id"]] = {"id": mutation["id"], "file": mutation["file"], "breaks": mutation["breaks"],
                                "caught_by": caught_by or "nothing", "seconds": seconds}
        write_table(mutations, rows)
        print(f"{mutation['id']:32} {'caught by ' + caught_by if caught_by else 'NOT CAUGHT'}, {seconds} s", flush=True)
        if not caught_by:
            survived.append(mutation["id"])
    if survived:
        print(f"mutate: not caught, or not compiled: {', '.join(survived)}", file=sys.stderr)
    return survived


if __name__ == "__main__":
    for number in INTERRUPTS:  # the former may be ignored in what a shell started
        signal.signal(number, signal.default_int_handler)
    sys.exit(main())
