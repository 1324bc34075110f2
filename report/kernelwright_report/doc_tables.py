"""`table:` marks of documents: which maker each kind has, of what a file must be, and its Markdown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from . import amd, apps, attention, cards, counters, distributed, experiments, gpt2, guard, host_times, library, mixes
from . import pictures, published, python_times, rowwise, steps, sustained, sweeps, sweeps_reduce
from . import tables, tables_errors, tables_reduce
from .project import Project, linker
from .reductions import length_near
from .results import ResultError, ResultFile


def table(project: Project, document: Path, words: list[str]) -> str:
    """A mark's words as a table: several result files with `library` or `cards` between them, a file of text, or one
    result file."""
    if "library" in words:
        return _captioned(library.table(the_library(project, words)), project, document, "sgemm")
    if "cards" in words:
        return _of_cards(project, document, words)
    if words[1:2] and words[1] in OF_TEXT:
        return OF_TEXT[words[1]](project, document, words)
    return _of_results(project, document, words)


def the_library(project: Project, words: list[str]) -> library.Library:
    at = words.index("library")
    return library.library([project.load(project.named(name).as_posix()) for name in words[:at]], words[at + 1 :])


def arguments(words: list[str]) -> tuple[str, int | str | None]:
    """What is wanted of a file, and a size, or a kernel of the suite, where one was named. `reduce` and the next word
    are one."""
    wanted = words[1:]
    if wanted[:1] == ["suite"]:
        return "suite", wanted[1] if len(wanted) > 1 else None
    if wanted[:1] == ["reduce"]:
        wanted = [" ".join(wanted[:2]), *wanted[2:]]
    return wanted[0] if wanted else "", int(wanted[1]) if len(wanted) > 1 else None


def _captioned(made: tables.Table, project: Project, document: Path, op: str) -> str:
    return f"{tables.to_markdown(made, linker(project, document, op))}\n\n{made.caption}"


def _of_cards(project: Project, document: Path, words: list[str]) -> str:
    at = words.index("cards")
    results = [project.load(project.named(name).as_posix()) for name in words[: at + 2] if name != "cards"]
    made = cards.table(results[:-1], results[-1], [int(size) for size in words[at + 2 :]])
    return _captioned(made, project, document, results[-1].op)


def _of_results(project: Project, document: Path, words: list[str]) -> str:
    kind, size = arguments(words)
    if kind not in TABLES:
        raise ResultError(f"table '{kind}' is unknown; there are: {', '.join((*TABLES, *OF_TEXT))}.")
    op, make = TABLES[kind]
    result = project.load(words[0])
    for of, own, option in (("host-time", "host", "--timing enqueue"), ("sustained", "sustained", "--sustain")):
        if (kind == of) != (result.kind == own):
            raise ResultError(f"table '{kind}' does not show {words[0]}: {of} is of `bench sgemm {option}`.")
    if op not in ("", result.op) or "app" in (result.op, op) and op != result.op:
        raise ResultError(f"table '{kind}' is of {op or 'kernels'}, but {words[0]} holds {result.op}.")
    return _captioned(make(project, result, size), project, document, result.op)


def _text(project: Project, name: str) -> str:
    return project.find(name).read_text(encoding="utf-8")


def _plain(make: Callable[[str], tables.Table]) -> Callable:
    """A table of a file of text alone, whose kernels are not linked."""
    return lambda project, document, words: tables.with_caption(make(_text(project, words[0])))


def _opcodes(project: Project, document: Path, words: list[str]) -> str:
    return _captioned(mixes.opcodes(_text(project, words[0]), project.ideas("sgemm")), project, document, "sgemm")


def _isa(project: Project, document: Path, words: list[str]) -> str:
    return tables.to_markdown(amd.isa(_text(project, words[0])), linker(project, document, "sgemm"))


def _counters(project: Project, document: Path, words: list[str]) -> str:
    op = "reduce" if "reduce" in Path(words[0]).name else "sgemm"
    made = counters.table(_text(project, words[0]), project.ideas(op))
    return tables.to_markdown(made, linker(project, document, op))


def _python(project: Project, document: Path, words: list[str]) -> str:
    return tables.with_caption(python_times.table(_text(project, words[0]), words[2:]))


def _first_launch(project: Project, document: Path, words: list[str]) -> str:
    return tables.with_caption(experiments.first_launch(*(_text(project, name) for name in (words[0], *words[2:]))))


def _steps(project: Project, document: Path, words: list[str]) -> str:
    if len(words) != 4:
        raise ResultError("table 'steps' takes a group and a file of counters: FILE.csv steps GROUP COUNTERS.csv.")
    return tables.with_caption(steps.experiment(_text(project, words[0]), words[2], _text(project, words[3])))


# Kind -> what makes it of the mark's words, where the file is no result file.
OF_TEXT = {
    "counters": _counters,
    "double-buffer": _plain(experiments.double_buffer),
    "first-launch": _first_launch,
    "guard": _plain(guard.table),
    "isa": _isa,
    "opcodes": _opcodes,
    "openblas": _plain(experiments.openblas),
    "python": _python,
    "steps": _steps,
    "tile-sizes": _plain(experiments.tile_sizes),
    "traces": _plain(mixes.traces),
}


def _shape(result: ResultFile, size: int | None, usual: int):
    """The shape that a table shows: of reductions the length of that size, else the longest."""
    return length_near(result, size) if result.op == "reduce" else result.shape_near(size or usual)


def _ladder(project: Project, result: ResultFile, size: int | None) -> tables.Table:
    return tables.ladder(result, _shape(result, size, pictures.DEFAULT_SIZE), project.ideas("sgemm"))


def _amd_ladder(project: Project, result: ResultFile, size: int | None) -> tables.Table:
    published = amd.published_ms(project.find("ladder/sgemm_amd/published.csv").read_text(encoding="utf-8"))
    return amd.ladder(result, _shape(result, size, pictures.DEFAULT_SIZE), project.ideas("sgemm"), published)


def _amd_published(project: Project, result: ResultFile, size: int | None) -> tables.Table:
    content = project.find("ladder/sgemm_amd/published.csv").read_text(encoding="utf-8")
    return amd.published(result, _shape(result, size, pictures.DEFAULT_SIZE), content)


def _published(source: str) -> Callable:
    def table(project: Project, result: ResultFile, size: int | None) -> tables.Table:
        name = f"ladder/sgemm/published-{source}.csv"
        return published.table(result, project.find(name).read_text(encoding="utf-8"))

    return table


def _reduce_ladder(project: Project, result: ResultFile, size: int | None) -> tables.Table:
    shape = _shape(result, size, 0)
    if shape is None:
        raise ResultError(f"{result.path} has no whole array that was timed.")
    return tables_reduce.ladder(result, shape, project.ideas("reduce"))


def _suite(project: Project, result: ResultFile, kernel: str | None) -> tables.Table:
    if not result.is_suite:
        raise ResultError(f"{result.path} is not of the suite: `kernelwright accuracy sgemm --classes '*'` writes one.")
    if kernel and kernel not in result.kernels:
        raise ResultError(f"{result.path} has no kernel '{kernel}'; it has {', '.join(result.kernels)}.")
    return tables_errors.suite(result, kernel)


def _of_sweep(make: Callable) -> Callable:
    def table(project: Project, result: ResultFile, size: int | None) -> tables.Table:
        if not sweeps.is_sweep(result):
            raise ResultError(f"{result.path} is of no sweep of products: `kernelwright bench sgemm --sweep random`.")
        return make(result)

    return table


def _of_reduce_sweep(project: Project, result: ResultFile, size: int | None) -> tables.Table:
    if not sweeps_reduce.is_sweep(result):
        raise ResultError(f"{result.path} is of no sweep at random: `kernelwright bench reduce --sweep random`.")
    return sweeps_reduce.summary_table(result)


# Kind -> the operation that it is of ("" for all), and what makes it.
TABLES = {
    "ladder": ("sgemm", _ladder),
    "amd-ladder": ("sgemm", _amd_ladder),
    "amd-published": ("sgemm", _amd_published),
    "published-s1": ("sgemm", _published("s1")),
    "published-s5": ("sgemm", _published("s5")),
    "sweep": ("", lambda project, result, size: tables.sweep(result, linked=True)),
    "sweep-summary": ("sgemm", _of_sweep(sweeps.summary_table)),
    "sweep-products": ("sgemm", _of_sweep(sweeps.product_table)),
    "host-time": ("sgemm", lambda project, result, size: host_times.table(result)),
    "sustained": ("sgemm", lambda project, result, size: sustained.table(result)),
    "distributed": ("sgemm", lambda project, result, size: distributed.table(result)),
    "apps": ("app", lambda project, result, size: apps.table(result)),
    "products": ("sgemm", lambda project, result, size: tables.products(result)),
    "spread": ("", lambda project, result, size: tables.spread(result, _shape(result, size, 128))),
    "scale-add": ("scale_add", lambda project, result, size: tables.bandwidth(result)),
    "gpt2": ("app", lambda project, result, size: gpt2.table(result)),
    "rowwise": ("", lambda project, result, size: rowwise.table(project.load_all(result.path.as_posix()))),
    "rowwise-summary": ("", lambda project, result, size: rowwise.summary_table(project.load_all(result.path.as_posix()))),
    "attention": ("attention", lambda project, result, size: attention.table(result)),
    "attention-errors": ("attention", lambda project, result, size: attention.errors(result)),
    "attention-random": ("attention", lambda project, result, size: attention.summary(result)),
    "attention-ladder": ("attention", lambda project, result, size: attention.ladder(result, "none", project.ideas("attention"))),
    "attention-ladder-causal": ("attention", lambda project, result, size: attention.ladder(result, "from_end", project.ideas("attention"))),
    "accuracy": ("sgemm", lambda project, result, size: tables_errors.accuracy(result)),
    "suite": ("sgemm", _suite),
    "verified": ("", lambda project, result, size: tables_errors.verified(result)),
    "reduce ladder": ("reduce", _reduce_ladder),
    "reduce vs-cub": ("reduce", lambda project, result, size: tables_reduce.by_length(result)),
    "reduce shapes": ("reduce", lambda project, result, size: tables_reduce.shapes(result)),
    "reduce random": ("reduce", _of_reduce_sweep),
    "reduce types": ("reduce", lambda project, result, size: tables_reduce.types(result)),
}
