"""Groups of processes on two GPUs: products under torch.distributed beside float64, and the death of a rank with work under
way on its GPU, after which the other's stream, memory and device are as before."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

torch = pytest.importorskip("torch")
if torch.cuda.device_count() < 2:
    pytest.skip("needs two GPUs", allow_module_level=True)

PRODUCTS = """
import os
import torch, torch.distributed as dist
import kernelwright.torch.distributed as kd

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
device = torch.device("cuda", rank)
torch.cuda.set_device(device)
dist.init_process_group("nccl", device_id=device)
SHAPES = (((5001, 4603, 6007), "fp32"), ((8192, 6144, 7168), "fp32_split"), ((6001, 5603, 7007), "fp32_split"),
    ((1, 3001, 999), "fp32"))
for p, q in ((size, 1), (1, size)):
    with kd.Group(p, q, device="cuda") as group:
        def block(x):
            rows, cols = -(-x.shape[0] // p), -(-x.shape[1] // q)
            part = x[rank // q * rows :, rank % q * cols :][:rows, :cols].clone()
            assert tuple(part.shape) == group.local_shape(*x.shape)
            return part

        for (m, n, k), math in SHAPES:
            torch.manual_seed(5)
            whole = [torch.rand(shape, device="cuda") - 0.5 for shape in ((m, k), (k, n), (m, n))]
            a, b, c = map(block, whole)
            A, B, C = (x.double() for x in whole)
            want, size_of = block(1.5 * (A @ B) - 0.5 * C), block(1.5 * (A.abs() @ B.abs()) + 0.5 * C.abs())
            group.matmul(a, b, (m, n, k), alpha=1.5, beta=-0.5, out=c, math=math)
            after = c * 1  # ordered on the stream, without the host
            a.zero_(), b.zero_()  # likewise, once nobody reads them
            group.synchronize()
            worst = ((c.double() - want).abs() / (size_of * 2**-24)).max().item() if c.numel() else 0.0
            assert worst < 32 and torch.equal(after, c), (m, n, k, math, worst)
            a, b, again = map(block, whole)
            group.matmul(a, b, (m, n, k), alpha=1.5, beta=-0.5, out=again, math=math)
            group.synchronize()
            assert torch.equal(again, c)
            print(f"rank {rank} of {p} x {q}, {m}x{n}x{k} {math}: worst error {worst:.2f} u of 32", flush=True)
            group.close_memory()
            dist.barrier()
dist.destroy_process_group()
"""

DEATH = """
import os, signal, sys, time
import torch
from kernelwright._groups import ProcessGroup

rank, name, moment, n = int(sys.argv[1]), sys.argv[2], sys.argv[3], 24576
torch.cuda.set_device(rank)
a, b, c = (torch.rand(n // 2, n, device="cuda") for _ in range(3))
torch.cuda.synchronize()
stream = torch.cuda.Stream()

def multiply(group, x=a, y=b, z=c, size=n):
    parts = [(t.data_ptr(), size) for t in (x, y)]
    group.multiply(size, size, size, 1.0, parts[0], parts[1], 0.0, (z.data_ptr(), size), "fp32_split", stream.cuda_stream)

group = ProcessGroup(2, 1, rank, name, rank, 30.0)
multiply(group)
group.synchronize()
if rank == 1:
    if moment == "before its inputs are there":
        with torch.cuda.stream(stream):
            big = torch.rand(16384, 16384, device="cuda")
            for _ in range(4):
                big = big @ big
    multiply(group)
    if moment == "later":
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGKILL)
multiply(group)
begin = time.perf_counter()
stream.synchronize()  # without the library
print(f"the stream ended after {time.perf_counter() - begin:.3f} s", flush=True)
try:
    while time.perf_counter() - begin < 20:
        multiply(group)
        group.synchronize()
    raise SystemExit("no error")
except Exception as error:
    print(f"{type(error).__name__} after {time.perf_counter() - begin:.3f} s: {error}", flush=True)
group.close()
x = torch.rand(512, 512, device="cuda")
y = torch.empty_like(x)
torch.cuda.synchronize()
with_itself = ProcessGroup(1, 1, 0, name + "-alone", rank, 10.0)
multiply(with_itself, x, x, y, 512)
with_itself.synchronize()
with_itself.close()
assert (y.double() - x.double() @ x.double()).abs().max().item() < 1e-3
print(f"all was over after {time.perf_counter() - begin:.3f} s", flush=True)
"""


def run(source, arguments, environments):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    command = [sys.executable, "-c", textwrap.dedent(source)]
    started = [
        subprocess.Popen([*command, *own], env={**os.environ, **more}, **pipes)
        for own, more in zip(arguments, environments)
    ]
    ended = [(process.communicate(timeout=100)[0], process.returncode) for process in started]
    for output, _ in ended:
        print(output, end="")
    return ended


def test_products_under_torch_distributed():
    common = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(20000 + os.getpid() % 20000)}
    ended = run(PRODUCTS, [[], []], [{**common, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(2)])
    assert [code for _, code in ended] == [0, 0], ended


@pytest.mark.parametrize("moment", ["at once", "later", "before its inputs are there"])
def test_a_killed_rank(moment):
    name = f"gone-{os.getpid()}-{len(moment)}"
    ended = run(DEATH, [[str(rank), name, moment] for rank in range(2)], [{}, {}])
    assert ended[1][1] == -signal.SIGKILL, ended
    assert ended[0][1] == 0, ended
    assert "DeviceError after " in ended[0][0] and "rank 1 failed: its process " in ended[0][0], ended
