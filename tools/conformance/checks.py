"""What the checks share: a line a result, a JSON file of them for all.py, the exit status."""

from __future__ import annotations

import argparse
import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

UNIT_ROUNDOFF = 2.0**-24
SMALLEST_SUBNORMAL = 2.0**-149


def sum_error(depth: int) -> float:
    """How far an FP32 sum of so many products may be from the exact one, in |A| |B|; cuBLAS keeps to it, too."""
    return UNIT_ROUNDOFF * (8 + 2 * depth**0.5)


def first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:200]


class Checks:
    """The results of one program; products are those that the drop-in is expected to have seen."""

    def __init__(self, json_file: str | None):
        self.json_file = json_file
        self.results: list[dict] = []
        self.products: list[dict] = []

    def add(self, name: str, passed: bool, detail: str = "", **more) -> None:
        self.results.append({"name": name, "passed": passed, "detail": detail, **more})
        print(f"{'ok    ' if passed else 'FAILED'} {name:48} {detail}".rstrip(), flush=True)

    @contextlib.contextmanager
    def attempt(self, name: str) -> Iterator[dict]:
        """A result that fails where its block raises; the block may fill in `detail`, and `passed` to be judged by it."""
        more: dict = {}
        began = time.monotonic()
        try:
            yield more
        except Exception as error:  # whatever a check ends with is its result
            more.update(passed=False, detail=first_line(error))
        more.setdefault("passed", True)
        self.add(name, more.pop("passed"), more.pop("detail", ""), seconds=round(time.monotonic() - began, 3), **more)

    def expect(self, name: str, m: int, n: int, k: int, batch: int = 1) -> None:
        self.products.append({"name": name, "m": m, "n": n, "k": k, "batch": batch})

    def end(self) -> int:
        failed = sum(not result["passed"] for result in self.results)
        if self.json_file:
            found = {"results": self.results, "products": self.products}
            Path(self.json_file).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(f"{len(self.results) - failed} passed, {failed} failed", flush=True)
        return 1 if failed or not self.results else 0


def options(about: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="also write the results here, for all.py")
    return parser
