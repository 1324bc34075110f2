"""The conformance checks of the drop-in without a GPU: judgements, messages, and the committed result files."""

import contextlib
import io
import json
import subprocess
import sys
import unittest
from pathlib import Path

from report_support import ROOT, InFolder

FOLDER = ROOT / "tools" / "conformance"
sys.path.insert(0, str(FOLDER))
import all as conformance  # noqa: E402
import checks  # noqa: E402
import run_command  # noqa: E402
import sanitize  # noqa: E402
import soak  # noqa: E402


def result(name, passed=True, **more):
    return {"name": name, "passed": passed, "detail": "", **more}


def call(m, n, k, taken=True, batch=1, reason="", calls=1):
    return {"m": m, "n": n, "k": k, "batch": batch, "taken": taken, "reason": reason, "calls": calls, "verified": 0}


def found(results, products=(), calls=(), code=0):
    return conformance.Found(1.0, code, "last words", list(results), list(products), list(calls))


def quiet_checks(json_file=None):
    return checks.Checks(json_file), contextlib.redirect_stdout(io.StringIO())


class Results(InFolder):
    def test_the_file_and_the_exit_code(self):
        checked, quiet = quiet_checks(str(self.folder / "found.json"))
        with quiet as said:
            checked.add("good", True)
            with checked.attempt("judged") as more:
                more.update(passed=False, detail="0.5")
            with checked.attempt("raises"):
                raise ValueError("first\nsecond")
            checked.expect("matmul", 1, 2, 3)
            self.assertEqual(checked.end(), 1)
        self.assertEqual(said.getvalue().splitlines()[-1], "1 passed, 2 failed")
        written = json.loads((self.folder / "found.json").read_text(encoding="utf-8"))
        self.assertEqual([each["detail"] for each in written["results"]], ["", "0.5", "ValueError: first"])
        self.assertEqual(written["products"], [{"name": "matmul", "m": 1, "n": 2, "k": 3, "batch": 1}])

    def test_no_result_is_a_failure(self):
        checked, quiet = quiet_checks()
        with quiet:
            self.assertEqual(checked.end(), 1)


class Judgement(unittest.TestCase):
    def judged(self, name, **every):
        return conformance.judge(name, every)

    def test_what_fails_without_the_drop_in_is_known(self):
        plain = found([result("mm"), result("svd", False, failures=["3 forward: 2 times", "7: LinAlgError"])])
        row = self.judged(
            "torch_split",
            torch=plain,
            torch_split=found([result("mm"), result("svd", False, failures=["3 forward: 4 times"])]),
        )
        self.assertEqual((row["passed"], row["failed"], row["known"]), (1, 0, 1))
        self.assertTrue(conformance.is_clean(row))
        more = found([result("mm", False), result("svd", False, failures=["3 forward: 4 times", "4 forward: 2 times"])])
        row = self.judged("torch_split", torch=plain, torch_split=more)
        self.assertEqual((row["failed"], row["known"]), (2, 0))
        self.assertFalse(conformance.is_clean(row))
        self.assertTrue(conformance.is_clean(self.judged("torch", torch=plain)))  # PyTorch's own affair

    def test_an_error_many_times_as_large_is_a_failure(self):
        for usual, worst, passed in ((0.5, 9.0, True), (0.5, 11.0, False), (5.0, 40.0, True), (5.0, 60.0, False)):
            every = {
                "torch": found([result("mm", worst={"forward": usual})]),
                "torch_split": found([result("mm", worst={"forward": worst})]),
            }
            row = self.judged("torch_split", **every)
            self.assertEqual(row["failed"] == 0, passed, (usual, worst))

    def test_products_are_looked_up_in_the_report(self):
        products = [dict(name="folded", m=512, n=64, k=768, batch=4), dict(name="left", m=2048, n=2048, k=512, batch=1),
                    dict(name="small", m=8, n=8, k=8, batch=1), dict(name="elsewhere", m=1024, n=1024, k=999, batch=1)]  # fmt: skip
        calls = [call(2048, 64, 768), call(2048, 2048, 512, False, reason="predicted to be slower than cuBLAS")]
        row = self.judged("jax", jax=found([result("x")], products, calls))
        self.assertEqual((row["failed"], row["calls_taken"], row["calls_forwarded"]), (0, 1, 1))
        row = self.judged("jax_cublas", jax_cublas=found([result("x")], products, calls))
        self.assertEqual([each["name"] for each in row["failures"]], ["product: elsewhere"])
        said = [each["detail"] for each in row["results"][1:]]
        self.assertEqual(said[:2], ["taken 1 times", "to cuBLAS: predicted to be slower than cuBLAS"])
        self.assertIn("not seen", said[3])
        row = self.judged("jax_all", jax_all=found([result("x")], products, calls))
        self.assertEqual([each["name"] for each in row["failures"]], ["product: left", "product: elsewhere"])

    def test_no_end_and_no_results_are_told(self):
        row = self.judged("cupy", cupy=found([], code=1))
        self.assertEqual(row["ended"], "no results, exit code 1: last words")
        self.assertIn("stopped after its", self.judged("cupy", cupy=found([result("x")], code=None))["ended"])
        self.assertIn("last words", conformance.table([row]))

    def test_each_check_has_its_program(self):
        for name, check in conformance.CHECKS.items():
            self.assertTrue((FOLDER / check.command[0]).is_file(), name)
            self.assertIn(check.beside, {None, *conformance.CHECKS}, name)
        command = conformance.command_of(conformance.CHECKS["torch_fp32"], "kernelwright", Path("r"), Path("p"))
        self.assertEqual(command[:7], ["kernelwright", "run", "--quiet", "--math", "fp32", "--report", "p"])


