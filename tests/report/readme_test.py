"""README's lines of code compile against the headers as they are."""

import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from report_support import ROOT

# What README says that a reader has.
AROUND = """{includes}
void with_stream(const float* a, const float* b, float* c, int m, int n, int k, void* stream) {{
{lines}}}
"""


def compiler():
    return next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)


class Readme(unittest.TestCase):
    @unittest.skipUnless(compiler(), "needs a C++ compiler")
    def test_the_lines_of_code_compile(self):
        blocks = re.findall(
            r"^```cpp\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        )
        self.assertTrue(blocks)
        for block in blocks:
            lines = block.splitlines(keepends=True)
            includes = "".join(line for line in lines if line.startswith("#include"))
            code = "".join(line for line in lines if not line.startswith("#include"))
            with tempfile.TemporaryDirectory() as folder:
                source = Path(folder) / "readme.cpp"
                source.write_text(AROUND.format(includes=includes, lines=code), encoding="utf-8")
                command = [compiler(), "-std=c++20", "-fsyntax-only", "-I", str(ROOT / "include"), str(source)]
                built = subprocess.run(command, capture_output=True, text=True, check=False)
                self.assertEqual(built.returncode, 0, built.stderr)


if __name__ == "__main__":
    unittest.main()
