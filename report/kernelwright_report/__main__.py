"""Command line:
python -m kernelwright_report FILE... -o DIR [--size N]
python -m kernelwright_report docs [--check] [--root DIR]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import docs, page, pictures
from .results import ResultError, load


def _report(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="kernelwright_report",
        description="Tables and plots from result files: index.html, SVG, PNG and CSV.",
        epilog="example: python -m kernelwright_report sgemm.json scale-add.json -o report/out",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="what kernelwright wrote with --json")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="DIR", help="made where missing")
    parser.add_argument(
        "--size", type=int, metavar="N",
        help=f"size of the step-by-step plot (default {pictures.DEFAULT_SIZE}, else the largest measured; of "
        "reductions the longest)",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    results = [result for file in options.files for result in load(file)]
    print(page.write(results, options.output, options.size))
    return 0


def _docs(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="kernelwright_report docs", description="Fills the tables, pictures and figures of the documents."
    )
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if something is stale, typed or wrong")
    parser.add_argument("--root", type=Path, default=Path.cwd(), metavar="DIR", help="the checkout (default: here)")
    options = parser.parse_args(arguments)
    project = docs.update(options.root, options.check)
    for missing, documents in project.waiting.items():
        print(f"empty: {', '.join(dict.fromkeys(documents))}: {missing}")
    for name in project.changed:
        print(f"{'stale' if options.check else 'written'}: {name}")
    for line in project.wrong:
        print(line)
    stale = options.check and bool(project.changed)
    if stale:
        print("Run ./dev docs and commit what it writes.", file=sys.stderr)
    if project.wrong:
        print("The head of report/kernelwright_report/check.py says what is allowed.", file=sys.stderr)
    return 1 if stale or project.wrong else 0


def main(arguments: list[str]) -> int:
    try:
        return _docs(arguments[1:]) if arguments[:1] == ["docs"] else _report(arguments)
    except (ResultError, OSError) as error:
        print(f"kernelwright_report: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
