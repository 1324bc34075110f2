"""Programs of others (apps/others): reading what they print, agreement with the vendor's losses, refusals. None is run."""

import contextlib
import io
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from report_support import ROOT

FOLDER = ROOT / "apps" / "others"
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]
import measure_others  # noqa: E402
from programs import PROGRAMS, Result  # noqa: E402

PRINTED = {
    "word_language_model": """Using device: cuda
| epoch   1 |     4/   56 batches | lr 1.00 | ms/batch 912.11 | loss 10.11 | ppl 24610.75
| epoch   1 |     8/   56 batches | lr 1.00 | ms/batch 110.50 | loss  8.52 | ppl  5029.03
| epoch   1 |    12/   56 batches | lr 1.00 | ms/batch 111.50 | loss  8.00 | ppl  2980.96
| end of epoch   1 | time: 9.5s | valid loss  7.77 | valid ppl  2368.47
| End of training | test loss  7.75 | test ppl  2321.57
""",
    "pyg_gcn": """Epoch: 001, Loss: 1.9461, Train: 0.2000, Val: 0.1000, Test: 0.1000
Epoch: 002, Loss: 1.9001, Train: 0.3000, Val: 0.2000, Test: 0.2000
Median time per epoch: 0.0071s
""",
    "numpyro_vae": "Epoch 0: loss = 486.69854736328125 (9.02 s.)\nEpoch 1: loss = 4.35e+02 (0.57 s.)\n",
}
READ = {
    "word_language_model": ([110500.0, 111500.0], [10.111, 8.523, 8.0]),
    "pyg_gcn": ([7100.0], [1.9461, 1.9001]),
    "numpyro_vae": ([570000.0], [486.69854736328125, 435.0]),
}


class Programs(unittest.TestCase):
    def test_what_they_print_is_read(self):
        for name, program in PROGRAMS.items():
            found = program.read(PRINTED[name])
            times, losses = READ[name]
            self.assertEqual([round(time, 3) for time in found.step_us], times, name)
            self.assertEqual(len(found.loss), len(losses), name)
            for here, there in zip(found.loss, losses, strict=True):
                self.assertAlmostEqual(here, there, 3)

    def test_command_lines(self):
        for name, program in PROGRAMS.items():
            self.assertIn(program.script, program.files, name)
            self.assertEqual(len(program.commit), 40, name)
            for small in (False, True):
                command = program.command("F", small, data="D", scratch="S")
                self.assertEqual(command[3], f"F/{program.script}")
                self.assertFalse([word for word in command if "{" in word], name)


class Measure(unittest.TestCase):
    def rows(self, answers):
        """Of runs that answer in turn, each with a loss or with a failure."""

        def run(name, variant, adapter, small):
            answer = answers[variant].pop(0)
            if isinstance(answer, str):
                raise measure_others.Failure(answer)
            return Result([1000.0, 2000.0], answer), {"": 5, "too small": 1}

        with mock.patch.object(measure_others, "run", run), contextlib.redirect_stderr(io.StringIO()):
            made = measure_others.measure_program("pyg_gcn", list(answers), Path("x.so"), 2, False)
        return {row["variant"]: row for row in made}

    def test_runs_add_up(self):
        rows = self.rows({"vendor": 2 * [[2.0, 1.0]], "fp32_split": 2 * [[2.0, 1.005]], "tf32": 2 * [[2.1, 3.0]]})
        split = rows["fp32_split"]
        self.assertEqual((split["time_us"]["repeats"], split["calls_taken"], split["calls_forwarded"]), (4, 10, 2))
        self.assertEqual((split["failed"], split["vs_peer"], split["loss"]), (None, 1.0, [2.0, 1.005]))
        self.assertIsNone(rows["tf32"]["failed"])  # shown, not judged
        self.assertAlmostEqual(rows["tf32"]["error"]["last_loss_vs_vendor"], 2.0)

    def test_other_losses_than_the_vendors_fail(self):
        for losses, pattern in (
            ([2.001, 1.0], "its first loss is 0.0005"), ([2.0, 1.1], "its last loss is 0.1"), ([2.0], "its first loss is inf"),
            ([float("nan"), 1.0], "its first loss is inf"),
        ):  # fmt: skip
            row = self.rows({"vendor": 2 * [[2.0, 1.0]], "fp32": 2 * [losses]})["fp32"]
            self.assertRegex(row["failed"], pattern)
            self.assertEqual((row["time_us"], row["verified"]), (None, False))

    def test_a_run_that_fails_is_told_and_not_repeated(self):
        rows = self.rows({"vendor": 2 * [[2.0, 1.0]], "fp32": ["exit code 1: RuntimeError"]})
        self.assertEqual(rows["fp32"]["failed"], "exit code 1: RuntimeError")
        self.assertIsNotNone(rows["vendor"]["time_us"])

    def test_messages_say_the_way_out(self):
        with tempfile.TemporaryDirectory() as empty, mock.patch.object(measure_others, "FETCHED", Path(empty)):
            with self.assertRaisesRegex(
                measure_others.Failure, "examples/gcn.py is not here: `python3 apps/others/fetch.py`"
            ):
                measure_others.prepare("pyg_gcn", False)
        for script, words, pattern in (
            ("measure_others.py", ["--apps", "no*"], "no program is called 'no\\*'; there are: word_language_model"),
            ("measure_others.py", ["--variants", "fp32"], "--adapter is missing"),
            ("measure_others.py", ["--rounds", "0"], "must be more than 0"),
            ("fetch.py", ["--clone", "x"], "--clone x: expected OWNER/NAME=PATH"),
            ("fetch.py", ["--clone", "a/b=c"], "--clone a/b: no program is from there; pytorch/examples"),
        ):
            command = [sys.executable, str(FOLDER / script), *words]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertRegex(done.stderr, pattern)
            self.assertTrue(done.returncode)


if __name__ == "__main__":
    unittest.main()
