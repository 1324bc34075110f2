"""tools/mutate.py on a toy tree: faults that are caught, that are not, that do not compile, lists out of date, interrupts."""

import csv
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PRESETS = """{"version": 3, "configurePresets": [
  {"name": "cpu", "generator": "Ninja", "binaryDir": "${sourceDir}/build/cpu"}]}
"""
CMAKE = """cmake_minimum_required(VERSION 3.21)
project(toy LANGUAGES CXX)
add_executable(kw_tests tests/main.cpp)
set_target_properties(kw_tests PROPERTIES RUNTIME_OUTPUT_DIRECTORY tests)
"""
VALUES = """inline int sum(int a, int b) { return a + b; }
inline int product(int a, int b) { return a * b; }
inline int unused() { return 1; }
"""
# Stands in for kw_tests: Toy.Sum is shard 0's, and does not end where a sum is 0; Toy.Product passes with every fault.
TESTS = r"""#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <string>
#include "../src/values.hpp"
int main() {
  const std::string filter = std::getenv("GTEST_FILTER");
  if (std::getenv("GTEST_SHARD_INDEX") != std::string("0") || filter == "Toy.Product") return 0;
  if (sum(2, 3) == 0) {
    std::printf("pid %d\n", static_cast<int>(getpid()));
    std::fflush(stdout);
    for (;;) sleep(1);
  }
  if (product(2, 3) != 6) std::abort();
  if (sum(2, 3) == 5) return 0;
  std::printf("again: KW_TEST_SEED=%s kw_tests --gtest_filter='Toy.Sum'\n", std::getenv("KW_TEST_SEED"));
  return 1;
}
"""
FAULT = """[[mutation]]
id = "{id}"
file = "{file}"
old = "{old}"
new = "{new}"
breaks = "something"
filter = "{filter}"
"""


def fault(name, old, new, gtest_filter="*", file="src/values.hpp"):
    return FAULT.format(id=name, file=file, old=old, new=new, filter=gtest_filter)


MINUS = fault("minus", "a + b", "a - b")
HANGS = fault("hangs", "a + b", "0 * a * b")


