"""Command line:
python -m kernelwright_report FILE... -o DIR [--size N]
python -m kernelwright_report docs [--check] [--root DIR]
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from . import docs, page, pictures, runs
from .results import NoRows, ResultError, ResultFile, load

NO_MATPLOTLIB = (
    "plots: off, this Python has no matplotlib; the page holds the tables. "
    "`./dev setup` installs it into .venv, or: python3 -m pip install matplotlib"
)


def _positive(word: str) -> int:
    try:
        value = int(word)
    except ValueError:
        value = 0
    if value <= 0:
        raise argparse.ArgumentTypeError(f"'{word}' is not a whole number above 0")
    return value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kernelwright_report",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Tables and plots from result files: DIR/index.html, and beside it SVG, PNG and CSV.",
        epilog="""examples:
  python -m kernelwright_report sgemm.json -o out                    one run: open out/index.html
  python -m kernelwright_report sgemm.json reduce.json -o out        several on one page
  python -m kernelwright_report sgemm.json -o out --size 1024        the steps at 1024
  python -m kernelwright_report docs --check                         are the project's documents up to date?

Exit codes: 0 the page is written; 2 a file or an argument cannot be used, and one line says why.
Without matplotlib the page has tables only. `kernelwright compare A.json B.json` compares two runs.""",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="what kernelwright wrote with --json")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="DIR", help="made where missing")
    parser.add_argument(
        "--size", type=_positive, metavar="N",
        help=f"size of the step-by-step plot (default {pictures.DEFAULT_SIZE}, of reductions the longest; where that "
        "was not measured the largest that most kernels share)",
    )  # fmt: skip
    return parser


def _load(files: list[str]) -> tuple[list[ResultFile | runs.RunReport], list[str]]:
    """Every file's results, and a note on each that has none; raises if there is nothing at all."""
    results, notes = [], []
    for file in dict.fromkeys(files):
        try:
            results += [runs.load(file)] if runs.is_run(file) else load(file)
        except NoRows as error:
            notes.append(str(error))
    if not results:
        raise ResultError(" ".join(notes))
    return results, notes


def _report(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    results, notes = _load(options.files)
    draw = pictures.can_draw()
    try:
        index = page.write(results, options.output, options.size, notes, draw)
    except OSError as error:
        raise ResultError(f"{error.filename or options.output}: cannot be written: {error.strerror}.") from None
    for note in [*notes, *([] if draw else [NO_MATPLOTLIB])]:
        print(f"kernelwright_report: {note}", file=sys.stderr)
    print(index)
    return 0


def _docs(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="kernelwright_report docs", description="Fills the tables, pictures and figures of the documents."
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit 1 if something is stale, typed or wrong"
    )
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
        code = _docs(arguments[1:]) if arguments[:1] == ["docs"] else _report(arguments)
        sys.stdout.flush()
        return code
    except (ResultError, OSError) as error:
        print(f"kernelwright_report: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    code = main(sys.argv[1:])
    try:
        sys.stdout.flush()
    except OSError:  # said already; the interpreter would say it again at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)
