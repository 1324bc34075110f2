"""Tables of what the Python package costs and gains."""

import json
import unittest

from report_support import InFolder

from kernelwright_report import python_times, results

MACHINE = {"name": "Test device", "driver": "1.2", "torch": "2.11", "python": "3.12"}
DATA = {
    "machine": MACHINE,
    "command": "python/measure/measure.py --json python.json",
    "host": {"C interface": 3.0, "torch.mm": 4.25, "kernelwright.matmul": 5.5, "torch.mm, enabled": 8.0},
    "products": {"size": 4096, "time_us": {"torch.mm": 2800.0, "kernelwright.matmul": 700.0}},
    "jax": {"size": 4096, "time_us": {"xla": 2800.0, "kernelwright.jax.matmul": 560.0}},
    "eager": {"time_us": {"vendor": 160000.0, "drop-in": 80000.0, "enable": 100000.0}},
    "compiled": {"time_us": {"vendor": 150000.0, "enable": 75000.0}},
}


class PythonTimes(InFolder):
    def page(self, part):
        self.write(json.dumps(DATA), "results/dev/python.json")
        page = self.write(f"<!-- table: results/dev/python.json python {part} -->\n<!-- end -->\n", "docs/python.md")
        code, *_ = self.run_main("docs", "--root", self.folder)
        return code, page.read_text()

    def test_host_times_are_beside_what_they_are_for(self):
        code, text = self.page("host")
        self.assertEqual(code, 0)
        self.assertIn("| kernelwright.matmul | 5.50 µs | +2.5 µs against C interface |", text)
        self.assertIn("| torch.mm, enabled | 8.00 µs | +3.8 µs against torch.mm |", text)
        self.assertIn("Test device, driver 1.2, PyTorch 2.11, Python 3.12.", text)

    def test_products_are_beside_their_peer(self):
        _, text = self.page("products")
        self.assertIn("| 4.00× |", text)
        self.assertIn("| 5.00× |", text)

    def test_programs_may_lack_a_variant(self):
        _, text = self.page("programs")
        self.assertRegex(text, r"\| eager \| .* \| 2\.00× \| 1\.60× \|")
        self.assertRegex(text, r"\| compiled \| .* \| – \| 2\.00× \|")

    def test_what_is_no_such_file_or_part_is_refused(self):
        for content in ("", "[]", "{}", json.dumps({"machine": MACHINE})):
            with self.assertRaisesRegex(results.ResultError, "measure.py"):
                python_times.table(content, ["host"])
        with self.assertRaisesRegex(results.ResultError, "python nothing"):
            python_times.table(json.dumps(DATA), ["nothing"])


if __name__ == "__main__":
    unittest.main()
