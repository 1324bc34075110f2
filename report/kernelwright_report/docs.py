"""Tables, pictures and figures of the project's documents, generated from committed result files.

A document holds pairs of marks; what lies between them belongs to this program, which `./dev docs` runs:

    <!-- table: results/h200/sgemm-ladder.json ladder 4096 -->
    <!-- end -->

    1537 cubed takes <!-- value: sgemm-fp32 time(kernelwright, 1537) --><!-- end -->, …

The first kind stands on lines of its own, a value within a sentence:

    value: FILE EXPRESSION [as FORMAT]    values.py has the expressions and formats

    table: FILE ladder [SIZE] | sweep | products | spread [SIZE] | scale-add | accuracy | verified
    table: FILE sweep-summary | sweep-products            of random products and those of programs
    table: FILE host-time          of the host's times
    table: FILE sustained          of rates that last
    table: FILE distributed        of products over several devices
    table: FILE gpt2               of kernelwright_gpt2, beside PyTorch
    table: FILE attention | attention-errors | attention-random | attention-ladder | attention-ladder-causal
    table: FILE rowwise | rowwise-summary       of row-wise operations: a line a call; by operation and length
    table: FILE apps               of whole programs under the drop-in
    table: FILE suite [KERNEL]     of an accuracy file: errors by the peer's, of all kernels or one
    table: FILE reduce ladder [N] | reduce vs-cub | reduce shapes | reduce types | reduce random
    table: FILE amd-ladder [SIZE]  the AMD ladder beside ladder/sgemm_amd/published.csv
    table: FILE amd-published [SIZE]        the columns that S2 published beside ours
    table: FILE published-s1 | published-s5   S1's and S5's times by size beside ours, ladder/sgemm/published-*.csv
    table: FILE… library RUNG…     the library's choices (a file a mode) and rungs of the last file, beside the vendor
    table: FILE.csv counters       a file of hardware counters, one kernel a line
    table: FILE.csv isa            a file of tools/amd_isa.py
    table: FILE guard              a file of tools/guard_trips.py
    table: FILE python host | python products | python programs     of a file of python/measure/measure.py
    plot: FILE by-size | lines | of-peak | steps [SIZE] | bandwidth | accuracy
    plot: FILE… library RUNG…      the same as a plot
    plot: FILE roofline            of random products and those of programs
    plot: FILE sustained           of rates that last, and their energy
    plot: FILE speedups | timeline            of products over several devices
    plot: FILE apps | loss         of whole programs: times and errors; the loss curves that part most
    plot: FILE by-length | over-peer | steps [N]          of reductions
    plot: FILE share                                      of random reductions
    table: FILE.csv first-launch FILE.csv | FILE.csv tile-sizes     of tools/experiments
    drawing: lesson RUNG           from its trace: who computes and reads what (lessons.py)
    drawing: block-grid FILE.csv | tile-sizes FILE.csv       heat maps of tools/experiments
    table: FILE.csv openblas       of tools/experiments/openblas_sizes.cpp
    table: FILE.csv steps GROUP COUNTERS.csv      of tools/experiments/ladder_steps.cu, the kernels of a group (steps.py)
    diff: RUNG [only WORD...]      the lines of a rung's kernel that are not its parent's
    step: RUNG [ROW...]            why it is faster than its parent: counters before and after (steps.py)
    machine: FILE                  device, versions, command
    rung: [FILE] KERNEL [N]        one line of figures, from that file, else from that of the document's first machine
                                   mark; of reductions at length N, else at the longest

Tables with nothing between their marks may wait for a file that is not there yet. Figures that no file has, such as
predictions, have marks of their own: check.py.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import amd, apps, cards, check, counters, distributed, drawings, experiments, gpt2, guard, host_times, library, marks, mixes
from . import pictures as plots
from . import attention, published, python_times, rowwise, rungs, steps, sustained, sweeps, sweeps_reduce, tables, tables_errors, tables_reduce, text, theme, values
from .reductions import length_near
from .results import NoFile, ResultError, ResultFile, load

REGISTRY_ROW = re.compile(
    r'(?:\.name = )?"(\w+)",\s*(?:\.parent = )?(?:nullptr|"\w+"),\s*(?:\.idea =\s*|(\w+)[\w:<>]*,\s*)?"([^"]+)"'
)
IMAGES = Path("docs/img")
FINGERPRINT = "<!-- kernelwright data {} -->"


@dataclass
class Project:
    root: Path
    check: bool
    changed: list[str] = field(default_factory=list)
    waiting: dict[str, list[str]] = field(default_factory=dict)  # what is missing -> documents with empty marks
    wrong: list[str] = field(default_factory=list)  # what check.py finds
    known: dict = field(default_factory=dict)  # what was read and computed once

    def documents(self) -> list[Path]:
        folders = ("", "docs/**/", "ladder/**/", "results/**/")
        return sorted(path for folder in folders for path in self.root.glob(f"{folder}*.md") if path.is_file())

    def once(self, key: tuple, make: Callable):
        if key not in self.known:
            self.known[key] = make()
        return self.known[key]

    def named(self, name: str) -> Path:
        """A result file by its short name: sgemm-fp32 is results/h200/sgemm-fp32.json."""
        if (self.root / name).is_file():
            return Path(name)
        folder = Path("results") / (name if "/" in name else f"{values.DEFAULT_DEVICE}/{name}")
        found = [path for end in (".json", ".csv", ".txt") if (self.root / (path := Path(f"{folder}{end}"))).is_file()]
        if not found:
            raise NoFile(f"{folder}: no such .json, .csv or .txt.")
        if len(found) > 1:
            raise ResultError(f"{name} may be {' or '.join(map(str, found))}: write the whole path.")
        return found[0]

    def source_of(self, name: str, make: Callable):
        return self.once(("source", name), lambda: make(self, name))

    def find(self, name: str) -> Path:
        path = self.root / name
        if not path.is_file():
            what = {"accuracy": "accuracy sgemm", "scale": "bench scale_add", "reduce": "bench reduce --l2 cold"}
            command = next((text for word, text in what.items() if word in path.name), "bench sgemm --sweep classic")
            how = f"Write it with `kernelwright {command} --json {name}` on that device."
            if name.endswith(".csv"):
                how = "docs/measuring.md says how to write it."
            if name.endswith("-isa.csv"):
                how = f"Write it with `tools/amd_isa.py --csv {name}`."
            if "host-time" in path.name:
                how = f"Write it with `kernelwright bench sgemm --timing enqueue --json {name}` on that device."
            if "sustained" in path.name:
                how = f"Write it with `kernelwright bench sgemm --sustain 5 --json {name}` on that device."
            if "apps" in path.name:
                how = f"Write it with `apps/measure.py --adapter libkernelwright_cublas.so --json {name}` on that device."
            for word, tool in (("guard", "tools/guard_trips.py LIBRARY"), ("python", "python/measure/measure.py")):
                how = f"Write it with `{tool} --json {name}` on that device." if word in path.name else how
            if "amd-ladder" in name:
                how = f"Write it with `kernelwright bench sgemm --kernel 'amd_*' --sweep classic --json {name}` on that device."
            raise NoFile(f"{name}: no such file. {how}")
        return path

    def load(self, name: str) -> ResultFile:
        # Documents and pictures must not depend on where the checkout lies.
        return self.once(("result", name), lambda: replace(load(self.find(name))[0], path=Path(name)))

    def load_all(self, name: str) -> ResultFile:
        """All operations of a file together."""
        results = load(self.find(name))
        return replace(results[0], rows=tuple(row for result in results for row in result.rows), path=Path(name))

    def source(self, kernel: str, op: str) -> Path | None:
        """The file of that name: file = registry = result name; else that of its launch function, which rows of one
        family share. Ladders share names such as r00_cpu_loop."""
        function = next((function for name, function, _ in self.registry(op) if name == kernel), "")
        for stem in filter(None, (kernel, function)):
            folders = (f"ladder/{op}", f"ladder/{op}_*", f"src/{op}", "src/*", "src/*/*", "peers")
            for path in (path for folder in folders for path in sorted(self.root.glob(f"{folder}/{stem}.c*"))):
                return path
        return None

    def registry(self, op: str) -> list[tuple[str, str, str]]:
        """Kernel, launch function or "", idea, from the rows of the registries, where a name, a parent and an idea
        follow each other."""
        return self.once(("registry", op), lambda: self._registry(op))

    def _registry(self, op: str) -> list[tuple[str, str, str]]:
        folders = ("peers", "src/*", f"src/{op}", f"src/{op}/*", f"ladder/{op}_*", f"ladder/{op}")
        paths = [path for folder in folders for path in sorted(self.root.glob(f"{folder}/*.c*"))]
        return [row for path in paths for row in REGISTRY_ROW.findall(path.read_text(encoding="utf-8"))]

    def ideas(self, op: str) -> dict[str, str]:
        return {kernel: idea for kernel, _, idea in self.registry(op)}


def _arguments(words: list[str]) -> tuple[str, int | str | None]:
    """What is wanted of a file, and a size, or a kernel of the suite, where one was named. `reduce` and the next word
    are one."""
    wanted = words[1:]
    if wanted[:1] == ["suite"]:
        return "suite", wanted[1] if len(wanted) > 1 else None
    if wanted[:1] == ["reduce"]:
        wanted = [" ".join(wanted[:2]), *wanted[2:]]
    return wanted[0] if wanted else "", int(wanted[1]) if len(wanted) > 1 else None


def _shape(result: ResultFile, size: int | None, usual: int):
    """The shape that a table shows: of reductions the length of that size, else the longest."""
    return length_near(result, size) if result.op == "reduce" else result.shape_near(size or usual)


def _table(project: Project, document: Path, words: list[str]) -> str:
    if "library" in words:
        table = library.table(_library(project, words))
        return f"{tables.to_markdown(table, _linker(project, document, 'sgemm'))}\n\n{table.caption}"
    if "cards" in words:
        at = words.index("cards")
        others = [project.load(project.named(name).as_posix()) for name in words[: at + 2] if name != "cards"]
        table = cards.table(others[:-1], others[-1], [int(size) for size in words[at + 2 :]])
        return f"{tables.to_markdown(table, _linker(project, document, others[-1].op))}\n\n{table.caption}"
    if words[1:2] == ["opcodes"]:
        table = mixes.opcodes(project.find(words[0]).read_text(encoding="utf-8"), project.ideas("sgemm"))
        return f"{tables.to_markdown(table, _linker(project, document, 'sgemm'))}\n\n{table.caption}"
    if words[1:2] == ["traces"]:
        return tables.with_caption(mixes.traces(project.find(words[0]).read_text(encoding="utf-8")))
    if words[1:2] == ["double-buffer"]:
        return tables.with_caption(experiments.double_buffer(project.find(words[0]).read_text(encoding="utf-8")))
    if words[1:2] == ["python"]:
        return tables.with_caption(python_times.table(project.find(words[0]).read_text(encoding="utf-8"), words[2:]))
    if words[1:2] == ["first-launch"]:
        contents = [project.find(name).read_text(encoding="utf-8") for name in (words[0], *words[2:])]
        return tables.with_caption(experiments.first_launch(*contents))
    if words[1:2] == ["tile-sizes"]:
        return tables.with_caption(experiments.tile_sizes(project.find(words[0]).read_text(encoding="utf-8")))
    if words[1:2] == ["openblas"]:
        return tables.with_caption(experiments.openblas(project.find(words[0]).read_text(encoding="utf-8")))
    if words[1:2] == ["steps"] and len(words) == 4:
        contents = [project.find(name).read_text(encoding="utf-8") for name in (words[0], words[3])]
        return tables.with_caption(steps.experiment(contents[0], words[2], contents[1]))
    kind, size = _arguments(words)
    if kind == "isa":
        table = amd.isa(project.find(words[0]).read_text(encoding="utf-8"))
        return tables.to_markdown(table, _linker(project, document, "sgemm"))
    if kind == "guard":
        return tables.with_caption(guard.table(project.find(words[0]).read_text(encoding="utf-8")))
    if kind == "counters":
        op = "reduce" if "reduce" in Path(words[0]).name else "sgemm"
        raw = project.find(words[0]).read_text(encoding="utf-8")
        return tables.to_markdown(counters.table(raw, project.ideas(op)), _linker(project, document, op))
    if kind not in TABLES:
        raise ResultError(f"table '{kind}' is unknown; there are: {', '.join(TABLES)}, counters, isa, guard.")
    op, make = TABLES[kind]
    result = project.load(words[0])
    for of, own, option in (("host-time", "host", "--timing enqueue"), ("sustained", "sustained", "--sustain")):
        if (kind == of) != (result.kind == own):
            raise ResultError(f"table '{kind}' does not show {words[0]}: {of} is of `bench sgemm {option}`.")
    if op not in ("", result.op) or "app" in (result.op, op) and op != result.op:
        raise ResultError(f"table '{kind}' is of {op or 'kernels'}, but {words[0]} holds {result.op}.")
    table = make(project, result, size)
    return f"{tables.to_markdown(table, _linker(project, document, result.op))}\n\n{table.caption}"


def _library(project: Project, words: list[str]) -> library.Library:
    at = words.index("library")
    return library.library([project.load(project.named(name).as_posix()) for name in words[:at]], words[at + 1 :])


def _ladder(project: Project, result: ResultFile, size: int | None) -> tables.Table:
    return tables.ladder(result, _shape(result, size, plots.DEFAULT_SIZE), project.ideas("sgemm"))


def _amd_ladder(project: Project, result: ResultFile, size: int | None) -> tables.Table:
    published = amd.published_ms(project.find("ladder/sgemm_amd/published.csv").read_text(encoding="utf-8"))
    return amd.ladder(result, _shape(result, size, plots.DEFAULT_SIZE), project.ideas("sgemm"), published)


def _amd_published(project: Project, result: ResultFile, size: int | None) -> tables.Table:
    content = project.find("ladder/sgemm_amd/published.csv").read_text(encoding="utf-8")
    return amd.published(result, _shape(result, size, plots.DEFAULT_SIZE), content)


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


def _linker(project: Project, document: Path, op: str) -> tables.Linker:
    def link(kernel: str) -> str:
        source = project.source(kernel, op)
        return _relative(source, document) if source else ""

    return link


def _relative(path: Path, document: Path) -> str:
    return Path(os.path.relpath(path, document.parent)).as_posix()


def _machine(project: Project, document: Path, words: list[str]) -> str:
    result = project.load(words[0])
    device = result.device
    parts = [f"Measured on {device['name']}"]
    if device.get("sm_count"):
        parts.append(f"{device['sm_count']} multiprocessors")
    if device.get("measured_fp32_tflops"):
        parts.append(f"measured FP32 peak {text.number(device['measured_fp32_tflops'])} TFLOP/s")
    if device.get("measured_read_gbs"):
        parts.append(f"measured read bandwidth {text.number(device['measured_read_gbs'], 4)} GB/s")
    empty = device.get("empty_kernel_us") or {}
    if empty.get("graph"):
        parts.append(f"an empty kernel in a graph {text.number(empty['graph'])} µs")
    versions = {"driver": device.get("driver"), "runtime": device.get("runtime"), **result.software}
    parts += [
        f"{name.replace('_', ' ')} {value}" for name, value in versions.items() if isinstance(value, str) and value
    ]
    parts += [f"L2 {' and '.join(result.values('l2'))}"] if result.values("l2") else []
    return "; ".join(parts) + f".\nCommand: `{result.command}`"


def _library_picture(project: Project, words: list[str]) -> plots.Picture:
    shown = _library(project, words)

    def draw():
        from . import plots_library  # needs matplotlib

        return plots_library.speed_over_vendor(shown)

    caption = (
        f"Above the dashed line is faster than {shown.vendor}. Both scales are logarithmic; r01 and so on are steps of "
    )
    caption += "the ladder."
    return plots.Picture("library", f"Speed over {shown.vendor} against size", caption, draw)


def _plot(project: Project, document: Path, words: list[str]) -> str:
    if "library" in words:
        files = [project.load(project.named(name).as_posix()) for name in words[: words.index("library")]]
        stamp = f"{' '.join(result.digest[:16] for result in files)} {' '.join(words)}"
        stem = f"{files[0].path.parent.name}-library"
        return _picture(project, document, _library_picture(project, words), files[0], stem, stamp)
    result = project.load(words[0])
    wanted, size = _arguments(words)
    available = {picture.name: picture for picture in plots.pictures(result, size)}
    if wanted not in available:
        raise ResultError(f"plot '{wanted}' is not among those of {words[0]}: {', '.join(available) or 'none'}.")
    picture = available[wanted]
    stem = "-".join([*result.path.parent.parts[1:], result.path.stem, wanted, *words[2:]])
    stamp = f"{result.digest[:16]} {wanted} {size or plots.DEFAULT_SIZE}"
    return _picture(project, document, picture, result, stem, stamp)


def _picture(
    project: Project, document: Path, picture: plots.Picture, result: ResultFile, stem: str, drawn_from: str
) -> str:
    """Draws it where its files are not of this data, and the text that shows it."""
    light, dark = IMAGES / f"{stem}.svg", IMAGES / f"{stem}-dark.svg"
    stamp = FINGERPRINT.format(f"{drawn_from} drawn by {plots.drawing_digest()[:16]}")
    if not all(
        (project.root / path).is_file() and stamp in (project.root / path).read_text() for path in (light, dark)
    ):
        project.changed.append(str(light))
        if not project.check:
            svg, _ = plots.render(picture)
            svg = svg.replace("<svg", f"{stamp}\n<svg", 1)
            (project.root / IMAGES).mkdir(parents=True, exist_ok=True)
            (project.root / light).write_text(svg, encoding="utf-8")
            (project.root / dark).write_text(theme.dark_svg(svg), encoding="utf-8")
    there = {path: _relative(project.root / path, document) for path in (light, dark)}
    return (
        f'<picture>\n<source media="(prefers-color-scheme: dark)" srcset="{there[dark]}">\n'
        f'<img alt="{picture.title}: {result.device["name"]}" src="{there[light]}">\n</picture>\n\n{picture.caption}'
    )


def _value(project: Project, document: Path, words: list[str]) -> str:
    return values.value(project, " ".join(words))


MAKERS = {
    "table": _table, "plot": _plot, "machine": _machine, "rung": rungs.line, "value": _value,
    "drawing": drawings.drawing, "diff": drawings.diff, "step": steps.step,
}  # fmt: skip


def filled(project: Project, document: Path, old: str) -> str:
    """The document's text with every generated mark filled anew."""
    new, at = [], 0
    for mark in marks.flat(_parsed(project, document, old)):
        if mark.kind in MAKERS:
            new += [old[at : mark.body], _content(project, document, mark, old[mark.body : mark.body_end])]
            at = mark.body_end
    return "".join([*new, old[at:]])


