#!/usr/bin/env python3
"""Compares the machine code of every production kernel before and after a change that should leave it as it is.

  tools/compare_sass.py record [--source TREE] [--archs 80,90a] [--files GLOB] [--jobs N] -o FILE
      compiles src/**/*.cu of a tree, one line per kernel: architecture, instructions, digest, name
  tools/compare_sass.py compare BEFORE AFTER --map NAMES [--some] [-o FILE]
      joins the two records by the map of old to new names and prints what differs; with --some,
      which goes with --files, kernels that AFTER lacks are left out. FILE gets a line per kernel:
      architecture, instructions before, digest before, digest after or "same", new name

A digest is the SHA-256 of the instructions and their encodings, in order. NAMES has a line a kernel template,
`old = new`, without namespaces' common prefix and template arguments; a kernel that the map does not name is an error, as
is one that is gone or new. Exit code 0: every kernel is the same; 1: some differ; 2: the comparison is impossible.

cuobjdump comes with the CUDA toolkit, or from PyPI (nvidia-cuda-cuobjdump).
Example: git worktree add /tmp/before v0.1.0 && tools/compare_sass.py record --source /tmp/before -o before.txt
"""
import argparse
import concurrent.futures
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

FOLDERS = ("sgemm", "reduce", "scale_add")
COMMON = "kw::on_cuda::"


def fail(message):
    print(f"compare_sass: {message}", file=sys.stderr)
    raise SystemExit(2)


