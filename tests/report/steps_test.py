"""Why a rung is faster: its counters beside its parent's, and the kernels between two rungs."""

import unittest

from report_support import InFolder, document, sgemm_row

from kernelwright_report import experiments, mixes, steps, text, values
from kernelwright_report.project import Project
from kernelwright_report.results import ResultError

REGISTRY = 'rung("r01_slow", nullptr, r01_slow, "slow"),\nrung("r02_better", "r01_slow", r02_better, "better"),\n'
FMAS = 4096**3 / 32


def counters(*kernels):
    lines = ['"ID","Kernel Name","Metric Name","Metric Value"']
    for launch, (function, metrics) in enumerate(kernels):
        lines += [f'"{launch}","{function}","{name}","{value}"' for name, value in metrics.items()]
    return "\n".join(lines) + "\n"


def counted(issue, per_fma, latency, **stalls):
    stalled = {steps.counters.STALL.format(name): value for name, value in stalls.items()}
    return {steps.ISSUE: issue, steps.INSTRUCTIONS: per_fma * FMAS, steps.LATENCY: latency, steps.counters.LD: FMAS / 4, "gpu__time_duration.sum": 64 * FMAS / 80 / issue * per_fma, **stalled}


class Step(InFolder):
    def setUp(self):
        super().setUp()
        self.write(REGISTRY, "ladder/sgemm/rungs.cu")
        self.write(document([sgemm_row("r01_slow", 4096), sgemm_row("r02_better", 4096)]), steps.USUAL[1])
        slow, better = counted(20, 4, 20, long_scoreboard=15, barrier=0.5), counted(40, 2, 10, long_scoreboard=1, barrier=0.5)
        self.write(counters(("void slow(P)", slow), ("void better(P)", better)), steps.USUAL[0])
        self.project = Project(self.folder, True)

    def step(self, *words):
        return steps.step(self.project, self.folder / "ladder/sgemm/README.md", list(words)).replace(text.THIN, "")

    def test_before_after_and_what_follows(self):
        table = self.step("r02_better", "passes")
        for line in (
            "| 4096, Test | r01 | r02 |  |",
            "| passes of reads through shared memory, for an FMA | 0.250 | 0.250 |  |",
            "| **instructions for an FMA** (1 would be ideal) | 4.00 | 2.00 | × 2.00 |",
            "| **share of the cycles with an instruction issued** | 20.0% | 40.0% | × 2.00 |",
            "| cycles from a warp's instruction to its next | 20.00 | 10.00 |  |",
            "| – of these, for data from global memory | 15.00 | 1.00 |  |",
            "| **issued ÷ instructions: FMA units in use** | 5.0% | 20.0% | × 4.00 |",
            "| the launch's speed, of the FMA peak | 5.0% | 20.0% | × 4.00 |",
        ):
            self.assertIn(line, table)
        self.assertNotIn("barrier", table, "a reason that takes little before and after")
        self.assertIn("| – of these, at the barrier, for other warps | 0.50 | 0.50 |  |", self.step("r02_better", "barrier"), "unless it is named")

    def test_issue_is_warps_over_cycles(self):
        self.assertNotIn("warps that a scheduler chooses from", self.step("r02_better"))
        slow, better = ({**counted(issue, 2, latency), steps.WARPS: 4} for issue, latency in ((20, 20), (40, 10)))
        self.write(counters(("void slow(P)", slow), ("void better(P)", better)), steps.USUAL[0])
        self.project = Project(self.folder, True)
        self.assertIn("| warps that a scheduler chooses from | 4.00 | 4.00 |  |", self.step("r02_better"))

    def test_a_first_rung_stands_alone(self):
        self.assertIn("| **instructions for an FMA** (1 would be ideal) | 4.00 |\n", self.step("r01_slow"))

    def test_errors_say_what_there_is(self):
        for words, pattern in ((("r02_better", "colour"), "no row colour; there are loads"), (("r03_other",), "has no r03_other")):
            with self.assertRaisesRegex(ResultError, pattern):
                self.step(*words)
        with self.assertRaisesRegex(ResultError, "have no launch__registers"):
            self.step("r02_better", "registers")

    def test_in_sentences(self):
        for expression, shown in (("per_fma(r01, 4096)", "4.00"), ("fmas(r02, 4096)", "50.0 %"), ("latency(r02)", "10.0"),
                                  ("passes(r01, 4096)", "0.250"), ("pass_limit(r01, 4096)", "100.0 %")):
            self.assertEqual(values.value(self.project, f"h100/sgemm-counters {expression}").replace(text.THIN, " "), shown)
        with self.assertRaisesRegex(ResultError, "per_fma.. takes a kernel and a size"):
            values.value(self.project, "h100/sgemm-counters per_fma(r01)")

    def test_instructions_by_kind_in_sentences(self):
        counts = f'"0","void slow(P)","{mixes.METRIC}","{5 * FMAS} (FFMA: {FMAS}; LDS: {2 * FMAS}; IADD3: {2 * FMAS})"'
        self.write('"ID","Kernel Name","Metric Name","Metric Value"\n' + counts, "results/h200/opcodes.csv")
        for kind, shown in (("FFMA", "1.00"), ("addresses, moves", "2.00")):
            self.assertEqual(values.value(self.project, f'opcodes opcodes(r01, "{kind}", 4096)'), shown)
        with self.assertRaisesRegex(ResultError, "has no 'barriers'; there are FFMA, shared reads"):
            values.value(self.project, 'opcodes opcodes(r01, "barriers", 4096)')
        with self.assertRaisesRegex(ResultError, "takes a kernel, a kind of instruction and a size"):
            values.value(self.project, "opcodes opcodes(r01)")


