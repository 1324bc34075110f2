"""The report: pictures from traces and experiments, the lines that a rung changes, published times beside ours."""

import json
import unittest

from report_support import InFolder, document, sgemm_row

from kernelwright_report import cards, experiments, lessons, operand_layout, pipeline, published, results, rung_roofline, scene, text

BLOCK_GRID = "block,grid,us,gbs\n64,132,10.0,100.0\n64,264,5.0,200.0\n128,132,4.0,250.0\n"
TILES = (
    "bm,bn,bk,tm,tn,threads,registers,shared,blocks,us,tflops\n"
    "64,64,16,4,4,256,47,16896,5,4247.7,32.36\n128,128,8,8,8,256,127,16640,2,2915.4,47.14\n"
)
LAUNCHES = "loading,memory,n,outer,inner,us\n" + "".join(
    f"lazy,managed,128,{outer},{inner},{200 if outer == inner == 0 else 50 if inner == 0 else 10 + inner}\n"
    for outer in range(3)
    for inner in range(4)
)
LESSON = {
    "rung": "r02_better", "op": "sgemm", "grid": [1, 1, 1], "block": [32, 32, 1],
    "requests": [
        {"kind": "global_load", "memory": "B", "bytes": 4, "offset": [4 * lane for lane in range(32)]},
        {"kind": "shared_load", "memory": "as", "bytes": 4, "offset": [128 * lane for lane in range(32)]},
    ],
    "stores": [[4, *(4096 + 4 * lane for lane in range(32))]], "flops": 1024.0, "loaded_bytes": 512, "shared_bytes": 256,
    "warps": [{"threads": [0], "steps": []}], "products": [], "tree": [], "tile": [32, 32], "columns": 256,
}  # fmt: skip


def step(what, stage=None, count=1):
    """Of a stage of 1024 bytes."""
    return [what, count, "" if stage is None else "ring", 1024 * (stage or 0), 1024 * (stage or 0) + 99]


# Two buffers, the next tile loaded before this one is multiplied and stored behind it; and stored at once.
REAL = [step("L"), step("w", 0), step("|"), step("L"), step("r", 0), step("w", 1), step("|"), step("L"), step("r", 1), step("w", 0), step("|")]
FAKE = [step("L"), step("w", 0), step("|"), step("L"), step("w", 1), step("r", 0), step("|"), step("L"), step("w", 0), step("r", 1), step("|")]
BUFFERS = "rung,memory,n,outer,inner,us\n" + "".join(
    f"{rung},{memory},128,0,{inner},{us}\n"
    for memory in ("managed", "device")
    for rung, times in (("r09", (90, 12, 12)), ("r10", (100 if memory == "managed" else 10, 10, 10)))
    for inner, us in enumerate(times)
)
PARENT = "__global__ void one(P p) {\n  float as[8];  // tile\n  load(p);\n  __syncthreads();\n}\n\n}  // namespace\n"


