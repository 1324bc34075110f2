"""The report's plots: labels clear of lines, true lengths of bars, marks on what is cut, captions of what is drawn."""

import unittest

from report_support import HAVE_MATPLOTLIB, InFolder, document, ladder, reductions, sgemm_row

from kernelwright_report import panels, pictures, text
from kernelwright_report.rows import EXACT, Range

if HAVE_MATPLOTLIB:
    from matplotlib.figure import Figure

    from kernelwright_report import canvas, labels


class Panels(InFolder):
    def test_captions_name_the_panels_that_are_drawn(self):
        rows = [sgemm_row(kernel, 512, vs_previous=None) for kernel in ("sgemm_own", "cublas")]
        (steps,) = [p for p in pictures.pictures(self.loaded(document(rows))) if p.name == "steps"]
        self.assertIn("share of cuBLAS's", steps.caption)
        self.assertNotIn("step before", steps.caption)
        (steps,) = [p for p in pictures.pictures(self.loaded(ladder())) if p.name == "steps"]
        self.assertIn("gain over the step before", steps.caption)

    def test_ranges_of_ratios_count_both_sides(self):
        times = {"min": 5.0, "median": 10.0, "max": 20.0, "iqr": 2.0, "repeats": 9}
        rows = [sgemm_row("r01_slow", 512, time_us=times), sgemm_row("r02_better", 512, time_us=times, vs_previous=1.0)]
        result = self.loaded(document(rows))
        (gain, *_) = panels.sgemm_steps(result, result.shape_near(512)).panels
        self.assertGreater(gain.ranges[1].high, 1.14, "wider than 1.1, that of one side")
        self.assertLess(gain.ranges[1].low, 0.87)


@unittest.skipUnless(HAVE_MATPLOTLIB, "needs matplotlib")
class Drawing(InFolder):
    def axes(self, **limits):
        axes = Figure(figsize=(6, 4)).add_axes((0.1, 0.1, 0.8, 0.8))
        axes.set(**limits)
        return axes

    def test_labels_keep_apart_as_their_heights_ask(self):
        found = labels.spread([0.5, 0.5, 0.5], [0.1, 0.3, 0.1], 0, 1)
        for (a, b), gap in zip(((0, 1), (1, 2)), (0.2, 0.2)):
            self.assertGreaterEqual(abs(found[b] - found[a]), gap - 1e-9)
        crowded = labels.spread([0.9] * 30, [0.1] * 30, 0, 1)
        self.assertTrue(all(-1e-9 <= at <= 1 + 1e-9 for at in crowded))
        self.assertEqual(labels.spread([], [], 0, 1), [])

    def test_long_names_are_wrapped_not_cut(self):
        axes = self.axes(xlim=(0, 1), ylim=(0, 1))
        name = "r01 naive uncoalesced, r02 naive coalesced, async tile"
        labels.label_ends(axes, [(1, 0.5, name, "#000000")], 3)
        (label,) = [child.get_text() for child in axes.texts]
        self.assertEqual(label.replace("\n", " "), name)
        self.assertLessEqual(max(map(len, label.split("\n"))), labels.WRAP)

    def test_a_reference_lines_name_is_clear_of_the_lines(self):
        axes = self.axes(xlim=(0, 1), ylim=(0, 1))
        for y in (0.5, 0.52, 0.54, 0.56):  # where the name would stand first
            axes.plot([0, 0.4], [y, y])
        labels.level(axes, 0.5, "measured peak")
        placer = labels.Placer(axes)
        (label,) = axes.texts
        box = label.get_window_extent(placer.renderer)
        self.assertFalse(any(line.intersects_bbox(box, filled=False) for line in placer.lines))

    def bars(self, values, **options):
        axes = self.axes()
        panel = panels.Bars("title", values, text.times, [EXACT] * len(values), **options)
        canvas.draw_bars(axes, panel, [str(i) for i in range(len(values))], ["#336699"] * len(values), True)
        return axes

    def drawn_lengths(self, axes):
        """In points on the paper."""
        spans = [bar.get_path().get_extents(bar.get_patch_transform() + axes.transData) for bar in axes.patches]
        return [span.width for span in spans]

    def test_gains_have_their_true_lengths(self):
        import math

        values = [9.27, 1.73, 2.83, 0.5, 2.0]
        lengths = self.drawn_lengths(self.bars(values, log=True))
        for value, length in zip(values, lengths):
            self.assertAlmostEqual(length / lengths[-1], abs(math.log2(value)), places=3)

    def test_shares_over_the_whole_are_drawn_and_what_is_cut_is_marked(self):
        def strokes(axes):
            return sum(line.get_linewidth() == 1.8 for line in axes.lines)

        whole = self.bars([0.5, 4.81], reference=1.0)
        self.assertEqual(strokes(whole), 0)
        lengths = self.drawn_lengths(whole)
        self.assertAlmostEqual(lengths[1] / lengths[0], 9.62, places=2)
        cut = self.bars([0.5, 33.0], reference=1.0)
        self.assertEqual(strokes(cut), 2, "two slanted strokes")
        self.assertEqual([label.get_text() for label in cut.texts], ["0.50×", "33.00×"])

    def test_values_stand_clear_of_the_dashed_line(self):
        axes = self.bars([0.94, 0.97, 0.8, 2.0], reference=1.0)
        placer = labels.Placer(axes)
        for label in axes.texts:
            box = label.get_window_extent(placer.renderer)
            self.assertFalse(any(line.intersects_bbox(box, filled=False) for line in placer.lines), label.get_text())

    def test_bands_show_a_spread_that_can_be_seen(self):
        for spread, bands in ((EXACT, 0), (Range(0.999, 1.001), 0), (Range(0.9, 1.2), 1)):
            axes = self.axes()
            canvas.draw_line(axes, [canvas.Point(1, 10, spread), canvas.Point(2, 10, EXACT)], "#336699", "rung")
            self.assertEqual(len(axes.collections), bands)

    def test_pictures_are_small(self):
        sizes = [2**i for i in range(7, 14)]
        rows = [{**sgemm_row("r01_slow", size), "kernel": f"r{i:02d}_step"} for size in sizes for i in range(1, 22)]
        for picture in pictures.pictures(self.loaded(document(rows))):
            svg, _ = pictures.render(picture)
            self.assertLess(len(svg), 130_000, picture.name)
            self.assertEqual(svg.count("font-family"), 1)
            self.assertNotRegex(svg, r' x="\d+\.\d{3}')
            self.assertIn(">r21 step<", svg)

    def test_names_with_dollars_are_drawn_as_they_are(self):
        for data in (ladder(), reductions()):
            data["device"]["name"] = "a $50 device$ of $\\frac{$"
            for row in data["rows"]:
                row["input"] = "$a_b$"
            for picture in pictures.pictures(self.loaded(data)):
                svg, _ = pictures.render(picture)
                self.assertIn("$50 device", svg)


if __name__ == "__main__":
    unittest.main()
