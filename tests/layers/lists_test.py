"""`./dev test` leaves tests out of each of its two lists (CMakePresets.json): what one leaves out, the other runs."""

import json
import os
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def list_tests(gtest_filter):
    """The full names of the tests that a filter selects."""
    lines = subprocess.run(
        [os.environ["KW_TESTS"], "--gtest_list_tests", f"--gtest_filter={gtest_filter}"],
        check=True, stdout=subprocess.PIPE, text=True,
    ).stdout.splitlines()  # fmt: skip
    names, suite = set(), ""
    for line in (line.split("#")[0].rstrip() for line in lines):
        if line.startswith("  "):
            names.add(suite + line.strip())
        elif line.endswith("."):
            suite = line
    return names


def filter_of(preset):
    presets = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))["testPresets"]
    return next(one["environment"]["GTEST_FILTER"] for one in presets if one["name"] == preset)


class Lists(unittest.TestCase):
    def test_each_test_runs_in_one_of_them(self):
        every = list_tests("*")
        beside, sanitized = list_tests(filter_of("beside-asan")), list_tests(filter_of("asan"))
        self.assertGreater(len(every), 100)
        self.assertEqual(sorted(every - beside - sanitized), [])


if __name__ == "__main__":
    unittest.main()