class Experiment(unittest.TestCase):
    TIMES = "group,kernel,function,n,us,min_us,tflops,registers,spilled,shared_bytes,blocks\n" + "".join(
        f'{group},"{name}","{function}",{n},{us},{us},1,{registers},{spilled},0,2\n'
        for n in (2048, 4096)
        for group, name, function, us, registers, spilled in (
            ("r07", "one (r06)", "part<0, 0>", n / 10.0, 120, 0),
            ("r07", "two (r07)", "part<1, 0>", n / 20.0, 128, 8),
            ("r12", "other", "other<1>", n / 1.0, 128, 0),
        )
    )  # fmt: skip
    COUNTERS = counters(
        *((f"void kw::<unnamed>::part<(int){first}, (int)0>(kw::PlainSgemm)", {**counted(50, 2, 8, barrier=first), steps.counters.ST: FMAS / 8})
          for first in (0, 1))
    )  # fmt: skip

    def test_a_line_a_kernel_over_the_first(self):
        table = steps.experiment(self.TIMES, "r07", self.COUNTERS)
        cells = [[cell.text.replace(text.THIN, " ") for cell in row] for row in table.rows]
        self.assertEqual(cells[0][:5], ["one (r06)", "120", "410 µs", "1.000", "1.000"])
        self.assertEqual(cells[1][:5], ["two (r07)", "128 + 8 bytes", "205 µs", "2.000", "2.000"])
        self.assertEqual(cells[1][5:9], ["2.000", "50.0 %", "0.250", "0.125"])
        self.assertEqual(cells[1][11], "1.00")
        self.assertEqual(len(table.header), len(cells[0]))

    def test_openblas_by_size(self):
        table = experiments.openblas("# OpenBLAS 0.3; 16 threads\nn,ms,min_ms,calls,tflops\n128,0.1,0.1,9,0.0762\n16384,7000,7000,3,1.25\n")
        self.assertEqual((table.header, [cell.text for cell in table.rows[0]]), (["", "128", "16384"], ["OpenBLAS", "0.0762", "1.25"]))
        self.assertIn("OpenBLAS 0.3; 16 threads", table.caption)
        with self.assertRaisesRegex(ResultError, "not a table with the columns"):
            experiments.openblas("a,b\n1,2\n")

    def test_an_unknown_group(self):
        with self.assertRaisesRegex(ResultError, "no kernel of 'r99'"):
            steps.experiment(self.TIMES, "r99", self.COUNTERS)


if __name__ == "__main__":
    unittest.main()
