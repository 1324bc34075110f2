"""The package as a whole: examples in its documents, its command line, children of fork, types."""

import doctest
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kernelwright as kw
from kernelwright import _attention, _devices, _level3, _out_of_core, _reductions, _rowwise


@pytest.mark.parametrize("module", [kw, _attention, _level3, _out_of_core, _reductions, _rowwise, _devices])
def test_examples_of_docstrings(module):
    failed, tried = doctest.testmod(module)
    assert tried > 0 and failed == 0


def test_all_functions_are_documented():
    for name in kw.__all__:
        assert getattr(kw, name).__doc__, name


def test_devices_and_plans():
    cpu = kw.devices()[-1]
    assert cpu.kind == "cpu" and cpu.name
    plan = kw.plan(64, 64, 64, device=cpu)
    assert plan.kernel.startswith("cpu") and plan.time_us > 0
    kw.synchronize(cpu)
    with pytest.raises(kw.NoDeviceError):
        kw.synchronize(kw.Device("cuda", 77, ""))


def test_the_notebook_runs_from_top_to_bottom():
    notebook = Path(__file__).resolve().parents[2] / "docs" / "python.ipynb"
    if not notebook.is_file():
        pytest.skip("no notebook beside these tests")
    cells = [cell for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    names = {}
    for number, cell in enumerate(cells):
        exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
    assert len(cells) > 5 and names["y"].shape == (8, 128, 32)


def test_the_snippets_of_the_readme_run():
    readme = Path(__file__).resolve().parents[2] / "README.md"
    if not readme.is_file():
        pytest.skip("no README beside these tests")
    snippets = re.findall(r"^```python\n(.*?)^```", readme.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    here = [snippet for snippet in snippets if "cuda" not in snippet or has_torch_on_cuda()]
    names = {}
    for snippet in here:
        exec(compile(snippet, "README.md", "exec"), names)
    assert names["c"].shape == (1000, 600) and names["c"][0, 0] == 801


def has_torch_on_cuda():
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


def run(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "kernelwright", *arguments], capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout + done.stderr


def test_command_line():
    code, text = run("devices")
    assert code == 0 and "cpu" in text and kw.__version__ in text
    code, text = run("verify", "--count", "4", "--device", "cpu")
    assert code == 0 and "0 wrong" in text
    code, text = run("bench", "--sizes", "32", "--device", "cpu")
    assert code == 0 and "32" in text and "GFLOP/s" in text
    assert run("verify", "--device", "cuda:99")[0] == 3
    assert run("nothing")[0] == 2


def test_a_child_of_fork_computes():
    a = np.eye(3, dtype=np.float32)
    kw.scale_add(2, a, 1)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(kw.scale_add(2, a, 1), 2 * a + 1) else 1)
    assert os.waitpid(child, 0)[1] == 0
