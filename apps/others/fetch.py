#!/usr/bin/env python3
"""Brings the programs of others, unmodified, and wheels that a machine may lack, into a folder that git ignores.

    python3 apps/others/fetch.py                                    from GitHub, by git
    python3 apps/others/fetch.py --clone pytorch/examples=/srv/examples.git
    python3 apps/others/fetch.py --wheels 3.12                      also wheels for Python 3.12 on x86-64

Files go to apps/others/fetched/NAME, wheels to apps/others/fetched/wheels; for a machine without a network carry the
folder there. Each file is that of the commit in programs.py, byte for byte.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from programs import PROGRAMS, Program  # noqa: E402

FETCHED = HERE / "fetched"
# Needed by programs here or by tools/conformance, and what those need in turn.
WHEELS = (
    "expecttest",
    "matplotlib",
    "contourpy",
    "cycler",
    "fonttools",
    "kiwisolver",
    "pyparsing",
    "python-dateutil",
    "six",
    "pillow",
)
PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in (28, 27, 24, 17, 12)] + [
    "manylinux2014_x86_64",
    "manylinux2010_x86_64",
]


class Failure(Exception):
    """What went wrong, and the way out."""


def git(clone: Path, *words: str) -> bytes:
    done = subprocess.run(["git", "-C", str(clone), *words], capture_output=True, check=False)
    if done.returncode:
        raise Failure(f"git {words[0]}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def clone_of(program: Program, clones: dict[str, str]) -> Path:
    """A repository that has the commit: one that is at hand, or GitHub's, of which only that commit is fetched."""
    if program.source in clones:
        return Path(clones[program.source])
    clone = FETCHED / "git" / program.source.replace("/", "+")
    if not clone.is_dir():
        clone.mkdir(parents=True)
        git(clone, "init", "--quiet", "--bare")
    git(
        clone,
        "fetch",
        "--quiet",
        "--depth",
        "1",
        "--filter=blob:none",
        f"https://github.com/{program.source}.git",
        program.commit,
    )
    git(clone, "config", "remote.origin.url", f"https://github.com/{program.source}.git")
    git(clone, "config", "remote.origin.promisor", "true")
    return clone


def fetch(name: str, program: Program, clones: dict[str, str]) -> None:
    clone = clone_of(program, clones)
    for file in program.files:
        to = FETCHED / name / file
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(git(clone, "show", f"{program.commit}:{file}"))
    print(f"{name}: {len(program.files)} files of {program.source} at {program.commit[:12]}")


def fetch_wheels(version: str) -> None:
    to = FETCHED / "wheels"
    platforms = [word for platform in PLATFORMS for word in ("--platform", platform)]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version", version,
               "--implementation", "cp", *platforms, "-d", str(to), *WHEELS]  # fmt: skip
    if subprocess.run(command, check=False).returncode:
        raise Failure(f"pip found no wheels for Python {version}; its own words are above.")
    print(
        f"{len(list(to.glob('*.whl')))} wheels, {sum(file.stat().st_size for file in to.glob('*.whl')) / 2**20:.0f} MiB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--clone", action="append", default=[], metavar="OWNER/NAME=PATH", help="a clone to take it from"
    )
    parser.add_argument("--wheels", metavar="VERSION", help="also wheels for this version of Python: 3.12")
    given = parser.parse_args()
    if wrong := [word for word in given.clone if "=" not in word]:
        parser.error(f"--clone {wrong[0]}: expected OWNER/NAME=PATH, such as pytorch/examples=/srv/examples.git")
    clones = dict(word.split("=", 1) for word in given.clone)
    if unknown := set(clones) - {program.source for program in PROGRAMS.values()}:
        parser.error(
            f"--clone {unknown.pop()}: no program is from there; {', '.join(p.source for p in PROGRAMS.values())} are used"
        )
    for name, program in PROGRAMS.items():
        fetch(name, program, clones)
    if given.wheels:
        fetch_wheels(given.wheels)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"fetch.py: {failure}")
