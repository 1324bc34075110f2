"""tools/repeat.py: what it writes of repetitions that pass, fail, skip and are interrupted."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOOL = pathlib.Path(__file__).resolve().parent.parent.parent / "tools/repeat.py"

# Stands in for kw_tests: shard 1 of odd seeds does what BAD says.
PROGRAM = """#!/bin/sh
if [ "$GTEST_SHARD_INDEX" = 1 ] && [ $((KW_TEST_SEED % 2)) = 1 ]; then
  case $BAD in
    fail) echo "again: KW_TEST_SEED=1 kw_tests --gtest_filter='Some.Test'"; exit 1 ;;
    skip) echo "[  SKIPPED ] Some.Other"; echo "[  PASSED  ] 2 tests."; exit 0 ;;
    crash) exit 3 ;;
    hang) exec sleep 3600 ;;
  esac
fi
echo "[  PASSED  ] 3 tests."
"""


class Repeat(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = self.folder / "kw_tests"
        self.program.write_text(PROGRAM, encoding="utf-8")
        self.program.chmod(0o755)
        self.out = self.folder / "repeats.txt"

    def start(self, bad, *options):
        command = [sys.executable, TOOL, "2", self.program, "--name", "suite", "--seed", "10", "--shards", "2",
                   "--jobs", "2", "--out", self.out, *options]
        return subprocess.Popen(command, env=dict(os.environ, BAD=bad), stdout=subprocess.PIPE, text=True)

    def repeated(self, bad, *options):
        process = self.start(bad, *options)
        said = process.communicate()[0]
        lines = [line for line in self.out.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        return process.returncode, said, [line.split() for line in sorted(lines)]

    def test_all_pass(self):
        code, said, lines = self.repeated("")
        self.assertEqual(code, 0)
        self.assertIn("2 of 2 repetitions passed", said)
        self.assertEqual([line[:4] for line in lines],
                         [["suite", "10", "passed", "6"], ["suite", "11", "passed", "6"]])

    def test_what_is_not_a_pass_fails_and_is_named(self):
        for bad, name in [("fail", "Some.Test"), ("skip", "Some.Other(skipped)"),
                          ("crash", "shard-1(exit-code-3)")]:
            with self.subTest(bad):
                self.out.unlink(missing_ok=True)
                code, said, lines = self.repeated(bad)
                self.assertEqual(code, 1)
                self.assertIn("1 of 2 repetitions passed", said)
                self.assertEqual([line[2] for line in lines], ["passed", "failed"])
                self.assertEqual(lines[1][5:], [name])
                self.assertTrue((self.folder / "repeats-suite-11-1.log").exists())

    def test_what_takes_too_long_fails(self):
        code, _, lines = self.repeated("hang", "--timeout", "10")
        self.assertEqual(code, 1)
        self.assertEqual(lines[1][5:], ["shard-1(exit-code-none-after-10-s)"])

    def test_an_interrupt_ends_it_at_once_and_keeps_what_is_complete(self):
        process = self.start("hang")
        until = time.monotonic() + 1000
        while not (self.out.exists() and "suite 10" in self.out.read_text(encoding="utf-8")):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=1000)[0]
        self.assertEqual(process.returncode, 130)
        self.assertIn("interrupted", said)
        self.assertNotIn("suite 11", self.out.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