class Costs(unittest.TestCase):
    def test_neighbouring_words_take_one_pass_and_a_column_takes_all(self):
        self.assertEqual(len(lessons.wavefronts([4 * lane for lane in range(32)], 4)), 1)
        self.assertEqual(len(lessons.wavefronts([128 * lane for lane in range(32)], 4)), 32)
        self.assertEqual(len(lessons.wavefronts([64] * 32, 4)), 1)

    def test_wide_reads_go_by_quarters_and_by_halves_where_lanes_pair(self):
        self.assertEqual(len(lessons.wavefronts([16 * lane for lane in range(32)], 16)), 4)
        self.assertEqual(len(lessons.wavefronts([32 * lane for lane in range(32)], 16)), 8)
        self.assertEqual(len(lessons.wavefronts([16 * (lane // 2) for lane in range(32)], 16)), 2)
        self.assertEqual(len(lessons.wavefronts([16 * (lane % 2 + lane // 4 * 2) for lane in range(32)], 16)), 2)
        self.assertEqual(len(lessons.wavefronts([16 * (lane % 4 + lane // 8 * 4) for lane in range(32)], 16)), 4)
        self.assertEqual(len(lessons.wavefronts([8 * lane for lane in range(32)], 8)), 2)

    def test_sectors(self):
        self.assertEqual(len(lessons.sectors([4 * lane for lane in range(32)], 4)), 4)
        self.assertEqual(len(lessons.sectors([1024 * lane for lane in range(32)], 4)), 32)


class Pipeline(unittest.TestCase):
    def schedule(self, *warps):
        return pipeline.Schedule(pipeline.roles([{"threads": [32 * i], "steps": steps} for i, steps in enumerate(warps)]))

    def waited(self, schedule):
        return [sum(box.end - box.begin for box in row if box.what == "wait") for row in schedule.rows]

    def test_loads_before_the_multiplication_are_hidden_and_stores_at_once_are_not(self):
        first = pipeline.FLIGHT - pipeline.ISSUE  # nothing can hide the first tile
        self.assertEqual(self.waited(self.schedule(REAL)), [first])
        self.assertEqual(self.waited(self.schedule(FAKE)), [3 * first])

    def test_who_copies_waits_for_who_reads_and_the_other_way_round(self):
        turns = [stage for _ in range(3) for stage in (0, 1)]
        copies = [part for stage in turns for part in (step("B", stage), step("-"))]
        reads = [part for stage in turns for part in (step("m", stage), step("-"))]
        schedule = self.schedule(copies, reads)
        self.assertEqual([box.stage for box in schedule.rows[1] if box.what == "multiply"], turns)
        ends = [box.end for box in schedule.rows[1] if box.what == "multiply"]
        third = [box for box in schedule.rows[0] if box.what == "ask"][2]
        self.assertEqual(third.begin, ends[0])  # stage 0 again: not before it has been read
        self.assertEqual(len(schedule.flights), 6)

    def test_a_run_over_two_stages_fills_both(self):
        both = ["c", 4, "ring", 0, 1123]
        roles = pipeline.roles([{"threads": [0], "steps": [both, step("|"), step("c", 2), step("r", 0), step("|"), step("c", 0), step("r", 1),
                                                           step("|"), step("c", 1), step("r", 2), step("|")]}])  # fmt: skip
        self.assertEqual([s.stages for s in roles[0].steps if s.what == "c"], [[0, 1], [2], [0], [1]])


class Parts(InFolder):
    def test_products_of_one_stage_and_their_pieces(self):
        products = [
            {"a": [start, 128, 1024], "b": [16384 + start, 128, 1024], "first_row": 0, "n": 128}
            for start in (256, 0, 768, 512, 32768 + 256)  # two pieces, two steps along k; then the next stage
        ]
        drawn = scene.Scene(860)
        operand_layout.draw(drawn, products, 0)
        svg = drawn.svg(400)
        self.assertIn("4 products a stage", svg)
        self.assertIn("1·1 0·0 1·1 0·0", svg)
        self.assertIn(">63</text>", svg)  # the last of 64 core matrices: 8 groups of rows, 4 along k, 2 pieces

    def test_a_point_stands_where_its_figures_say(self):
        of = rung_roofline.Ceilings(peak=66.0, memory=4.6, cache=10.0, shared=33.0, half=660.0)
        drawn = scene.Scene(300)
        rung_roofline.draw(drawn, 0, 0, of, tflops=50.0, size="4096", per_loaded=32.0, per_shared=2.5, products=6)
        svg = drawn.svg(300)
        for words in ("32 flops a byte of global loads", "2.5 flops a byte of shared memory", "BF16 / 6", "L2 10"):
            self.assertIn(words, svg)

    def test_two_cards(self):
        first = self.loaded(document([sgemm_row("r01_slow", 4096), sgemm_row("r02_better", 4096)]))
        second = self.loaded(document([sgemm_row("r02_better", 4096)]))
        table = cards.table([first], second, [4096, 1024])
        self.assertEqual([row[0].text for row in table.rows], ["r02_better"])
        self.assertEqual([cell.text for cell in table.rows[0][3:]], [text.times(1.0), text.NONE, text.NONE, text.NONE])

    def test_fake_and_real_buffers_by_every_statistic(self):
        table = experiments.double_buffer(BUFFERS)
        self.assertEqual([cell.text for cell in table.rows[0]], ["128", "3", "0.95", "1.20", "1.20", "1.20", "3.80", "1.20", "1.20", "1.20"])
        self.assertEqual([i for i, cell in enumerate(table.rows[0]) if cell.mark == "best"], [2])


class Drawings(InFolder):
    def setUp(self):
        super().setUp()
        self.write(json.dumps({"schema": 1, "lessons": [LESSON]}), "ladder/lessons.json")
        self.write(BLOCK_GRID, "results/dev/grid.csv")
        self.write(TILES, "results/dev/tiles.csv")
        self.write(LAUNCHES, "results/dev/first.csv")
        self.write('rung("r02_better", "r01_slow", better, "an idea"),\n', "ladder/sgemm/rungs.cu")
        self.write(PARENT, "ladder/sgemm/r01_slow.cu")
        self.write(PARENT.replace("load(p)", "load4(p)").replace("float as", "float4 as"), "ladder/sgemm/r02_better.cu")

    def page(self, *marks, code=0):
        self.write("".join(f"<!-- {mark} -->\n<!-- end -->\n\n" for mark in marks), "ladder/sgemm/README.md")
        got, _, err = self.run_main("docs", "--root", self.folder)
        self.assertEqual(got, code, err)
        return err if code else (self.folder / "ladder/sgemm/README.md").read_text().replace(text.THIN, " ")

    def test_a_lesson_is_drawn_light_and_dark_and_stays_as_it_is(self):
        page = self.page("drawing: lesson r02_better")
        self.assertIn('src="../../docs/img/lesson-sgemm-r02_better.svg"', page)
        light = (self.folder / "docs/img/lesson-sgemm-r02_better.svg").read_text()
        self.assertIn("A warp loads matrix B, 4 bytes a lane: 4 sectors", light)
        self.assertIn("A warp reads the array as, 4 bytes a lane: 32 wavefronts", light)
        self.assertIn("a warp covers 1 row, 32 columns", light)
        self.assertNotEqual(light, (self.folder / "docs/img/lesson-sgemm-r02_better-dark.svg").read_text())
        self.assertEqual(self.run_main("docs", "--root", self.folder, "--check")[0], 0)
        self.write(light.replace("32 wavefronts", "1 wavefront"), "docs/img/lesson-sgemm-r02_better.svg")
        self.assertNotEqual(self.run_main("docs", "--root", self.folder, "--check")[0], 0)

    def test_heat_maps_and_tables_of_experiments(self):
        page = self.page("drawing: block-grid results/dev/grid.csv", "drawing: tile-sizes results/dev/tiles.csv",
                         "table: results/dev/tiles.csv tile-sizes", "table: results/dev/first.csv first-launch")  # fmt: skip
        self.assertIn("250", (self.folder / "docs/img/dev-block-grid.svg").read_text())
        self.assertIn("| 128 × 128 × 8 | 8 × 8 | 256 | 127 | 16640 | 2 | **47.1** |", page)
        self.assertIn("| lazy | managed | 128 | 200 µs | 50.0 µs | 11.0 µs | 12.0 µs | 13.0 µs | 18.18× |", page)

    def test_what_a_rung_changes(self):
        page = self.page("diff: r02_better", "diff: r02_better only as[")
        self.assertIn("```diff\n- float as[8];\n- load(p);\n+ float4 as[8];\n+ load4(p);\n```\n\nChanged against `r01_slow`.", page)
        self.assertIn("```diff\n- float as[8];\n+ float4 as[8];\n```\n\nChanged against `r01_slow`, with 2 more lines", page)

    def test_what_is_not_there(self):
        self.assertIn("has no sgemm rung 'r09'", self.page("drawing: lesson r09", code=2))
        self.assertIn("names no parent of 'r01_slow'", self.page("diff: r01_slow", code=2))
        for make in (lessons.read, experiments.draw_block_grid, experiments.draw_tile_sizes, experiments.first_launch):
            with self.assertRaises(results.ResultError):
                make("kernel\n1\n")


class Published(InFolder):
    def test_published_times_beside_ours(self):
        result = self.loaded(document([sgemm_row("r02_better", 4096)]))
        table = published.table(result, "step,kernel,n,ms\nits_own,r02_better,4096,68.719476736\nits_own,r02_better,128,1\n")
        self.assertEqual(table.header, ["step", "", "128", "4096"])
        ours = result.at("r02_better", result.shape_near(4096)).gflops / 1e3
        self.assertEqual([cell.text for cell in table.rows[0]], ["its own", "published", "0.00419", "2.00"])
        self.assertEqual([cell.text for cell in table.rows[1]], ["r02_better", "here", text.NONE, text.number(ours)])
        self.assertEqual([cell.text for cell in table.rows[2]], ["", "times as fast", text.NONE, text.times(ours / 2)])

    def test_files_of_another_kind_are_refused(self):
        for content in ("", "step,kernel\na,b\n", "step,kernel,n,ms\na,b,c,d\n"):
            with self.assertRaises(results.ResultError):
                published.steps(content)


if __name__ == "__main__":
    unittest.main()
