"""The report: pictures from traces and experiments, the lines that a rung changes, published times beside ours."""

import json
import unittest

from report_support import InFolder, document, sgemm_row

from kernelwright_report import experiments, lessons, published, results, text

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
    "stores": [[4, *(4096 + 4 * lane for lane in range(32))]], "order": "LLww|rrr|S", "steps": [],
}  # fmt: skip
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
        self.assertEqual(len(lessons.wavefronts([8 * lane for lane in range(32)], 8)), 2)

    def test_sectors(self):
        self.assertEqual(len(lessons.sectors([4 * lane for lane in range(32)], 4)), 4)
        self.assertEqual(len(lessons.sectors([1024 * lane for lane in range(32)], 4)), 32)


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
        self.assertIn("a warp covers 1 row and 32 columns", light)
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
