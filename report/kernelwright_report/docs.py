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

from pathlib import Path

from . import check, doc_pictures, doc_tables, drawings, marks, rungs, steps, text, values
from .project import Project
from .results import NoFile, ResultError


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


def _value(project: Project, document: Path, words: list[str]) -> str:
    return values.value(project, " ".join(words))


MAKERS = {
    "table": doc_tables.table, "plot": doc_pictures.plot, "machine": _machine, "rung": rungs.line, "value": _value,
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
