"""Sweeps of reductions at random in the report: the summary, its table, the plot, PyTorch's rows from another process."""

import random
import unittest

from report_support import HAVE_MATPLOTLIB, InFolder, document, reduce_row, untimed

from kernelwright_report import pictures, results, schema, sections, sweeps_reduce, tables

MIB = 1 << 20


def drawn_row(number, kernel, mib, us, **changes):
    """Of `mib` MiB in so many µs; the bandwidth is 1000 GB/s."""
    gbs = mib * MIB * 1e-3 / us
    time_us = {"min": us, "median": us, "mean": us, "max": us, "iqr": 0.0, "repeats": 3}
    third = "short" if mib < 16 else "middle" if mib < 200 else "long"
    row = reduce_row("reduce_own", mib * MIB // 4, path=kernel, time_us=time_us, gbs=gbs, of_peak=gbs / 1000,
                     sweep="random", seed=7, number=number, program=None, third=third, roofline_us=None)  # fmt: skip
    return {**row, "kernel": kernel, "role": "production" if kernel.startswith("reduce") else "peer", **changes}


def rows():
    return [
        drawn_row(0, "reduce_array", 1, 2.2), drawn_row(0, "cub", 1, 2.0),
        drawn_row(1, "reduce_rows", 64, 80.0, shape="rows", rows=4096, cols=4096, ld=4096),
        drawn_row(1, "cub", 64, 120.0, shape="rows", rows=4096, cols=4096, ld=4096),
        # In its own process PyTorch took 110 where the library took 100: 88 by this run's 80.
        drawn_row(1, "pytorch", 64, 110.0, shape="rows", rows=4096, cols=4096, ld=4096, beside_us=100.0),
        drawn_row(2, "reduce_columns", 512, 600.0, shape="columns", rows=1 << 17, cols=1024, ld=1024),
        drawn_row(3, "reduce_segments", 256, 900.0, shape="segments", segments=100, dtype="float16"),
        untimed(drawn_row(4, "reduce_array", 1, 2.0), False),
    ]  # fmt: skip


class Summaries(InFolder):
    def summary(self, group="all", data=None):
        (found,) = [each for each in sweeps_reduce.summaries(self.loaded(document(data or rows()))) if each.group == group]
        return found

    def test_the_faster_peer_counts_by_its_ratio_in_its_own_process(self):
        everything = self.summary()
        self.assertEqual((everything.reductions, everything.with_peer), (4, 2))
        self.assertAlmostEqual(everything.mean, (1.0 * 1.1) ** 0.5, places=12)  # 0.3 µs of slack under 4 µs
        self.assertAlmostEqual(self.summary("rows").least, 1.1)
        self.assertEqual((everything.below, everything.far_below), (0, 0))

    def test_large_ones_have_a_bar_by_their_bytes(self):
        everything = self.summary()
        self.assertEqual((everything.large, everything.below_bar), (2, 1))
        self.assertAlmostEqual(everything.least_share, 64 * MIB * 1e-6 / 80)
        self.assertIn("rows of 4096×4096", everything.least_share_at)
        self.assertEqual(self.summary("columns").below_bar, 1)
        self.assertIsNone(self.summary("segments").share)  # float16 has no bar

    def test_groups_are_thirds_shapes_and_all(self):
        groups = [each.group for each in sweeps_reduce.summaries(self.loaded(document(rows())))]
        self.assertEqual(groups, ["short", "middle", "long", "whole", "rows", "columns", "segments", "all"])

    def test_figures_for_sentences(self):
        result = self.loaded(document(rows()))
        self.assertEqual(sweeps_reduce.figure(result, "all", "reductions"), 4)
        with self.assertRaisesRegex(results.ResultError, "has no 'speed' of all"):
            sweeps_reduce.figure(result, "all", "speed")

    def test_a_time_beside_is_checked(self):
        with self.assertRaisesRegex(schema.ResultError, "'beside_us' is 0, expected more than 0"):
            self.loaded(document([{**rows()[0], "beside_us": 0}]))


class Shown(InFolder):
    def test_table(self):
        result = self.loaded(document(rows()))
        table = sweeps_reduce.summary_table(result)
        self.assertIn("4 reductions at random, seed 7, beside CUB and", table.caption)
        self.assertEqual(table.rows[-1][0].text, "all")
        self.assertIn("1 of 2", tables.to_markdown(table))
        self.assertEqual(sections.part_tables(result, None)["result"][0].rows[-1][0].text, "all")

    @unittest.skipUnless(HAVE_MATPLOTLIB, "needs matplotlib")
    def test_plot_holds_what_there_is(self):
        rng = random.Random(2)
        many = []
        for number in range(60):
            mib, share = 2 ** rng.randrange(0, 10), rng.uniform(0.2, 1)
            us = mib * MIB * 1e-6 / share
            many += [drawn_row(number, kernel, mib, us * factor, misalign=number) for kernel, factor in (("reduce_array", 1), ("cub", 1.2))]
        for data in (many, rows(), rows()[:1]):
            (picture,) = pictures.pictures(self.loaded(document(data)))
            self.assertEqual(picture.name, "share")
            svg, _ = pictures.render(picture)
            self.assertIn("read bandwidth", svg)
        without = [{**row, "of_peak": None} for row in rows()]
        self.assertEqual(pictures.pictures(self.loaded(document(without))), [])


if __name__ == "__main__":
    unittest.main()