class Soak(unittest.TestCase):
    def rounds(self, device, host, calls=100):
        each = zip(range(1, len(device) + 1), device, host, strict=True)
        rest = {"launches": 3, "in_graphs": 4, "verified": 9, "wrong": 0, "worst": 0.1}
        return [
            {"calls": calls * i, "seconds": i, "device_bytes": d << 20, "host_bytes": h << 20, **rest}
            for i, d, h in each
        ]

    def failures(self, rounds, wanted=800, warm_up=200):
        checked, quiet = quiet_checks()
        with quiet:
            soak.judge(checked, rounds, wanted, warm_up)
        return [each["name"] for each in checked.results if not each["passed"]]

    def test_growth_after_the_warm_up_fails(self):
        flat = [100, 300] + 6 * [400]
        self.assertEqual(self.failures(self.rounds(flat, flat)), [])
        rising = [100, 300, 400, 420, 440, 460, 480, 500]
        self.assertEqual(self.failures(self.rounds(rising, rising)), ["memory of the device", "memory of the host"])
        self.assertEqual(self.failures(self.rounds(flat, [*flat[:4], 900, *flat[5:]])), [])  # one round disturbed

    def test_too_few_calls_or_wrong_results_fail(self):
        flat = 8 * [400]
        self.assertEqual(self.failures(self.rounds(flat, flat), wanted=900), ["calls"])
        self.assertEqual(self.failures(self.rounds(flat, flat), warm_up=600), ["memory"])
        rounds = self.rounds(flat, flat)
        rounds[-1]["wrong"] = 1
        self.assertEqual(self.failures(rounds), ["results"])


class Words(unittest.TestCase):
    def test_summaries_of_the_sanitizer(self):
        self.assertEqual(sanitize.errors("x\n========= ERROR SUMMARY: 0 errors\n========= ERROR SUMMARY: 1 error\n"), 1)
        self.assertEqual(sanitize.errors("========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)"), 2)
        self.assertIsNone(sanitize.errors("killed"))

    def test_what_the_program_under_run_printed(self):
        report = {"calls": [call(1, 1, 1, calls=10), call(1, 1, 1, taken=False, calls=3)]}
        done = run_command.Done(0, "bits 12ab\nerror 1.5e-07\n", "", report)
        self.assertEqual((done.bits, done.error, done.calls(True), done.calls(False)), ("12ab", 1.5e-7, 10, 3))
        self.assertEqual((run_command.Done(1, "", "").bits, run_command.Done(1, "", "").error), (None, float("inf")))

    def test_messages_say_the_way_out(self):
        for script, words, pattern in (
            ("all.py", ["--checks", "no*"], "no check is called 'no\\*'; there are: jax, sanitize"),
            ("all.py", [], "--program is missing: .* `./dev build cuda`"),
            ("all.py", ["--program", "nowhere"], "nowhere: no such program"),
            ("all.py", ["--jobs", "0"], "--jobs must be 1 or more"),
            ("run_command.py", ["--program", "nowhere"], "nowhere: no such program"),
            ("soak.py", ["--libraries", "nowhere"], "libcublas.so.13, .*: not found; name the folder by --libraries"),
            ("soak.py", ["--threads", "0"], "--threads must be 1 or more"),
        ):
            command = [sys.executable, str(FOLDER / script), *words]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertRegex(done.stderr, pattern)
            self.assertTrue(done.returncode)


class Committed(unittest.TestCase):
    def test_result_files_are_tables(self):
        for path in (ROOT / "results").glob("*/conformance*.json"):
            with self.subTest(path=path.name):
                rows = json.loads(path.read_text(encoding="utf-8"))["checks"]
                self.assertTrue(conformance.table(rows))
                self.assertEqual([row["check"] for row in rows if not conformance.is_clean(row)], [])


if __name__ == "__main__":
    unittest.main()