def cuobjdump():
    """The path of cuobjdump: from PATH, or from the Python package beside this interpreter."""
    found = shutil.which("cuobjdump")
    if found:
        return found
    packages = pathlib.Path(sysconfig.get_paths()["purelib"])
    for candidate in sorted(packages.glob("nvidia/**/bin/cuobjdump")):
        candidate.chmod(0o755)  # a wheel does not keep it executable
        return str(candidate)
    fail("no cuobjdump: install the CUDA toolkit, or pip install nvidia-cuda-cuobjdump")


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        fail(f"{' '.join(map(str, command))} ends with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def plain_name(demangled):
    """kernel<args> without return type, parameters, the common namespace and casts of template arguments."""
    name = demangled.replace("(anonymous namespace)::", "")
    name = re.sub(r"\((?:[\w:]+)\)(?=-?\d)", "", name)  # (kw::Task)1 -> 1
    name = re.sub(r"^void ", "", name)
    depth = 0
    for at, letter in enumerate(name):  # the parameter list begins at the first '(' outside of <>
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0:
            name = name[:at]
            break
    return name.replace(COMMON, "")


def kernels_of(text):
    """(mangled name, instructions, digest) of each function in cuobjdump's output."""
    for part in re.split(r"^\s*Function : ", text, flags=re.M)[1:]:
        name, _, body = part.partition("\n")
        lines = re.findall(r"/\*([0-9a-f]{4,})\*/\s+(.*?);\s+/\* (0x[0-9a-f]{16}) \*/\n\s+/\* (0x[0-9a-f]{16}) \*/", body)
        digest = hashlib.sha256("\n".join(" ".join(line) for line in lines).encode()).hexdigest()[:16]
        yield name.strip(), len(lines), digest


def compile_one(tree, file, arch, folder):
    cubin = pathlib.Path(folder) / f"{arch}-{'-'.join(file.parts)}.cubin"
    run(["nvcc", "-std=c++20", f"-I{tree}/src", f"-I{tree}/include", "--expt-relaxed-constexpr", "-O3",
         "-cubin", "-arch", f"sm_{arch}", "-o", cubin, tree / file])
    return [(arch, *kernel) for kernel in kernels_of(run([cuobjdump(), "-sass", cubin]))]


def record(arguments):
    tree = pathlib.Path(arguments.source).resolve()
    files = sorted(file.relative_to(tree) for name in FOLDERS for file in (tree / "src" / name).rglob("*.cu")
                   if file.relative_to(tree).match(arguments.files))
    if not files:
        fail(f"no src/{{{','.join(FOLDERS)}}}/**/*.cu under {tree} matches {arguments.files}")
    work = [(arch, file) for arch in arguments.archs.split(",") for file in files]
    rows = []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        waiting = [pool.submit(compile_one, tree, file, arch, folder) for arch, file in work]
        for done in concurrent.futures.as_completed(waiting):
            rows += done.result()
            left = sum(not one.done() for one in waiting)
            print(f"\r{len(waiting) - left} of {len(waiting)} files", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    names = run(["c++filt", *[row[1] for row in rows]]).splitlines()
    lines = sorted(f"{arch}\t{count}\t{digest}\t{plain_name(name)}" for (arch, _, count, digest), name in zip(rows, names))
    if len(set(lines)) != len(lines):
        fail("two kernels of one name: plain_name leaves out too much")
    pathlib.Path(arguments.output).write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} kernels -> {arguments.output}")


def load(path):
    rows = {}
    for line in pathlib.Path(path).read_text().splitlines():
        arch, count, digest, name = line.split("\t")
        rows[arch, name] = (int(count), digest)
    return rows


def load_map(path):
    names = {}
    for line in pathlib.Path(path).read_text().splitlines():
        line = line.partition("#")[0].strip()
        if line:
            old, equals, new = (part.strip() for part in line.partition("="))
            if not equals:
                fail(f"{path}: '{line}' is not 'old = new'")
            names[old] = new
    return names


def compare(arguments):
    before, after, names = load(arguments.before), load(arguments.after), load_map(arguments.map)
    bad, same, expected, joined = [], 0, set(), []
    for (arch, name), (count, digest) in sorted(before.items()):
        base, bracket, rest = name.partition("<")
        if base not in names:
            bad.append(f"sm_{arch} {name}: not in the map {arguments.map}")
            continue
        now = names[base] + bracket + rest
        expected.add((arch, now))
        if (arch, now) not in after:
            if arguments.some:
                continue
            bad.append(f"sm_{arch} {name}: {now} is not there any more")
            continue
        joined.append(f"{arch}\t{count}\t{digest}\t{'same' if after[arch, now][1] == digest else after[arch, now][1]}\t{now}")
        if after[arch, now][1] != digest:
            bad.append(f"sm_{arch} {now}: {count} instructions before, {after[arch, now][0]} now, and they differ")
        else:
            same += 1
    bad += [f"sm_{arch} {name}: new" for arch, name in sorted(set(after) - expected)]
    compared = len(expected & set(after)) if arguments.some else len(before)
    outcome = f"{same} of {compared} kernels have the same instructions"
    print(outcome)
    if arguments.output:
        lines = [f"# tools/compare_sass.py compare: {outcome}", *[f"# {line}" for line in bad], *joined]
        pathlib.Path(arguments.output).write_text("\n".join(lines) + "\n")
    print("\n".join(bad), end="\n" if bad else "")
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True, metavar="record | compare")
    verb = verbs.add_parser("record", help="compile a tree and write a line a kernel")
    verb.add_argument("--source", default=pathlib.Path(__file__).resolve().parent.parent, help="the tree (default: this one)")
    verb.add_argument("--archs", default="80,90a", help="architectures, comma-separated (default: %(default)s)")
    verb.add_argument("--files", default="*.cu", help="of these only, a glob such as 'sgemm/stream/*.cu' (default: all)")
    verb.add_argument("--jobs", type=int, default=2, help="compilers at a time (default: %(default)s)")
    verb.add_argument("-o", "--output", required=True)
    verb.set_defaults(run=record)
    verb = verbs.add_parser("compare", help="say what differs between two records")
    verb.add_argument("before")
    verb.add_argument("after")
    verb.add_argument("--map", required=True, help="lines 'old = new', a kernel template each")
    verb.add_argument("-o", "--output", help="the joined record")
    verb.add_argument("--some", action="store_true", help="AFTER has some of the kernels only")
    verb.set_defaults(run=compare)
    arguments = parser.parse_args()
    return arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
