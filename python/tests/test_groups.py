"""Groups whose ranks are processes, from Python: the products of two processes, and the death of one. torch.distributed
on the CPU, where PyTorch is."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import kernelwright as kw
from kernelwright._groups import ProcessGroup

PRELUDE = """
import os, sys
import numpy as np
from kernelwright._groups import ProcessGroup
rank, name = int(sys.argv[1]), sys.argv[2]
rng = np.random.default_rng(7)
m, n, k = 65, 33, 47
whole = [rng.standard_normal(size, dtype=np.float32) for size in ((m, k), (k, n))]
group = ProcessGroup(2, 1, rank, name, None, 60.0)
def block(matrix):
    rows, _ = group.local_shape(*matrix.shape)
    first = 0 if rank == 0 else matrix.shape[0] - rows
    return np.ascontiguousarray(matrix[first:first + rows])
a, b = block(whole[0]), block(whole[1])
c = np.full(group.local_shape(m, n), np.nan, dtype=np.float32)
def multiply(math="fp32"):
    group.multiply(m, n, k, 2.0, (a.ctypes.data, k), (b.ctypes.data, n), 0.0, (c.ctypes.data, n), math, 0)
    group.synchronize()
"""


def ranks(script, name):
    """Both ranks' processes, with their output."""
    source = PRELUDE + textwrap.dedent(script)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    started = [subprocess.Popen([sys.executable, "-c", source, str(rank), name], **pipes) for rank in range(2)]
    return [(process.communicate(timeout=100), process.returncode) for process in started]


def test_two_processes_multiply():
    ended = ranks(
        """
        multiply()
        first = 0 if rank == 0 else m - c.shape[0]
        want = 2.0 * (whole[0].astype(np.float64) @ whole[1])[first:first + c.shape[0]]
        assert np.abs(c - want).max() < 1e-4
        group.close_memory()
        group.close()
        """,
        f"python-{os.getpid()}-a",
    )
    for (_, errors), code in ended:
        assert code == 0, errors


def test_the_death_of_one_raises_in_the_other():
    ended = ranks(
        """
        multiply()
        if rank == 1: os.kill(os.getpid(), 9)
        try:
            while True: multiply()
        except Exception as error:
            print(type(error).__name__, error)
        """,
        f"python-{os.getpid()}-b",
    )
    assert ended[1][1] == -signal.SIGKILL
    assert ended[0][0][0].startswith("DeviceError rank 1 failed: its process "), ended


def test_wrong_arguments():
    with pytest.raises(kw.InvalidArgumentError, match="rank is 2"):
        ProcessGroup(2, 1, 2, "x", None, 1.0)
    with pytest.raises(kw.InvalidArgumentError, match="letters"):
        ProcessGroup(1, 1, 0, "a/b", None, 1.0)
    group = ProcessGroup(1, 1, 0, f"python-{os.getpid()}-c", None, 1.0)
    with pytest.raises(kw.InvalidArgumentError, match="math is"):
        group.multiply(1, 1, 1, 1.0, (0, 1), (0, 1), 0.0, (0, 1), "fp16", 0)
    array = np.ones((1, 1), dtype=np.float32)
    with pytest.raises(kw.InvalidArgumentError, match="null"):
        group.multiply(1, 1, 1, 1.0, (0, 1), (array.ctypes.data, 1), 0.0, (array.ctypes.data, 1), "fp32", 0)
    group.close()
    group.close()


def test_torch_distributed_on_the_cpu(tmp_path):
    pytest.importorskip("torch")
    script = tmp_path / "ranks.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys
            import torch, torch.distributed as dist
            import kernelwright.torch.distributed as kd
            rank = int(sys.argv[1])
            dist.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=rank, world_size=2)
            torch.manual_seed(3)
            m, n, k = 40, 30, 50
            a, b = torch.randn(m, k), torch.randn(k, n)
            with kd.Group(1, 2, device="cpu") as group:
                cols = lambda x: x.chunk(2, 1)[rank].contiguous()
                c = group.matmul(cols(a), cols(b), (m, n, k))
                group.synchronize()
                assert torch.allclose(c, cols(a @ b), atol=1e-4)
                for wrong in (cols(a).double(), cols(a)[:-1], a):
                    try:
                        group.matmul(wrong, cols(b), (m, n, k))
                        raise SystemExit("no error")
                    except (TypeError, ValueError):
                        pass
                group.close_memory()
            """
        )
    )
    store = tmp_path / "store"
    started = [subprocess.Popen([sys.executable, str(script), str(rank), str(store)]) for rank in range(2)]
    assert [process.wait(timeout=100) for process in started] == [0, 0]
