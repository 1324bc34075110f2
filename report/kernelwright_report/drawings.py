"""Pictures drawn without matplotlib, from traces and experiments, and the lines that a rung changes in its parent's text:
what `<!-- drawing: … -->` and `<!-- diff: … -->` stand for."""

from __future__ import annotations

import difflib
import hashlib
import re
from pathlib import Path

from . import experiments, lessons, rung_roofline, theme
from .project import Project, relative
from .results import NoFile, ResultError

LESSONS = "ladder/lessons.json"
# Where a rung's speed is, and at what size; the first file that has it.
SPEEDS = {
    "sgemm": (
        [f"results/h200/sgemm-{name}.json" for name in ("ladder", "ladder-end", "s5", "amd-ladder")],
        4096,
    ),
    "attention": (["results/h200/attention-ladder.json"], None),
}
CACHE = "results/h200/attention-ladder.json"  # whose machine's L2 was measured
TENSOR = ("results/h200/sgemm-sustained.json", "cublas_bf16", 8192)
STAMP = "<!-- kernelwright drawing {} -->"
MOST_LINES = 12  # of a diff
PARENT = re.compile(r'\("(\w+)",\s*"(\w+)"')


def drawing(project: Project, document: Path, words: list[str]) -> str:
    """lesson RUNG | block-grid FILE | tile-sizes FILE"""
    if len(words) != 2 or words[0] not in ("lesson", *experiments.DRAWINGS):
        raise ResultError(f"drawing: lesson RUNG, or {' FILE, '.join(experiments.DRAWINGS)} FILE.")
    if words[0] == "lesson":
        op = _ladder(document)
        lesson = _lesson(project, op, words[1])
        measured = _measured(project, op, words[1])
        svg, stem, alt = lessons.draw(lesson, measured), f"lesson-{op}-{words[1]}", f"{words[1]}: who computes and reads what"
    else:
        source = project.find(words[1])
        svg = experiments.DRAWINGS[words[0]](source.read_text(encoding="utf-8"))
        stem, alt = f"{source.parent.name}-{words[0]}", words[0].replace("-", " and ")
    return _saved(project, document, svg, stem, alt)


def _lesson(project: Project, op: str, rung: str) -> lessons.Lesson:
    path = project.root / LESSONS
    if not path.is_file():
        raise NoFile(f"{LESSONS}: no such file. Write it with `tools/trace_lessons.py PROGRAM > {LESSONS}`.")
    known = project.once(("lessons",), lambda: lessons.read(path.read_text(encoding="utf-8")))
    if (op, rung) not in known:
        raise ResultError(f"{LESSONS} has no {op} rung '{rung}'.")
    return known[op, rung]


def _ladder(document: Path) -> str:
    name = document.parent.name
    return name if name in ("reduce", "attention") else "sgemm"


def _measured(project: Project, op: str, rung: str) -> lessons.Measured | None:
    """Its speed on the H200 and that machine's ceilings, where result files have them."""
    files, size = SPEEDS.get(op, ([], None))
    for file in files:
        try:
            result = project.load(file)
            cache = project.load(CACHE).device.get("measured_cache_gbs")
            half = project.load(TENSOR[0])
        except ResultError:
            continue
        row = next((row for row in result.rows if row.kernel == rung and (size is None or row.shape == result.shape_near(size))), None)
        tensor = half.at(TENSOR[1], half.shape_near(TENSOR[2]))
        of = rung_roofline.ceilings(result, cache, tensor.gflops / 1e3 if tensor else None)
        if row and of:
            return lessons.Measured(row.gflops / 1e3, row.shape.label, of)
    return None


def _saved(project: Project, document: Path, svg: str, stem: str, alt: str) -> str:
    """Writes the light and the dark picture where they differ; the text that shows them."""
    paths = {}
    stamp = STAMP.format(hashlib.sha256(svg.encode()).hexdigest()[:16])
    for name, content in ((stem, svg), (f"{stem}-dark", theme.dark_svg(svg))):
        path = Path("docs/img") / f"{name}.svg"
        whole = content.replace("<svg", f"{stamp}\n<svg", 1)
        target = project.root / path
        if not target.is_file() or target.read_text(encoding="utf-8") != whole:
            project.changed.append(str(path))
            if not project.check:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(whole, encoding="utf-8")
        paths[name] = relative(project.root / path, document)
    return (
        f'<picture>\n<source media="(prefers-color-scheme: dark)" srcset="{paths[f"{stem}-dark"]}">\n'
        f'<img alt="{alt}" src="{paths[stem]}">\n</picture>'
    )


# ---------------------------------------------------------------- what changed


def parent_of(project: Project, op: str, rung: str) -> str | None:
    return dict(PARENT.findall((project.root / "ladder" / op / "rungs.cu").read_text(encoding="utf-8"))).get(rung)


def diff(project: Project, document: Path, words: list[str]) -> str:
    """RUNG [whole] [only WORD...]: the lines of its kernel that are not its parent's; with what its file has before the
    kernel; only those with one of the words."""
    op = _ladder(document)
    folder = project.root / "ladder" / op
    rung, whole = words[0], words[1:2] == ["whole"]
    words = [rung, *words[2 if whole else 1 :]]
    wanted = words[2:] if words[1:2] == ["only"] else []
    parent = parent_of(project, op, rung)
    if parent is None or words[1:2] not in ([], ["only"]):
        raise ResultError(f"diff: RUNG [whole] [only WORD...]; ladder/{op}/rungs.cu names {parent or 'no parent'} of '{rung}'.")
    files = [folder / f"{name}.cu" for name in (parent, rung)]
    for file in files:
        if not file.is_file():
            raise ResultError(f"diff: no {file.name} in ladder/{op}.")
    changed = _changed(*(_kernel_lines(file.read_text(encoding="utf-8"), whole) for file in files))
    shown = [line for line in changed if not wanted or any(word in line for word in wanted)][:MOST_LINES]
    rest = len(changed) - len(shown)
    text = f"Changed against `{parent}`" + (f", with {rest} more lines that follow from these." if rest else ".")
    return "```diff\n" + "\n".join(shown) + f"\n```\n\n{text}"


def _kernel_lines(content: str, whole: bool = False) -> list[str]:
    """The kernel's lines without comments, shifted left; `whole`: from its namespace on."""
    body = content[content.index("constexpr int stages" if whole and "constexpr int stages" in content else "__global__") :]
    body = body[: body.index("}  // namespace")]
    lines = [re.sub(r"\s*//.*", "", line).rstrip() for line in body.splitlines()]
    return [line[2:] if line.startswith("  ") else line for line in lines[1:] if line.strip()]


def _changed(old: list[str], new: list[str]) -> list[str]:
    """Removed and added lines, in the text's order."""
    changed: list[str] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            changed += [f"- {line}" for line in old[a:b]] + [f"+ {line}" for line in new[c:d]]
    return changed