def has_ended(pid):
    """A killed process whose parent went before it is a zombie until init collects it."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


@unittest.skipIf(sys.version_info < (3, 11), "tools/mutate.py reads its list with tomllib, which Python has from 3.11 on")
@unittest.skipUnless(all(map(shutil.which, ("cmake", "ninja", "git"))), "builds a tree: needs cmake, ninja and git")
class Mutate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name, text in {"CMakePresets.json": PRESETS, "CMakeLists.txt": CMAKE, "src/values.hpp": VALUES,
                           "tests/main.cpp": TESTS, ".gitignore": "build/\n"}.items():
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / name).write_text(text, encoding="utf-8")
        (self.root / "tools").mkdir()
        shutil.copy(ROOT / "tools/mutate.py", self.root / "tools")
        subprocess.run(["git", "init", "-q", self.root], check=True)
        self.planted = self.root / "build/mutate/src/values.hpp"

    def start(self, faults, *options):
        (self.root / "tools/mutations.toml").write_text("\n".join(faults), encoding="utf-8")
        return subprocess.Popen([sys.executable, self.root / "tools/mutate.py", "--jobs", "2", *options],
                                env=dict(os.environ, CCACHE_DISABLE="1"), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run_tool(self, faults, *options):
        """Exit code, and what was said."""
        process = self.start(faults, *options)
        said = process.communicate()[0]
        return process.returncode, said

    def caught_by(self):
        with open(self.root / "results/mutations.csv", newline="", encoding="utf-8") as file:
            return {row["id"]: row["caught_by"] for row in csv.DictReader(file)}

    def assert_trees_are_sound(self):
        self.assertEqual((self.root / "src/values.hpp").read_text(encoding="utf-8"), VALUES)
        self.assertEqual(self.planted.read_text(encoding="utf-8"), VALUES)

    def test_what_fails_dies_or_does_not_end_is_caught(self):
        code, said = self.run_tool([MINUS, fault("dies", "a * b", "a / b"), HANGS], "--timeout", "10")
        self.assertEqual(code, 0, said)
        self.assertEqual(self.caught_by(),
                         {"minus": "Toy.Sum", "dies": "exit code -6", "hangs": "a test that does not end"})
        self.assert_trees_are_sound()

    def test_where_the_filter_finds_nothing_all_tests_run(self):
        code, said = self.run_tool([fault("minus", "a + b", "a - b", "Toy.Product")])
        self.assertEqual(code, 0, said)
        self.assertEqual(self.caught_by(), {"minus": "Toy.Sum"})

    def test_what_survives_or_does_not_compile_fails_and_the_next_faults_are_tried(self):
        code, said = self.run_tool([fault("survives", "return 1;", "return 2;"), fault("text", "return 1;", "return"),
                                    MINUS])
        self.assertEqual(code, 1)
        self.assertIn("text: does not compile", said)
        self.assertIn("not caught, or not compiled: survives, text", said)
        self.assertEqual(self.caught_by(), {"survives": "nothing", "minus": "Toy.Sum"})
        self.assert_trees_are_sound()

    def test_named_faults_replace_their_rows_alone(self):
        faults = [MINUS, fault("survives", "return 1;", "return 2;")]
        self.assertEqual(self.run_tool(faults)[0], 1)
        self.assertEqual(self.run_tool(faults, "minus", "--no-baseline")[0], 0)
        self.assertEqual(self.caught_by(), {"minus": "Toy.Sum", "survives": "nothing"})
        code, said = self.run_tool(faults, "other")
        self.assertIn("no such fault: other", said)
        self.assertEqual(code, 1)

    def test_tests_that_fail_without_a_fault_prove_nothing(self):
        (self.root / "src/values.hpp").write_text(VALUES.replace("a + b", "a - b"), encoding="utf-8")
        code, said = self.run_tool([fault("more", "a - b", "a - 2 * b")])
        self.assertEqual(code, 1)
        self.assertIn("without a fault, this fails: Toy.Sum", said)
        self.assertFalse((self.root / "results/mutations.csv").exists())

    def test_a_list_that_is_out_of_date_is_refused_before_anything_is_built(self):
        for bad, why in [(fault("gone", "a % b", "a"), "the old text is 0 times in src/values.hpp"),
                         (fault("twice", "int a, int b", "int a"), "the old text is 2 times in src/values.hpp"),
                         (fault("moved", "a + b", "a", file="src/value.hpp"), "src/value.hpp is not there"),
                         (fault("same", "a + b", "a + b"), "changes nothing"),
                         (MINUS, "minus stands there twice"),
                         ('[[mutation]]\nid = "half"\n', "half: file is missing")]:
            for options in [(), ("--check",)]:
                with self.subTest(why, options=options):
                    code, said = self.run_tool([MINUS, bad], *options)
                    self.assertEqual(code, 1)
                    self.assertIn(why, said)
                    self.assertFalse((self.root / "build").exists())
        code, said = self.run_tool([MINUS, HANGS], "--check")
        self.assertEqual((code, said), (0, "mutate: 2 faults, each old text found once\n"))

    def test_an_interrupt_puts_the_file_back_and_keeps_what_was_tried(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number.name):
                process = self.start([MINUS, HANGS])
                log, until = self.root / "build/mutate/build/shard-0.log", time.monotonic() + 1000
                while not (log.exists() and log.read_text(encoding="utf-8").startswith("pid ")):
                    self.assertLess(time.monotonic(), until)
                    self.assertIsNone(process.poll())
                    time.sleep(0.02)
                toy = int(log.read_text(encoding="utf-8").split()[1])
                self.assertIn("0 * a * b", self.planted.read_text(encoding="utf-8"))
                process.send_signal(number)
                said = process.communicate(timeout=1000)[0]
                self.assertEqual(process.returncode, 130)
                self.assertIn("interrupted", said)
                self.assertNotIn("Traceback", said)
                self.assertEqual(self.caught_by(), {"minus": "Toy.Sum"})
                self.assert_trees_are_sound()
                until = time.monotonic() + 1000
                while not has_ended(toy):
                    self.assertLess(time.monotonic(), until)
                    time.sleep(0.02)
                log.unlink()


class TheList(unittest.TestCase):
    def test_each_fault_is_of_a_line_that_is_there(self):
        run = subprocess.run([sys.executable, "tools/mutate.py", "--check"], cwd=ROOT, capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)


if __name__ == "__main__":
    unittest.main()