def _parsed(project: Project, document: Path, content: str) -> list[marks.Mark]:
    try:
        return marks.parse(content)
    except ResultError as error:
        raise ResultError(f"{document.relative_to(project.root)}: {error}") from None


def _content(project: Project, document: Path, mark: marks.Mark, old: str) -> str:
    name = document.relative_to(project.root)
    try:
        key = ("content", document, mark.kind, mark.arguments)
        made = project.once(key, lambda: MAKERS[mark.kind](project, document, mark.arguments.split()))
    except NoFile as error:
        if old.strip() or mark.kind == "value":  # figures whose source is gone
            raise ResultError(f"{name}: {mark.text}: {error}") from None
        project.waiting.setdefault(str(error), []).append(str(name))
        return old
    except ResultError as error:
        raise ResultError(f"{name}: {mark.text}: {error}") from None
    except ValueError as error:
        raise ResultError(f"{name}: {mark.text}: the size must be a whole number ({error}).") from None
    return made if mark.kind == "value" else f"\n{made}\n"


def update(root: Path, only_check: bool) -> Project:
    """Fills every mark; the project says what changed, or would, and what check.py finds."""
    project = Project(root.resolve(), only_check)
    for document in project.documents():
        old = document.read_text(encoding="utf-8")
        new = filled(project, document, old)
        if new != old:
            project.changed.append(str(document.relative_to(project.root)))
            if not only_check:
                document.write_text(new, encoding="utf-8")
    project.wrong = check.everything(project)
    return project
