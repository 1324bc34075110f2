"""tools/compare_sass.py: which differences between two records it reports, and what it writes."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import compare_sass  # noqa: E402

BEFORE = "80\t100\taaaa\tthin<1>\n90a\t200\tbbbb\tthin<1>\n90a\t300\tcccc\tstream<0>\n"
NAMES = "thin = thin::thin\nstream = stream  # as it was\n"


class Compare(unittest.TestCase):
    def compare(self, after, names=NAMES, before=BEFORE, *more):
        """Exit code, what is printed, and the joined record."""
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / name for name in ("before", "after", "names", "joined")]
            for file, text in zip(files, (before, after, names, "")):
                file.write_text(text)
            argv, sys.argv = sys.argv, ["compare_sass", "compare", *map(str, files[:2]), "--map", str(files[2]), "-o", str(files[3]), *more]
            printed = io.StringIO()
            try:
                with contextlib.redirect_stdout(printed):
                    code = compare_sass.main()
            finally:
                sys.argv = argv
            return code, printed.getvalue(), files[3].read_text()

    AFTER = BEFORE.replace("thin<1>", "thin::thin<1>")

    def test_the_same_under_new_names(self):
        code, printed, joined = self.compare(self.AFTER)
        self.assertEqual((code, printed), (0, "3 of 3 kernels have the same instructions\n"))
        self.assertIn("90a\t200\tbbbb\tsame\tthin::thin<1>\n", joined)
        self.assertEqual(len(joined.splitlines()), 4)

    def test_other_instructions(self):
        code, printed, joined = self.compare(self.AFTER.replace("cccc", "dddd"))
        self.assertEqual(code, 1)
        self.assertIn("2 of 3 kernels", printed)
        self.assertIn("sm_90a stream<0>: 300 instructions before, 300 now, and they differ", printed)
        self.assertIn("90a\t300\tcccc\tdddd\tstream<0>\n", joined)

    def test_a_kernel_that_is_gone_new_or_not_in_the_map(self):
        code, printed, _ = self.compare(self.AFTER.replace("stream<0>", "stream<1>"))
        self.assertEqual(code, 1)
        self.assertIn("sm_90a stream<0>: stream<0> is not there any more", printed)
        self.assertIn("sm_90a stream<1>: new", printed)
        code, printed, _ = self.compare(self.AFTER, names="thin = thin::thin\n")
        self.assertEqual(code, 1)
        self.assertIn("sm_90a stream<0>: not in the map", printed)

    def test_some_of_the_kernels(self):
        only_thin = "".join(line for line in self.AFTER.splitlines(True) if "thin" in line)
        self.assertEqual(self.compare(only_thin)[0], 1)
        code, printed, _ = self.compare(only_thin, NAMES, BEFORE, "--some")
        self.assertEqual((code, printed), (0, "2 of 2 kernels have the same instructions\n"))

    def test_names_lose_what_a_rename_changes_of_itself(self):
        self.assertEqual(
            compare_sass.plain_name("void kw::on_cuda::(anonymous namespace)::thin<1, (bool)1>(kw::Sgemm, kw::ThinPlan)"),
            "thin<1, 1>",
        )


if __name__ == "__main__":
    unittest.main()
