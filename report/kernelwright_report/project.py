"""The checkout whose documents are filled: its result files, loaded once, and what its registries say of kernels."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import values
from .results import NoFile, ResultError, ResultFile, load

REGISTRY_ROW = re.compile(
    r'(?:\.name = )?"(\w+)",\s*(?:\.parent = )?(?:nullptr|"\w+"),\s*(?:\.idea =\s*|(\w+)[\w:<>]*,\s*)?"([^"]+)"'
)
# What a missing file's name holds -> how it is written; the first that fits.
HOW_TO_WRITE = (
    ("-isa.csv", "Write it with `tools/amd_isa.py --csv {name}`."),
    (".csv", "docs/measuring.md says how to write it."),
    ("guard", "Write it with `tools/guard_trips.py LIBRARY --json {name}` on that device."),
    ("python", "Write it with `python/measure/measure.py --json {name}` on that device."),
    ("apps", "Write it with `apps/measure.py --adapter libkernelwright_cublas.so --json {name}` on that device."),
    ("amd-ladder", "Write it with `kernelwright bench sgemm --kernel 'amd_*' --sweep classic --json {name}` on that device."),
    ("host-time", "Write it with `kernelwright bench sgemm --timing enqueue --json {name}` on that device."),
    ("sustained", "Write it with `kernelwright bench sgemm --sustain 5 --json {name}` on that device."),
    ("accuracy", "Write it with `kernelwright accuracy sgemm --json {name}` on that device."),
    ("scale", "Write it with `kernelwright bench scale_add --json {name}` on that device."),
    ("reduce", "Write it with `kernelwright bench reduce --l2 cold --json {name}` on that device."),
    ("", "Write it with `kernelwright bench sgemm --sweep classic --json {name}` on that device."),
)


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
            how = next(how for word, how in HOW_TO_WRITE if word in name).format(name=name)
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


def linker(project: Project, document: Path, op: str) -> Callable[[str], str]:
    """From a kernel's name to where its file lies, seen from the document; "" for one without."""

    def link(kernel: str) -> str:
        source = project.source(kernel, op)
        return relative(source, document) if source else ""

    return link


def relative(path: Path, document: Path) -> str:
    return Path(os.path.relpath(path, document.parent)).as_posix()
