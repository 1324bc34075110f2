"""Reports of `kernelwright run` on the page, and what they refuse."""

import contextlib
import io
import json
import unittest

from report_support import InFolder, main

from kernelwright_report import page, results, runs


def call(**changes):
    row = {
        "symbol": "cublasSgemm_v2", "op_a": "n", "op_b": "t", "m": 512, "n": 256, "k": 128, "batch": 1, "epilogue": "",
        "pedantic": False, "taken": True, "math": "fp32_split", "kernel": "hopper_fp16x3_128x128", "reason": "", "calls": 40,
        "captured": 0, "host_us": 200.0, "predicted_us": 10.0, "vendor_predicted_us": 30.0, "gained_us": 800.0, "verified": 2,
        "error": 0.31, "vendor_error": 1.25,
    }  # fmt: skip
    return {**row, **changes}


def report(calls, **changes):
    return {
        "schema": 1, "command": "kernelwright run -- x", "program": "python3 <train>.py", "version": "0.2.0",
        "devices": ["NVIDIA H200"], "processes": 1, "exit_code": 0, "wall_s": 1.5, "calls": calls, **changes,
    }  # fmt: skip


FORWARDED = call(taken=False, kernel="", reason="types other than FP32", gained_us=0.0, verified=0, calls=7)


class Runs(InFolder):
    def written(self, data, name="run.json"):
        path = self.folder / name
        path.write_text(json.dumps(data), encoding="utf-8")
        return path

    def test_the_page_says_what_was_taken_and_what_was_not(self):
        path = self.written(report([call(epilogue="bias+gelu"), call(m=0, n=0, k=0, calls=3), FORWARDED]))
        self.assertTrue(runs.is_run(path))
        text = page.write([runs.load(path)], self.folder / "out", None, [], False).read_text()
        for part in ("43 calls of cuBLAS taken, 7 left to it", "nt 512 × 256 × 128 with bias+gelu", "hopper_fp16x3_128x128, fp32_split",
                     "types other than FP32", "other shapes", "was 0.31, cuBLAS&#x27;s 1.25", "python3 &lt;train&gt;.py"):  # fmt: skip
            self.assertIn(part, text)
        rows = (self.folder / "out/run.csv").read_text().splitlines()
        self.assertEqual(len(rows), 4)
        self.assertTrue(rows[0].startswith("symbol,op_a"))

    def test_a_run_without_calls(self):
        text = page.write([runs.load(self.written(report([], devices=[])))], self.folder, None, [], False).read_text()
        self.assertIn("0 calls of cuBLAS taken", text)

    def test_result_files_are_none(self):
        self.assertFalse(runs.is_run(self.written({"schema": 1, "rows": [], "device": {}})))
        self.assertFalse(runs.is_run(self.written([1])))
        self.assertFalse(runs.is_run(self.folder / "missing.json"))

    def test_what_is_wrong_is_named(self):
        wrong = [
            (report([call()], schema=2), "schema 2"),
            (report([call(m="many")]), "call 0: 'm' is \"many\""),
            (report([call(calls=-1)]), "'calls' is -1"),
            (report([{"symbol": "x"}]), "'op_a' is missing"),
            (report([7]), "call 0: expected an object"),
            (report({}), "'calls' is not a list"),
            (report([], devices=[1]), "'devices' is not a list of names"),
            ({key: value for key, value in report([]).items() if key != "wall_s"}, "'wall_s' is missing"),
        ]
        for data, message in wrong:
            with self.subTest(message), self.assertRaises(results.ResultError) as caught:
                runs.load(self.written(data))
            self.assertIn(message, str(caught.exception))

    def test_the_command_line_takes_both_kinds(self):
        path = self.written(report([call()]))
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(main([str(path), "-o", str(self.folder / "page")]), 0)
        self.assertIn("40 calls of cuBLAS taken", (self.folder / "page/index.html").read_text())


if __name__ == "__main__":
    unittest.main()
