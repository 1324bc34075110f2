"""Tables and pictures of the project's documents, generated from committed result files.

A document holds pairs of marks; what lies between them belongs to this program:

    <!-- table: results/h200/sgemm-ladder.json ladder 4096 -->
    <!-- end -->

    table: FILE ladder [SIZE] | sweep | spread [SIZE] | scale-add | accuracy | verified
    table: FILE.csv counters       a file of hardware counters, one kernel a line
    plot: FILE by-size | lines | of-peak | steps [SIZE] | bandwidth | accuracy
    machine: FILE                  device, versions, command
    rung: KERNEL                   one line of figures, from the file of the document's machine mark

Marks with nothing between them may wait for a file that is not there yet.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import counters
from . import pictures as plots
from . import tables, text, theme
from .results import NoFile, ResultError, ResultFile, load

MARK = re.compile(r"^<!-- (table|plot|machine|rung): (.+?) -->\n(.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)
OPENING = re.compile(r"^<!-- (?:table|plot|machine|rung): .*-->$", re.MULTILINE)
REGISTRY_ROW = re.compile(
    r'(?:\.name = )?"(\w+)",\s*(?:\.parent = )?(?:nullptr|"\w+"),\s*(?:\.idea =\s*|\w+,\s*)?"([^"]+)"'
)
IMAGES = Path("docs/img")
FINGERPRINT = "<!-- kernelwright data {} -->"


@dataclass
class Project:
    root: Path
    check: bool
    changed: list[str] = field(default_factory=list)
    waiting: dict[str, list[str]] = field(default_factory=dict)  # what is missing -> documents with empty marks

    def documents(self) -> list[Path]:
        found = [*self.root.glob("*.md"), *self.root.glob("docs/**/*.md"), *self.root.glob("ladder/**/*.md")]
        return sorted(path for path in found if path.is_file())

    def find(self, name: str) -> Path:
        path = self.root / name
        if not path.is_file():
            what = {"accuracy": "accuracy sgemm", "scale": "bench scale_add"}
            command = next((text for word, text in what.items() if word in path.name), "bench sgemm --sweep classic")
            how = f"Write it with `kernelwright {command} --json {name}` on that device."
            if name.endswith(".csv"):
                how = "docs/measuring.md says how to write it."
            raise NoFile(f"{name}: no such file. {how}")
        return path

    def load(self, name: str) -> ResultFile:
        # Documents and pictures must not depend on where the checkout lies.
        return replace(load(self.find(name))[0], path=Path(name))

    def source(self, kernel: str) -> Path | None:
        """The file of that name: file = registry = result name."""
        for pattern in (f"ladder/*/{kernel}.c*", f"src/*/{kernel}.c*", f"peers/{kernel}.c*"):
            for path in sorted(self.root.glob(pattern)):
                return path
        return None

    def ideas(self) -> dict[str, str]:
        """Kernel -> idea, from the rows of the registries, where a name, a parent and an idea follow each other."""
        found: dict[str, str] = {}
        for pattern in ("ladder/*/*.c*", "src/*/*.c*", "peers/*.c*"):
            for path in sorted(self.root.glob(pattern)):
                found.update(REGISTRY_ROW.findall(path.read_text(encoding="utf-8")))
        return found


def _arguments(words: list[str], size: int = plots.DEFAULT_SIZE) -> tuple[str, int]:
    return words[1] if len(words) > 1 else "", int(words[2]) if len(words) > 2 else size


def _table(project: Project, document: Path, words: list[str]) -> str:
    def link(kernel: str) -> str:
        source = project.source(kernel)
        return _relative(source, document) if source else ""

    kind, size = _arguments(words)
    makers = {
        "ladder": lambda result: tables.ladder(result, result.shape_near(size), project.ideas()),
        "sweep": lambda result: tables.sweep(result, linked=True),
        "spread": lambda result: tables.spread(result, result.shape_near(_arguments(words, 128)[1])),
        "scale-add": tables.bandwidth,
        "accuracy": tables.accuracy,
        "verified": tables.verified,
    }
    if kind == "counters":
        raw = project.find(words[0]).read_text(encoding="utf-8")
        return tables.to_markdown(counters.table(raw, project.ideas()), link)
    if kind not in makers:
        raise ResultError(f"table '{kind}' is unknown; there are: {', '.join(makers)}, counters.")
    table = makers[kind](project.load(words[0]))
    return f"{tables.to_markdown(table, link)}\n\n{table.caption}"


def _relative(path: Path, document: Path) -> str:
    return Path(os.path.relpath(path, document.parent)).as_posix()


def _rung(project: Project, document: Path, words: list[str]) -> str:
    """Speed at three sizes, then what the step gained at the usual one."""
    source = re.search(r"^<!-- machine: (\S+) -->$", document.read_text(encoding="utf-8"), re.MULTILINE)
    if not source:
        raise ResultError("a rung's figures come from the file of the document's machine mark, and it has none.")
    result, kernel = project.load(source[1]), words[0]
    if kernel not in result.timed_kernels:
        raise ResultError(f"{source[1]} has no time of '{kernel}'; it has {', '.join(result.timed_kernels)}.")
    unit, scale = text.rate_unit(result.rows)
    shapes = list(dict.fromkeys(result.shape_near(size) for size in (1024, plots.DEFAULT_SIZE, 16384)))
    timed = [(shape.label, row) for shape in shapes if (row := result.at(kernel, shape))]
    sizes, speeds = " / ".join(s for s, _ in timed), " / ".join(text.number(row.gflops / scale) for _, row in timed)
    parts = [f"**{speeds} {unit}** at {sizes}"]
    row = result.at(kernel, result.shape_near(plots.DEFAULT_SIZE))
    if row:
        gains = [f"{text.times(row.vs_previous)} its parent"] if row.vs_previous else []
        gains += [f"{text.percent(row.of_peak)} of peak"] if row.of_peak else []
        gains += [f"{text.percent(row.vs_peer)} of {text.kernel(row.peer)}"] if row.vs_peer else []
        parts += [f"at {row.shape.label} {', '.join(gains)}"] if gains else []
    return "; ".join(parts) + "."


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
    versions = {"driver": device.get("driver"), "runtime": device.get("runtime"), **result.software}
    parts += [f"{name.replace('_', ' ')} {value}" for name, value in versions.items() if isinstance(value, str) and value]
    parts += [f"L2 {' and '.join(result.values('l2'))}"] if result.values("l2") else []
    return "; ".join(parts) + f".\nCommand: `{result.command}`"


def _plot(project: Project, document: Path, words: list[str]) -> str:
    result = project.load(words[0])
    wanted, size = _arguments(words)
    available = {picture.name: picture for picture in plots.pictures(result, size)}
    if wanted not in available:
        raise ResultError(f"plot '{wanted}' is not among those of {words[0]}: {', '.join(available) or 'none'}.")
    picture = available[wanted]
    stem = "-".join([*result.path.parent.parts[1:], result.path.stem, wanted, *words[2:]])
    light, dark = IMAGES / f"{stem}.svg", IMAGES / f"{stem}-dark.svg"
    stamp = FINGERPRINT.format(f"{result.digest[:16]} {wanted} {size}")
    if not all((project.root / path).is_file() and stamp in (project.root / path).read_text() for path in (light, dark)):
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


MAKERS = {"table": _table, "plot": _plot, "machine": _machine, "rung": _rung}


def _fill(project: Project, document: Path) -> None:
    old = document.read_text(encoding="utf-8")
    name = document.relative_to(project.root)

    def content(match: re.Match) -> str:
        mark = f"<!-- {match[1]}: {match[2]} -->"
        try:
            return f"{mark}\n{MAKERS[match[1]](project, document, match[2].split())}\n<!-- end -->"
        except NoFile as error:
            if match[3].strip():  # figures whose source is gone
                raise ResultError(f"{name}: {mark}: {error}") from None
            project.waiting.setdefault(str(error), []).append(str(name))
            return match[0]
        except ResultError as error:
            raise ResultError(f"{name}: {mark}: {error}") from None
        except ValueError as error:
            raise ResultError(f"{name}: {mark}: the size must be a whole number ({error}).") from None

    if len(OPENING.findall(old)) != len(MARK.findall(old)):
        raise ResultError(f"{name}: an opening mark without its <!-- end --> on a line of its own.")
    new = MARK.sub(content, old)
    if new != old:
        project.changed.append(str(name))
        if not project.check:
            document.write_text(new, encoding="utf-8")


def update(root: Path, check: bool) -> Project:
    """Fills every mark; the project says what changed, or with `check` what would."""
    project = Project(root.resolve(), check)
    for document in project.documents():
        _fill(project, document)
    return project
