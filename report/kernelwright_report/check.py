"""What `./dev docs --check` refuses, beside a mark whose text is stale.

A figure typed by hand: a number with a unit, a ratio, or a decimal, outside code and the marks that docs.py fills. One that
no file of ours has stands between marks that say where it comes from, in a sentence or around paragraphs:

    <!-- prediction -->30 to 40 %<!-- end -->   estimated beforehand, never edited afterwards
    <!-- published: S2 -->11.2 ms<!-- end -->   another's figure: S1 … S5 (docs/sources.md), or a name
    <!-- constant -->1.98 GHz<!-- end -->       follows from a datasheet, a definition, the source or arithmetic
    <!-- unrecorded -->8 %<!-- end -->          was measured, but no file was kept: in docs/experiments/ only
    <!-- example -->…<!-- end -->               paths and figures that are there to show a form

A link or a path to a file or a heading that is not there, in a document or a picture drawn by hand; a picture that nobody
shows; S1 … S5 without a link to docs/sources.md where a document first names them; and, in any committed file, an absolute
path of somebody's machine.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from . import marks

if TYPE_CHECKING:
    from .project import Project

UNRECORDED_IN = "docs/experiments/"
SOURCES = "docs/sources.md"

HIDDEN, FIGURE = "\x00", "\x01"  # in place of what is no prose, and of a figure that has its mark
GAP = r"[ \u00a0\u202f]"
NUMBER = rf"\d{{1,3}}(?:{GAP}\d{{3}})+(?!\d)|\d+"
NUMBER = rf"(?:(?<![\w.,/^×·⁻\-])(?:{NUMBER})(?:\.\d+)?)"
UNIT = (
    rf"(?:{GAP}?(?:%|per cent\b|percent\b|[µu]s\b|ms\b|ns\b|[TGM]?FLOP/s|[TGM]B/s)"
    rf"|{GAP}?×(?!{GAP}?\d)"
    rf"|{GAP}(?:s|times|W|MHz|GHz|seconds|minutes|hours|million|billion"
    r"|registers|instructions|cycles|wavefronts|sectors|units|FFMAs)\b)"
)
BETWEEN = rf"{GAP}?(?:to|instead of|in place of|against|…|–|/){GAP}?"
TYPED = re.compile(
    rf"(?P<unit>{NUMBER}(?:{BETWEEN}{NUMBER})*{UNIT})"
    rf"|(?P<beside>{NUMBER}{BETWEEN}{FIGURE}|{FIGURE}{BETWEEN}{NUMBER})"
    rf"|(?P<factor>factor of {NUMBER})"
    rf"|(?P<decimal>(?<![\w.,/^×·⁻\-])\d+\.\d+(?!\.?\d))"
)
VERSIONED = re.compile(r"(?:CUDA|version|hipcc|clang|g\+\+|GCC|CMake|Python|PyTorch|§|ROCm|PTX)\s*$", re.IGNORECASE)
NO_PROSE = re.compile(r"\]\([^)\s]*\)|https?://\S+|<[a-z/][^>]*>", re.IGNORECASE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
PATH = re.compile(
    r"(?<![\w/.-])((?:include|src|adapters|ladder|peers|tools|report|tests|docs|results|examples|cmake)/[\w./<>*+-]*[\w>*])"
)
SEED = re.compile(r"(?<![\w./-])S([1-5])(?:'s)?(?![\w./-])")
# Folders in which people and machines keep checkouts; not /usr, /opt, /etc, where a system's own files lie, nor /tmp.
MACHINE_PATH = re.compile(rb"(?<![\w.}~/-])/(?:work|home|root|Users|mnt|scratch|workspace|builds)/[\w.-]+")


def _blank(content: str, start: int, end: int, filler: str) -> str:
    return content[:start] + re.sub(r"[^\n]", filler, content[start:end]) + content[end:]


def prose(document: str) -> str:
    """The document, the same length, without code, links' targets and what has a mark."""
    shown = NO_PROSE.sub(lambda match: HIDDEN * len(match[0]), marks.without_code(document, HIDDEN))
    for mark in marks.parse(document):
        shown = _blank(shown, mark.start, mark.end, HIDDEN)
        if "\n" not in document[mark.start : mark.end]:
            # A number beside a figure is one, too, so the two must touch: "38 to <!-- value: … -->".
            shown = shown[: mark.start] + FIGURE + shown[mark.start + 1 : mark.end - 1] + FIGURE + shown[mark.end :]
    return shown


def typed_figures(document: str, steps: frozenset[str] = frozenset()) -> list[tuple[int, str]]:
    """Line and text of each figure that nobody filled in and no mark explains. `steps` are names such as 7.3."""
    shown, found = prose(document), []
    for match in TYPED.finditer(shown):
        is_name = match[0] in steps or VERSIONED.search(shown, max(0, match.start() - 20), match.start())
        if match.lastgroup == "decimal" and is_name:
            continue
        found.append((marks.line_of(shown, match.start()), match[0].replace(FIGURE, "<!-- … -->")))
    return found


def _steps(project: Project, name: str) -> frozenset[str]:
    """The walk of the AMD ladder calls amd_07_3_interleaved 7.3, as S2 does."""
    if not name.startswith("ladder/sgemm_amd/"):
        return frozenset()
    kernels = (re.match(r"amd_0*(\d+)_(\d)_", kernel) for kernel in project.ideas("sgemm"))
    return frozenset(f"{match[1]}.{match[2]}" for match in kernels if match)


