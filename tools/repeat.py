#!/usr/bin/env python3
"""Runs a built suite of tests again and again, each time with another seed, in parallel.

    tools/repeat.py 30 build/cpu/tests/kw_tests
    tools/repeat.py 30 kw_tests --program ./kernelwright --name asan --filter='-*SameBits*' --jobs 16

Prints a line a repetition and appends it to a file: suite, seed, outcome, tests, seconds, failed tests. A seed's line
is repeated by KW_TEST_SEED=<seed>. The output of a shard that fails is kept beside that file. Needs the test program
and, where that was built elsewhere, --program; nothing else of the tree.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import secrets
import subprocess
import sys
import threading
import time

HEAD = "# suite seed outcome tests seconds"


class Repetition:
    """One run of all shards with one seed."""

    def __init__(self, seed, shards):
        self.seed = seed
        self.missing = shards
        self.began = None
        self.tests = 0
        self.failed = []

    def line(self, suite):
        outcome = "failed" if self.failed else "passed"
        text = f"{suite} {self.seed} {outcome} {self.tests} {time.monotonic() - self.began:.0f}"
        return " ".join([text, *self.failed])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("times", type=int, metavar="N", help="repetitions")
    parser.add_argument("tests", type=pathlib.Path, help="the test program, kw_tests")
    parser.add_argument("--program", type=pathlib.Path, help="kernelwright, where it is not at the path it was built at")
    parser.add_argument("--name", help="what the suite is called in the lines (default: the folder of the preset)")
    parser.add_argument("--filter", help="GoogleTest's filter (default: the preset's in CMakePresets.json, where it is)")
    parser.add_argument("--shards", type=int, default=32, help="parts of a repetition (32)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="parts that run at once (one a core)")
    parser.add_argument("--seed", type=int, help="the first repetition's; the next ones count up (default: at random)")
    parser.add_argument("--timeout", type=int, default=3600, help="seconds after which a part has failed (3600)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/repeats.txt"), help="the file of lines")
    options = parser.parse_args()
    options.tests = options.tests.resolve()
    if not os.access(options.tests, os.X_OK):
        sys.exit(f"repeat: {options.tests} is not a program. ./dev build cpu makes build/cpu/tests/kw_tests")
    if options.program:
        options.program = options.program.resolve()
        if not os.access(options.program, os.X_OK):
            sys.exit(f"repeat: {options.program} is not a program")
    if options.name is None:
        options.name = options.tests.parent.parent.name
    if options.filter is None:
        options.filter = filter_of(options.name)
    return options


def filter_of(preset):
    path = pathlib.Path(__file__).resolve().parent.parent / "CMakePresets.json"
    presets = json.loads(path.read_text(encoding="utf-8"))["testPresets"] if path.is_file() else []
    return next((one["environment"].get("GTEST_FILTER", "") for one in presets
                 if one["name"] == preset and "environment" in one), "")


class Processes:
    """Those under way, which an interrupt ends with the program."""

    def __init__(self):
        self._lock = threading.Lock()
        self._running = set()
        self.ended = False

    def run(self, command, environment, timeout):
        """Returns output and exit code, which is a text where time ran out."""
        with self._lock:
            if self.ended:
                return "", "none: interrupted"
            process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self._running.add(process)
        try:
            output, code = process.communicate(timeout=timeout)[0], process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            output, code = process.communicate()[0], f"none after {timeout} s"
        finally:
            with self._lock:
                self._running.discard(process)
        return output.decode(errors="replace"), code

    def end(self):
        with self._lock:
            self.ended = True
            for process in self._running:
                process.kill()


def run_shard(options, processes, seed, shard):
    """Returns how many tests passed, and what failed."""
    environment = dict(os.environ, KW_TEST_SEED=str(seed), GTEST_TOTAL_SHARDS=str(options.shards),
                       GTEST_SHARD_INDEX=str(shard), OPENBLAS_NUM_THREADS="1", GTEST_BRIEF="1")
    environment.pop("KW_HOST_SIMT_SEED", None)
    if options.filter:
        environment["GTEST_FILTER"] = options.filter
    if options.program:
        environment["KW_TEST_PROGRAM"] = str(options.program)
    output, code = processes.run([options.tests], environment, options.timeout)
    if processes.ended:
        return 0, []
    passed = re.search(r"^\[  PASSED  \] (\d+) test", output, re.M)
    failed = sorted(set(re.findall(r"^again: .*--gtest_filter='(.*)'$", output, re.M)))
    skipped = re.findall(r"^\[  SKIPPED \] (\S+)$", output, re.M)
    failed += [f"{name}(skipped)" for name in sorted(set(skipped))]
    if (code != 0 or passed is None) and not failed:
        failed = [f"shard-{shard}(exit-code-{code})".replace(" ", "-")]
    if failed:
        log = options.out.with_name(f"{options.out.stem}-{options.name}-{seed}-{shard}.log")
        log.write_text(f"exit code {code}\n{output}")
    return int(passed.group(1)) if passed else 0, failed


def main():
    options = arguments()
    first = options.seed if options.seed is not None else secrets.randbelow(10**9 - options.times)
    repetitions = [Repetition(first + i, options.shards) for i in range(options.times)]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    lock = threading.Lock()
    processes = Processes()
    bad = 0
    with open(options.out, "a", encoding="utf-8") as out:
        if out.tell() == 0:
            print(HEAD, file=out, flush=True)

        def work(repetition, shard):
            nonlocal bad
            with lock:
                repetition.began = repetition.began or time.monotonic()
            passed, failed = run_shard(options, processes, repetition.seed, shard)
            if processes.ended:
                return
            with lock:
                repetition.tests += passed
                repetition.failed += failed
                repetition.missing -= 1
                if repetition.missing == 0:
                    bad += bool(repetition.failed)
                    line = repetition.line(options.name)
                    print(line, flush=True)
                    print(line, file=out, flush=True)

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            tasks = [pool.submit(work, repetition, shard) for repetition in repetitions
                     for shard in range(options.shards)]
            try:
                for task in tasks:
                    task.result()
            except KeyboardInterrupt:
                pool.shutdown(wait=False, cancel_futures=True)
                processes.end()
    if processes.ended:
        print(f"{options.name}: interrupted; the repetitions that were complete are in {options.out}", flush=True)
        return 130
    print(f"{options.name}: {options.times - bad} of {options.times} repetitions passed", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
