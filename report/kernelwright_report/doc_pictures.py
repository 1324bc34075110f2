"""`plot:` marks of documents: which picture, where its files lie, and whether they are of this data."""

from __future__ import annotations

from pathlib import Path

from . import pictures, theme
from .doc_tables import arguments, the_library
from .project import Project, relative
from .results import ResultError, ResultFile

IMAGES = Path("docs/img")
FINGERPRINT = "<!-- kernelwright data {} -->"


def _library_picture(project: Project, words: list[str]) -> pictures.Picture:
    shown = the_library(project, words)

    def draw():
        from . import plots_library  # needs matplotlib

        return plots_library.speed_over_vendor(shown)

    caption = (
        f"Above the dashed line is faster than {shown.vendor}. Both scales are logarithmic; r01 and so on are steps of "
    )
    caption += "the ladder."
    return pictures.Picture("library", f"Speed over {shown.vendor} against size", caption, draw)


def plot(project: Project, document: Path, words: list[str]) -> str:
    if "library" in words:
        files = [project.load(project.named(name).as_posix()) for name in words[: words.index("library")]]
        stamp = f"{' '.join(result.digest[:16] for result in files)} {' '.join(words)}"
        stem = f"{files[0].path.parent.name}-library"
        return _picture(project, document, _library_picture(project, words), files[0], stem, stamp)
    result = project.load(words[0])
    wanted, size = arguments(words)
    available = {picture.name: picture for picture in pictures.pictures(result, size)}
    if wanted not in available:
        raise ResultError(f"plot '{wanted}' is not among those of {words[0]}: {', '.join(available) or 'none'}.")
    picture = available[wanted]
    stem = "-".join([*result.path.parent.parts[1:], result.path.stem, wanted, *words[2:]])
    stamp = f"{result.digest[:16]} {wanted} {size or pictures.DEFAULT_SIZE}"
    return _picture(project, document, picture, result, stem, stamp)


def _picture(
    project: Project, document: Path, picture: pictures.Picture, result: ResultFile, stem: str, drawn_from: str
) -> str:
    """Draws it where its files are not of this data, and the text that shows it."""
    light, dark = IMAGES / f"{stem}.svg", IMAGES / f"{stem}-dark.svg"
    stamp = FINGERPRINT.format(f"{drawn_from} drawn by {pictures.drawing_digest()[:16]}")
    if not all(
        (project.root / path).is_file() and stamp in (project.root / path).read_text() for path in (light, dark)
    ):
        project.changed.append(str(light))
        if not project.check:
            svg, _ = pictures.render(picture)
            svg = svg.replace("<svg", f"{stamp}\n<svg", 1)
            (project.root / IMAGES).mkdir(parents=True, exist_ok=True)
            (project.root / light).write_text(svg, encoding="utf-8")
            (project.root / dark).write_text(theme.dark_svg(svg), encoding="utf-8")
    there = {path: relative(project.root / path, document) for path in (light, dark)}
    return (
        f'<picture>\n<source media="(prefers-color-scheme: dark)" srcset="{there[dark]}">\n'
        f'<img alt="{picture.title}: {result.device["name"]}" src="{there[light]}">\n</picture>\n\n{picture.caption}'
    )
