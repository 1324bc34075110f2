"""The report takes any JSON: it ends in one line that names the file, or it writes the page. Result files, real and made
by hand, are damaged at random, everywhere; KW_TEST_SEED repeats a run."""

import contextlib
import copy
import io
import json
import os
import random
import re
import unittest
import warnings

import apps_test
from report_support import HAVE_MATPLOTLIB, ROOT, InFolder, document, ladder, reductions, sgemm_row, sweep_rows, untimed

from kernelwright_report import page, pictures, results

SEED = int(os.environ.get("KW_TEST_SEED") or random.SystemRandom().randrange(2**32))
TABLES, PLOTS = 300, 9  # mutations without and with plots
ROWS = 24  # of a real file; those that are left out hold nothing new
REAL = ("sgemm-ladder", "sgemm-ladder-end", "reduce-ladder", "reduce-types", "reduce-shapes", "scale-add",
        "sgemm-accuracy",
        "accuracy-xla-2048", "sgemm-fp32-split", "sgemm-amd-ladder")  # fmt: skip
ODD = (
    None, True, False, 0, 1, -1, 2**31, 2**63 - 1, 2**63, 10**400, 0.0, -0.0, 1e-300, 1e300, -1.5, 0.5,
    float("inf"), float("-inf"), float("nan"), "", "x", "$", "a$b$c", "\\frac{$}", "\x00\x1b[31m", "\ud800", "名前",
    "<script>&\"'", "x" * 10_000, "../..", "%s{}", "r99_new", "reduce", "sgemm", "scale_add", "peer", "production",
    "segments", "rows", "whole", "argmedian", "accuracy sgemm",
    [], [[]], ["a"], [None], {}, {"median": 1}, {"max": 1e38},
)  # fmt: skip


def paths(value, at=()):
    """Where the data has a value, and each value itself."""
    yield at
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from paths(value[key], (*at, key))


def damage(data, rng):
    """Data that differs at one to three places: deleted, replaced, doubled, or with a field more."""
    data = copy.deepcopy(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        where = rng.choice(list(paths(data)))
        if not where:
            if rng.random() < 0.05:
                return rng.choice(ODD)
            continue
        holder = data
        for key in where[:-1]:
            holder = holder[key]
        key, kind = where[-1], rng.randrange(6)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        elif kind == 2 and isinstance(holder[key], (int, float)) and not isinstance(holder[key], bool):
            holder[key] *= rng.choice((-1, 0, 1e-12, 0.5, 3, 1e6))
        elif kind == 3 and isinstance(holder, dict):
            holder[rng.choice(("segments", "lengths", "gbs", "peer", "interrupted", "seeds", "number", "third", "new"))] = rng.choice(ODD)
        else:
            holder[key] = rng.choice(ODD)
    return data


def corpus():
    """Small files of every kind."""
    accuracy = [
        {**untimed(sgemm_row(kernel, 64), True), "k": k, "input": kind}
        for kind in ("unit", "normal") for kernel in ("r01_slow", "cublas") for k in (1, 64)
    ]  # fmt: skip
    made = [
        ladder(), reductions(), document(accuracy, command="kernelwright accuracy sgemm"),
        document([sgemm_row("sgemm_own", m, op="scale_add", k=None, gbs=900.0) for m in (64, 128)]),
        document([untimed(sgemm_row("r01_slow", m), m > 4) for m in (4, 8)], kind="host-simt", interrupted=True),
        document([untimed(sgemm_row("cublas", 64), True)]), document([], interrupted=True),
        document(sweep_rows(8, split=True)), document(sweep_rows(3, programs=True)),
        document(apps_test.programs(), command="apps/measure.py"),
    ]  # fmt: skip
    for name in REAL:
        data = json.loads((ROOT / f"results/h200/{name}.json").read_text(encoding="utf-8"))
        step = -(-len(data["rows"]) // ROWS)
        made.append({**data, "rows": data["rows"][::step]})
    return made


class Fuzz(InFolder):
    @classmethod
    def setUpClass(cls):
        print(f"seed {SEED} (KW_TEST_SEED={SEED} repeats it)")
        cls.files = corpus()

    def one(self, data, draw):
        """Loads the data and writes the page, or is refused in one printable line that names the file."""
        path = self.write(json.dumps(data))
        try:
            with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
                for kind in (UserWarning, RuntimeWarning):
                    warnings.simplefilter("error", kind)
                warnings.simplefilter("ignore", DeprecationWarning)  # what libraries say of each other's versions
                found = results.load(path)
                page.write(found, self.folder / "out", None, [], draw)
                for result in found if not draw else ():
                    for picture in pictures.pictures(result):
                        self.assertTrue(picture.caption)
            return True
        except results.ResultError as error:
            self.assertIn(str(path), str(error))
            self.assertRegex(str(error), r"\A[^\x00-\x1f\x7f\ud800-\udfff]{10,800}\Z")
            return False

    def run_many(self, count, salt, draw):
        taken = 0
        for number in range(count):
            rng = random.Random(f"{SEED} {salt} {number}")
            data = damage(rng.choice(self.files), rng)
            try:
                taken += self.one(data, draw)
            except Exception as error:
                if isinstance(error, self.failureException):
                    raise
                kept = json.dumps(data)
                raise AssertionError(f"seed {SEED}, {salt} {number}: {error!r} of {kept[:2000]}") from error
        return taken

    def test_tables_of_damaged_files(self):
        taken = self.run_many(TABLES, "tables", False)
        self.assertGreater(taken, TABLES // 20, "some damage must be harmless, or nothing is tried")
        self.assertLess(taken, TABLES, "some must be refused")

    @unittest.skipUnless(HAVE_MATPLOTLIB, "needs matplotlib")
    def test_plots_of_damaged_files(self):
        self.run_many(PLOTS, "plots", True)

    def test_every_field_of_a_row_by_every_odd_value(self):
        """Not at random: one row's fields, each by each value."""
        rows = [sgemm_row("cublas", 64), sgemm_row("r01_slow", 64)]
        for name in rows[0]:
            for value in ODD:
                self.one(document([{**rows[0], name: value}, rows[1]]), False)

    def test_bytes_that_are_no_json(self):
        for content in (
            b"",
            b"\xff\xfe",
            b"{",
            b"[" * 100_000,
            b"1" * 5000,
            b'{"schema": 1e999}',
            b'"\\ud800"',
            b"NaN",
        ):
            path = self.folder / "r.json"
            path.write_bytes(content)
            with self.assertRaisesRegex(results.ResultError, re.escape(str(path))):
                results.load(path)


if __name__ == "__main__":
    unittest.main()