def _figures(name: str, document: str, steps: frozenset[str]) -> list[str]:
    wrong = [
        f"{name}:{line}: '{text}' is typed by hand: make it a value, or say where it comes from "
        "(prediction, published, constant)."
        for line, text in typed_figures(document, steps)
    ]
    for mark in marks.flat(marks.parse(document)):
        if mark.kind == "unrecorded" and not name.startswith(UNRECORDED_IN):
            wrong.append(f"{name}:{marks.line_of(document, mark.start)}: {mark.text} is for {UNRECORDED_IN} only.")
        if mark.kind == "published" and not mark.arguments:
            wrong.append(f"{name}:{marks.line_of(document, mark.start)}: {mark.text} does not say by whom.")
    return wrong


def _without_examples(document: str) -> str:
    for mark in reversed(marks.flat(marks.parse(document))):
        if mark.kind == "example":
            document = _blank(document, mark.start, mark.end, " ")
    return document


def _is_there(root: Path, path: str) -> bool:
    """<op> and * stand for any name; a path may leave out what follows its last dot: src/reduce/walk/order."""
    pattern = re.sub(r"<\w+>", "*", path)
    return (root / path).exists() or any(root.glob(pattern)) or any(root.glob(f"{pattern}.*"))


def _headings(path: Path) -> set[str]:
    """What a link may name in a document, as GitHub forms it: '## Error against k' is #error-against-k."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", title).lower()).replace(" ", "-") for title in titles}


def _paths(project: Project, name: str, document: str) -> list[str]:
    root, wrong = project.root, []
    shown = _without_examples(document)
    for match in LINK.finditer(marks.without_code(shown)):
        target, _, heading = match[1].partition("#")
        if "://" in target:
            continue
        path = root / Path(name).parent / target if target else root / name
        if not path.exists():
            wrong.append(f"{name}:{marks.line_of(shown, match.start())}: link to {target}, which is not there.")
        elif (
            heading
            and path.suffix == ".md"
            and heading not in project.once(("headings", path), lambda: _headings(path))
        ):
            wrong.append(f"{name}:{marks.line_of(shown, match.start())}: {target} has no heading #{heading}.")
    for span in re.finditer(r"`[^`\n]+`", shown):
        for match in PATH.finditer(span[0]):
            if not _is_there(root, match[1]) and not re.match(r"report/out|results/mi100", match[1]):
                wrong.append(f"{name}:{marks.line_of(shown, span.start())}: {match[1]} is not there.")
    return wrong


def _seeds(name: str, document: str) -> list[str]:
    """S1 … S5, each linked where the document first names it."""
    if name == SOURCES:
        return []
    shown = marks.COMMENT.sub(lambda match: " " * len(match[0]), marks.without_code(document))
    target = Path(os.path.relpath(SOURCES, Path(name).parent)).as_posix()
    wrong = []
    for number in "12345":
        first = next((match for match in SEED.finditer(shown) if match[1] == number), None)
        link = f"[S{number}]({target}#s{number})"
        if first and not shown.startswith(link, first.start() - 1):
            line = marks.line_of(shown, first.start())
            wrong.append(f"{name}:{line}: S{number} is named first here, without its link: {link}.")
    return wrong


def _pictures(project: Project) -> list[str]:
    """Pictures that no document shows, and paths in those that nobody generates."""
    root, wrong = project.root, []
    shown = "".join(path.read_text(encoding="utf-8") for path in project.documents())
    for picture in sorted((root / "docs/img").glob("*.svg")):
        content = picture.read_text(encoding="utf-8")
        if f"img/{picture.name}" not in shown:
            wrong.append(f"{picture.relative_to(root)}: no document shows it.")
        if "<!-- kernelwright data " in content:
            continue
        for element in ElementTree.fromstring(content).iter():
            for match in PATH.finditer(element.text or ""):
                if not _is_there(root, match[1]):
                    wrong.append(f"{picture.relative_to(root)}: {match[1]} is not there.")
    return wrong


def _committed(root: Path) -> list[Path]:
    """What git holds; where it is silent, what lies here but for what is built."""
    if (root / ".git").exists() and shutil.which("git"):
        command = ["git", "-c", f"safe.directory={root}", "-C", str(root), "ls-files", "-z"]
        listed = subprocess.run(command, capture_output=True, check=False).stdout
        if listed:
            return [path for name in listed.decode().split("\0") if name and (path := root / name).is_file()]
    built = (".git", "build", ".venv", "report/out")
    files = (path for path in root.rglob("*") if path.is_file())
    return sorted(path for path in files if not path.relative_to(root).as_posix().startswith(built))


def _machine_paths(root: Path) -> list[str]:
    wrong = []
    for path in _committed(root):
        name = path.relative_to(root).as_posix()
        content = path.read_bytes()
        for match in MACHINE_PATH.finditer(content):
            line = content.count(b"\n", 0, match.start()) + 1
            wrong.append(f"{name}:{line}: {match[0].decode()} is a path of somebody's machine.")
    return wrong


def document(project: Project, name: str, content: str) -> list[str]:
    """What is wrong with a document, one line each."""
    return _figures(name, content, _steps(project, name)) + _paths(project, name, content) + _seeds(name, content)


def everything(project: Project) -> list[str]:
    wrong = []
    for path in project.documents():
        wrong += document(project, path.relative_to(project.root).as_posix(), path.read_text(encoding="utf-8"))
    return wrong + _pictures(project) + _machine_paths(project.root)
